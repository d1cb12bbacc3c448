"""What scikit-learn's searches and checks ask of the estimator: parameters by name, single settings too, and tags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from sklearn.base import BaseEstimator, RegressorMixin

SETTING = "settings__"  # before the name of a setting, where scikit-learn searches over it


class Searchable(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor whose `settings`, a mapping, can be searched over one by one."""

    settings: Mapping[str, Any] | None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments by name, as scikit-learn requires.

        Args:
            deep: Also each of the settings that are given, as `settings__patience`.
        """
        params: dict[str, Any] = super().get_params(deep)
        given = self.settings if deep and isinstance(self.settings, Mapping) else {}  # `fit` refuses what is none
        return params | {f"{SETTING}{name}": value for name, value in given.items()}

    def set_params(self, **params: Any) -> Self:
        """Change arguments; `settings__patience=20` changes one setting of the method and leaves the others.

        Args:
            params: New values by name.
        """
        changed = {name: params.pop(name) for name in list(params) if name.startswith(SETTING)}
        super().set_params(**params)
        if changed:
            own = {name.removeprefix(SETTING): value for name, value in changed.items()}
            self.settings = {**(self.settings if isinstance(self.settings, Mapping) else {}), **own}
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = True  # scikit-learn's checks expect R^2; this score is minus the regret
        return tags
