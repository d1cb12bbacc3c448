import os
import types

from fewsolves.ledger.identity.objects import class_data, is_code, is_library, module_data, object_state


def test_objects_class_data_are_what_an_object_finds_in_its_class():
    class Plant:
        LIMIT, other = 1, None

        def solve(self):
            return 1

    assert class_data(Plant) == {"LIMIT": 1, "other": None}
    assert is_library(os)
    assert not is_library(Plant)


def test_objects_state_has_attributes_and_slots():
    class Slotted:
        __slots__ = ("__hidden", "limit")

        def __init__(self):
            self.limit, self.__hidden = 3, 4

    class Plant(Slotted):
        def __init__(self):
            super().__init__()
            self.cost = 5

    assert object_state(Plant()) == {"cost": 5, "limit": 3, "_Slotted__hidden": 4}


def test_objects_module_data_leave_out_other_modules():
    module = types.ModuleType("plant")
    module.LIMIT, module.os = 3, os
    assert module_data(module) == {"LIMIT": 3}
    assert not is_library(module)


def test_objects_code_is_functions_and_what_is_made_of_them():
    assert is_code(len)
    assert is_code("".join)
    assert not is_code(3)
