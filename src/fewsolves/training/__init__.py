"""Training: epochs of gradient steps on a loss, validation readings, early stopping, the history of it all.

Begin with `loop.py` (`train`, `stopping_rule`); `steps.py` takes the steps, `monitor.py` reads the regret, `history.py`
records epochs and tells callbacks, `interrupt.py` hears Ctrl-C. Knows nothing of folders, plans or benchmarks. Imported
by `runs` and what lies above it.
"""
