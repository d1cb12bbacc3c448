"""What models of optimisation libraries and graphs consist of, read by their documented interfaces.

Their attributes hold caches, counters and values of the last solution, and models of C libraries have none. So the
model itself is read: objective, constraints, variables with their bounds, parameters. No library is imported for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def model_state(value: Any) -> dict[str, Any] | None:
    """The parts of a model of a known library; None for everything else."""
    for kind in type(value).__mro__:
        read = _READERS.get((kind.__module__.partition(".")[0], kind.__name__))
        if read is not None:
            return read(value)
    return None


def _networkx(graph: Any) -> dict[str, Any]:
    parts = {".kind": (graph.is_directed(), graph.is_multigraph()), ".graph": graph.graph}
    edges = {node: dict(neighbours) for node, neighbours in graph.adjacency()}  # in no order: names may come of a set
    return parts | {".nodes": dict(graph.nodes(data=True)), ".edges": edges}


def _cvxpy_problem(problem: Any) -> dict[str, Any]:
    numbers: dict[int, int] = {}
    parts = {".objective": list(_cvxpy(problem.objective, numbers))}
    return parts | {".constraints": [list(_cvxpy(one, numbers)) for one in problem.constraints]}


def _cvxpy_expression(value: Any) -> dict[str, Any]:
    return {".expression": list(_cvxpy(value, {}))}


def _cvxpy(node: Any, numbers: dict[int, int]) -> Iterator[Any]:
    """An expression in prefix order. Variables are known by the order in which they come, their numbers differ."""
    kind = type(node).__name__
    yield kind
    yield getattr(node, "shape", None)
    if kind in ("Variable", "Parameter"):
        yield numbers.setdefault(node.id, len(numbers))
        yield sorted((name, repr(one)) for name, one in node.attributes.items())
        if kind == "Parameter":
            yield node.value
    elif kind == "Constant":
        yield node.value
    elif hasattr(node, "get_data") and not hasattr(node, "dual_value"):  # of a constraint that is its number
        data = node.get_data()
        yield repr([one for one in data or () if isinstance(one, bool | int | float | str | tuple | slice)])
    for part in getattr(node, "args", ()):
        yield from _cvxpy(part, numbers)


def _cp_model(model: Any) -> dict[str, Any]:
    return {".proto": str(model.Proto() if callable(getattr(model, "Proto", None)) else model.proto)}


def _lp_text(solver: Any) -> dict[str, Any]:
    return {".lp": solver.ExportModelAsLpFormat(False)}


def _lp_variable(variable: Any) -> dict[str, Any]:
    return {".variable": [variable.name(), variable.index(), variable.Lb(), variable.Ub(), variable.Integer()]}


def _ortools_model(model: Any) -> dict[str, Any]:
    """Of MathOpt, or of the model builder."""
    return {".text": str(model.export_model() if hasattr(model, "export_model") else model.export_to_lp_string())}


def _highs(highs: Any) -> dict[str, Any]:
    lp, options = highs.getLp(), highs.getOptions()
    names = "col_cost_", "col_lower_", "col_upper_", "row_lower_", "row_upper_", "offset_"
    parts = {f".{name}": getattr(lp, name) for name in names}
    matrix = {f".{name}": list(getattr(lp.a_matrix_, name)) for name in ("start_", "index_", "value_")}
    kinds = {".sense": str(lp.sense_), ".integrality": [str(one) for one in lp.integrality_]}
    chosen = {name: getattr(options, name) for name in dir(options) if not name.startswith("_")}
    chosen = {name: one for name, one in chosen.items() if isinstance(one, bool | int | float | str)}
    return parts | matrix | kinds | {".options": chosen}


def _pyomo(block: Any) -> dict[str, Any]:
    """Its components by name; values of variables are those of the last solution, unless they are fixed."""
    found: dict[str, Any] = {}
    for one in block.component_objects():
        kind = type(one).__name__
        for index in sorted(one, key=repr) if one.is_indexed() and kind != "Set" else [None]:
            data = one if index is None else one[index]
            found[f".{one.name}[{index!r}]"] = _pyomo_data(kind, data)
    return found


def _pyomo_data(kind: str, data: Any) -> list[Any]:
    if "Set" in kind:
        return [kind, sorted(map(repr, data))]
    if "Param" in kind:
        return [kind, repr(getattr(data, "value", data))]
    if "Var" in kind and hasattr(data, "fixed"):
        return [kind, str(data.domain), data.lb, data.ub, data.fixed, data.value if data.fixed else None]
    parts = [str(getattr(data, name)) for name in ("expr", "sense") if hasattr(data, name)]
    return [kind, *parts, getattr(data, "active", None)]


_READERS: dict[tuple[str, str], Callable[[Any], dict[str, Any]]] = {
    ("networkx", "Graph"): _networkx,
    ("cvxpy", "Problem"): _cvxpy_problem,
    ("cvxpy", "Expression"): _cvxpy_expression,
    ("cvxpy", "Constraint"): _cvxpy_expression,
    ("cvxpy", "Objective"): _cvxpy_expression,
    ("ortools", "CpModel"): _cp_model,
    ("ortools", "Solver"): _lp_text,
    ("ortools", "Variable"): _lp_variable,
    ("ortools", "Model"): _ortools_model,
    ("highspy", "Highs"): _highs,
    ("pyomo", "BlockData"): _pyomo,
}
