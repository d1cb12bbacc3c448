"""Compile the machine code that tests use, once, and keep it on disk; else each process of the tests compiles it.

`make test` runs this beside the lints.
"""

from __future__ import annotations

import numpy as np

from fewsolves.methods.gp_surrogate.gp.processes import GPs
from fewsolves.methods.gp_surrogate.surrogate.compiling import compile_all
from fewsolves_studies.benchmarks.catalogue import NAMES, REAL, load
from fewsolves_studies.paper.reading.climb import Climb

FEW = 3


def climb() -> None:
    """A fit by the steps of the paper's reading."""
    gps = GPs(1, 1, fitting=Climb(1))
    gps.add(np.zeros(FEW, dtype=int), np.arange(float(FEW))[:, None], np.arange(float(FEW)))
    gps.fit()


def main() -> None:
    compile_all()
    climb()
    for name in NAMES:
        rows = (load(name) if name in REAL else load(name, n=20)).rows
        Y, known = rows.Y[:FEW], () if rows.problem.instances is None else (rows.problem.instances[:FEW],)
        decisions = rows.problem.solve_batch(Y, *known)
        rows.problem.cost_batch(Y, decisions, *known)
        rows.problem.cost(Y[0], rows.problem.solve(Y[0], *(one[0] for one in known)), *(one[0] for one in known))


if __name__ == "__main__":
    main()
