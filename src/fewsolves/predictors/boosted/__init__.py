"""Boosted trees: a prediction-focused booster by XGBoost or LightGBM, and rounds on top that are trained for decisions.

    trees.py               the rounds as a torch module, and what grows them from slopes
    booster.py             the prediction-focused booster, as a scikit-learn regressor
    arrays.py              a tree of any library as arrays
    with_xgboost.py, with_lightgbm.py    calls of either library; both have the same functions

Both libraries are an extra, `pip install 'fewsolves[boosting]'`, and are imported when they are needed.
"""
