"""Contract of a setting: another value changes the result, or is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from fewsolves.errors import InputError
from fewsolves.methods.base import Trainer
from fewsolves.methods.registry import find_method
from fewsolves.settings import Setting, settings_of
from fewsolves.testing.expect import expect
from fewsolves.testing.methods import make_table, predictions, quick_fit

QUICK = {"max_epochs": 3, "start_epochs": 3, "guard": -1e9, "learning_rate": 0.05}


def check_setting(
    method: str | Trainer, name: str, *, under: Mapping[str, Any] | None = None, value: Any = None, n: int = 16
) -> None:
    """Another value of a setting changes what the run computes or pays: no setting is accepted and ignored.

    Args:
        method: Its name, or the method.
        name: The setting.
        under: Other settings, where it only acts together with them.
        value: The other value. None: one that differs from the default.
        n: Rows of the table.
    """
    recipe = find_method(method)
    (one,) = [s for part in (recipe.settings, recipe.common) for s in settings_of(part) if s.name == name]
    quick = {setting: of for setting, of in QUICK.items() if setting != name} | dict(under or {})
    found = []
    for settings in (quick, quick | {name: _another(one) if value is None else value}):
        table = make_table(recipe, n_y=2, n=n)
        fitted = quick_fit(recipe, table, settings)
        epochs = [(record.train_loss, record.validation_regret) for record in fitted.history]
        result = predictions(fitted.predictor, table.X).tolist(), fitted.kept_start, fitted.stopped
        found.append(repr((result, epochs, dict(table.calls))))
    expect(found[0] != found[1], f"another result with {name} = {settings[name]!r}", "the same")


def _another(one: Setting) -> Any:
    """A value of a setting that is allowed and is not its default."""
    default = one.default
    candidates: list[Any] = [not default] if isinstance(default, bool) else []
    if isinstance(default, int | float) and not isinstance(default, bool):
        candidates += [default * 3, default / 3, default + 1, 0.5]
    candidates += [
        2,
        0.5,
        True,
        *(choice for kind in get_args(one.kind) or () for choice in (get_args(kind) or (kind,))),
    ]
    for candidate in candidates:
        try:
            taken = one.check(candidate)
        except InputError:
            continue
        if taken != default and taken is not None:
            return taken
    raise AssertionError(f"no other value of {one.name} is known; give one")
