from contextlib import closing

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.ledger.ledger import open_ledger
from fewsolves.ledger.reading import evaluations, open_to_read
from fewsolves.oracle import Budget, Oracle, SolveConfig
from fewsolves.oracle.draws import LABEL_DRAWS
from problems_of_users import demand_table

X, Y = demand_table(20)
ALL, THREE = np.arange(20), np.arange(3)


class Noisy:
    """A problem whose functions count their calls and draw from one stream."""

    def __init__(self, noisy, seeded=False, **more):
        self.rng, self.seeds, self.solves, self.costs = np.random.default_rng(0), [], 0, 0
        cost = self.seeded if seeded else self.cost
        self.problem = fs.Problem(solve=self.solve, cost=cost, noisy=noisy, **more)

    def solve(self, y_hat):
        self.solves += 1
        return y_hat + (self.rng.normal(size=3) if self.problem.noisy_solve else 0.0)

    def cost(self, y, z):
        self.costs += 1
        return float(np.abs(y - z).sum() + (self.rng.normal() if self.problem.noisy_cost else 0.0))

    def seeded(self, y, z, seed):
        self.costs += 1
        self.seeds.append(seed)
        return float(np.abs(y - z).sum() + np.random.default_rng(seed).normal())


@pytest.mark.parametrize(
    ("noisy", "solves", "costs"),
    [
        ("cost", 3 + 3, 3 * LABEL_DRAWS + 4 * 3),  # a label is drawn several times, an evaluation once
        ("solve", 3 + 4 * 3, 3 + 4 * 3),  # another decision each time, so another cost
        ("both", 3 + 4 * 3, 3 * LABEL_DRAWS + 4 * 3),
    ],
)
def test_draws_noisy_functions_are_called_each_time_and_the_others_once(noisy, solves, costs):
    noise = Noisy(noisy)
    oracle = Oracle(noise.problem, Y)
    found = [oracle.regret(THREE, Y[:3] + 1, phase="online") for _ in range(4)]
    assert (noise.solves, noise.costs) == (solves, costs)
    assert (oracle.calls.total("solve"), oracle.calls.total("cost")) == (solves, costs)
    assert len({tuple(regret) for regret in found}) == 4


def test_draws_a_decision_that_a_noisy_solver_repeats_is_costed_once():
    noise = Noisy("solve")
    noise.problem = fs.Problem(solve=lambda y: np.ones(3), cost=noise.cost, noisy="solve")
    oracle = Oracle(noise.problem, Y)
    for _ in range(3):
        oracle.regret(THREE, Y[:3] + 1, phase="online")
    assert noise.costs == 3


def test_draws_a_label_is_the_mean_of_its_draws():
    noise = Noisy("cost")
    drawn = Noisy("cost")
    expected = [np.mean([drawn.cost(y, y) for _ in range(LABEL_DRAWS)]) for y in Y[:3]]
    assert np.allclose(Oracle(noise.problem, Y).optimum(THREE), expected)


@pytest.mark.parametrize(("cost_calls", "draws"), [(None, 8), (10_000, 8), (240, 3), (80, 1), (10, 1)])
def test_draws_labels_take_a_quarter_of_a_budget_of_cost_calls_at_the_most(cost_calls, draws):
    oracle = Oracle(Noisy("cost").problem, Y, budget=Budget(cost_calls=cost_calls))
    assert oracle.account.label_draws == draws


@pytest.mark.parametrize("workers", [1, 2])
def test_draws_validation_is_under_the_same_noise_where_the_cost_takes_a_seed(workers):
    def cost(y, z, seed):
        return float(np.abs(y - z).sum() + np.random.default_rng(seed).normal())

    problem = fs.Problem(solve=lambda y: y, cost=cost, noisy="cost")
    with closing(Oracle(problem, Y, solving=SolveConfig(workers=workers))) as oracle:
        first, second = (oracle.regret(ALL, Y + shift, phase="validation") for shift in (1.0, 2.0))
        assert np.allclose(second - first, 3.0), "a shift of all three parameters by 1, and no noise"
        once, twice = (oracle.regret(ALL, Y + 1.0, phase="online") for _ in range(2))
        assert not np.isclose(once, twice).any()


def test_draws_every_other_call_has_a_seed_of_its_own():
    noise = Noisy("cost", seeded=True)
    oracle = Oracle(noise.problem, Y)
    for _ in range(3):
        oracle.regret(ALL, Y + 1, phase="online")
    assert len(set(noise.seeds)) == len(noise.seeds) == 20 * LABEL_DRAWS + 60
    assert all(type(seed) is int and 0 <= seed < 2**32 for seed in noise.seeds)
    oracle.cost_at(ALL, Y, list(Y))
    assert len(set(noise.seeds)) == len(noise.seeds)


@pytest.mark.parametrize("made", ["batched", "factory"])
def test_draws_seeds_reach_batched_forms_and_the_functions_of_a_factory(made):
    def cost_batch(y, z, seed):
        return np.array([np.random.default_rng(one).normal() for one in seed])

    batched = fs.Problem(solve_batch=lambda y: y, cost_batch=cost_batch, noisy="cost")
    problem = batched if made == "batched" else fs.Problem(factory=lambda: batched, noisy="cost")
    one, other = (Oracle(problem, Y).regret(ALL, Y, phase="online") for _ in range(2))
    assert np.array_equal(one, other), "one run, one stream of seeds"
    assert len(set(one)) == 20


@pytest.mark.parametrize("seeded", [False, True])
def test_draws_labels_on_record_are_drawn_once_and_evaluations_by_every_run(tmp_path, seeded):
    paid = []
    for run in ("a", "a", "b"):
        noise = Noisy("cost", seeded=seeded)
        ledger = open_ledger(tmp_path, noise.problem, Y, identity=run)
        with closing(ledger), closing(Oracle(noise.problem, Y, ledger=ledger)) as oracle:
            oracle.regret(ALL, Y + 1, phase="online")
            oracle.regret(ALL, Y + 1, phase="online")
            paid.append((noise.solves, noise.costs))
    assert paid == [(40, 20 * LABEL_DRAWS + 40), (0, 0), (0, 40)]
    with closing(open_to_read(tmp_path)) as file:
        found = [one for one in evaluations(file) if one.phase == "online"]
        assert len(found) == 80, "each evaluation once"
        optimum = oracle.optimum(ALL)
        assert all(np.isclose(one.regret, one.cost - optimum[one.example]) for one in found)


@pytest.mark.parametrize("noisy", ["cost", "both"])
def test_draws_a_run_under_noise_goes_on_from_its_ledger(tmp_path, noisy):
    """Nothing is paid again; where a seed settles the noise it ends alike."""

    class CrashError(BaseException):  # errors of a callback do not end a run
        pass

    def kill(record):
        if record.stage == "train" and record.epoch == 3:
            raise CrashError

    def run(noise, folder, *callbacks):
        settings = {"max_epochs": 4, "start_epochs": 2}
        plan = Plan(noise.problem, X, Y, method="sfge", predictor="linear", settings=settings, folder=folder)
        return fit(plan, callbacks=callbacks)

    seeded = noisy == "cost"
    first, second, whole = (Noisy(noisy, seeded=seeded) for _ in range(3))
    with pytest.raises(CrashError):
        run(first, tmp_path, kill)
    resumed, expected = run(second, tmp_path), run(whole, None)
    assert first.solves + second.solves == whole.solves
    assert first.costs + second.costs == whole.costs
    if seeded:
        assert np.array_equal(resumed.best.values, expected.best.values)
