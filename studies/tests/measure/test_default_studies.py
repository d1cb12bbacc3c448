"""The studies of the default, each at its smallest: they run, go on where they stopped, and count right."""

from __future__ import annotations

import dataclasses
import math
from importlib import import_module

import numpy as np
import pytest

from fewsolves.methods.staged.tuning import Tuning
from fewsolves.oracle import Oracle
from fewsolves_studies.benchmarks.study import Study
from fewsolves_studies.measure import (
    ablation,
    alone,
    calibration,
    determinism,
    few_rows,
    fresh_ratio,
    heavy_tails,
    luck,
    monotone,
)


@pytest.fixture
def quick(tmp_path, capsys):
    """Runs a study at its smallest, and once more, when nothing is missing; its runs and its table."""

    def run(name):
        main = import_module(f"fewsolves_studies.measure.{name}").main
        main(["--quick", "--out", str(tmp_path)])
        runs = Study(tmp_path).read()
        capsys.readouterr()
        main(["--quick", "--out", str(tmp_path)])
        assert f"{len(runs)} of {len(runs)} runs are there, 0 are missing" in capsys.readouterr().err
        assert Study(tmp_path).read() == runs
        return runs, (tmp_path / "table.md").read_text()

    return run


def test_default_studies_luck(quick):
    runs, table = quick("luck")
    assert len(runs) == 4 and "| 60 | fleet 100 |" in table and "| all | this | 2 |" in table
    assert all(one["solves_after_labels"] <= luck.SOLVES for one in runs.values())


def test_default_studies_luck_has_the_cases_that_are_compared():
    assert len(luck.CASES) == 28
    others = {"lot-sizing-stock", "loading", "blending", "charging", "drift"}
    assert {case[0] for case in luck.CASES[luck.COMPARED :]} == others


def test_default_studies_luck_by_another_checkout_is_what_it_is_here(tmp_path):
    """The package of a checkout runs in another process, here that of this one."""
    from pathlib import Path

    case = {"problem": "fleet", "dataset": 100, "n": 40, "seeds": [0], "solves": 2, "n_fresh": 50}
    (there,) = luck.of_checkout(Path(__file__).parents[3], case)
    (here,) = luck.fresh_ratio.of_seeds(**case)
    for key in ("ratio", "pfl", "solves_in_all", "cost_calls"):
        assert there[key] == here[key]


def test_default_studies_luck_counts_a_kept_start_as_unlucky_only_where_other_seeds_gain():
    def of(case, ratios):
        return {
            luck.name_of("this", case, seed): {"ratio": ratio, "kept_start": ratio == 1.0, "pfl": 1.0}
            for seed, ratio in enumerate(ratios)
        }

    gains, flat = ("fleet", 300, 100), ("tour", 300, 100)
    table = luck.over_cases(of(gains, [0.8, 1.0]) | of(flat, [0.99, 1.0]), ["this"], [gains, flat], 2)
    assert table[-1]["start kept"] == "2 of 4" and table[-1]["kept where others gain 5%"] == "1"


def test_default_studies_ablation(quick):
    runs, table = quick("ablation")
    assert len({one["ratio"] for one in runs.values()}) > 2, "the constants reach the method"
    assert "| as it stands | 1 |" in table and "| folds=10 | 1 |" in table


def test_default_studies_ablation_changes_every_constant():
    changes = ablation.variants()
    changed = {name for change in changes.values() for name in change}
    assert changed == {field.name for field in dataclasses.fields(Tuning)} and set(ablation.OFF) <= changed
    for change in changes.values():
        assert type(dataclasses.replace(Tuning(), **change)) is Tuning


def test_default_studies_ablation_tells_a_constant_without_effect_from_one_that_does_not_matter():
    plan = {
        f"{variant}{k}": (variant, ("fleet", 100 + k), 0)
        for variant in (ablation.AS_IT_STANDS, "idle", "other")
        for k in range(2)
    }
    runs = {name: {"ratio": 0.8 + 0.01 * (variant == "other") * (-1) ** k[1]} for name, (variant, k, _) in plan.items()}
    table = {row["constant"]: row for row in ablation.rows(runs, plan)}
    assert table["idle"]["runs that differ"] == "0 of 2" and table["other"]["runs that differ"] == "2 of 2"
    assert table["idle"]["change"].startswith("+0.0000") and table["other"]["change"].startswith("+0.0000")


def test_default_studies_monotone(quick):
    runs, table = quick("monotone")
    assert set(runs) == {"fleet/1.100", "fleet/4.100"} and "of 1 steps" in table


def test_default_studies_monotone_marks_what_is_more_than_a_standard_error_worse():
    blocks = np.tile([0.01, -0.01], 5)

    def run(ratio):
        return {"ratio": ratio, "blocks": list(ratio + blocks), "solves_after_labels": 1.0, "solves_in_all": 2.0}

    runs = {f"fleet/{b}.{k}": run(r + 0.01 * k) for b, r in ((1, 0.8), (4, 0.9), (16, 0.9)) for k in range(2)}
    (row,), steps, marked = monotone.rows(runs, ["fleet"], [1, 4, 16], range(2))
    assert (steps, marked) == (2, 1) and row["@ 4"].startswith("**0.905**") and "**" not in row["@ 16"]


def test_default_studies_few_rows(quick):
    runs, table = quick("few_rows")
    assert len(runs) == 4 and "| all | 30 | 4 |" in table and "above" not in table


def test_default_studies_few_rows_tells_who_paid_more_than_was_allowed():
    run = {"ratio": 0.9, "pfl": 1.0, "kept_start": False, "solves_after_labels": 1.5}
    assert few_rows.row([[run]], 1)["paid per row, at most"] == "1.50 **above**"
    assert few_rows.row([[run]], 4)["paid per row, at most"] == "1.50"


def test_default_studies_determinism(quick):
    runs, table = quick("determinism")
    assert len({one["model"] for one in runs.values()}) == len({one["course"] for one in runs.values()}) == 1
    assert not any(one["kept_start"] for one in runs.values()), "else the models are the same whatever happens"
    assert "another" not in table


def test_default_studies_determinism_tells_other_models():
    run = {"course": "c", "solves": 1, "cost_calls": 2, "kept_start": True, "seconds": 1.0}
    runs = {"a": run | {"model": "x"}, "b": run | {"model": "y"}}
    (row,) = determinism.rows(runs, {"a": (20, "plain"), "b": (20, "ledger")})
    assert row["different models"] == "2" and row["different courses"] == "1"
    assert row["with a ledger"] == "**another**" and row["start kept"] == "2 **models say nothing**"


def test_default_studies_calibration(quick):
    runs, table = quick("calibration")
    assert set(runs) == {"fleet/200", "loading/200"} and "| results, all |" in table
    for one in runs.values():
        assert one["candidates"] and (one["evidence"] is None) == one["kept_start"]
        if one["kept_start"]:
            assert one["true"] == pytest.approx(0.0, abs=1e-9 * one["start"])


def test_default_studies_calibration_counts_misses_beyond_the_noise_of_fresh_rows():
    said = [(-1.0, 0.1, -1.1, 0.1), (-1.0, 0.1, -0.7, 0.1), (-1.0, 0.1, 0.0, 0.1), (0.0, math.inf, 5.0, 0.1)]
    table = calibration.misses(said)
    assert table["intervals"] == "3" and table["miss"].startswith("2 ") and table["miss clearly"].startswith("1 ")
    assert table["promised too much"] == "1" and table["too little"] == "0"


def test_default_studies_heavy_tails(quick):
    runs, table = quick("heavy_tails")
    assert set(runs) == {"pfl/0", "staged/0"} and "| staged | 1 |" in table
    assert all(one["solves_in_all"] <= heavy_tails.SOLVES for one in runs.values())


def test_default_studies_heavy_tails_paths_are_the_best_of_all_paths():
    from itertools import combinations

    grid, rng = heavy_tails.Grid(3), np.random.default_rng(0)
    Y = rng.uniform(-0.5, 1.0, size=(20, grid.n_y))
    paths = []
    for downs in combinations(range(4), 2):
        i, j, z = 0, 0, np.zeros(grid.n_y)
        for step in range(4):
            z[grid.down(i, j) if step in downs else grid.right(i, j)] = 1.0
            i, j = (i + 1, j) if step in downs else (i, j + 1)
        paths.append(z)
    assert grid.cost(Y, grid.solve(Y)) == pytest.approx((Y @ np.array(paths).T).min(axis=1))


def test_default_studies_alone(quick):
    runs, table = quick("alone")
    assert len(runs) == 4 and "| feasible/blending-40.100@2 |" in table and "| random/blending-40.100@2 |" in table
    assert all(one["solves_after_labels"] <= 2 for one in runs.values())
    pairs = [one["cost_calls"] for name, one in runs.items() if "/pairs/" in name]
    assert max(pairs) <= 4, "the label, and one for each solve: none at known decisions"


def test_default_studies_alone_rows_can_price_no_decision_of_another_row():
    table = fresh_ratio.Table("blending", 100, 20, 20)
    problem = alone.alone("feasible", table.problem, table.Y).with_instances(table.instances)
    oracle = Oracle(problem, table.Y)
    labels = [one.argument() for one in oracle.packed_labels(np.arange(20))]
    assert np.isnan(oracle.cost_at(np.roll(np.arange(20), 1), table.Y, labels)).all()
    random = alone.alone("random", table.problem, table.Y)
    first, again = (random.solve_batch(table.Y, table.instances) for _ in range(2))
    assert random.noisy_solve and not np.array_equal(first, again)
