"""Compile the machine code that tests use, once, and keep it on disk; else each process of the tests compiles it.

`make test` runs this beside the lints.
"""

from __future__ import annotations

from fewsolves.methods.gp_surrogate.surrogate.compiling import compile_all
from fewsolves_studies.benchmarks.catalogue import NAMES, REAL, load

FEW = 3


def main() -> None:
    compile_all()
    for name in NAMES:
        rows = (load(name) if name in REAL else load(name, n=20)).rows
        Y, known = rows.Y[:FEW], () if rows.problem.instances is None else (rows.problem.instances[:FEW],)
        decisions = rows.problem.solve_batch(Y, *known)
        rows.problem.cost_batch(Y, decisions, *known)
        rows.problem.cost(Y[0], rows.problem.solve(Y[0], *(one[0] for one in known)), *(one[0] for one in known))


if __name__ == "__main__":
    main()
