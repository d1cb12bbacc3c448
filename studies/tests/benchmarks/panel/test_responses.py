"""The curved signal of the features."""

import numpy as np
import pytest

from fewsolves.errors import InputError
from fewsolves_studies.benchmarks.catalogue import load


@pytest.mark.parametrize(("name", "misfit"), [("assignment", 0.0), ("fleet", 0.4), ("tour", 0.4)])
def test_responses_curvature_is_the_share_of_the_signal_that_a_line_misses(name, misfit):
    dataset = load(name, 0, n=5000)
    X = np.column_stack([dataset.X, np.ones(5000)])
    H = dataset.source.signal(dataset.X)
    rest = H - X @ np.linalg.lstsq(X, H, rcond=None)[0]
    assert np.abs(H.var(axis=0) - 1.0).max() < 0.3
    assert rest.var() / H.var() == pytest.approx(misfit, abs=0.05)


@pytest.mark.parametrize("options", [{"curvature": 1.2}, {"n_features": 1}])
def test_responses_a_signal_that_cannot_be_is_refused(options):
    with pytest.raises(InputError, match="n_features >= 2 and 0 <= curvature <= 1"):
        load("fleet", **options)
