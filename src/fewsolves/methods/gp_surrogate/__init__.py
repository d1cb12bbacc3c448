"""The GP surrogate, the default method: trust the surrogate of an example where it is confident, pay where it is not.

Begin with `loss.py`; `gate.py` decides which examples are paid for, `fallback.py` what happens there, `background.py`
pays while training goes on. What it learns is in `surrogate`.
"""
