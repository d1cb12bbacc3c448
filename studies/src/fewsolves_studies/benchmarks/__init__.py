"""Problems with known data to compare methods on: the paper's four, larger set covers, the toy, the panel, real data.

Begin with `catalogue.py`, which has them by name; `run.py` trains one method on one dataset, `study.py` keeps the
results of many such runs in one file, `plugin.py` is where `fewsolves --benchmark` finds them. A benchmark is a file
that builds its data and its problem (`toy.py` is the shortest), and a line in the catalogue. May be imported by paper,
commands, tests and studies.
"""
