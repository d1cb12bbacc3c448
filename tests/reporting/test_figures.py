"""Each figure shows what it should: as many markers and lines as there are methods, at the right places."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes

from fewsolves.errors import InputError
from fewsolves.reporting import Run, figures, read_runs
from fewsolves.reporting.figures.canvas import house_style, panels
from fewsolves.reporting.figures.labels import label_points, spread_out
from fewsolves.reporting.figures.training import curve
from fewsolves.reporting.groups import groups

from .made_up import METHODS, write_folder, write_run


def named_lines(axes: Axes) -> list[str]:
    return [str(line.get_label()) for line in axes.lines if not str(line.get_label()).startswith("_")]


def overlapping(axes: Axes) -> list[tuple[str, str]]:
    boxes = [(text.get_text(), text.get_window_extent()) for text in axes.texts]
    return [(a, b) for (a, box), (b, other) in combinations(boxes, 2) if box.overlaps(other)]


def test_reporting_figures_stages_are_marked_by_number_or_by_a_tick() -> None:
    readings = [(100, 17.0), (200, 14.6), (300, 15.0), (400, 15.0)]
    for stages, marks in (
        (
            [(200, "stage 1: pairs", True), (300, "stage 1: shifts", False), (400, "stage 2: pairs", False)],
            ["1", "2 ✗"],
        ),
        ([(200, "", True), (300, "", False), (400, "", False)], ["✓", "✗", "✗"]),
    ):
        figure, values = figures.regret_so_far(readings, 17.0, stages, bests=[17.0, 14.0, 14.0, 14.0])
        assert [text.get_text() for text in figure.axes[0].texts if text.get_text() != "start 17"] == marks
        assert values["reading-1"].endswith("(taken): 14.6 after 200 solves; best so far 14")
        assert "(not taken): 15 after 300 solves" in values["reading-2"]


def test_reporting_figures_regret_has_a_marker_per_method_with_bars(few: list[Run]) -> None:
    [axes] = figures.regret_against_solves(few).axes
    assert [container.get_label() for container in axes.containers] == [group.label for group in groups(few)]
    assert all(container.has_yerr for container in axes.containers)  # type: ignore[attr-defined]
    marker = dict(zip([group.label for group in groups(few)], axes.containers, strict=True))["gp-surrogate"][0]
    ratio = np.mean([group.ratios for group in groups(few) if group.label == "gp-surrogate"])
    assert marker.get_ydata() == pytest.approx(ratio)
    assert axes.get_xscale() == "symlog"
    assert axes.get_ylabel() == "Test regret relative to PFL"


def test_reporting_figures_regret_itself_where_pfl_did_not_run(two_benchmarks: list[Run]) -> None:
    values, covers = figures.regret_against_solves(two_benchmarks).axes
    assert (values.get_ylabel(), covers.get_ylabel()) == ("Test regret relative to PFL", "Test regret")
    assert (values.get_title("left"), covers.get_title("left")) == ("kp-values", "wsmc-10-50")


def test_reporting_figures_sixteen_labels_do_not_overlap(many: list[Run]) -> None:
    [axes] = figures.regret_against_solves(many).axes
    assert len(axes.texts) == 16
    assert not overlapping(axes)


@pytest.mark.parametrize("seed", range(6))
def test_reporting_figures_labels_of_a_random_cloud_do_not_overlap(seed: int) -> None:
    points = np.random.default_rng(seed).normal(0.5, 0.15, (16, 2))

    @house_style
    def draw() -> Axes:
        _, [[axes]] = panels(1, 1, height=3.9)
        axes.set(xlim=(0, 1), ylim=(0, 1))
        label_points(axes, points, list(METHODS), np.empty((0, 4)))
        return axes

    axes = draw()
    assert not overlapping(axes)
    area = axes.get_window_extent().padded(9)
    assert all(area.contains(*corner) for text in axes.texts for corner in text.get_window_extent().get_points())


def test_reporting_figures_spread_out_keeps_order_distance_and_bounds() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        wanted = np.sort(rng.uniform(0, 100, rng.integers(1, 12)))
        found = spread_out(wanted, 5.0, 0.0, 100.0)
        assert np.all(np.diff(found) >= 5.0 - 1e-9)
        assert found.min() >= -1e-9
        assert found.max() <= 100 + 1e-9
    assert spread_out(np.array([10.0, 50.0]), 5.0, 0.0, 100.0) == pytest.approx([10, 50])
    assert np.all(np.diff(spread_out(np.zeros(50), 5.0, 0.0, 100.0)) > 0)  # too many: closer, still in order


def test_reporting_figures_training_has_a_line_per_method_and_panel(many: list[Run]) -> None:
    by_solves, by_epoch = figures.training_curves(many).axes
    labels = [group.label for group in groups(many)]
    assert named_lines(by_solves) == named_lines(by_epoch) == labels
    assert sum(line.get_label() == "_start" for line in by_solves.lines) == len(labels)
    assert not overlapping(by_epoch)


def test_reporting_figures_a_training_curve_by_hand(tmp_path: Path) -> None:
    """Two seeds: one validates every epoch and stops early, one warms up longer."""
    source = write_run(tmp_path / "source")
    result = dict(read_runs(source)[0].result)
    histories: list[list[tuple[str, float | str, int]]] = [
        [("start", 9.0, 10), ("start", 4.0, 20), ("train", 2.0, 30), ("train", 3.0, 40)],
        [("start", 6.0, 10), ("train", 5.0, 50), ("train", "", 60), ("train", 1.0, 70)],
    ]
    for seed, history in enumerate(histories):
        rows = [
            {"stage": stage, "epoch": i, "validation_regret": regret, "solves_online": solves}
            for i, (stage, regret, solves) in enumerate(history)
        ]
        write_folder(tmp_path / "runs" / str(seed), {**result, "dataset_seed": seed}, rows)
    found = curve(groups(read_runs(tmp_path / "runs"))[0])
    assert found.epoch.tolist() == [0, 1, 2, 3]
    assert found.regret.tolist() == [5.0, 3.5, 4.0, 2.0]
    assert found.best.tolist() == [5.0, 3.5, 3.5, 1.5]
    assert found.solves.tolist() == [15.0, 40.0, 45.0, 55.0]


def test_reporting_figures_a_warm_start_that_was_validated_once_begins_the_curve(tmp_path: Path) -> None:
    source = write_run(tmp_path / "source", start_validation_regret=4.0)
    history = [("start", "", 10), ("start", "", 10), ("train", 5.0, 30), ("train", 3.0, 40)]
    rows = [
        {"stage": stage, "epoch": i, "validation_regret": regret, "solves_labels": 8, "solves_online": solves}
        for i, (stage, regret, solves) in enumerate(history)
    ]
    write_folder(tmp_path / "run", read_runs(source)[0].result, rows)
    found = curve(groups(read_runs(tmp_path / "run"))[0])
    assert found.epoch.tolist() == [0, 1, 2]
    assert found.regret.tolist() == [4.0, 5.0, 3.0]
    assert found.best.tolist() == [4.0, 4.0, 3.0]
    assert found.solves.tolist() == [8, 38, 48]


def test_reporting_figures_trust_and_calibration_show_the_methods_that_have_them(few: list[Run]) -> None:
    share, paid = figures.trust(few).axes
    assert named_lines(share) == named_lines(paid) == ["gp-surrogate", "gp-surrogate-paper"]
    [axes] = figures.calibration(few).axes
    assert [container.get_label() for container in axes.containers] == ["gp-surrogate", "gp-surrogate-paper"]
    assert axes.containers[0][0].get_xdata().tolist() == [0.5, 0.8, 0.95]


def test_reporting_figures_without_a_surrogate_there_is_nothing_to_trust(tmp_path: Path) -> None:
    runs = read_runs(write_run(tmp_path / "run", "sfge"))
    with pytest.raises(InputError, match="trusted"):
        figures.trust(runs)
    with pytest.raises(InputError, match="calibration"):
        figures.calibration(runs)


def test_reporting_figures_smoothing_and_landscape() -> None:
    x = np.linspace(-1, 1, 50)
    step = np.floor(3 * np.abs(x))
    [axes] = figures.smoothing(x, step, {1.0: step / 2, 0.1: step}, points=[0.1, 0.2, 0.3]).axes
    assert named_lines(axes) == ["samples", "true regret", "σ = 0.1", "σ = 1"]
    assert len(figures.smoothing(x, step, {}).axes[0].texts) == 1
    line, belief = (x, step), (x, step, 0.1 + 0 * x)
    [axes] = figures.landscape(regret=line, smoothed=line, belief=belief, paid=([0.0], [0.0])).axes
    assert named_lines(axes) == ["paid solves", "true regret", "smoothed regret", "surrogate mean"]
    assert len(axes.collections) == 2  # bands of one and two std
    [alone] = figures.landscape(regret=line).axes
    assert named_lines(alone) == ["true regret"]


def test_reporting_figures_solves_needed_has_a_line_per_method_and_one_at_the_goal(few: list[Run]) -> None:
    curves = {"sfge": [(1000, 0.9), (2000, 0.5)], "gp-surrogate": [(900, 0.4)]}
    [axes] = figures.solves_needed(curves, goal="gp-surrogate", styles=figures.styles(few)).axes
    assert named_lines(axes) == ["sfge", "gp-surrogate"]
    [goal] = [line for line in axes.lines if line.get_label() == "_reference"]
    assert set(goal.get_ydata()) == {0.4}
    assert {text.get_text() for text in axes.texts} == set(curves)
    assert axes.get_xlim()[0] < 900 < 2000 < axes.get_xlim()[1]


def test_reporting_figures_a_method_looks_the_same_everywhere(many: list[Run], few: list[Run]) -> None:
    looks = figures.styles(many)
    assert len(set(looks.values())) == 16
    assert all(looks[label] == look for label, look in figures.styles(few).items())
    strangers = [Run({**few[0].result, "method": f"method {i}"}) for i in range(40)]
    assert len(set(figures.styles(strangers).values())) == 40


@pytest.mark.parametrize("regrets", [(0.0, 0.0), (-3.0, 2.0), (float("nan"), 1.0), (1e-9, 1e12), (float("inf"),) * 2])
def test_reporting_figures_odd_regrets_are_drawn(tmp_path: Path, regrets: tuple[float, ...]) -> None:
    for i, regret in enumerate(regrets):
        write_run(tmp_path / str(i), ("pfl", "sfge")[i], test_regret=regret, solves_per_instance=1e9 * i)
    assert "<svg" in figures.svg(figures.regret_against_solves(read_runs(tmp_path)))


def test_reporting_figures_a_run_without_epochs_is_drawn(few: list[Run]) -> None:
    assert "<svg" in figures.svg(figures.training_curves([Run(few[0].result)]))


def test_reporting_figures_the_callers_matplotlib_is_left_alone(few: list[Run]) -> None:
    expected = figures.svg(figures.regret_against_solves(few))
    with matplotlib.rc_context({"font.size": 30, "axes.grid": False, "lines.linewidth": 9}):
        before = dict(matplotlib.rcParams)
        assert figures.svg(figures.regret_against_solves(few)) == expected
        assert dict(matplotlib.rcParams) == before


def test_reporting_figures_pyplot_is_never_imported() -> None:
    code = "import sys, fewsolves.reporting; assert 'matplotlib.pyplot' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_reporting_figures_a_run_under_way_leads_to_the_best_that_its_headline_has() -> None:
    figure, values = figures.regret_so_far([(100, 17.0), (200, 14.6)], 17.0, best_now=14.0)
    line = next(one for one in figure.axes[0].lines if one.get_drawstyle() == "steps-post")
    assert np.asarray(line.get_ydata())[-1] == 14.0
    assert "best 14" in [text.get_text() for text in figure.axes[0].texts]
    assert values["reading-1"] == "14.6 after 200 solves; best so far 14"


def test_reporting_figures_of_a_page_have_room_for_names_of_methods(few: list[Run]) -> None:
    two = [Run({**run.result, "predictor": name}, run.history) for run in few for name in ("linear", "network")]
    shown = [run for run in two if run.method in ("pfl", "sfge")]
    for figure in figures.training_figures(shown):
        names = {text.get_text() for text in figure.axes[0].texts}
        assert {"sfge (network)", "sfge (linear)"} <= names, "none is cut"


def test_reporting_figures_a_run_leads_from_0_to_the_solves_paid_by_now() -> None:
    figure, _ = figures.regret_so_far([(182, 37.5)], 37.5, best_now=37.5, paid=315)
    [axes] = figure.axes
    assert axes.get_xlim()[0] == 0
    [line] = [line for line in axes.lines if line.get_drawstyle() == "steps-post"]
    assert line.get_xdata()[-1] == 315
    ended, _ = figures.regret_so_far([(182, 37.5), (785, 20.9)], 37.5, result=20.9, best_now=20.9, paid=1258)
    [diamond] = [line for line in ended.axes[0].lines if line.get_marker() == "D"]
    assert diamond.get_xdata()[0] == 1258, "the result has cost all solves"
    under_way, _ = figures.regret_so_far(
        [(182, 32.6), (315, 16.5), (385, 17.8)], 32.6, bests=[32.6, 18.0, 18.0], best_now=18.0, paid=776
    )
    [line] = [line for line in under_way.axes[0].lines if line.get_drawstyle() == "steps-post"]
    assert list(line.get_ydata()) == [32.6, 18.0, 18.0, 18.0], "the best so far never rises"
    several, _ = figures.best_so_far([figures.Curve("staged", [(182, 37.5)], 37.5, (), 315)])
    assert several.axes[0].lines[0].get_xdata()[-1] == 315
    assert several.axes[0].get_xlim()[0] == 0
