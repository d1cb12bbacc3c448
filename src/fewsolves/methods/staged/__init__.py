"""Training in stages, each accepted on evidence: the default.

Begin with `method.py`, which runs the stages. `folds.py` assigns rows to models, `schedule.py` the solves to stages,
`pool.py` holds the known decisions, `stand_ins` predicts regret from them without a solve, `replicas.py` holds the
models, `descent.py` trains them, and `evidence.py` estimates the gain of a stage. `tuning.py` has all constants.
"""
