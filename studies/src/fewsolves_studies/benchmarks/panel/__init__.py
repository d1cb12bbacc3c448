"""The panel: nineteen problems of users, each of another kind, on which methods and their defaults are compared.

Begin with `fleet.py`, the shortest: a problem is a file with its solver and its data. `responses.py` draws the rows of
all of them, `batched.py` is what their solvers (and those of real data) share. By name they are in
`benchmarks/catalogue.py`, which alone (with the tests) imports the problems; results/panel.md says what can be
gained.
"""
