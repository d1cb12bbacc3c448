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

    def __init__(self, gps: GPs, *, units: Array, mean_r: float, std_r: float, pessimism: float) -> None:
        """units (d,): size of y in the units of the processes; mean_r, std_r: those of regret."""
        super().__init__()
        self.gps, self.mean_r, self.std_r, self.pessimism = gps, mean_r, std_r, pessimism
        self.register_buffer("units", torch.as_tensor(units))

    units: Tensor

    def regret(self, y_hat: Tensor, index: Tensor | Array) -> tuple[Tensor, Tensor]:
        """Mean and std (B,) of the regret, in the units of cost; both differentiable."""
        mean, std = self.gps.posterior(y_hat.double() / self.units, np.asarray(index))
        return self.mean_r + self.std_r * mean, self.std_r * std

    def forward(self, y_hat: Tensor, index: Tensor) -> Tensor:
        mean, std = self.regret(y_hat, index)
        return ((mean + self.pessimism * std) / self.std_r).mean()


def save_surrogate(surrogate: RegretSurrogate, folder: str | Path, *, scale: Array, pessimism: float = 0.3) -> Path:
    """Write `surrogate`; `scale` (d,) is the standard deviation of y that its inputs are counted in."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    numbers = surrogate.gps.state() | {"units": np.asarray(scale) * surrogate.units}
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
    try:
        settings = json.loads((folder / SETTINGS).read_text())
        numbers = load_file(folder / NUMBERS)
        if settings["format"] != FORMAT:
            raise InputError(f"{folder / SETTINGS} has format {settings['format']}, this version reads {FORMAT}")
        config = GPConfig(**settings["gp"] | {"lengthscale_prior": _pair(settings["gp"]["lengthscale_prior"])})
        gps = GPs.from_state({name: numbers[name] for name in numbers if name != "units"}, config)
        scales = {name: float(settings[name]) for name in ("mean_r", "std_r", "pessimism")}
        return ExportedSurrogate(gps, units=numbers["units"], **scales)
    except FileNotFoundError as error:
        raise InputError(f"no surrogate in {folder}: {error.filename} is missing") from error
    except (SafetensorError, json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"the surrogate in {folder} cannot be read: {error}") from error


def _pair(values: list[float] | None) -> tuple[float, float] | None:
    return None if values is None else (float(values[0]), float(values[1]))


def _plain(values: Array) -> Array:
    return values.astype(np.uint8) if values.dtype == bool else values
