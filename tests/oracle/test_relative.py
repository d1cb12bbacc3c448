"""Relative regret: divided by the cost of the best decision of the row, everywhere."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import fewsolves as fs
from fewsolves.cli import main
from fewsolves.fitting.progress_file import read_progress
from fewsolves.methods.spo_plus import SPOPlusLoss
from fewsolves.oracle import Oracle, SolveConfig
from problems_of_users import CHEAPEST, NEWSVENDOR, QUICK, demand_table, order, price, shortage_cost

X, Y = demand_table(40, 2)
RELATIVE = SolveConfig(regret="relative")


def of(problem=NEWSVENDOR, Y=Y, **options):
    return Oracle(problem, Y, solving=SolveConfig(regret="relative", **options))


def test_relative_regret_is_divided_by_the_cost_of_the_best_decision():
    index, y_hat = np.arange(40), Y[::-1].copy()
    relative, absolute = of(), Oracle(NEWSVENDOR, Y)
    regret = relative.regret(index, y_hat, phase="online")
    assert regret == pytest.approx(absolute.regret(index, y_hat, phase="online") / np.abs(absolute.optimum(index)))
    assert relative.calls.counts == absolute.calls.counts


def test_relative_regret_refuses_rows_with_a_best_cost_near_zero_by_number():
    truth = Y.copy()
    truth[[5, 11]] = 0.0
    with pytest.raises(fs.InputError, match=r"near 0 for 2 of 40 rows: 5, 11. Leave these rows out, add a constant"):
        of(Y=truth).optimum(np.arange(40))
    model = fs.DecisionRegressor(NEWSVENDOR, "sfge", settings=QUICK, regret="relative", verbose=False)
    with pytest.raises(fs.InputError, match="near 0 for 2 of 40 rows: 5, 11"):
        model.fit(X, truth)


def test_relative_penalty_is_counted_in_units_of_the_cost_and_divided_too():
    def solve(y_hat):
        if y_hat.max() > 60:
            raise fs.Infeasible("too much")
        return order(y_hat)

    oracle = of(fs.Problem(solve=solve, cost=shortage_cost), on_failure="penalise", penalty=100.0)
    regret = oracle.regret(np.array([0, 1]), np.array([[99.0, 1.0], [1.0, 99.0]]), phase="online")
    assert regret == pytest.approx(100.0 / oracle.optimum(np.array([0, 1])))


def by_row(y_hat, best):
    return order(y_hat)


def cost_by_row(y, z, best):
    return shortage_cost(y, z)


def divided_cost(y, z, best):
    return shortage_cost(y, z) / best


@pytest.mark.parametrize("method", ["staged", "pairs", "sfge", "gp-surrogate", "shift", "lancer", "lodl-mse", "memo"])
def test_relative_training_is_that_of_a_cost_which_divides_itself(method):
    best = Oracle(NEWSVENDOR, Y).optimum(np.arange(40)).tolist()
    settings = {"solves": 2} if method in ("staged", "pairs") else {} if method == "shift" else QUICK
    given = {"method": method, "predictor": "linear", "settings": settings, "verbose": False}
    relative = fs.DecisionRegressor(fs.Problem(solve=by_row, cost=cost_by_row), regret="relative", **given)
    divides = fs.DecisionRegressor(fs.Problem(solve=by_row, cost=divided_cost), **given)
    relative.fit(X, Y, instances=best)
    divides.fit(X, Y, instances=best)
    assert relative.predict(X) == pytest.approx(divides.predict(X), rel=1e-6)
    assert relative.validation_regret_ == pytest.approx(divides.validation_regret_, rel=1e-6)
    assert relative.calls_.counts["solve"] == divides.calls_.counts["solve"]
    assert "Regrets are relative" in relative.summary_.message
    assert "relative" not in divides.summary_.message


def test_relative_loss_of_spo_plus_weighs_rows_by_the_cost_of_their_best_decision():
    truth = np.random.default_rng(0).uniform(1, 5, (6, 4))
    y_hat, index = truth[::-1].copy(), np.arange(6)
    losses = []
    for solving in (SolveConfig(), RELATIVE):
        oracle = Oracle(CHEAPEST, truth, solving=solving)
        losses.append(SPOPlusLoss(oracle).with_slope(y_hat, index)[1])
    assert losses[1] == pytest.approx(losses[0] / oracle.optimum(np.arange(6))[:, None])


def test_relative_default_on_a_linear_cost_learns_relative_regret(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    truth = 6 + x @ rng.normal(size=(3, 5)) + rng.uniform(0, 2, size=(60, 5))
    problem = fs.Problem(solve=CHEAPEST.solve, cost=price)
    model = fs.DecisionRegressor(problem, settings={"solves": 2}, regret="relative", verbose=False).fit(x, truth)
    best = np.array([price(y, CHEAPEST.solve(y)) for y in truth])
    by_hand = [price(y, CHEAPEST.solve(p)) / b - 1 for y, p, b in zip(truth, model.predict(x), best, strict=True)]
    assert model.regrets(x, truth).values == pytest.approx(by_hand)
    assert model.score(x, truth) == pytest.approx(-np.mean(by_hand))
    assert "mean relative regret" in repr(model.regrets(x, truth))
    assert "the relative regret is lower" in str(fs.compare({"a": model, "b": model}, x, truth))
    assert fs.load(model.save(tmp_path), problem).score(x, truth) == pytest.approx(-np.mean(by_hand))


def test_relative_run_in_the_folder_of_an_absolute_one_pays_for_no_label_again(tmp_path):
    given = {"method": "sfge", "predictor": "linear", "settings": QUICK, "verbose": False, "folder": tmp_path}
    absolute = fs.DecisionRegressor(NEWSVENDOR, **given).fit(X, Y)
    relative = fs.DecisionRegressor(NEWSVENDOR, **given, regret="relative").fit(X, Y)
    assert relative.validation_regret_ < 0.5 * absolute.validation_regret_  # its own result, not that of the other run
    labels = absolute.calls_.counts["solve"]["labels"]
    assert relative.calls_.counts["solve"]["labels"] == labels
    assert relative.calls_.shared["solve"] >= labels  # all of them paid before
    progress = read_progress(tmp_path)
    assert progress.readings[-1][1] == pytest.approx(relative.history_[-1].validation_regret, rel=1e-6)
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["regret"] == "relative"


def test_relative_refit_does_not_mix_the_two_kinds_of_regret():
    model = fs.DecisionRegressor(NEWSVENDOR, "gp-surrogate", predictor="linear", settings=QUICK, verbose=False)
    model.fit(X[:30], Y[:30])
    model.set_params(regret="relative").refit(X, Y)
    assert model.calls_.highest < 10  # relative regrets only


def test_relative_regret_is_an_option_of_the_command_line(tmp_path):
    (tmp_path / "table.csv").write_text(
        "a,b,c,d,y1,y2\n" + "\n".join(",".join(map(str, row)) for row in np.column_stack([X, Y])) + "\n"
    )
    (tmp_path / "plant.py").write_text(
        "import numpy as np, fewsolves as fs\n"
        "problem = fs.Problem(solve=lambda y: y, cost=lambda y, z: float(np.sum(z + 9 * np.maximum(y - z, 0))))\n"
    )
    done = CliRunner().invoke(
        main,
        [
            *("train", f"{tmp_path}/plant.py:problem", "--data", f"{tmp_path}/table.csv", "--x", "a,b,c,d"),
            *("--y", "y1,y2", "--method", "sfge", "--set", "max_epochs=2", "--set", "start_epochs=2"),
            *("--regret", "relative", "--out", f"{tmp_path}/run", "--no-report"),
        ],
    )
    assert done.exit_code == 0, done.output
    assert "Regrets are relative" in done.output
