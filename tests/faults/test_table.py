import ast
import importlib.util
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
_spec = importlib.util.spec_from_file_location("fault_table", HERE / "table.py")
sys.path.insert(0, str(HERE))  # where it finds the attacks, as a script does
table = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(table)


@pytest.mark.parametrize("test", table.tests())
def test_fault_table_every_test_of_the_table_exists_and_is_on_the_page(test):
    path, _, name = test.partition("::")
    functions = {node.name for node in ast.parse((HERE.parent / path).read_text()).body if hasattr(node, "name")}
    assert name in functions
    assert f"`{test}`" in table.PAGE.read_text()


def test_fault_table_no_test_of_the_page_has_failed():
    assert " failed" not in table.PAGE.read_text()


def report(path, day, name, counts):
    case = "".join(f'<property name="{what}" value="{number}"/>' for what, number in counts.items())
    path.write_text(
        f'<testsuites><testsuite timestamp="{day}T10:00:00"><testcase classname="tests.faults.test_budget_calls" '
        f'name="{name}"><properties>{case}</properties></testcase></testsuite></testsuites>'
    )
    return path


def test_fault_table_counts_of_the_cases_of_a_test_add_up_and_take_the_place_of_older_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "COUNTS", tmp_path / "long.json")
    name = "faults/test_budget_calls.py::test_budget_calls_five_hundred_schedules"
    for days in (["2026-01-01"], ["2026-01-02", "2026-01-03"]):
        parts = [
            report(
                tmp_path / f"{k}.xml",
                day,
                f"test_budget_calls_five_hundred_schedules[{k}]",
                {"schedules": 10, "over": 0},
            )
            for k, day in enumerate(days)
        ]
        again = report(
            tmp_path / "again.xml", "2025-12-31", "test_budget_calls_five_hundred_schedules[0]", {"schedules": 7}
        )
        table.keep_counts([*parts, again])
    assert table.kept_counts() == {name: {"day": "2026-01-03", "counts": {"schedules": 20, "over": 0}}}
    assert table.reported(parts) == {name: "2 passed"}
    assert (
        "| test_budget_calls_five_hundred_schedules | 2026-01-03 | over: 0, schedules: 20 |" in table.counted_by_tests()
    )
