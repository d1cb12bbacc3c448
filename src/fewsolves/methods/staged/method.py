"""The default as a method of the library; `cross_fitting.py` has its run."""

from __future__ import annotations

import numpy as np

from fewsolves.data import Split
from fewsolves.methods.base import Context, Demand, Outcome, Trainer
from fewsolves.methods.staged.config import StagedConfig, StagedStart
from fewsolves.methods.staged.cross_fitting import CrossFitting
from fewsolves.methods.staged.sample import sample_split
from fewsolves.problem import Array


class Staged(Trainer):
    """Cross-fitting through one pool of known decisions, in stages."""

    name = "staged"
    summary = "cross-fitting through known decisions, each stage on evidence; any problem, as few solves as it takes"
    settings = StagedConfig()
    common = StagedStart()
    cross_fits = True

    def train(self, context: Context) -> Outcome:
        """Train `context.predictor` in place.

        Args:
            context: The inputs of the method, and its connection to the run.
        """
        return CrossFitting(context, context.settings).run()

    def demand(self, n_y: int) -> Demand:
        """What it needs from the solver, by its settings.

        Args:
            n_y: Parameters that are predicted.
        """
        return Demand(by_evidence=True, online_solves=self.settings.solves)

    def rows_to_label(
        self, split: Split, solves: int | None, groups: Array | None = None, rng: np.random.Generator | None = None
    ) -> Split:
        """A sample of the rows where the budget pays for fewer than three solves each.

        Args:
            split: The rows to train and to validate on.
            solves: Those of the budget. None: no limit.
            groups: (n,) Labels of rows that stay together, or None.
            rng: Draws the sample. None: of a fixed seed.
        """
        return sample_split(split, solves, groups, rng or np.random.default_rng(0))


METHOD = Staged()
