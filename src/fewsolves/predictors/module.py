"""A torch module of the user, or a whole `Predictor`."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from fewsolves.data import Split
from fewsolves.errors import InputError
from fewsolves.predictors.family import PredictorFamily, ScaledBy
from fewsolves.predictors.forecaster import Forecaster
from fewsolves.predictors.inputs import Inputs
from fewsolves.predictors.net import as_net, is_torch_module
from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array

ROWS_TRIED = 2  # rows that a module is tried on to see which type of number it takes
AT_ONCE = 256  # rows of a prediction that only looks for one that the module cannot take
FAULTS = (RuntimeError, IndexError, TypeError, ValueError)  # that modules raise for x that they cannot take
NOT_WHOLE = "; X has entries that are not whole: round them, or let the module convert what it takes as indices"
INDICES = "; an Embedding takes whole numbers from 0 to num_embeddings - 1"


class Module(PredictorFamily):
    """The module is copied, in its evaluation mode, and trained from its present weights."""

    given = True

    def accepts(self, given: Any) -> bool:
        return isinstance(given, Predictor) or is_torch_module(given)

    def names(self, given: Any, shape: tuple[int, ...], n_y: int) -> tuple[str, ...]:
        return ("given",)

    def takes_scale(self, given: Any) -> bool:
        return not isinstance(given, Predictor)

    def describe(self, given: Any) -> str | tuple[Any, ...]:
        made = self.net(given, "given", (), 0, None)
        if isinstance(made, Predictor):
            module = getattr(made.net, "module", None)
            return ("as it is", repr(made.net), *made.state_dict().values(), *_frozen(module))
        return ("as it is", repr(given), *as_net(made).arrays().values(), *_frozen(made))

    def own(self, given: Any) -> Any:
        made = self.net(given, "given", (), 0, None)
        return getattr(made, "_orig_mod", made)  # of `torch.compile`, which adds what differs from start to start

    def net(self, given: Any, name: str, shape: tuple[int, ...], n_y: int, seed: int | None) -> Any:
        """A copy of the module, or of the whole predictor."""
        try:
            copied = copy.deepcopy(given)
            return copied if isinstance(copied, Predictor) else copied.cpu().eval()
        except (RuntimeError, TypeError) as error:  # NotImplementedError, of a module without data, is one
            raise InputError(f"predictor {type(given).__name__} cannot be copied to the CPU: {error}") from error

    def inputs(
        self, given: Any, X: Any, context: Array, Y: Array, split: Split, *, groups: Any, weights: Any, seed: int
    ) -> tuple[Forecaster | None, Inputs]:
        """X in the type of number that the module takes: floating-point numbers, or whole ones for an embedding."""
        n_y, whole = Y.shape[1], _whole(context)
        net = self.net(given, "given", context.shape[1:], n_y, seed)
        predictor = net if isinstance(net, Predictor) else Predictor(net)
        kinds = {"floating-point": context} if whole is None else {"floating-point": context, "whole": whole}
        faults = {}
        for name, kind in kinds.items():
            faults[name] = _fault(predictor, kind[:ROWS_TRIED], n_y)
            if faults[name] is None:
                if (fault := _first_fault(predictor, kind, n_y)) is not None:
                    raise InputError(f"predictor {type(given).__name__} cannot take {fault}")
                return None, Inputs(kind)
        said = (
            [f"given {name} numbers, {fault}" for name, fault in faults.items()]
            if len(faults) > 1
            else [str(fault) for fault in faults.values()]
        )
        not_whole = NOT_WHOLE if whole is None and "Long" in str(faults["floating-point"]) else ""
        raise InputError(
            f"predictor {type(given).__name__} cannot take X of shape {np.shape(X)}: {'; '.join(said)}{not_whole}"
        )

    def untrained(self, given: Any, name: str, table: ScaledBy) -> Predictor:
        n_y, scale = table.Y.shape[1], table.scale
        net = self.net(given, name, table.inputs.shape, n_y, table.seed)
        if isinstance(net, Predictor):
            return net
        x = table.inputs.take(table.rows)
        predictor = Predictor.of(net, x, table.Y[table.rows], scale, table.bounds)
        if scale in ("inputs", "both") and (fault := _first_fault(predictor, x, n_y)) is not None:
            instead = "None" if scale == "inputs" else "'outputs'"
            raise InputError(
                f"predictor {type(given).__name__} takes X, but with scale={scale!r} it gets standardised x and cannot "
                f"take {fault}. Choose scale={instead}; fs.Predictor takes scales of your own"
            )
        return predictor


def _frozen(module: Any) -> list[str]:
    """The names of the weights that are not trained."""
    return [] if module is None else [name for name, one in module.named_parameters() if not one.requires_grad]


def _whole(values: Array) -> Array | None:
    """The values as whole numbers, None where one of them is none."""
    whole = values.astype(np.int64)
    return whole if np.array_equal(whole, values) else None


def _fault(predictor: Predictor, x: Array, n_y: int | None) -> str | None:
    """Why a module cannot predict for x, None where it can."""
    try:
        y_hat = predictor(x)
    except InputError as error:
        return str(error)
    except FAULTS as error:
        return f"it raised {type(error).__name__}: {error}{INDICES * isinstance(error, IndexError)}"
    if n_y is not None and tuple(y_hat.shape) != (len(x), n_y):
        return f"it gives an array of shape {tuple(y_hat.shape)} for {len(x)} rows of {n_y} parameters"
    return None


def _first_fault(predictor: Predictor, X: Array, n_y: int | None) -> str | None:
    """The first row that a module cannot predict for, and why; None where it can predict for all."""
    for rows in np.array_split(np.arange(len(X)), max(1, len(X) // AT_ONCE)):
        if (of_all := _fault(predictor, X[rows], n_y)) is None:
            continue
        for row in rows.tolist():
            # twice, since modules that squeeze their output fail for a single row
            if (fault := _fault(predictor, X[[row, row]], n_y)) is not None:
                return f"row {row} of X: {fault}"
        return f"rows {rows[0]} to {rows[-1]} of X together: {of_all}"
    return None


def predicted_by(predictor: Predictor, X: Array) -> Array:
    """Predictions (B, n_y); where a module of the user fails, the error names the row."""
    try:
        y_hat: Array = predictor(X)
    except FAULTS:
        module = getattr(predictor.net, "module", None)
        if module is None or (fault := _first_fault(predictor, X, None)) is None:
            raise
        raise InputError(f"predictor {type(module).__name__} cannot take {fault}") from None
    return y_hat


FAMILY = Module()
