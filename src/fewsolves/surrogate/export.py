"""Trained surrogates as files: safetensors for the numbers, JSON for the settings; nothing is ever unpickled.

y_hat   (B, d)   predictions in the units of y           index (B,)   rows of the table the surrogate was trained on
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from torch import Tensor, nn

from fewsolves.errors import InputError
from fewsolves.problem import Array
from fewsolves.surrogate.gp import GPConfig, GPs
from fewsolves.surrogate.regret import RegretSurrogate

FORMAT = 1
SETTINGS, NUMBERS = "surrogate.json", "surrogate.safetensors"


class ExportedSurrogate(nn.Module):
    """The regret of each row as a function of its prediction, without a solver: an estimate, and a loss.

    `surrogate(y_hat, index)` is a scalar to train any predictor with; `regret` gives mean and std per row.
    """

    scale: Tensor
    units: Tensor
    least: Tensor

    def __init__(
        self, gps: GPs, *, scale: Array, units: Array, least: Array, mean_r: float, std_r: float, pessimism: float
    ) -> None:
        """The processes see y_hat / scale / units, (d,) each; a standardised mean clearly below least (M,) is least."""
        super().__init__()
        self.gps, self.mean_r, self.std_r, self.pessimism = gps, mean_r, std_r, pessimism
        shapes = {"scale": (gps.n_inputs,), "units": (gps.n_inputs,), "least": (gps.n_examples,)}
        for name, values in {"scale": scale, "units": units, "least": least}.items():
            if values.shape != shapes[name]:
                raise InputError(f"{name} needs shape {shapes[name]}, got {values.shape}")
            self.register_buffer(name, torch.as_tensor(values))

    def regret(self, y_hat: Tensor, index: Tensor | Array) -> tuple[Tensor, Tensor]:
        """Mean and std (B,) of the regret, in the units of cost; both differentiable."""
        mean, std = self._posterior(y_hat, np.asarray(index))
        return self.mean_r + self.std_r * mean, self.std_r * std

    def forward(self, y_hat: Tensor, index: Tensor | Array) -> Tensor:
        rows = np.asarray(index)
        mean, std = self._posterior(y_hat, rows)
        known = torch.isfinite(std)  # not where a factorisation failed
        mean = torch.where(mean + std > self.least[rows], mean, self.least[rows])  # as in training, see `sober` there
        return (mean + self.pessimism * std)[known].sum() / len(rows)

    def _posterior(self, y_hat: Tensor, rows: Array) -> tuple[Tensor, Tensor]:
        if y_hat.shape != (len(rows), self.gps.n_inputs):
            raise InputError(f"expected y_hat ({len(rows)}, {self.gps.n_inputs}), got {tuple(y_hat.shape)}")
        return self.gps.posterior(y_hat.double() / self.scale / self.units, rows)


def save_surrogate(
    surrogate: RegretSurrogate, folder: str | Path, *, scale: Array, pessimism: float = 0.5, sober: bool = True
) -> Path:
    """Write `surrogate`; `scale` (d,) is the standard deviation of y that its inputs are counted in.

    `pessimism` and `sober` are those of the loss (`GPSurrogateConfig`).
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    least = surrogate.least if sober else np.full_like(surrogate.least, -np.inf)
    numbers = surrogate.gps.state() | {"scale": np.asarray(scale), "units": surrogate.units, "least": least}
    save_file({name: np.ascontiguousarray(_plain(values)) for name, values in numbers.items()}, folder / NUMBERS)
    settings = {
        "format": FORMAT,
        "mean_r": surrogate.mean_r,
        "std_r": surrogate.std_r,
        "pessimism": pessimism,
        "gp": dataclasses.asdict(surrogate.gps.config),
    }
    (folder / SETTINGS).write_text(json.dumps(settings, indent=1) + "\n")
    return folder


def load_surrogate(folder: str | Path) -> ExportedSurrogate:
    """Read what `save_surrogate` wrote."""
    folder = Path(folder)
    file = folder / SETTINGS
    try:
        settings = json.loads(file.read_text())
        if settings["format"] != FORMAT:
            raise InputError(f"it has format {settings['format']!r}, this version reads {FORMAT}")
        config = GPConfig(**settings["gp"] | {"lengthscale_prior": _pair(settings["gp"]["lengthscale_prior"])})
        mean_r, std_r, pessimism = (float(settings[name]) for name in ("mean_r", "std_r", "pessimism"))
        file = folder / NUMBERS
        numbers = load_file(file)
        scale, units, least = (numbers.pop(name) for name in ("scale", "units", "least"))
        gps = GPs.from_state(numbers, config)
        return ExportedSurrogate(
            gps, scale=scale, units=units, least=least, mean_r=mean_r, std_r=std_r, pessimism=pessimism
        )
    except FileNotFoundError as error:
        raise InputError(f"no surrogate in {folder}: {file} is missing") from error
    except KeyError as error:
        raise InputError(f"{file} cannot be read as a surrogate: {error} is missing") from error
    except (OSError, SafetensorError, IndexError, TypeError, ValueError) as error:
        raise InputError(f"{file} cannot be read as a surrogate: {error}") from error


def _pair(values: list[float] | None) -> tuple[float, float] | None:
    return None if values is None else (float(values[0]), float(values[1]))


def _plain(values: Array) -> Array:
    return values.astype(np.uint8) if values.dtype == bool else values
