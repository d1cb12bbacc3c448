import functools
import os

from fewsolves.ledger.identity.reads import Reach, Source, layers, read_by
from fewsolves.ledger.identity.scope import Listed

LIMIT = 3


def helper(y):
    return y * LIMIT


def solve(y):
    return helper(y) + float(os.environ["PLANT"]) + os.cpu_count()


def found(function):
    return dict(read_by(function, Reach()))


def test_reads_follow_the_functions_that_are_called(monkeypatch):
    monkeypatch.setenv("PLANT", "1")
    reads = found(solve)
    assert reads["LIMIT"] == 3
    assert reads["os.environ['PLANT']"] == "1"
    assert isinstance(reads[f"code of {__name__}.helper"], Source)


def test_reads_list_what_is_outside_of_the_program():
    def reads_a_file(y):
        return open(y)  # noqa: PTH123

    assert isinstance(found(reads_a_file)["open() in reads_a_file"], Listed)


def test_reads_layers_are_a_function_and_those_that_it_wraps():
    @functools.wraps(helper)
    def outer(y):
        return helper(y)

    assert layers(outer) == [outer, helper]
