"""Studies of real data: `fewsolves real NAME` trains, tests on later days, compares with what was published.

Begin with `market_clearing.py`, one of the three studies: which runs it has, what was published, what a planner sees.
`cell.py` is one run, `run.py` makes those that are missing, `bootstrap.py` has the intervals, `tables.py`, `figures.py`
and `output.py` make the files. May be imported by commands and tests.
"""
