"""`fewsolves demo`: a set multi-cover with known data, solved by HiGHS, and what the default gains on it.

Begin with `demo.py`. `set_cover.py` is the problem (`milp.py` by HiGHS, `cover_solver.py` exactly, in microseconds),
`sources.py` its data, `benchmark.py` one dataset of such a problem, `slow.py` makes a solver as slow as a real one.
`named.py` finds problems of other packages by name. Imported by the commands, and by studies, which build on it.
"""
