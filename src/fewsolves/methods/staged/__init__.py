"""Training in stages, each entered on evidence: the default.

Begin with `method.py`: which stage follows which, and when it ends. `pool.py` holds the known decisions, `stand_ins.py`
what predicts regret from them without a solve, `pilot.py` measures which of these to believe, `descent.py` trains as
`courses.py` plans, `line_search.py` moves all predictions at once, and `evidence.py` says what a stage has shown.
"""
