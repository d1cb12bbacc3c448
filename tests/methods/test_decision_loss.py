"""The default's estimator as a loss in a torch loop of one's own."""

import gc

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import fewsolves as fs
from fewsolves.errors import LedgerError
from fewsolves.oracle import SolveConfig
from problems_of_users import CHEAPEST, NEWSVENDOR, demand_table, old_and_new, price, shortage_cost

N = 40
X, Y = demand_table(N, 2)
NEAR = Y[8:16].copy()  # predictions of the first eight rows: the truths of others
NOISY = fs.Problem(solve=lambda y_hat: y_hat, cost=shortage_cost, noisy="solve")


def least_squares(x, y, dtype=torch.float64):
    net = nn.Linear(x.shape[1], y.shape[1]).to(dtype)
    design = np.column_stack([x, np.ones(len(x))])
    weights = torch.as_tensor(np.linalg.lstsq(design, y, rcond=None)[0])
    with torch.no_grad():
        net.weight.copy_(weights[:-1].T)
        net.bias.copy_(weights[-1])
    return net


def trained(loss, net, x, epochs=10, rate=0.05):
    optimiser = torch.optim.Adam(net.parameters(), lr=rate)
    x, order = torch.as_tensor(x).to(next(net.parameters()).dtype), torch.Generator().manual_seed(0)
    for _ in range(epochs):
        for index in torch.randperm(len(x), generator=order).split(16):
            optimiser.zero_grad()
            loss(net(x[index]), index).backward()
            optimiser.step()
    return net


def regret(problem, net, x, y):
    with torch.no_grad():
        y_hat = net(torch.as_tensor(x).to(next(net.parameters()).dtype)).double().numpy()
    return fs.Oracle(problem, y).regret(np.arange(len(y)), y_hat, phase="test").mean()


@pytest.mark.parametrize("problem", [NEWSVENDOR, NOISY], ids=["argmin or processes", "pairs"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_loss_training_lowers_the_regret_of_new_rows_within_its_allowance(problem, dtype):
    (x, y), (x_new, y_new) = old_and_new(60, 60)
    net = least_squares(x, y, dtype)
    before = regret(NEWSVENDOR, net, x_new, y_new)
    loss = fs.DecisionLoss(problem, y, solves=6, epochs=10)
    trained(loss, net, x)
    assert regret(NEWSVENDOR, net, x_new, y_new) < 0.85 * before
    assert loss.calls.counts["solve"]["labels"] == 60
    assert 3 * 60 <= loss.calls.counts["solve"]["online"] <= 6 * 60
    assert (loss.stand_in is None) == (problem is NOISY)


def test_loss_on_a_linear_cost_is_spo_plus_over_known_decisions():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    y = 2 + np.exp(x @ rng.normal(size=(3, 5))) * rng.uniform(0.5, 1.5, size=(200, 5))
    problem = fs.Problem(solve=CHEAPEST.solve, cost=price)
    net = least_squares(x, y)
    before = regret(problem, net, x, y)
    loss = fs.DecisionLoss(problem, y, solves=2, epochs=10)
    trained(loss, net, x, rate=0.02)
    assert loss.stand_in.name == "spo+"
    assert regret(problem, net, x, y) < 0.9 * before


def test_loss_slope_is_that_of_the_descent_and_its_value_that_of_the_stand_in():
    loss = fs.DecisionLoss(NEWSVENDOR, Y, solves=0)
    y_hat, index = torch.tensor(NEAR, requires_grad=True), torch.arange(8)
    value = loss(y_hat, index)
    value.backward()
    u = loss.rows.units(NEAR)
    assert value.item() == pytest.approx(np.nanmean(loss.stand_in.value(np.arange(8), u, u[:, None])))
    assert np.isfinite(y_hat.grad.numpy()).all() and y_hat.grad.abs().sum() > 0


def test_loss_after_its_allowance_and_without_gradients_pays_for_nothing():
    net = least_squares(X, Y)
    loss = fs.DecisionLoss(NEWSVENDOR, Y, solves=1, epochs=2)
    trained(loss, net, X, epochs=4)
    paid = loss.calls.total()
    assert paid <= 2 * N
    trained(loss, net, X, epochs=2)
    with torch.no_grad():
        assert np.isfinite(loss(net(torch.as_tensor(X)), torch.arange(N)).item())
    assert loss.calls.total() == paid


@pytest.mark.parametrize("own", [True, False], ids=["its own", "of its oracle"])
def test_loss_keeps_to_the_budget_and_goes_on_without_solves(own):
    budget = fs.Budget(solves=N + 25)
    rows = (NEWSVENDOR, Y) if own else (fs.Oracle(NEWSVENDOR, Y, budget=budget),)
    loss = fs.DecisionLoss(*rows, solves=50, epochs=2, budget=budget if own else None)
    net = least_squares(X, Y)
    trained(loss, net, X, epochs=3)
    assert N < loss.calls.total() <= N + 25
    assert np.isfinite(net.weight.detach().numpy()).all()


def test_loss_with_workers_gives_the_same():
    found = []
    for solving in (None, SolveConfig(workers=2)):
        with fs.DecisionLoss(NEWSVENDOR, Y, solves=2, epochs=2, solving=solving) as loss:
            found.append(trained(loss, least_squares(X, Y), X, epochs=2).weight.detach().numpy().copy())
    assert np.array_equal(*found)


def test_loss_with_a_folder_pays_once(tmp_path):
    solved = []

    def solve(y_hat):
        solved.append(1)
        return NEWSVENDOR.solve(y_hat)

    problem, weights, paid = fs.Problem(solve=solve, cost=shortage_cost, version="1"), [], []
    for options in ({}, {}, {"seed": 1}):
        before = len(solved)
        with fs.DecisionLoss(problem, Y, solves=2, epochs=2, folder=tmp_path, **options) as loss:
            weights.append(trained(loss, least_squares(X, Y), X, epochs=2).weight.detach().numpy().copy())
        paid.append(len(solved) - before)
        assert loss.calls.total() > N
    assert paid[0] > N and paid[1] == 0
    assert 0 < paid[2] < paid[0]  # another run, which has its labels from the first
    assert np.array_equal(weights[0], weights[1]) and not np.array_equal(weights[0], weights[2])


def test_loss_the_folder_is_released_by_close_and_with_the_loss_itself(tmp_path):
    first = fs.DecisionLoss(NEWSVENDOR, Y, folder=tmp_path)
    with pytest.raises(LedgerError, match="is in use by"):
        fs.DecisionLoss(NEWSVENDOR, Y, folder=tmp_path)
    first.close()
    first.close()
    second = fs.DecisionLoss(NEWSVENDOR, Y, folder=tmp_path)
    del second
    gc.collect()
    with pytest.raises(fs.InputError, match=r"instances has 3 entries"):
        fs.DecisionLoss(NEWSVENDOR, Y, instances=[1, 2, 3], folder=tmp_path)
    fs.DecisionLoss(NEWSVENDOR, Y, folder=tmp_path).close()


def test_loss_takes_known_data_by_row():
    prices = np.linspace(1.0, 3.0, N).tolist()
    problem = fs.Problem(
        solve=lambda y_hat, each: y_hat / each, cost=lambda y, z, each: shortage_cost(y, z * each), name="by row"
    )
    loss = fs.DecisionLoss(problem, Y, instances=prices, solves=2, epochs=2)
    trained(loss, least_squares(X, Y), X, epochs=2)
    assert loss.calls.total() <= 3 * N


def test_loss_in_a_data_loader_and_in_the_style_of_lightning():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = least_squares(X, Y, torch.float32)
            self.loss = fs.DecisionLoss(NEWSVENDOR, Y, solves=2, epochs=2)

        def training_step(self, batch, batch_idx):
            x, index = batch
            return self.loss(self.net(x), index)

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=0.05)

    model = Model()
    assert list(model.parameters()) == list(model.net.parameters())
    optimiser = model.configure_optimizers()
    before = model.net.weight.detach().clone()
    table = TensorDataset(torch.as_tensor(X, dtype=torch.float32), torch.arange(N))
    for number, batch in enumerate(DataLoader(table, batch_size=16, shuffle=True)):
        optimiser.zero_grad()
        loss = model.training_step(batch, number)
        loss.backward()
        optimiser.step()
        assert loss.dtype == torch.float32
    assert not torch.equal(model.net.weight, before)


class Elsewhere(torch.Tensor):
    """Predictions on another device: NumPy cannot read them before `cpu()`, as with a GPU."""

    def numpy(self, *args, **options):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    def __array__(self, *args, **options):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    def cpu(self):
        return self.as_subclass(torch.Tensor)


def test_loss_takes_predictions_and_row_numbers_from_another_device():
    y_hat = torch.tensor(NEAR, requires_grad=True)
    there, index = y_hat.as_subclass(Elsewhere), torch.arange(8).as_subclass(Elsewhere)
    fs.DecisionLoss(NEWSVENDOR, Y, solves=0)(there, index).backward()
    moved = y_hat.grad.clone()
    y_hat.grad = None
    fs.DecisionLoss(NEWSVENDOR, Y, solves=0)(y_hat, torch.arange(8)).backward()
    assert torch.equal(moved, y_hat.grad)
    loss = fs.DecisionLoss(NEWSVENDOR, Y, solves=0).to("meta")  # as `model.to(device)` does with all its parts
    y_hat.grad = None
    loss(y_hat, torch.arange(8)).backward()
    assert torch.equal(moved, y_hat.grad)


def test_loss_start_chooses_by_all_rows_and_a_run_is_a_function_of_its_seed():
    weights = []
    for seed in (0, 0, 1):
        net, loss = least_squares(X, Y), fs.DecisionLoss(NEWSVENDOR, Y, solves=4, epochs=2, seed=seed)
        loss.start(net(torch.as_tensor(X)))
        weights.append(trained(loss, net, X, epochs=2).weight.detach().numpy())
    assert np.array_equal(weights[0], weights[1]) and not np.array_equal(weights[0], weights[2])


def test_loss_continues_with_pairs_where_cost_calls_are_not_allowed():
    oracle = fs.Oracle(NEWSVENDOR, Y, budget=fs.Budget(cost_calls=6 * N))
    loss = fs.DecisionLoss(oracle, solves=2, epochs=2)
    net = trained(loss, least_squares(X, Y), X, epochs=2)
    assert loss.stand_in is None and np.isfinite(net.weight.detach().numpy()).all()
    assert oracle.calls.total("cost") <= 6 * N


def test_loss_refuses_what_it_cannot_use():
    with pytest.raises(fs.InputError, match="solves must be at least 0"):
        fs.DecisionLoss(NEWSVENDOR, Y, solves=-1)
    with pytest.raises(
        fs.InputError, match="an oracle has its rows, budget, ledger and workers: leave Y=, folder= out"
    ):
        fs.DecisionLoss(fs.Oracle(NEWSVENDOR, Y), Y, folder="runs/loop")
    with pytest.raises(fs.InputError, match=r"budget must be an fs\.Budget, got 150"):
        fs.DecisionLoss(NEWSVENDOR, Y, budget=150)
    with pytest.raises(fs.InputError, match="must be a Problem or an Oracle"):
        fs.DecisionLoss("problem", Y)
    with pytest.raises(fs.InputError, match="Y is missing: give the true parameters"):
        fs.DecisionLoss(NEWSVENDOR)


@pytest.mark.parametrize(
    ("y_hat", "index", "says"),
    [
        (torch.zeros(4, 2), torch.arange(3), r"expected predictions of shape \(3, 2\), got \(4, 2\)"),
        (torch.zeros(3), torch.arange(3), r"expected predictions of shape \(3, 2\), got \(3,\)"),
        (torch.full((3, 2), torch.nan), torch.arange(5, 8), "prediction of row 5 is not finite; lower the learning"),
        (np.zeros((3, 2)), torch.arange(3), "must be a torch tensor of floating-point numbers, got ndarray"),
        (
            torch.zeros(3, 2).long(),
            torch.arange(3),
            "must be a torch tensor of floating-point numbers, got torch.int64",
        ),
        (torch.zeros(3, 2, device="meta"), torch.arange(3), "predictions on the device 'meta' have no values"),
        (torch.zeros(3, 2), torch.tensor([0, 1, 200]), "index has 200 at position 2; Y has 40 rows, numbered from 0"),
        (torch.zeros(3, 2), torch.tensor([0, -1, 2]), "index has -1 at position 1; Y has 40 rows"),
        (torch.zeros(3, 2), torch.tensor([0.0, 1.0, 2.0]), r"a vector of integers; got float32 of shape \(3,\)"),
        (torch.zeros(N, 2), torch.ones(N).bool(), "a vector of integers; got bool"),
        (torch.zeros(3, 2), torch.arange(3)[:, None], r"a vector of integers; got int64 of shape \(3, 1\)"),
        (torch.zeros(0, 2), torch.arange(0), "numbers of at least one row of Y"),
    ],
)
def test_loss_refuses_a_batch_that_it_cannot_use_before_anything_is_paid(y_hat, index, says):
    loss = fs.DecisionLoss(NEWSVENDOR, Y)
    with pytest.raises(fs.InputError, match=says):
        loss(y_hat, index)
    assert loss.calls.total() == 0


def test_loss_takes_vectors_of_predictions_for_one_parameter_and_lists_of_row_numbers():
    slopes = []
    for shape in ((8,), (8, 1), (8, 1, 1)):
        y_hat = torch.tensor(NEAR[:, 0]).reshape(shape).requires_grad_()
        fs.DecisionLoss(NEWSVENDOR, Y[:, 0], solves=0)(y_hat, list(range(8))).backward()
        assert y_hat.grad.shape == shape
        slopes.append(y_hat.grad.ravel())
    assert torch.equal(slopes[0], slopes[1]) and torch.equal(slopes[0], slopes[2])
    assert slopes[0].abs().sum() > 0


def test_decision_loss_the_regret_may_be_relative():
    index = torch.arange(8)
    y_hat = torch.as_tensor(NEAR)
    with fs.DecisionLoss(NEWSVENDOR, Y, solves=0, regret="relative") as relative:
        of_config = fs.DecisionLoss(NEWSVENDOR, Y, solves=0, solving=SolveConfig(regret="relative"))
        assert relative.oracle.solving.regret == of_config.oracle.solving.regret == "relative"
        value = relative(y_hat, index).item()
        assert value == of_config(y_hat, index).item()
        absolute = fs.DecisionLoss(NEWSVENDOR, Y, solves=0)
        assert 0 < value < absolute(y_hat, index).item()
        both = fs.DecisionLoss(NEWSVENDOR, Y, solving=SolveConfig(on_failure="skip"), regret="relative")
        assert (both.oracle.solving.on_failure, both.oracle.solving.regret) == ("skip", "relative")
        with pytest.raises(fs.InputError, match="regret"):
            fs.DecisionLoss(NEWSVENDOR, Y, regret="squared")
        with pytest.raises(fs.InputError, match="leave regret= out"):
            fs.DecisionLoss(relative.oracle, regret="relative")
