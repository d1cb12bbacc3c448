"""The GP surrogate: trust the surrogate of an example where it is confident, pay where it is not.

Begin with `loss.py`; `config.py` has its settings and the paper's, `gate.py` decides which examples are paid for,
`fallback.py` what happens there, `trusted.py` is the quick way where none is, `background_draws.py` pays while
training goes on. What it learns is in `surrogate`, by the Gaussian processes of `gp`.
"""
