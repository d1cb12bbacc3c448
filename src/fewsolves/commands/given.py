"""The input of a command: a benchmark, or the user's own problem with a table from a file."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from fewsolves.commands.options import Command, read_assignments, usage
from fewsolves.commands.user_code import user_code
from fewsolves.problem import Array, Problem
from fewsolves.tables import Table, read_table

if TYPE_CHECKING:
    from fewsolves.demo.benchmark import Benchmark


@dataclass(frozen=True)
class Given:
    """A problem and its table."""

    name: str
    problem: Problem
    X: Array
    Y: Array
    benchmark: Benchmark | None = None
    table: Table | None = None  # of a problem of one's own
    columns: tuple[str, ...] | None = None  # names of those of X, where each is one
    targets: tuple[str, ...] | None = None  # and of Y

    def ordered(self, order: Array) -> Given:
        """The same rows in another order."""
        problem = self.problem
        if problem.instances is not None:
            problem = problem.with_instances([problem.instances[row] for row in order])
        return dataclasses.replace(self, problem=problem, X=self.X[order], Y=self.Y[order])


def given_options(command: Command) -> Command:
    """PROBLEM with --data, --x, --y, --instances, or --benchmark with --dataset-seed and --data; gives `given`."""

    @functools.wraps(command)
    def call(
        problem: str | None,
        benchmark: str | None,
        dataset_seed: int,
        data: tuple[str, ...],
        x: str | None,
        y: str | None,
        instances: str | None,
        **options: Any,
    ) -> None:
        if (problem is None) == (benchmark is None):
            raise click.UsageError("give a problem of your own (mymodule:problem) or --benchmark NAME, one of the two")
        if benchmark is not None:
            if x or y or instances:
                raise click.UsageError("--x, --y and --instances are for your own problem; a benchmark has its table")
            given = _benchmark(benchmark, dataset_seed, read_assignments(data))
        else:
            if len(data) != 1 or not x or not y:
                raise click.UsageError("a problem of your own needs its table: --data FILE --x COLUMNS --y COLUMNS")
            given = _own(str(problem), Path(data[0]), x, y, instances)
        command(given=given, **options)

    made: Command = call
    for option in (
        click.option("--instances", metavar="COLUMNS", help="Columns with known data of each row: `solve` and `cost` "
                     "get them as a dict."),
        click.option("--y", metavar="COLUMNS", help="Columns of parameters that are predicted, e.g. 'demand_*'."),
        click.option("--x", metavar="COLUMNS", help="Columns of context, e.g. 'temp,dow,lag_*'."),
        click.option("--data", multiple=True, metavar="FILE", help="The table: .csv, .parquet or .npz. With "
                     "--benchmark: a data option, e.g. --data penalty=5."),
        click.option("--dataset-seed", default=0, help="Which of its datasets."),
        click.option("--benchmark", help="A benchmark instead of PROBLEM; see `fewsolves benchmarks`."),
        click.argument("problem", required=False, metavar="[PROBLEM]"),
    ):  # fmt: skip
        made = option(made)
    return made


def find_predictor(name: str) -> Any:
    """The predictor that "mymodule:name" or "file.py:name" means, or that a function there makes; else the name."""
    if ":" not in name:
        return name
    found = _named(name, "predictor")
    if not (inspect.isroutine(found) or inspect.isclass(found)):
        return found
    with user_code(f"{name}() failed"):
        return found()


def find_problem(where: str) -> Problem:
    """The problem that "mymodule:name" or "folder/file.py:name" means; a function there is called to make it."""
    found = _named(where, "problem")
    if not isinstance(found, Problem) and callable(found):
        with user_code(f"{where}() failed"):
            found = found()
    if not isinstance(found, Problem):
        raise click.UsageError(
            f"{where} must be a fewsolves.Problem, or a function that makes one, got {type(found).__name__}"
        )
    return found


def _named(where: str, what: str) -> Any:
    place, colon, name = where.rpartition(":")
    if not colon or not place or not name:
        raise click.UsageError(f"a {what} is given as mymodule:name or file.py:name, got {where!r}")
    module = _module(place)
    with user_code(f"{where} cannot be read"):
        found = getattr(module, name, None)
    if found is None:
        raise click.UsageError(f"{place} has no {name!r}{_nearest(name, module)}")
    return found


def _nearest(name: str, module: ModuleType) -> str:
    """The nearest name of what the module itself has, as the end of a message; empty where none is near."""
    own = [one for one, value in vars(module).items() if not one.startswith("_") and not inspect.ismodule(value)]
    near = difflib.get_close_matches(name, own, n=1, cutoff=0.55)
    return f"; did you mean {near[0]!r}?" if near else ""


def _module(place: str) -> ModuleType:
    """Import it from where the user is, or from the folder of the file."""
    file = Path(place).resolve() if place.endswith(".py") else None
    if file is not None and not file.is_file():
        raise click.UsageError(f"there is no file {place}")
    folder, name = (str(Path.cwd()), place) if file is None else (str(file.parent), file.stem)
    if not all(part.isidentifier() for part in name.split(".")):
        raise click.UsageError(f"{place!r} is not the name of a module; give mymodule:name or file.py:name")
    if folder not in sys.path:
        sys.path.insert(0, folder)  # worker processes import it, too
    run = f"`python {place}`" if file is not None else f"`python -m {name}`"
    with user_code(f"{place} cannot be imported", f". {run} shows the whole error"):
        try:
            module = import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise  # one that the user's module needs
            raise click.UsageError(f"there is no module {name!r} here or among the installed ones") from error
    if file is not None and Path(str(module.__file__)).resolve() != file:
        raise click.UsageError(f"{place} has the name of another module ({module.__file__}); rename it")
    return module


def _benchmark(name: str, dataset_seed: int, options: dict[str, Any]) -> Given:
    from fewsolves.demo.named import named_problems

    with usage():
        found = named_problems().load(name, dataset_seed, **options)
    return Given(name, found.problem, found.X, found.Y, found)


def _nearest_file(file: Path) -> str:
    """The file of the nearest name in the same folder, as the end of a message; empty where none is near."""
    there = [one.name for one in file.parent.iterdir()] if file.parent.is_dir() else []
    near = difflib.get_close_matches(file.name, there, n=1, cutoff=0.7)
    return f"; did you mean {near[0]!r}?" if near else ""


def _own(where: str, file: Path, x: str, y: str, instances: str | None) -> Given:
    problem = find_problem(where)
    if not file.exists():
        raise click.UsageError(f"--data: there is no file {file}{_nearest_file(file)}")
    table = read_table(file)
    with usage():
        of_x, of_y, known = table.names(x), table.names(y), None if instances is None else table.names(instances)
    if both := [name for name in of_x if name in of_y]:
        raise click.UsageError(f"column {both[0]!r} is in --x and in --y: what is predicted cannot be known before")
    if known is not None:
        problem = problem.with_instances(table.records(known))
    name = where.rpartition(":")[2] if problem.name == "problem" else problem.name
    X, Y = table.matrix(of_x), table.matrix(of_y)
    columns, targets = (
        tuple(of) if part.ndim == 2 and len(of) == part.shape[1] else None for of, part in ((of_x, X), (of_y, Y))
    )
    return Given(name, problem, X, Y, table=table, columns=columns, targets=targets)
