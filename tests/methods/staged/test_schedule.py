"""The schedule is a pure function of rows and allowance, and never exceeds what is allowed."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewsolves.methods.staged.schedule import build_schedule
from fewsolves.methods.staged.tuning import Tuning

TUNING = Tuning()
N, ALLOWED, CANDIDATES = st.integers(5, 20_000), st.integers(0, 2_000_000), st.integers(0, 3)


def schedule_of(n, allowed, candidates, pool=None):
    return build_schedule(n, allowed, candidates=candidates, tuning=TUNING, evidence_pool=pool)


def ends(schedule):
    """Solves after each stage of descents."""
    total, found = 0, []
    for stage in schedule.stages:
        total += stage.solves + stage.evidence
        if stage.name.startswith("stage"):
            found.append(total)
    return found


@given(N, ALLOWED, CANDIDATES, st.floats(0.01, 1.0))
def test_schedule_never_exceeds_what_is_allowed(n, allowed, candidates, judged):
    schedule = schedule_of(n, allowed, candidates, max(1, int(judged * n)))
    assert schedule.solves <= allowed
    assert 0 <= schedule.evidence_rows <= max(1, int(judged * n))
    assert all(stage.solves >= 0 and stage.evidence >= 0 for stage in schedule.stages)


@given(N, ALLOWED, CANDIDATES)
def test_schedule_stages_grow(n, allowed, candidates):
    made = ends(schedule_of(n, allowed, candidates))
    assert made == sorted(set(made))
    assert all(later >= 2 * first for first, later in pairwise(made[:-1]))


@given(N, ALLOWED, ALLOWED, CANDIDATES)
def test_schedule_of_a_larger_allowance_ends_its_stages_where_a_smaller_one_does(n, one, other, candidates):
    smaller, larger = (ends(schedule_of(n, allowed, candidates)) for allowed in sorted((one, other)))
    common = smaller[:-1]  # the last stage takes what is left
    evidence = schedule_of(n, max(one, other), candidates).evidence_rows
    if larger and larger[0] > TUNING.first * n:  # so few rows that evidence alone is more than a first stage
        return
    assert larger[: len(common)] == common or evidence * (2 + candidates) > TUNING.first * n


@given(N, ALLOWED, CANDIDATES)
def test_schedule_uses_what_is_allowed_where_there_is_room_for_a_stage(n, allowed, candidates):
    schedule = schedule_of(n, allowed, candidates)
    if ends(schedule):
        assert schedule.solves >= allowed - 1


@given(N, ALLOWED, CANDIDATES)
def test_schedule_is_a_function_of_its_arguments(n, allowed, candidates):
    assert schedule_of(n, allowed, candidates) == schedule_of(n, allowed, candidates)


@pytest.mark.parametrize("candidates", [0, 1, 2])
def test_schedule_of_nothing_allowed_is_empty(candidates):
    assert schedule_of(50, 0, candidates).solves == 0
    assert schedule_of(50, 0, candidates).evidence_rows == 0


@pytest.mark.parametrize(("candidates", "pilots"), [(0, 0), (1, 0), (2, 1)])
def test_schedule_pays_for_a_pilot_where_stand_ins_compete(candidates, pilots):
    assert sum(stage.name == "pilot" for stage in schedule_of(200, 800, candidates).stages) == pilots


@pytest.mark.parametrize(("solves", "offset"), [(1, 0), (2, 18), (4, 37), (64, 37)])
def test_schedule_pays_a_small_share_for_an_offset_that_does_not_grow(solves, offset):
    stages = schedule_of(300, 300 * solves, 2).stages
    assert sum(stage.solves for stage in stages if stage.name == "offset") == offset


def test_schedule_reads_each_candidate_of_the_first_stage():
    schedule = schedule_of(400, 4000, 2)
    first, second = [stage for stage in schedule.stages if stage.name.startswith("stage")][:2]
    assert (first.evidence, second.evidence) == (2 * schedule.evidence_rows, schedule.evidence_rows)


@given(N, ALLOWED, CANDIDATES)
def test_schedule_reads_later_stages_on_no_fewer_rows(n, allowed, candidates):
    stages = [stage for stage in schedule_of(n, allowed, candidates).stages if stage.name not in ("pilot", "offset")]
    assert all(one.rows <= other.rows for one, other in pairwise(stages))
    for one, other in pairwise(stages[1:]):
        assert other.evidence == other.rows + 2 * (other.rows - one.rows)


@pytest.mark.parametrize("n", [300, 1000])
def test_schedule_of_a_large_allowance_begins_with_the_stages_of_a_small_one(n):
    small, large = (schedule_of(n, solves * n, 2).stages for solves in (4, 64))
    assert large[: len(small) - 1] == small[:-1]
