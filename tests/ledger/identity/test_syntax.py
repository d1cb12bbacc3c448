from fewsolves.ledger.identity.syntax import Import, names_used, syntax_of

COUNT = 0


def counts():
    global COUNT
    COUNT += 1
    return len("abc")


def test_syntax_names_are_those_of_the_module_and_of_closures_also_in_inner_functions():
    total = 0

    def adds():
        nonlocal total
        total += 1

    def outer():
        local = 1  # its own, so it says nothing

        def inner():
            global COUNT
            del COUNT

        return local, inner

    assert syntax_of(counts.__code__).assigned == {"COUNT"}
    assert syntax_of(adds.__code__).assigned == {"total"}
    assert syntax_of(outer.__code__).assigned == {"COUNT"}
    assert total == 0


def test_syntax_names_used_are_globals_and_attributes_not_locals():
    def uses(value):
        kept = value.size
        return [len(kept) for _ in range(3)]

    assert names_used(uses.__code__) == {"size", "len", "range"}


def test_syntax_chains_go_by_attributes_constant_items_and_calls():
    import os

    def reads(y):
        import settings as chosen

        from .plant import LIMIT as MOST

        return os.environ["HOME"], chosen.limit.most, globals()["FLOOR"], MOST, y.size

    found = syntax_of(reads.__code__)
    assert ("os", ".environ", "['HOME']") in found.chains
    assert ("chosen", ".limit", ".most") in found.chains
    assert ("globals", "()", "['FLOOR']") in found.chains
    assert found.imports == {Import("chosen", "settings", "", 0), Import("MOST", "plant", "LIMIT", 1)}
    assert found.names == {"globals"}


def test_syntax_two_lambdas_of_one_line_are_distinguished():
    one, other = (lambda y: y + COUNT), (lambda y: y + LIMIT)
    assert syntax_of(one.__code__).names == {"COUNT"}
    assert syntax_of(other.__code__).names == {"LIMIT"}


def test_syntax_a_function_without_source_is_known_by_the_names_in_its_code():
    scope: dict = {}
    exec("def solve(y):\n    return settings.limit + y", scope)
    assert syntax_of(scope["solve"].__code__).names == {"settings", "limit"}


LIMIT = 1
