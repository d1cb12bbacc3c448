import threading

from fewsolves.ledger.identity.assigned import assigned_attributes, called_methods


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
        self.queried = True
        return 1

    def __call__(self):
        self.called = True


def test_assigned_attributes_are_those_of_methods_that_are_called_and_of_methods_that_these_call():
    called = {"solve"}
    assert assigned_attributes(Solver, called) == {"solved", "warmed", "called"}
    assert "warm" in called, "the names grow by those in the methods that are reached"


def test_assigned_attributes_of_a_setter_count_where_it_is_called_and_making_never_does():
    assert "limit" not in assigned_attributes(Solver, set())
    assert "limit" in assigned_attributes(Solver, {"set_limit"})
    assert "made" not in assigned_attributes(Solver, {"__init__"})
    assert "queried" in assigned_attributes(Solver, {"size"})


def test_assigned_attributes_of_a_library_are_left_out():
    class Flag(threading.Event):
        """`set` of the standard library assigns `_flag`."""

    assert assigned_attributes(Flag, {"set"}) == set()


def test_assigned_called_methods_come_with_their_class_also_those_of_properties():
    found = {method.__name__: kind for kind, method in called_methods(Solver, {"size"})}
    assert found == {"size": Solver, "__call__": Solver, "__init__": Solver}


def test_assigned_private_attributes_have_the_name_that_python_gives_them():
    class Counting:
        def solve(self):
            self.__count = 1

    assert assigned_attributes(Counting, {"solve"}) == {"_Counting__count"}
