"""A damaged file may have a row twice, once whole: what SQL and the index say of a row only tells where to look."""

import random

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import Infeasible
from fewsolves.ledger.ledger import open_ledger
from fewsolves.ledger.reading import _whole, decisions_of_others, evaluations, open_to_read, paid_by_others
from fewsolves.ledger.sqlite.file import LedgerFile
from fewsolves.oracle import Oracle, SolveConfig

ROWS = np.arange(6)
Y = np.random.default_rng(0).normal(size=(6, 2))
CALLED = []


def solve(y_hat, known):
    CALLED.append(known)
    if known == 5 and y_hat[0] > Y[5, 0] + 0.3:
        raise Infeasible("nothing fits")
    return np.round(y_hat) + known


def cost(y, z, known):
    return float(abs(y - z).sum()) + known


PROBLEM = fs.Problem(solve=solve, cost=cost, instances=list(range(6)))


def opened(folder, run):
    ledger = open_ledger(folder, PROBLEM, Y, identity=run, replays_failures=True)
    return Oracle(PROBLEM, Y, ledger=ledger, solving=SolveConfig(on_failure="skip"))


def answers_of(oracle):
    return [oracle.regret(ROWS, Y + shift, phase="online") for shift in (0.0, 0.25, 0.5)]


@pytest.fixture
def paid(tmp_path):
    """A folder in which one run has paid, and another one has taken that over and paid some more."""
    one = opened(tmp_path, "b")
    one.regret(ROWS, Y + 0.25, phase="online")
    one.ledger.close()
    other = opened(tmp_path, "a")
    answers = answers_of(other)
    other.ledger.close()
    return tmp_path, answers


def everything(folder):
    """All that is exported, and that a third run learns from."""
    file, oracle = open_to_read(folder), opened(folder, "c")
    samples = [(row, tuple(y), paid) for row, y, paid in zip(*paid_by_others(oracle.ledger), strict=True)]
    decisions = [(tuple(y), z.content) for y, z in zip(*decisions_of_others(oracle.ledger), strict=True)]
    evaluated = [tuple(map(str, one)) for one in evaluations(file)]
    file.close()
    oracle.ledger.close()
    return set(evaluated), set(samples), set(decisions)


def test_candidates_rows_that_do_not_belong_together_are_no_evaluation(paid, monkeypatch):
    folder, _ = paid
    expected, query = everything(folder), LedgerFile.query

    def every_pair(self, sql, *parameters):
        """In place of solves and costs that belong together: each row of the ledger with each other."""
        found = query(self, sql, *parameters)
        if not found or len(found[0]) != 3 or not ("pairs" in sql or "calls" in sql):
            return found
        seqs, alone = [seq for (seq,) in query(self, "SELECT seq FROM calls")], found[0][1] is None
        return [(a, None if alone else b, row) for a in seqs for b in seqs[: 1 if alone else None] for row in range(6)]

    monkeypatch.setattr(LedgerFile, "query", every_pair)
    assert everything(folder) == expected


def test_candidates_an_index_that_points_elsewhere_costs_calls_and_gives_no_wrong_answer(paid):
    folder, answers = paid
    for seed in range(5):
        oracle = opened(folder, "a")
        index, shuffle = oracle.ledger._index, random.Random(seed).sample
        last = oracle.ledger.last
        index._positions = dict(zip(index._positions, shuffle(range(1, last + 1), len(index._positions)), strict=True))
        for kind, known in index.paid.items():
            index.paid[kind] = dict(zip(known, shuffle(list(known.values()), len(known)), strict=True))
        assert np.array_equal(answers_of(oracle), answers, equal_nan=True)
        oracle.ledger.close()


def test_candidates_are_looked_up_by_their_own_name(paid):
    folder, _ = paid
    oracle = opened(folder, "a")
    ledger = oracle.ledger
    ledger.go_on_from(ledger.last, {})
    index = ledger._index
    for kind, known in index.remembered.items():
        expected = ledger.recall(kind, list(known))
        assert expected.keys() == known.keys()
        seqs = list(known.values())
        index.remembered[kind] = dict(zip(known, seqs[1:] + seqs[:1], strict=True))
        found = ledger.recall(kind, list(known))
        assert all(value == expected[key] for key, value in found.items())
    ledger.close()


def test_candidates_with_damaged_numbers_are_none():
    class File:
        def fetch_all(self, numbers):
            return {}

    named = [(None, None, 3), (1, None, None), (1, None, 2), (1, "x", 2), (1.5, 2, 2)]
    assert list(_whole(File(), named)) == []
