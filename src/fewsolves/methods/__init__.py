"""Methods: named recipes that turn (prediction, example) into a loss whose backward() trains the predictor.

Begin with `base.py` (`Loss`, `Method`, `TrainConfig`), then `pfl.py` and `sfge.py`. A method is one file that ends in
`METHOD = Method(...)` (or `METHODS`, for a family); `registry.py` finds it, here and in `comparison`. A method pays
through the oracle that it gets, and imports nothing of training. Imported by `training`, `quoting`, `fitting` and what
lies above them.
"""
