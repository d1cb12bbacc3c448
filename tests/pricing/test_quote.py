import numpy as np
import pytest
from click.testing import CliRunner

import fewsolves as fs
from fewsolves.benchmarks.catalogue import load
from fewsolves.benchmarks.run import run
from fewsolves.cli import main
from fewsolves.data import split_rows
from fewsolves.methods.registry import METHODS
from fewsolves.oracle import Budget
from fewsolves.pricing import quote as quoting
from fewsolves.pricing.price import Task
from fewsolves.pricing.quote import quote, quote_task
from problems_of_users import CHEAPEST, NEWSVENDOR, demand_table


def test_it_pays_for_three_solves_and_takes_the_median(monkeypatch):
    now, durations, called = [0.0], iter([9.0, 2.0, 1.0]), []
    monkeypatch.setattr("time.perf_counter", lambda: now[0])

    def solve(y_hat):
        called.append("solve")
        now[0] += next(durations)
        return y_hat

    def cost(y, z):
        called.append("cost")
        now[0] += 0.5
        return 0.0

    quoted = quote(fs.Problem(solve=solve, cost=cost), *demand_table(), workers=4)
    assert sorted(called) == ["cost"] * 3 + ["solve"] * 3
    assert (quoted.solve_seconds, quoted.cost_seconds) == (2.0, 0.5)
    line = quoted["gp-surrogate"]
    spent = 2.0 * line.total_solves + 0.5 * sum(line.cost_calls.values())
    assert line.hours == pytest.approx(spent / 4 / 3600)


def test_what_follows_from_the_settings_is_exact():
    quoted = quote(NEWSVENDOR, *demand_table(100))
    assert quoted["lodl-mse"].solves["pre-training"] == 250 * 90
    assert quoted["egl-mse"].solves["pre-training"] == 32 * 90
    assert quoted["gp-surrogate"].solves["pre-training"] == 4 * 90
    assert quoted["gp-surrogate"].solves["labels"] == 100
    assert quoted["pfl"].solves == {"probe": 1, "labels": 12, "pre-training": 0, "online": 0.0, "validation": 20}


def test_every_method_has_a_line_and_its_figures():
    quoted, linear = quote(NEWSVENDOR, *demand_table()), quote(CHEAPEST, *demand_table())
    assert [line.method for line in quoted.lines] == list(METHODS)
    assert all(line.reason is None and line.total_solves > 0 for line in linear.lines)
    assert "linear" in quoted["spo+"].reason
    text = str(quoted)
    assert all(name in text for name in METHODS)
    assert "not pg, perturbed-fy, spo+: it needs an objective" in text


def test_a_budget_names_what_it_cuts_and_what_it_excludes():
    quoted = quote(NEWSVENDOR, *demand_table(100), budget=Budget(solves=2000))
    assert quoted["lodl-mse"].reason == "needs 22,631 solves at the least, the budget has 2,000"
    assert quoted["sfge"].cut
    assert not quoted["gp-surrogate"].cut
    assert "budget 2,000 solves: ends" in str(quoted)
    whole = quote(NEWSVENDOR, *demand_table(100))
    assert not any(line.cut for line in whole.lines)


def test_the_largest_n_y_follows_memory_and_budget(monkeypatch):
    monkeypatch.setattr(quoting, "_free_memory", lambda: 2e9)
    quoted = quote(NEWSVENDOR, *demand_table(100))
    assert quoted["lodl-mse"].largest_n_y == int(1e9 / (90 * 250 * quoting.BYTES["lodl"]))
    assert quoted["sfge"].largest_n_y is None
    assert quoted["gp-surrogate"].largest_n_y > 10 * quoted["lodl-mse"].largest_n_y
    tight = quote(NEWSVENDOR, *demand_table(100), budget=Budget(solves=3100))
    assert tight["egl-mse"].largest_n_y == 49, "from 50 on it takes 42 samples instead of 32"


@pytest.mark.parametrize("method", ["pfl", "gp-surrogate"])
def test_a_run_costs_what_was_quoted_within_a_factor_of_three(method):
    benchmark = load("wsmc-10-50", 7, n=120)
    split = split_rows(120, rng=np.random.default_rng(benchmark.seed))
    quoted = quote_task(Task(benchmark.problem, benchmark.Y, split), workers=1, budget=None)[method]
    calls = run(benchmark, method).fit.oracle.calls
    assert 1 / 3 < calls.total("solve") / quoted.total_solves < 3
    assert 1 / 3 < calls.total("cost") / sum(quoted.cost_calls.values()) < 3
    assert calls.counts["solve"]["labels"] == quoted.solves["labels"]
    assert calls.counts["solve"]["pre-training"] == quoted.solves["pre-training"]


def test_on_the_command_line():
    options = ["--benchmark", "kp-weights", "--delay", "0.01", "--workers", "4", "--max-solves", "9000"]
    shown = CliRunner().invoke(main, ["quote", *options])
    assert shown.exit_code == 0, shown.output
    assert "hours on 4 worker(s)" in shown.output
    assert "not lodl-mse" in shown.output
    wrong = CliRunner().invoke(main, ["quote", "--benchmark", "kp-weights", "--max-solves", "0"])
    assert wrong.exit_code == 1
    assert "Budget(solves=)" in wrong.output
