"""Training: epochs of gradient steps on a loss, validation readings, early stopping, and the history.

Begin with `loop.py` (`train`, `stopping_rule`); `steps.py` takes the steps, `monitor.py` reads the regret, `history.py`
records epochs and calls callbacks, `interrupt.py` handles Ctrl-C. This package does not depend on folders, plans or
benchmarks. `fitting` and the layers above it import it.
"""
