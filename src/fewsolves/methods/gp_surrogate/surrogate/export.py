"""Saving and loading trained surrogates: safetensors for the numbers, JSON for the settings; nothing is ever unpickled.

The JSON has the SHA-256 of both. It detects damage, not tampering, since an attacker can write a new
digest. Therefore the reader also checks sizes, shapes, and that all numbers are finite.

y_hat   (B, d)   predictions in the units of y           index (B,)   rows of the table the surrogate was trained on
"""

from __future__ import annotations

import dataclasses
import json
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from fewsolves._internal.files import write_whole
from fewsolves.errors import InputError
from fewsolves.methods.gp_surrogate.gp.processes import GPConfig, GPs
from fewsolves.methods.gp_surrogate.gp.tensors import is_tensor, mean_and_std, rows_of
from fewsolves.methods.gp_surrogate.surrogate.regret import RegretSurrogate
from fewsolves.problem import Array

if TYPE_CHECKING:
    from fewsolves.methods.torch_slopes import Tensor

FORMAT = 1
SETTINGS, NUMBERS = "surrogate.json", "surrogate.safetensors"
FORMER = ("adam_steps",)  # settings of earlier versions, of how a fit was made and not of what it gave
POSITIVE = ("hyperparameters", "scale", "units")
MAX_SETTINGS = MAX_HEADER = 1 << 20  # bytes; ours have about a thousand


class ExportedSurrogate:
    """The regret of each row as a function of its prediction, without a solver: an estimate, and a loss.

    ``surrogate(y_hat, index)`` is a scalar to train any predictor with; `regret` gives mean and std per row. Of torch
    tensors both are tensors, differentiable in y_hat; of arrays they are arrays, and `with_slope` has the slope.
    `load_surrogate` reads one, and a fitted model has one as `surrogate_`.

    Args:
        gps: The Gaussian processes; they see ``y_hat / scale / units``.
        scale: (d,) Standard deviations of y.
        units: (d,) What their inputs are counted in, beside `scale`.
        least: (M,) The least standardised regret seen for each row; a mean clearly below it counts as this.
        mean_r: Mean of the regrets that the processes see standardised.
        std_r: Their standard deviation.
        pessimism: How many std the loss adds to the mean.
    """

    def __init__(
        self, gps: GPs, *, scale: Array, units: Array, least: Array, mean_r: float, std_r: float, pessimism: float
    ) -> None:
        self.gps, self.mean_r, self.std_r, self.pessimism = gps, mean_r, std_r, pessimism
        self.scale, self.units, self.least = scale, units, least
        shapes = {"scale": (gps.n_inputs,), "units": (gps.n_inputs,), "least": (gps.n_examples,)}
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise InputError(f"{name} needs shape {shape}, got {getattr(self, name).shape}")

    @overload
    def regret(self, y_hat: Array, index: Any) -> tuple[Array, Array]: ...
    @overload
    def regret(self, y_hat: Tensor, index: Any) -> tuple[Tensor, Tensor]: ...
    def regret(self, y_hat: Any, index: Any) -> tuple[Any, Any]:
        """Mean and std (B,) of the regret, in the units of cost; of a tensor both are differentiable tensors.

        Args:
            y_hat: (B, d) Predictions.
            index: (B,) Rows of the table that the surrogate was trained on.
        """
        rows = rows_of(index)
        mean, std = mean_and_std(y_hat, lambda points, slopes: self._evaluated(points, rows, slopes=slopes))
        return self.mean_r + self.std_r * mean, self.std_r * std

    def beliefs(self, y_hat: Array, index: Array) -> tuple[Array, Array]:
        """The same, of an array and as arrays.

        Args:
            y_hat: (B, d) Predictions.
            index: (B,) Rows of the table that the surrogate was trained on.
        """
        return self.regret(np.asarray(y_hat), index)

    @overload
    def __call__(self, y_hat: Array, index: Any) -> float: ...
    @overload
    def __call__(self, y_hat: Tensor, index: Any) -> Tensor: ...
    def __call__(self, y_hat: Any, index: Any) -> Any:
        """The loss: mean over the rows of the regret that is expected, with pessimism added.

        Args:
            y_hat: (B, d) Predictions; of a tensor the loss is a scalar that is differentiable in it.
            index: (B,) Rows of the table that the surrogate was trained on.
        """
        if not is_tensor(y_hat):
            return self.with_slope(y_hat, index)[0]
        from fewsolves.methods.torch_slopes import as_points, with_slopes

        return with_slopes(y_hat, *self.with_slope(as_points(y_hat), index))

    def with_slope(self, y_hat: Array, index: Any) -> tuple[float, Array]:
        """The loss of predictions that are an array, and its slope (B, d) by them.

        Args:
            y_hat: (B, d) Predictions.
            index: (B,) Rows of the table that the surrogate was trained on.
        """
        rows = rows_of(index)
        mean, std, slopes = self._evaluated(np.asarray(y_hat, dtype=np.float64), rows, slopes=True)
        known = np.isfinite(std)  # not where a factorisation failed
        followed = mean + std > self.least[rows]  # as in training, see `sober` there
        value = np.where(followed, mean, self.least[rows]) + self.pessimism * std
        slope = followed[:, None] * slopes[:, 0] + self.pessimism * slopes[:, 1]
        return float(value[known].sum()) / len(rows), known[:, None] * slope / len(rows)

    def learned_from(self, example: int) -> tuple[Array, Array]:
        """Predictions (n, d) that one row was evaluated at, and their regrets (n,), smoothed where the surrogate is.

        Args:
            example: The row.
        """
        points = self.gps.points_of(example) * self.units * self.scale
        return points, self.mean_r + self.std_r * self.gps.targets_of(example)

    def save(self, folder: str | Path) -> Path:
        """Write it; `load_surrogate` reads it.

        Args:
            folder: Where to write.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        own = {name: getattr(self, name) for name in ("scale", "units", "least")}
        numbers = self.gps.state() | own
        packed = save({name: np.ascontiguousarray(_plain(values)) for name, values in numbers.items()})
        settings = {
            "format": FORMAT,
            "mean_r": self.mean_r,
            "std_r": self.std_r,
            "pessimism": self.pessimism,
            "gp": dataclasses.asdict(self.gps.config),
        }
        write_whole(folder / NUMBERS, packed)
        write_whole(folder / SETTINGS, json.dumps(settings | {"sha256": _digest(settings, packed)}, indent=1) + "\n")
        return folder

    def _evaluated(self, y_hat: Array, rows: Array, *, slopes: bool) -> tuple[Array, Array, Array]:
        """Mean and std (B,) of the standardised regret, and their slopes (B, 2, d) by y_hat if wanted."""
        if y_hat.shape != (len(rows), self.gps.n_inputs):
            raise InputError(f"expected y_hat ({len(rows)}, {self.gps.n_inputs}), got {y_hat.shape}")
        mean, std, found = self.gps.evaluated(
            np.ascontiguousarray(y_hat / self.scale / self.units), rows, slopes=slopes
        )
        return mean, std, found / self.units / self.scale


def export_surrogate(
    surrogate: RegretSurrogate, *, scale: Array, pessimism: float = 0.5, sober: bool = True
) -> ExportedSurrogate:
    """Export a trained `surrogate`; `scale` (d,) is the standard deviation of y that its inputs are counted in.

    `pessimism` and `sober` are those of the loss (`GPSurrogateConfig`).
    """
    return ExportedSurrogate(
        surrogate.gps,
        scale=np.asarray(scale),
        units=surrogate.units,
        least=surrogate.least if sober else np.full_like(surrogate.least, -np.inf),
        mean_r=surrogate.mean_r,
        std_r=surrogate.std_r,
        pessimism=pessimism,
    )


def save_surrogate(
    surrogate: RegretSurrogate, folder: str | Path, *, scale: Array, pessimism: float = 0.5, sober: bool = True
) -> Path:
    """Write a surrogate, for use without a solver, and return the folder; `load_surrogate` reads it.

    Args:
        surrogate: What a `GPSurrogateLoss` has as `surrogate`.
        folder: Where to write.
        scale: (d,) Standard deviation of y, which its inputs are counted in: the `scale` of that loss.
        pessimism: How many std the loss adds to the mean (`GPSurrogateConfig`).
        sober: Whether a mean clearly below the least regret seen counts as that (`GPSurrogateConfig`).
    """
    return export_surrogate(surrogate, scale=scale, pessimism=pessimism, sober=sober).save(folder)


def load_surrogate(folder: str | Path) -> ExportedSurrogate:
    """Read what `save_surrogate` wrote, or the `save` of a loss or of a fitted model's surrogate.

    Args:
        folder: Where it is.
    """
    folder = Path(folder)
    file = folder / SETTINGS
    try:
        settings = json.loads(_read(file, MAX_SETTINGS))
        if settings["format"] != FORMAT:
            raise InputError(f"it has format {settings['format']!r:.80}, this version reads {FORMAT}")
        recorded = settings.pop("sha256")
        file = folder / NUMBERS
        packed = _read(file)
        if int.from_bytes(packed[:8], "little") > MAX_HEADER:
            raise InputError("its header is too long for a surrogate")
        if _digest(settings, packed) != recorded:
            raise InputError(f"it is not what was saved with {SETTINGS} (SHA-256); copy both files again")
        file = folder / SETTINGS
        gp = {name: value for name, value in dict(settings["gp"]).items() if name not in FORMER}
        config = GPConfig(**gp | {"lengthscale_prior": _pair(gp["lengthscale_prior"])})
        mean_r, std_r, pessimism = (float(settings[name]) for name in ("mean_r", "std_r", "pessimism"))
        file = folder / NUMBERS
        numbers = load(packed)
        _check(numbers)
        scale, units, least = (numbers.pop(name) for name in ("scale", "units", "least"))
        gps = GPs.from_state(numbers, config)
        return ExportedSurrogate(
            gps, scale=scale, units=units, least=least, mean_r=mean_r, std_r=std_r, pessimism=pessimism
        )
    except FileNotFoundError as error:
        raise InputError(f"no surrogate in {folder}: {file} is missing") from error
    except KeyError as error:
        raise InputError(f"{file} cannot be read as a surrogate: {error} is missing") from error
    except (OSError, SafetensorError, IndexError, RecursionError, TypeError, ValueError) as error:
        raise InputError(f"{file} cannot be read as a surrogate: {error}") from error


def _digest(settings: dict[str, Any], packed: bytes) -> str:
    return sha256(json.dumps(settings, sort_keys=True).encode() + packed).hexdigest()


def _read(file: Path, limit: int | None = None) -> bytes:
    if limit is not None and file.stat().st_size > limit:
        raise InputError(f"it is larger than {limit} bytes")
    return file.read_bytes()


def _check(numbers: dict[str, Array]) -> None:
    for name, values in numbers.items():
        if values.dtype.kind == "f" and not np.isfinite(values[values != -np.inf] if name == "least" else values).all():
            raise InputError(f"{name} has numbers that are not finite")
        if name in POSITIVE and not (values > 0).all():
            raise InputError(f"{name} has numbers that are not positive")


def _pair(values: list[float] | None) -> tuple[float, float] | None:
    return None if values is None else (float(values[0]), float(values[1]))


def _plain(values: Array) -> Array:
    return values.astype(np.uint8) if values.dtype == bool else values
