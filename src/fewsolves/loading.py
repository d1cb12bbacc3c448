"""A saved model, read and checked: nothing is unpickled, and a file that does not fit is refused with the reason."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from fewsolves._internal.files import check_regular
from fewsolves.errors import InputError
from fewsolves.fitting.checkpoint import read_pair
from fewsolves.model import FACTS, MODEL_FORMAT, WEIGHTS, DecisionModel
from fewsolves.oracle import SolveConfig
from fewsolves.predictors.boosted.trees import BOOSTER, LIBRARIES
from fewsolves.predictors.correction import uncorrected
from fewsolves.predictors.families import named
from fewsolves.predictors.forecaster import Forecaster, loaded_forecaster
from fewsolves.predictors.predictor import Predictor, rebuilt
from fewsolves.predictors.regressor import is_forecaster
from fewsolves.problem import Array, Problem

MAX_WEIGHT = 1e150  # of a weight or a scale: the square is still a float64
UNREADABLE = (  # with those of torch, and of NumPy where numbers do not fit
    *(OSError, ValueError, LookupError, TypeError, AttributeError, RuntimeError),
    *(OverflowError, MemoryError),
)
MAX_ROW = 10**7  # numbers in a row of X

MAX_FACTS = 16 << 20  # bytes; ours have about a thousand, and the names of the columns


def load(
    folder: str | Path,
    problem: Problem | None = None,
    *,
    predictor: Any = None,
    solving: SolveConfig | None = None,
    forecaster: Any = None,
) -> DecisionModel:
    """Load a model that `save` wrote. It predicts; with its problem it also decides and scores.

    Args:
        folder: Where `save` wrote it.
        problem: The problem that it was trained for. None: the model predicts, and does not decide.
        predictor: A torch module of your own, where the model was trained with one: untrained, of the same form. Its
            weights come from the file.
        solving: How solves run. None: in this process, without limits.
        forecaster: The regressor of yours that was corrected, fitted, where there was one: it is not in the file.
    """
    if not isinstance(folder, str | PathLike):
        raise InputError(f"folder must be a path, where `model.save(folder)` wrote a model; got {folder!r:.80}")
    folder = Path(folder)
    if problem is not None and not isinstance(problem, Problem):
        raise InputError(f"problem must be a Problem, got {problem!r:.80}")
    if not (folder / FACTS).exists():
        raise InputError(f"no model in {folder}: {FACTS} is missing; `model.save(folder)` writes one")
    try:
        check_regular(folder / FACTS, MAX_FACTS)
        weights, facts = read_pair(folder / WEIGHTS, folder / FACTS)
        if facts["format"] != MODEL_FORMAT:
            raise ValueError(f"it has format {facts['format']!r:.80}, this version reads {MODEL_FORMAT}")
        base = _forecaster(facts, weights, forecaster)
        if base is not None:
            predictor = uncorrected(len(base.places), np.ones(base.n_y), base.library, shared=base.shared)
            weights = {name: values for name, values in weights.items() if not name.startswith(BOOSTER)}
        filled = _filled(facts, weights, predictor)
        columns, targets = _names(facts, "columns"), _names(facts, "targets")
        _check_names(columns, targets, filled, base, facts)
        return DecisionModel(
            filled,
            str(facts["predictor"]),
            problem,
            dataclasses.replace(solving or SolveConfig(), regret=facts["about"].get("regret", "absolute")),
            flat=bool(facts["flat"]),
            columns=columns,
            about=dict(facts["about"]),
            targets=targets,
            instances=bool(facts.get("instances", False)),
            forecaster=base,
            shape=_shape(facts),
            whole=bool(facts.get("whole", False)),
        )
    except InputError:
        raise
    except UNREADABLE as error:
        raise InputError(f"{folder} cannot be read as a model: {error}") from error


def _forecaster(facts: Mapping[str, Any], weights: Mapping[str, Array], given: Any) -> Forecaster | None:
    """The one that was corrected, given again; None where none was."""
    of_file = facts.get("forecaster")
    if of_file is None:
        if given is not None:
            raise InputError("the model was trained without a forecaster: leave forecaster= out")
        return None
    of_item = 1 if of_file.get("shared") else int(of_file["outputs"])
    sizes = [len(of_file["places"]) + of_item, int(of_file["outputs"])]
    if sizes != [np.size(weights[name]) for name in ("x_mean", "y_mean")]:
        raise ValueError("the forecaster has other columns than its correction")
    if given is None and of_file.get("library") in LIBRARIES:
        from fewsolves.predictors.boosted.booster import booster_of

        return loaded_forecaster(booster_of(of_file["library"], weights), of_file)
    if given is None or not is_forecaster(given):
        raise InputError(
            f"the model corrects a forecaster ({of_file['name']}), which is not in the file; give it again, fitted: "
            f"fs.load(folder, problem, forecaster=...). joblib or skops save model.forecaster_"
        )
    return loaded_forecaster(given, of_file)


def _filled(facts: Mapping[str, Any], weights: Mapping[str, Array], given: Any) -> Predictor:
    """The predictor with its weights."""
    for name, values in weights.items():
        if not np.isfinite(values).all():
            raise ValueError(f"{name} has numbers that are not finite")
        if np.abs(values.astype(float)).max(initial=0.0) > MAX_WEIGHT:
            raise ValueError(f"{name} has numbers beyond {MAX_WEIGHT:g}")
    if given is None:
        family = named(facts["predictor"])
        if family is None or not family.refits:
            raise InputError(
                f"the model was trained with a predictor of your own ({facts['module']}); give one that is built like "
                f"it: fs.load(folder, problem, predictor=...)"
            )
        shape = _shape(facts) or (len(weights["x_mean"]),)
        given = family.blank(facts["predictor"], facts["predictor"], shape, len(weights["y_mean"]))
    _check_scales(weights, flat=bool(facts["flat"]))
    bounds = None
    if facts.get("bounds") is not None:
        low, high = facts["bounds"]
        bounds = np.array(low, dtype=float), np.array(high, dtype=float)
    filled = rebuilt(copy.deepcopy(given), weights, bounds)
    for name, values in filled.state_dict().items():
        if (kind := weights[name].dtype) != values.dtype and {kind, values.dtype} != {np.dtype("f4"), np.dtype("f8")}:
            raise ValueError(f"{name} has numbers of type {kind}, expected {values.dtype}")
    return filled


def _names(facts: Mapping[str, Any], of: str) -> tuple[str, ...] | None:
    """Of the columns of X or of Y, where they are known."""
    found = facts.get(of)
    if found is not None and not (isinstance(found, list) and all(isinstance(name, str) for name in found)):
        raise ValueError(f"{of} is {found!r:.40}, expected a list of names")
    return None if found is None else tuple(found)


def _check_names(
    columns: Sequence[str] | None,
    targets: Sequence[str] | None,
    predictor: Predictor,
    base: Forecaster | None,
    facts: Mapping[str, Any],
) -> None:
    """Raise unless there are as many names as columns, as far as their number is known."""
    outputs = predictor.y_mean.size if predictor.y_mean.ndim else None
    if targets is not None and outputs not in (None, len(targets)):
        raise ValueError(f"targets has {len(targets)} names, the model predicts {outputs} numbers")
    if columns is None or _shape(facts) is not None:
        return
    if base is not None:
        if base.places and max(base.places) >= len(columns):
            raise ValueError(f"columns has {len(columns)} names, the forecaster was given more columns")
    elif predictor.x_mean.ndim and predictor.x_mean.size != len(columns):
        raise ValueError(f"columns has {len(columns)} names, the model takes {predictor.x_mean.size} numbers")


def _check_scales(weights: Mapping[str, Array], *, flat: bool) -> None:
    """Raise where a mean or a standard deviation is none of single columns; otherwise they would spread over rows."""
    for side in ("x", "y"):
        mean, std = weights[f"{side}_mean"], weights[f"{side}_std"]
        if mean.ndim > 1 or std.shape not in (mean.shape, ()):
            raise ValueError(f"{side}_mean has shape {mean.shape} and {side}_std {std.shape}; give one for each column")
        if not (std > 0).all():
            raise ValueError(f"{side}_std has entries that are not above 0")
    if flat and weights["y_mean"].size != 1:
        raise ValueError(f"it is said to predict one number, and has {weights['y_mean'].size} outputs")


def _shape(facts: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Of a row of X, where that has more than one dimension."""
    found = facts.get("shape")
    if found is None:
        return None
    whole = isinstance(found, list) and all(type(size) is int and size > 0 for size in found)
    if not whole or math.prod(found) > MAX_ROW:
        raise ValueError(f"shape is {found!r:.40}, expected the sizes of a row of X")
    return tuple(found)
