import numpy as np
import pytest
import torch

import fewsolves as fs

pytest.importorskip("pyepo", reason="PyEPO is not installed, though 'fewsolves[dev]' asks for it")
from pyepo.data.dataset import optDataset
from pyepo.model import ort

N = 16


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 3))
    c = (4 + x @ rng.normal(size=(3, 12)) + rng.uniform(size=(N, 12))).astype(np.float32)
    model = ort.shortestPathModel((3, 3))
    return model, optDataset(model, x, c)


class Watched(fs.Loss):
    """Squared error to the truth, and everything that was asked."""

    def __init__(self, oracle):
        super().__init__()
        self.oracle, self.requests = oracle, []

    def start(self, y_hat):
        self.requests.append(("start", len(y_hat)))

    def begin_epoch(self, predict):
        self.requests.append(("epoch", predict().clone()))

    def forward(self, y_hat, index):
        self.requests.append(("rows", index.tolist()))
        return ((y_hat - torch.as_tensor(self.oracle.Y[index])) ** 2).mean()


def batch(dataset, index):
    return dataset.costs[index], dataset.sols[index], dataset.objs[index]


def test_pyepo_loss_rows_are_known_by_their_costs_and_epochs_begin_by_themselves(table):
    model, dataset = table
    loss = fs.PyEPOLoss(model, dataset, Watched)
    predictions = torch.ones(N, 12)
    order = [torch.randperm(N, generator=torch.Generator().manual_seed(k)) for k in range(2)]
    for shuffled in order:
        for index in shuffled.split(6):
            loss(predictions[index], *batch(dataset, index))
    requests = loss.loss.requests
    assert [what for what, _ in requests] == ["epoch", "rows", "rows", "rows"] * 2
    assert [rows for what, rows in requests if what == "rows"] == [i.tolist() for s in order for i in s.split(6)]
    assert torch.equal(requests[4][1], predictions.double()), "the latest prediction of each row"


def test_pyepo_loss_is_the_gp_surrogate_of_the_same_rows(table):
    model, dataset = table
    pred = dataset.costs + 0.3 * torch.randn(N, 12, generator=torch.Generator().manual_seed(0))
    index = torch.tensor([3, 0, 9, 4])
    ours = fs.GPSurrogateLoss(fs.problem_from_pyepo(model), dataset.costs.double().numpy())
    loss = fs.PyEPOLoss(model, dataset)
    values, slopes = [], []
    for one in (ours, loss):
        one.start(pred)
        u = pred[index].clone().requires_grad_()
        if one is ours:
            one.begin_epoch()
            value = one(u, index)
        else:
            value = one(u, *batch(dataset, index))
        value.backward()
        values.append(value.item())
        slopes.append(u.grad)
    assert values[0] == values[1]
    assert torch.equal(slopes[0], slopes[1])
    assert slopes[0].abs().sum() > 0


def test_pyepo_loss_labels_of_the_dataset_are_not_paid_again(table):
    model, dataset = table
    loss = fs.PyEPOLoss(model, dataset)
    loss.start(dataset.costs + 0.5)
    assert loss.calls.counts["solve"]["labels"] == 0
    assert loss.calls.counts["solve"]["pre-training"] == loss.calls.total() > 0


def test_pyepo_loss_a_problem_with_a_cost_of_ones_own_is_trained_for_that_cost(table):
    model, dataset = table
    problem = fs.problem_from_pyepo(model, cost=lambda c, w: float(c @ w + 10 * w[0]))
    loss = fs.PyEPOLoss(problem, dataset, Watched)
    row, arcs = 0, dataset.sols[0].double().numpy()
    expected = float(dataset.objs[0]) + 10 * arcs[0]
    assert loss.oracle.optimum(np.array([row]))[0] == pytest.approx(expected, rel=1e-5)


def test_pyepo_loss_costs_of_another_dataset_are_refused(table):
    model, dataset = table
    with pytest.raises(fs.InputError, match="not a row of the dataset"):
        fs.PyEPOLoss(model, dataset, Watched)(torch.ones(1, 12), torch.ones(1, 12))


def test_pyepo_loss_what_is_no_dataset_of_this_model_is_refused(table):
    model, dataset = table
    with pytest.raises(fs.InputError, match="optDataset"):
        fs.PyEPOLoss(model, [1, 2], Watched)
    other = optDataset(model, dataset.feats, dataset.costs)
    other.objs = other.objs + 5
    with pytest.raises(fs.InputError, match="label of row 0 is worth"):
        fs.PyEPOLoss(model, other, Watched)
    known = fs.problem_from_pyepo(model, instances=[0] * N)
    with pytest.raises(fs.InputError, match="instances="):
        fs.PyEPOLoss(known, dataset, Watched)
