"""Which runs belong together, and how they compare with PFL."""

from __future__ import annotations

from pathlib import Path

import pytest

from fewsolves.reporting import Run, read_runs
from fewsolves.reporting.groups import groups, spread

from .made_up import write_run, write_runs


def test_groups_ratios_are_paired_by_dataset(few: list[Run]) -> None:
    regret = {(run.method, run.dataset_seed): run.regret for run in few}
    by_label = {group.label: group for group in groups(few)}
    assert by_label["sfge"].ratios == tuple(regret["sfge", seed] / regret["pfl", seed] for seed in range(3))
    assert by_label["pfl"].ratios == (1.0, 1.0, 1.0)


def test_groups_no_ratio_without_pfl_on_that_dataset(tmp_path: Path) -> None:
    write_runs(tmp_path, ("sfge",), seeds=2)
    write_run(tmp_path / "pfl", "pfl", seed=0)
    [sfge] = [group for group in groups(read_runs(tmp_path)) if group.method == "sfge"]
    assert sfge.ratios[0] is not None
    assert sfge.ratios[1] is None
    assert sfge.relative is not None
    assert sfge.relative.seeds == 1


def test_groups_no_ratio_to_a_perfect_pfl(tmp_path: Path) -> None:
    write_run(tmp_path / "pfl", "pfl", test_regret=0.0)
    write_run(tmp_path / "sfge", "sfge")
    assert all(group.relative is None for group in groups(read_runs(tmp_path)))


def test_groups_predictors_are_not_mixed(tmp_path: Path) -> None:
    write_run(tmp_path / "a", "sfge", 0, predictor="linear")
    write_run(tmp_path / "b", "sfge", 0, predictor="network")
    write_run(tmp_path / "c", "pfl", 0, predictor="network")
    by_label = {group.label: group for group in groups(read_runs(tmp_path))}
    assert set(by_label) == {"sfge (linear)", "sfge (network)", "pfl (network)"}
    assert by_label["sfge (linear)"].relative is None
    assert by_label["sfge (network)"].relative is not None


def test_groups_settings_that_differ_on_one_dataset_are_not_averaged(tmp_path: Path) -> None:
    for beta in (0.3, 1.0):
        for seed in range(2):
            write_run(tmp_path / f"{beta}-{seed}", seed=seed, config={"gate": {"beta": beta}, "seed": seed})
    labels = {group.label: group.seeds for group in groups(read_runs(tmp_path))}
    assert labels == {"gp-surrogate (beta 0.3)": [0, 1], "gp-surrogate (beta 1.0)": [0, 1]}


def test_groups_many_differing_settings_are_numbered(tmp_path: Path) -> None:
    for i in range(3):
        write_run(tmp_path / str(i), config={"a": i, "b": i, "c": i})
    labels = [group.label for group in groups(read_runs(tmp_path))]
    assert labels == [f"gp-surrogate (settings {i})" for i in (1, 2, 3)]


def test_groups_a_repeated_run_is_averaged(tmp_path: Path) -> None:
    for i in range(2):
        write_run(tmp_path / str(i))
    [group] = groups(read_runs(tmp_path))
    assert len(group.runs) == 2


def test_groups_spread() -> None:
    assert spread([]) is None
    assert spread([None]) is None
    assert spread([2.0, None]) == (2.0, None, 1)
    found = spread([1.0, 3.0])
    assert found is not None
    assert found.deviation == pytest.approx(2**0.5)
    diverged = spread([1.0, float("inf")])
    assert diverged is not None
    assert diverged.mean == float("inf")
