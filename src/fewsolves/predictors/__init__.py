"""Predictors: what maps x to y_hat and is trained.

Begin with `predictor.py` (linear maps and networks); `forecaster.py` keeps a regressor of the user, `correction.py` is
what is trained on top of it, `boosted` are trees. Imported by training, fitting and what lies above them.
"""
