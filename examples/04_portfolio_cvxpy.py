"""A portfolio of eight assets by CVXPY: the returns of next week are predicted, the risk is known.

The program is compiled once in each process that solves; its parameter is changed in place (DPP). Trading costs, which
grow faster than the amount, are part of the true cost and not of the program.
Run: python examples/04_portfolio_cvxpy.py   (needs cvxpy: pip install 'fewsolves[examples]')
"""

import numpy as np

import fewsolves as fs

ASSETS, RISK_AVERSION, TRADING = 8, 4.0, 0.25
LOADINGS = np.random.default_rng(7).normal(size=(ASSETS, 3))
COVARIANCE = 0.01 * (LOADINGS @ LOADINGS.T + np.diag(np.linspace(0.5, 2.0, ASSETS)))
HELD = np.full(ASSETS, 1.0 / ASSETS)  # before trading


def investor():
    """Compile the program; return (solve, cost)."""
    import cvxpy as cp

    weights, returns = cp.Variable(ASSETS), cp.Parameter(ASSETS)
    risk = cp.quad_form(weights, cp.psd_wrap(COVARIANCE))
    program = cp.Problem(cp.Maximize(returns @ weights - RISK_AVERSION * risk), [cp.sum(weights) == 1, weights >= 0])

    def solve(predicted):
        returns.value = predicted
        program.solve(solver=cp.CLARABEL)
        return np.maximum(weights.value, 0.0)

    return solve, true_cost


def true_cost(returns, weights):
    """Minus the utility: realised return, risk, and what the trades cost."""
    trades = np.abs(weights - HELD)
    earned = returns @ weights - RISK_AVERSION * weights @ COVARIANCE @ weights
    return float(TRADING * np.sum(trades**1.5) - earned)


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))  # signals
    mean = 0.08 * X @ np.random.default_rng(8).normal(size=(4, ASSETS)) + 0.05 * np.tanh(X[:, :1] * X[:, 1:2])
    return X, mean + rng.multivariate_normal(np.zeros(ASSETS), COVARIANCE, size=n)


PROBLEM = fs.Problem(factory=investor, name="portfolio")


def main(rows=200, **options):
    (X, Y), (X_new, Y_new) = table(rows, seed=0), table(rows, seed=1)
    for method in ("pfl", "staged"):
        model = fs.DecisionRegressor(PROBLEM, method=method, **options).fit(X, Y)
        print(f"{method:14s} regret {-model.score(X_new, Y_new):8.4f}   solves paid {model.calls_.total():6d}")


if __name__ == "__main__":
    main()
