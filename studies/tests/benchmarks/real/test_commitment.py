import numpy as np
import pytest

from fewsolves_studies.benchmarks.real.commitment import _program, commitment_costs, commitments, ten_units

FLEET = ten_units()
HOURS = np.arange(24)
DAYS = np.array([1.6 + 0.5 * np.sin((HOURS - 8) / 24 * 2 * np.pi), 2.2 + 0.7 * np.sin((HOURS - 10) / 12 * 2 * np.pi)])


@pytest.fixture(scope="module")
def plans():
    return commitments(DAYS)


def test_commitment_the_cost_at_the_predicted_load_is_the_objective_of_the_program(plans):
    commitments(DAYS[1:])
    assert commitment_costs(FLEET, DAYS[1:], plans[1:]) == pytest.approx([_program().getObjectiveValue()], rel=1e-6)


def test_commitment_a_unit_that_starts_stays_on_for_its_hours(plans):
    for plan in plans:
        for on, up in zip(plan, FLEET.up, strict=True):
            for t in np.flatnonzero(np.diff(on) > 0) + 1:
                assert on[t : t + up].all()


def test_commitment_no_plan_of_another_day_or_changed_by_one_unit_is_better(plans):
    own = commitment_costs(FLEET, DAYS[1:], plans[1:])[0]
    assert commitment_costs(FLEET, DAYS[1:], plans[:1])[0] > own
    for unit in range(10):
        always = plans[1].copy()
        always[unit] = 1
        assert commitment_costs(FLEET, DAYS[1:], always[None])[0] >= own * (1 - 1e-3)


def test_commitment_what_is_missing_or_too_much_is_paid_for(plans):
    none = np.zeros((1, 10, 24), dtype=np.int8)
    assert commitment_costs(FLEET, np.ones((1, 24)), none) == pytest.approx([50.0 * 24])
    idle = plans[:1]
    less, least = (commitment_costs(FLEET, np.full((1, 24), level), idle)[0] for level in (0.0, 0.1))
    assert less - least == pytest.approx(0.5 * 24 * 0.1)


def test_commitment_a_plan_does_not_depend_on_the_day_solved_before(plans):
    np.testing.assert_array_equal(commitments(DAYS[::-1])[::-1], plans)
