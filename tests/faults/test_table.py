import ast
import importlib.util
from pathlib import Path

import pytest

HERE = Path(__file__).parent
_spec = importlib.util.spec_from_file_location("fault_table", HERE / "table.py")
table = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(table)


@pytest.mark.parametrize("test", table.tests())
def test_every_test_of_the_table_exists_and_is_on_the_page(test):
    path, _, name = test.partition("::")
    functions = {node.name for node in ast.parse((HERE.parent / path).read_text()).body if hasattr(node, "name")}
    assert name in functions
    assert f"`{test}`" in table.PAGE.read_text()


def test_no_test_of_the_page_has_failed():
    assert " failed" not in table.PAGE.read_text()
