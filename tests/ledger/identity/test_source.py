import functools

import click

from fewsolves.ledger.identity.source import python_function, source_of


def plain(y):
    return y + 1  # a comment


def test_source_is_the_syntax_tree_without_comments():
    assert b"comment" not in source_of(plain)
    assert b"Add()" in source_of(plain)


def test_source_of_a_library_is_its_name():
    assert source_of(click.echo) == b"click.utils.echo"


def test_source_python_function_is_the_one_behind_wrappers():
    class Odd:
        def __getattr__(self, name):
            raise KeyError(name)

    odd = Odd()
    assert python_function(functools.lru_cache(plain)) is plain
    assert python_function(odd) is odd
