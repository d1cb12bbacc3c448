import numpy as np

from fewsolves_studies.benchmarks.catalogue import load
from fewsolves_studies.benchmarks.real.pjm import hourly_costs, pjm_rows


def test_pjm_rows_are_days_that_follow_each_other():
    days, X, Y = pjm_rows()
    assert X.shape == (3191, 149) and Y.shape == (3191, 24)
    follows = np.diff(days).astype(int) == 1
    np.testing.assert_array_equal(X[1:, :24][follows], Y[:-1][follows])
    assert (~follows).sum() == 1, "where the second file begins"


def test_pjm_the_calendar_is_that_of_the_united_states():
    days, X, _ = pjm_rows()
    weekend, holiday, summer = (X[:, -5 + k] == 1.0 for k in range(3))
    of_2011 = days.astype("datetime64[Y]") == np.datetime64("2011")
    assert [str(day)[5:] for day in days[of_2011 & holiday]] == [
        "01-17", "02-21", "05-30", "07-04", "09-05", "10-10", "11-11", "11-24", "12-26",
    ]  # fmt: skip
    assert [str(day) for day in days[of_2011 & summer][[0, -1]]] == ["2011-03-14", "2011-11-06"]
    assert {int(day) for day in (days[weekend].astype(int) + 3) % 7} == {5, 6}


def test_pjm_the_published_split_is_kept():
    split = load("pjm-schedule").split
    assert len(split.test) == 639 and split.test.min() > max(split.train.max(), split.valid.max())
    assert len(load("pjm-schedule", train_days=100, test_days=5).split.test) == 5


def test_pjm_under_and_over_are_priced_as_published():
    cost = hourly_costs(np.array([[2.0, 1.0]]), np.array([[1.0, 2.0]]))
    np.testing.assert_allclose(cost, [[50.5, 1.0]])


def test_pjm_who_knows_the_load_pays_for_the_reserve_only():
    data = load("pjm-schedule")
    costs = data.problem.cost_batch(data.Y, data.problem.solve_batch(data.Y))
    assert 1.9 < costs.mean() < 2.0, "about two standard deviations at 0.5 in each hour"
