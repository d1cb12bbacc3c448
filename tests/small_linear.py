"""Small linear problems whose feasible sets can be listed: every claim is checked against the list."""

from itertools import product

import numpy as np

from fewsolves.oracle import Oracle
from fewsolves.problem import Problem

N_Y = 5
WEIGHTS = np.array([3.0, 1.0, 4.0, 2.0, 5.0])
FEASIBLE = np.array([z for z in product((0.0, 1.0), repeat=N_Y) if WEIGHTS @ z <= 7.0 and sum(z) >= 1])


def solve(costs):
    """Of all feasible decisions, one that minimises costs @ z."""
    return FEASIBLE[np.argmin(FEASIBLE @ costs)]


def made(sense, n=30, seed=0):
    """An oracle of n rows, and sign: costs that are minimised are sign * y."""
    sign = 1.0 if sense == "min" else -1.0
    problem = Problem(solve=lambda y: solve(sign * y), cost=lambda y, z: sign * float(y @ z), linear=sense)
    return Oracle(problem, np.random.default_rng(seed).normal(size=(n, N_Y))), sign
