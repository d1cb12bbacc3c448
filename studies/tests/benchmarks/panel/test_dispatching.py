import numpy as np
import pytest

from fewsolves_studies.benchmarks.panel.dispatching import Dispatching

N = 7


def shops():
    """Shops of two machines, each with predicted durations."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        weight, due, p = rng.integers(1, 10, N) * 1.0, rng.uniform(2.0, 20.0, N), rng.uniform(1.0, 9.0, N)
        yield Dispatching(weight, due, 2, 2.0, 0.05), p, rng


def rule_in_words(shop, p):
    """(job, machine) in the order of their start."""
    free, waiting, started = [0.0, 0.0], list(range(N)), []

    def index(j, now):
        return shop.weight[j] / p[j] * np.exp(-max(0.0, shop.due[j] - p[j] - now) / (2.0 * p.mean()))

    while waiting:
        machine = free.index(min(free))
        now = free[machine]
        job = max(waiting, key=lambda j, now=now: index(j, now))
        waiting.remove(job)
        free[machine] += p[job]
        started.append((job, machine))
    return started


def test_dispatching_jobs_start_by_the_rule_and_every_machine_works_through_its_list():
    for shop, p, rng in shops():
        started, z = rule_in_words(shop, p), shop.solve(p)
        np.testing.assert_array_equal(z, [*(job for job, _ in started), *(machine for _, machine in started)])
        true, referee, time = rng.uniform(1.0, 9.0, N), 0.0, [0.0, 0.0]
        for job, machine in started:
            time[machine] += true[job]
            referee += shop.weight[job] * (max(0.0, time[machine] - shop.due[job]) + 0.05 * time[machine])
        assert shop.cost(true, z) == pytest.approx(referee)


def test_dispatching_the_rule_does_not_minimise_the_cost():
    beaten = 0
    for shop, p, rng in shops():
        others = np.array([np.append(rng.permutation(N), rng.integers(0, 2, N)) for _ in range(300)])
        beaten += shop.cost_batch(np.tile(p, (300, 1)), others).min() < shop.cost(p, shop.solve(p)) - 1e-9
    assert beaten > 3
