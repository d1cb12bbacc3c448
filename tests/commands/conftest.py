import csv
import sys

import numpy as np
import pytest

PLANT = """
import numpy as np
import fewsolves as fs


def order(y_hat):
    return y_hat


def shortage(y, z):
    return float(np.sum(z + 9.0 * np.maximum(y - z, 0.0)))


problem = fs.Problem(solve=order, cost=shortage, name="plant")
profit = fs.Problem(solve=order, cost=lambda y, z: -shortage(y, z))
number = 3


def make():
    return fs.Problem(solve=order, cost=shortage)


limited = fs.Problem(
    solve=lambda y_hat, known: np.minimum(y_hat, known["most"]), cost=lambda y, z, known: shortage(y, z)
)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A user's folder with plant.py and table.csv; the options that name the table."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.delitem(sys.modules, "plant", raising=False)
    (tmp_path / "plant.py").write_text(PLANT)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    Y = 10 + X @ [[2.0, 1.0], [0.5, -1.0]] + rng.gamma(1.0, 2.0, size=(40, 2))
    with (tmp_path / "table.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["day", "temp", "dow", "demand_a", "demand_b", "most"])
        lines.writerows([day, *x, *y, 12.0] for day, (x, y) in enumerate(zip(X, Y, strict=True)))
    yield ["--data", "table.csv", "--x", "temp,dow", "--y", "demand_*"]
    sys.modules.pop("plant", None)
