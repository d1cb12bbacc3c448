import types

from fewsolves.ledger.identity.assigned import assigned_attributes, assigned_names, names_used

COUNT = 0


def counts():
    global COUNT
    COUNT += 1
    return len("abc")


def test_assigned_names_are_those_of_the_module_and_of_closures_also_in_inner_functions():
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

    assert assigned_names(counts.__code__) == {"COUNT"}
    assert assigned_names(adds.__code__) == {"total"}
    assert assigned_names(outer.__code__) == {"COUNT"}
    assert total == 0


def test_assigned_names_used_are_globals_and_attributes_not_locals():
    def uses(value):
        kept = value.size
        return [len(kept) for _ in range(3)]

    assert names_used(uses.__code__) == {"size", "len", "range"}


class Solver:
    def __init__(self):
        self.made = 1

    def solve(self):
        self.solved = self.warm()

    def warm(self):
        self.warmed = True

    def set_limit(self, limit):
        self.limit = limit

    @property
    def size(self):
        self.asked = True
        return 1

    def __call__(self):
        self.called = True


def none(_):
    return False


def test_assigned_attributes_are_those_of_methods_that_are_called_and_of_methods_that_these_call():
    called = {"solve"}
    assert assigned_attributes(Solver, called, none) == {"solved", "warmed", "called"}
    assert "warm" in called, "the names grow by those in the methods that are reached"


def test_assigned_attributes_of_a_setter_count_where_it_is_called_and_making_never_does():
    assert "limit" not in assigned_attributes(Solver, set(), none)
    assert "limit" in assigned_attributes(Solver, {"set_limit"}, none)
    assert "made" not in assigned_attributes(Solver, {"__init__"}, none)
    assert "asked" in assigned_attributes(Solver, {"size"}, none)


def test_assigned_attributes_of_a_library_are_left_out():
    child = types.new_class("Child", (Solver,))
    assert assigned_attributes(child, {"solve"}, lambda kind: kind is Solver) == set()
