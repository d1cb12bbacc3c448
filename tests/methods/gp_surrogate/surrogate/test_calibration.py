import json

import numpy as np
import pytest

from fewsolves.methods.gp_surrogate.surrogate.calibration import LEAST_COVERED, LEVELS, Calibration, calibrate


def test_calibration_an_honest_posterior_covers_what_it_claims():
    rng, n = np.random.default_rng(0), 40_000
    mean, std = rng.normal(size=n), rng.uniform(0.1, 3.0, size=n)
    found = calibrate(mean + std * rng.normal(size=n), mean, std)
    assert found.n == n
    for covered, level in zip(found.covered, LEVELS, strict=True):
        assert abs(covered - level) < 5 * np.sqrt(level * (1 - level) / n)
    assert found.warning is None


@pytest.mark.parametrize(("claimed", "covered"), [(0.5, (0.2641, 0.4783, 0.6729)), (2.0, (0.8226, 0.9896, 0.9999))])
def test_calibration_a_wrong_std_shows(claimed, covered):
    """A std that is half or twice the true one covers P(|z| < z_level / 2) or P(|z| < 2 z_level)."""
    rng, n = np.random.default_rng(1), 40_000
    found = calibrate(rng.normal(size=n), np.zeros(n), np.full(n, claimed))
    assert found.covered == pytest.approx(covered, abs=0.015)
    assert (found.warning is not None) is (claimed < 1)


def test_calibration_intervals_are_central_and_closed():
    found = calibrate(np.array([0.0, -1.0, 3.0, 7.0]), np.zeros(4), np.array([0.0, 1.0, 1.0, np.inf]))
    assert found.covered == (0.5, 0.75, 0.75), "|z| up to 0.67, 1.28 and 1.96; an infinite std covers everything"


@pytest.mark.parametrize(
    ("covered", "n", "warns"),
    [(LEAST_COVERED, 64, False), (LEAST_COVERED - 0.01, 64, True), (0.0, 19, False), (0.0, 20, True)],
)
def test_calibration_warns_below_four_fifths_of_twenty_or_more(covered, n, warns):
    warning = Calibration((0.1, 0.2, covered), n).warning
    assert (warning is not None) is warns
    if warns:
        assert "over-confident" in warning
        assert f"{covered:.0%} of {n}" in warning


def test_calibration_the_record_is_plain_and_can_be_read_again():
    found = Calibration((0.4, 0.7, 0.9), 64)
    record = found.record()
    assert Calibration.read(json.loads(json.dumps(record))) == found
    assert Calibration.read({"nominal": [0.9], "covered": [0.7], "n": 3}).nominal == (0.9,), "of other levels too"
    assert json.loads(json.dumps(record)) == {"nominal": [0.5, 0.8, 0.95], "covered": [0.4, 0.7, 0.9], "n": 64}
