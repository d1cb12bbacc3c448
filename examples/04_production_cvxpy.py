"""A plant that knows what its customers forgive plans its production better, by CVXPY.

The quadratic program plans the rates of six products from predicted demand. It counts a
shortage at the price of the contract. In truth a shortage costs more, because the
customer orders elsewhere next time, and a surplus has to be stored. The program is
compiled once in each process that solves; its parameter is changed in place (DPP).
Run: python examples/04_production_cvxpy.py   (pip install 'fewsolves[examples]')
"""

import numpy as np

import fewsolves as fs

PRODUCTS, PLANT = 6, 330.0
HOURS = np.array([1.0, 1.5, 0.8, 1.2, 2.0, 1.0])  # per unit
PENALTY = np.array([10.0, 14.0, 8.0, 12.0, 20.0, 9.0])  # of the contract, per unit
LOST, STORE, WEAR = 3.0, 1.0, 0.02  # times the penalty; per unit; per squared unit


def planner():
    """Compile the program; return (solve, cost)."""
    import cvxpy as cp

    make, demand = cp.Variable(PRODUCTS), cp.Parameter(PRODUCTS)
    short = PENALTY @ cp.pos(demand - make)
    program = cp.Problem(
        cp.Minimize(WEAR * cp.sum_squares(make) + STORE * cp.sum(make) + short),
        [HOURS @ make <= PLANT, make >= 0],
    )

    def solve(predicted):
        demand.value = predicted
        program.solve(solver=cp.CLARABEL)
        return np.maximum(make.value, 0.0)

    return solve, true_cost


def true_cost(demand, made):
    """Wear, storage of what is left, and customers who were let down."""
    short, left = np.maximum(demand - made, 0.0), np.maximum(made - demand, 0.0)
    return float(WEAR * made @ made + STORE * left.sum() + LOST * PENALTY @ short)


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))  # orders so far, price, season, weather
    weights = np.random.default_rng(8).normal(size=(4, PRODUCTS))
    mean = 28 * np.exp(0.15 * X @ weights)
    return X, mean * rng.gamma(8.0, 1 / 8, size=(n, PRODUCTS))


PROBLEM = fs.Problem(factory=planner, lower=0.0, name="production")


def main(rows=300, budget=None, **options):
    (X, Y), (X_new, Y_new) = table(rows, seed=0), table(rows, seed=1)
    budget = budget or fs.Budget(solves=5 * rows)
    plain = fs.DecisionRegressor(PROBLEM, "pfl", **options).fit(X, Y)
    model = fs.DecisionRegressor(PROBLEM, budget=budget, **options).fit(X, Y)
    print(model.summary_)
    compared = fs.compare({"prediction alone": plain, "fewsolves": model}, X_new, Y_new)
    print(compared)
    return compared


if __name__ == "__main__":
    fs.plot.compare(main()).savefig("production_cvxpy.png")
