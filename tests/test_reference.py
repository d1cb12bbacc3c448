"""The reference of every public name is whole: docstrings tell each parameter, each attribute and each field."""

import dataclasses
import importlib
import inspect
import re
from pathlib import Path

import pytest

import fewsolves
from fewsolves.settings import settings_of

COLUMNS = 88  # of code on a page of the site, as on the pages of the guide
MODULES = {name: importlib.import_module(f"fewsolves.{name}") for name in ("plot", "callbacks", "testing")}
PUBLIC = {name: getattr(fewsolves, name) for name in fewsolves.__all__ if name not in MODULES}
INSIDE = {
    f"{name}.{own}": getattr(module, own)
    for name, module in MODULES.items()
    for own in getattr(module, "__all__", ("training", "frontier", "calibration", "compare", "decisions", "landscape"))
    if inspect.isclass(getattr(module, own)) or inspect.isfunction(getattr(module, own))
}
CLASSES = {name: one for name, one in (PUBLIC | INSIDE).items() if inspect.isclass(one)}
FUNCTIONS = {name: one for name, one in (PUBLIC | INSIDE).items() if not inspect.isclass(one)}
METHODS = {
    f"{name}.{own}": one
    for name, cls in CLASSES.items()
    for own, one in vars(cls).items()
    if not own.startswith("_") and inspect.isfunction(one) and one.__name__ != "<lambda>"
}


def documented(docstring, *titles):
    """The names that sections of a docstring tell about."""
    sections = re.findall(
        rf"^(?:{'|'.join(titles)}):\n((?: .*\n?|\n)+)", inspect.cleandoc(docstring), flags=re.MULTILINE
    )
    return {name for section in sections for name in re.findall(r"^    (\w+): \S", section, flags=re.MULTILINE)}


def parameters_of(function):
    parameters = inspect.signature(function).parameters
    return {name for name in parameters if name not in ("self", "cls") and not name.startswith("_")}


@pytest.mark.parametrize("name", FUNCTIONS | METHODS)
def test_reference_every_parameter_of_a_public_function_is_reported(name):
    function = (FUNCTIONS | METHODS)[name]
    assert not parameters_of(function) - documented(
        inspect.getdoc(function), "Args"
    )  # of what it overrides, where it says nothing


@pytest.mark.parametrize("name", CLASSES)
def test_reference_every_argument_and_field_of_a_public_class_is_reported(name):
    cls = CLASSES[name]
    known = documented(cls.__doc__, "Args", "Attributes")
    if dataclasses.is_dataclass(cls):
        source = inspect.getsource(cls)
        known |= set(re.findall(r"^    (\w+): .*#: \S", source, flags=re.MULTILINE))
        known |= set(re.findall(r'^    (\w+): .*\n    """', source, flags=re.MULTILINE))
    makes = next(one for one in cls.__mro__ if "__init__" in vars(one))
    if makes.__module__.startswith("fewsolves"):  # else it is an error, or a torch module
        assert not parameters_of(cls.__init__) - known


@pytest.mark.parametrize("name", [*PUBLIC, *MODULES])
def test_reference_code_of_a_docstring_fits_a_page(name):
    lines = inspect.getdoc((PUBLIC | MODULES)[name]).splitlines()
    assert not [line for line in lines if line.startswith((">>>", "...", "    fs.")) and len(line) > COLUMNS]


def test_reference_every_attribute_of_a_fitted_model_is_reported():
    own = [cls for cls in fewsolves.DecisionRegressor.__mro__ if cls.__module__.startswith("fewsolves")]
    source = "\n".join(Path(inspect.getfile(cls)).read_text() for cls in own)
    fitted = set(re.findall(r"self\.([a-z]\w*_)\b(?:: [^=\n]+)? = ", source))
    assert {"summary_", "calls_", "split_"} <= fitted
    assert not fitted - documented(fewsolves.DecisionRegressor.__doc__, "Attributes")


@pytest.mark.parametrize("name", [name for name, cls in CLASSES.items() if hasattr(cls, "__dataclass_fields__")])
def test_reference_settings_have_a_meaning(name):
    if "Attributes:" in (CLASSES[name].__doc__ or ""):
        assert all(one.meaning for one in settings_of(CLASSES[name]))
