"""Training in stages, each accepted on evidence: the default.

Begin with `method.py`, which runs the stages. `folds.py` assigns rows to models, `schedule.py` the solves to stages,
`pool.py` holds the known decisions, `stand_ins` predicts regret from them without a solve, `pilot.py` measures which of
these predict anything, `replicas.py` holds the models, `descent.py` trains them, and `evidence.py` estimates gains.
`tuning.py` has all constants.
"""
