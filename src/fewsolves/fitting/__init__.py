"""Fitting: from a checked plan to a trained predictor, in a folder where it can be stopped and goes on.

Begin with `plan.py` (`Plan`: everything that a run is made of) and `fit.py` (`fit`: its steps). `result.py` is what
comes of it, `folder.py` where it is kept, `checkpoint.py` and `resume.py` how it goes on. Imported by the estimator,
the benchmarks, the paper and the commands, which all build a plan and hand it on.
"""
