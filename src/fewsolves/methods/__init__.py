"""Methods: how a started predictor is trained for decisions.

Begin with `base.py` (`Trainer`, `GradientTrainer`, `Context`), then `loss.py`, `pfl.py` and `sfge.py`. A method is one
file that ends in `METHOD = ...` (or `METHODS`, for a family); `registry.py` finds it, here and in `comparison`. A
method pays through the oracle of its context, and imports nothing of training. `training`, `quoting`, `fitting` and the
layers above them import this package.
"""
