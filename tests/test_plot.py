"""Figures by one call."""

import warnings

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.exceptions import NotFittedError

import fewsolves as fs
from fewsolves.errors import InputError
from fewsolves.reporting import figures, looks
from fewsolves.reporting.figures import canvas
from problems_of_users import NEWSVENDOR, QUICK, demand_table

X, Y = demand_table(40, 2)
TRAINED = QUICK | {"guard": -1e9}  # the result is what was trained, not the start


def model(method="gp-surrogate", problem=NEWSVENDOR, **options):
    return fs.DecisionRegressor(problem, method, predictor="linear", settings=TRAINED, verbose=False, **options)


@pytest.fixture(scope="module")
def fitted():
    return model().fit(X, Y)


def lines(figure):
    return [line.get_label() for axes in figure.axes for line in axes.lines if not line.get_label().startswith("_")]


def test_plot_training_calibration_and_frontier_of_a_model_or_of_several(fitted, tmp_path):
    other = model("sfge", folder=tmp_path / "sfge").fit(X, Y)
    assert lines(fs.plot.training(fitted)) == ["gp-surrogate"] * 2
    assert len(fs.plot.calibration(fitted).axes) == 1
    assert set(lines(fs.plot.frontier([fitted, tmp_path / "sfge"]))) == {"gp-surrogate", "sfge"}
    assert lines(fs.plot.frontier(other)) == ["sfge"]
    with pytest.raises(InputError, match="only methods with a surrogate"):
        fs.plot.calibration(other)


def test_plot_a_figure_shows_itself_in_a_notebook(fitted):
    picture, metadata = fs.plot.training(fitted)._repr_png_()
    assert picture.startswith(b"\x89PNG")
    assert metadata == {"width": 750}


def test_plot_a_landscape_of_the_surrogate_costs_nothing_and_true_regret_what_is_said():
    solved = []

    def solve(y_hat):
        solved.append(1)
        return y_hat

    trained = model(problem=fs.Problem(solve=solve, cost=NEWSVENDOR.cost)).fit(X, Y)
    solved.clear()
    free = fs.plot.landscape(trained)
    assert not solved
    assert lines(free) == ["paid solves", "surrogate mean"]
    row = int(trained.split_.train[5])
    paid = fs.plot.landscape(trained, row, solves=9)
    assert len(solved) == 9  # the truth is on the line: its label is one of them
    [true] = [line for line in paid.axes[0].lines if line.get_label() == "true regret"]
    assert true.get_xdata()[[0, -1]].tolist() == [-0.5, 1.5]
    assert true.get_ydata().min() == pytest.approx(0.0, abs=1e-9)
    assert len(true.get_ydata()) == 9


def test_plot_a_landscape_with_instances_uses_that_of_the_row():
    prices = np.linspace(1, 5, len(X))
    problem = fs.Problem(
        solve=lambda y_hat, price: y_hat / price, cost=lambda y, z, price: float(np.abs(y - z * price).sum())
    )
    trained = model("sfge", problem).fit(X, Y, instances=prices)
    row = int(trained.split_.train[-1])
    [true] = fs.plot.landscape(trained, row, solves=5).axes[0].lines[:1]
    away = np.abs(trained.predict(X[row : row + 1]) - Y[row]).sum()
    assert true.get_ydata()[-1] == pytest.approx(1.5 * away)


def test_plot_what_cannot_be_drawn_is_refused_with_what_to_do(fitted):
    with pytest.raises(InputError, match=r"landscape\(model, solves=41\) pays"):
        fs.plot.landscape(model("sfge").fit(X, Y))
    with pytest.raises(InputError, match=f"row {fitted.split_.valid[0]} was not trained on"):
        fs.plot.landscape(fitted, int(fitted.split_.valid[0]))
    with pytest.raises(NotFittedError):
        fs.plot.landscape(model())
    with pytest.raises(InputError, match="expected a fitted model"):
        fs.plot.training(model())


def test_plot_a_figure_is_saved_sharp_and_on_white(fitted, tmp_path):
    fs.plot.training(fitted).savefig(tmp_path / "training.png")
    with Image.open(tmp_path / "training.png") as picture:
        assert picture.width == 1500
        assert picture.convert("RGBA").getpixel((0, 0)) == (255, 255, 255, 255)
    fs.plot.training(fitted).savefig(tmp_path / "small.png", dpi=50)
    with Image.open(tmp_path / "small.png") as picture:
        assert picture.width == 375


@pytest.mark.filterwarnings("ignore:Nothing was gained")
def test_plot_decisions_shows_what_training_did(tmp_path):
    trained = model("sfge", folder=tmp_path).fit(X, Y)
    figure = fs.plot.decisions(trained)
    shift = trained.predictor_(torch.as_tensor(trained.training_rows_.X)).detach().numpy() - trained.start_predictions_
    heights = sorted(bar.get_height() for bar in figure.axes[0].patches)
    assert heights == pytest.approx(sorted(shift.mean(axis=0)))
    assert lines(figure) == ["start", "trained", "truth"]
    row = int(trained.split_.train[3])
    truth = next(line for line in fs.plot.decisions(trained, row).axes[1].lines if line.get_label() == "truth")
    assert sorted(truth.get_ydata()) == pytest.approx(sorted(Y[row]))
    again = model("sfge", folder=tmp_path).fit(X, Y)
    with pytest.raises(InputError, match=r"was read from its folder, .* keeps the result only. Fit again without"):
        fs.plot.decisions(again)


def test_plot_decisions_write_values_beyond_the_bars(tmp_path):
    before = np.zeros((20, 4))
    after = np.array([0.01, 5.0, -0.02, -4.0]) + np.random.default_rng(0).normal(size=(20, 4))
    axes = figures.moved_predictions(before, after, after, list("abcd"), row=None).axes[0]
    figure, area = axes.figure, axes.get_window_extent()
    bars = [bar.get_window_extent() for bar in axes.patches]
    labels = [one for one in axes.texts if one.get_text().strip("+-0123456789.") == ""]
    assert len(labels) == 4
    for label in labels:
        box = label.get_window_extent(figure.canvas.get_renderer())
        assert not any(box.overlaps(bar) and bar.height > 1 for bar in bars)
        assert area.y0 <= box.y0
        assert box.y1 <= area.y1
        assert label.get_color() == canvas.INK


def test_plot_training_of_stages_shows_them_as_marks_that_no_line_joins():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        staged = fs.DecisionRegressor(NEWSVENDOR, predictor="linear", settings={"solves": 4.0}, verbose=False).fit(X, Y)
    axes = fs.plot.training(staged).axes[1]
    assert axes.get_title(loc="left") == "Every stage"
    assert axes.get_xlabel() == "Stages; 0 is the start"
    (drawn,) = [line for line in axes.lines if line.get_label() == "staged"]
    assert drawn.get_linestyle() == "None"
    both = fs.plot.training([staged, model("sfge").fit(X, Y)]).axes[1]
    assert both.get_title(loc="left") == "Every reading"


def test_plot_decisions_and_landscape_refuse_what_has_no_training_rows(tmp_path):
    model("pfl").set_params(settings=None).fit(X, Y).save(tmp_path / "saved")
    for given, what in ((tmp_path, "the folder"), (str(tmp_path), "the folder"), (None, "a NoneType"),
                        (fs.load(tmp_path / "saved", NEWSVENDOR), "a DecisionModel")):  # fmt: skip
        for draw in (fs.plot.decisions, fs.plot.landscape):
            with pytest.raises(InputError, match=f"takes a fitted DecisionRegressor.*got {what}"):
                draw(given)


def test_plot_decisions_of_many_outputs_says_that_it_draws_some():
    rng = np.random.default_rng(0)
    before, after, truth = rng.normal(size=(3, 20, 60))
    figure = figures.moved_predictions(before, after, truth, [f"y{k}" for k in range(60)], row=None)
    assert len(figure.axes[0].patches) == 24
    names = [int(label.get_text()[1:]) for label in figure.axes[0].get_xticklabels()]
    assert names == sorted(names), "outputs keep their order"
    assert figure.axes[0].get_title(loc="left") == "Shift of the 24 of 60 outputs that moved most"


def test_plot_every_figure_has_a_title(fitted):
    landscape = fs.plot.landscape(fitted, solves=5)
    assert {"truth", "prediction"} <= {text.get_text() for text in landscape.axes[0].texts}
    assert landscape.axes[0].get_title(loc="left") == f"Regret of row {int(fitted.split_.train[0])}"
    calibrated = fs.plot.calibration(fitted)
    for figure in (
        fs.plot.training(fitted),
        fs.plot.frontier(fitted),
        fs.plot.decisions(fitted),
        landscape,
        calibrated,
    ):
        assert all(axes.get_title(loc="left") for axes in figure.axes)


def test_plot_training_leads_to_the_result_of_a_method_without_epochs():
    X, Y = demand_table(60)
    model = fs.DecisionRegressor(NEWSVENDOR, "shift", predictor="linear", verbose=False).fit(X, Y)
    assert model.validation_regret_ < model.start_validation_regret_
    for figure in (fs.plot.training(model), fs.plot.frontier(model)):
        [line] = [line for line in figure.axes[0].lines if line.get_label() == "shift"]
        assert (line.get_xdata()[-1], line.get_ydata()[-1]) == (model.calls_.total(), model.validation_regret_)


def test_plot_compared_models_have_no_colour_of_a_method():
    drawn = figures.differences({"sfge": (1.0, 0.5, 1.5)}, beside="pfl").axes[0]
    assert {line.get_color() for line in drawn.lines} == {looks.INK, looks.MUTED}


def test_plot_methods_have_one_colour_each(fitted):
    known = [style.colour for name, style in looks._KNOWN.items() if name in ("staged", "gp-surrogate", "sfge", "spo+")]
    assert len(set(known)) == 4
    assert looks.styles_of(["staged", "sfge", "staged"])[:2] == looks.styles_of(["staged", "sfge"])
    several = looks.styles_of(["mine", "staged", "staged", "yours", "mine", "staged"])
    assert len(set(several)) == 6
    assert [several[k].colour for k in (1, 4)] == [several[k].colour for k in (2, 0)]
    assert len({several[k].colour for k in (0, 1, 3)}) == 3
    [style] = looks.styles_of(["gp-surrogate"])
    followed, _ = figures.regret_so_far([(100, 17.0), (200, 14.6)], 17.0, method="gp-surrogate")
    moved = fs.plot.decisions(fitted).axes[1]
    drawn = [fs.plot.training(fitted).axes[0], fs.plot.frontier(fitted).axes[0], followed.axes[0], moved]
    assert all(style.colour in {line.get_color() for line in axes.lines} for axes in drawn)
    assert f'stroke="{style.colour}"' in fitted._repr_html_(), "the small curve of a notebook"
