"""Fitting: from a checked plan to a trained predictor, in a folder from which an interrupted run resumes.

Begin with `plan.py` (`Plan`: everything that a run is made of) and `fit.py` (`fit`: its steps). `result.py` defines
the result, `folder.py` stores it, `checkpoint.py` and `resume.py` restore an interrupted run. The estimator, the
benchmarks, the paper and the commands import it; each builds a plan and calls `fit`.
"""
