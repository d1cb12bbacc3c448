"""A benchmark: one dataset with its problem, its rows and their true distribution."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fewsolves.data import Split
from fewsolves.demo.sources import Dataset, Source, Streams
from fewsolves.errors import InputError
from fewsolves.problem import Array, Problem


class Entry(NamedTuple):
    """A benchmark of the catalogue: its maker and its preset options."""

    description: str
    build: Callable[..., Dataset]
    preset: Mapping[str, object]  # what the name fixes; options override it


class Rows(NamedTuple):
    """Rows of one dataset, and the problem over them: with their known data, where it has instances."""

    X: Array  # (n, p)
    Y: Array  # (n, n_y)
    problem: Problem

    def cost(self, Y_hat: Array) -> Array:
        """(n,): true cost of what is decided for a prediction of each row."""
        solve, cost, instances = self.problem.solve_batch, self.problem.cost_batch, self.problem.instances
        assert solve is not None and cost is not None
        known = () if instances is None else (instances,)
        costs: Array = cost(self.Y, solve(Y_hat, *known), *known)
        return costs


@dataclass(frozen=True, kw_only=True, eq=False)
class Benchmark:
    """One dataset of a benchmark, `problem` over its rows; everything follows from (name, seed, options)."""

    name: str
    seed: int
    options: Mapping[str, object]
    problem: Problem
    X: Array = field(repr=False)  # (n, p)
    Y: Array = field(repr=False)  # (n, n_y)
    source: Source = field(repr=False)
    split: Split | None = field(default=None, repr=False)  # by time, where rows are in its order
    own: tuple[int, ...] = field(default=(), repr=False)  # of its random streams; () where problems share them

    @property
    def rows(self) -> Rows:
        return Rows(self.X, self.Y, self.problem)

    def fresh(self, n: int, seed: int = 0) -> Rows:
        """n new rows of this dataset: same fixed data, a random stream of their own."""
        X, Y = self.source.draw(n, stream(self.seed, *self.own, 2, seed))
        instances = self.source.instances(n, stream(self.seed, *self.own, 2, seed, 1))
        return Rows(X, Y, self.problem.with_instances(instances))

    def conditional_mean(self, X: Array) -> Array:
        """E[y | x] for every row of X."""
        return self.source.mean(np.atleast_2d(X))

    def sample_given(self, x: Array, n: int, rng: np.random.Generator) -> Array:
        """(n, n_y) draws of y from its true distribution given one x."""
        return self.source.draw_given(np.tile(np.asarray(x, dtype=np.float64), (n, 1)), rng)


def make(name: str, entry: Entry, seed: int, options: dict[str, object], own: tuple[int, ...] = ()) -> Benchmark:
    """Build a benchmark; options change its data, and `backend="milp"` solves it through scipy's HiGHS."""
    parameters = inspect.signature(entry.build).parameters
    known = {key: p.default for key, p in parameters.items() if p.kind is p.KEYWORD_ONLY} | dict(entry.preset)
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise InputError(f"{name} has no option {', '.join(unknown)}; it takes {', '.join(known)}")
    full = known | options
    if full.get("backend", "embedded") not in ("embedded", "milp"):
        raise InputError(f"backend is 'embedded' or 'milp', got {full['backend']!r}")
    streams = Streams(fixed=stream(seed, *own, 0), rows=stream(seed, *own, 1))
    problem, source, X, Y, split = entry.build(streams, **full)
    instances = source.instances(len(X), stream(seed, *own, 1, 1))
    problem = dataclasses.replace(problem, name=name, instances=instances)
    return Benchmark(name=name, seed=seed, options=full, problem=problem, X=X, Y=Y, source=source, split=split, own=own)


def stream(seed: int, *key: int) -> np.random.Generator:
    """A random stream of a dataset."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
