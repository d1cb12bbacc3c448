"""What models of optimisation libraries and graphs consist of, read by their documented interfaces.

Their attributes hold caches, counters and values of the last solution, and models of C libraries have none. So the
model itself is read: objective, constraints, variables with their bounds, parameters. No library is imported for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


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
    return parts | {".nodes": dict(graph.nodes(data=True)), ".edges": edges} | _added(graph, {"graph"})


def _added(value: Any, own: set[str]) -> dict[str, Any]:
    """Attributes that the user has put on a model: neither those that it has of its own nor views that it keeps."""
    names = (name for name in vars(value) if name not in own and not hasattr(type(value), name))
    return {f".{name}": vars(value)[name] for name in names if not name.startswith("_")}


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
        yield [_cvxpy_data(one, numbers) for one in node.get_data() or ()]
    for part in getattr(node, "args", ()):
        yield from _cvxpy(part, numbers)


def _cvxpy_data(value: Any, numbers: dict[int, int]) -> Any:
    """What an expression has besides its arguments: a power, an index, the threshold of a loss."""
    if hasattr(value, "args"):
        return list(_cvxpy(value, numbers))
    if isinstance(value, list | tuple):
        return [_cvxpy_data(one, numbers) for one in value]
    return value if isinstance(value, np.ndarray) else repr(value)


def _cp_model(model: Any) -> dict[str, Any]:
    return {".proto": str(model.Proto() if callable(getattr(model, "Proto", None)) else model.proto)}


def _cp_proto(proto: Any) -> dict[str, Any]:
    return {".proto": str(proto)}  # which a variable holds


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
    hessian = highs.getModel().hessian_
    squares = {f".hessian.{name}": list(getattr(hessian, name)) for name in ("start_", "index_", "value_")}
    return parts | matrix | kinds | squares | {".options": chosen}


def _pyomo(block: Any) -> dict[str, Any]:
    """Its components by name; values of variables are those of the last solution, unless they are fixed."""
    found = _added(block, {"doc", "statistics", "config", "solutions", *block.component_map()})
    for one in block.component_objects():
        kind = type(one).__name__
        for index in sorted(one, key=repr) if one.is_indexed() and kind != "Set" else [None]:
            data = one if index is None else one[index]
            found[f".{one.name}[{index!r}]"] = _pyomo_data(kind, data)
    return found


def _pyomo_data(kind: str, data: Any) -> list[Any]:
    if "Set" in kind:
        return [kind, sorted(map(repr, data))]
    if kind == "Suffix":  # one that is imported has values of the last solution
        return [kind, [] if data.import_enabled() else sorted((str(key), repr(value)) for key, value in data.items())]
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
    ("ortools", "CpModelProto"): _cp_proto,
    ("ortools", "Solver"): _lp_text,
    ("ortools", "Variable"): _lp_variable,
    ("ortools", "Model"): _ortools_model,
    ("highspy", "Highs"): _highs,
    ("pyomo", "BlockData"): _pyomo,
}
