"""Predictors: the trained maps from x to y_hat.

Begin with `predictor.py` (linear maps and networks); `forecaster.py` wraps a regressor of the user,
`correction.py` is the module that is trained on top of it, and `boosted` holds trees. Training, fitting and the layers
above them import this package.
"""
