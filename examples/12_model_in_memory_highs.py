"""Jobs of a day earn more, and each solve starts warm from a HiGHS model that stays in
memory.

`fs.problem_from_highs` builds the model once in each process that solves. Each solve
writes the predicted hours into the matrix, and starts from the known decision at the
nearest hours. Overtime is expensive, and only the true cost knows it.
Run: python examples/12_model_in_memory_highs.py   (pip install 'fewsolves[examples]')
"""

import numpy as np

import fewsolves as fs

EARNS = np.array([80.0, 110.0, 60.0, 90.0, 120.0, 70.0, 100.0, 50.0])
DAY, OVERTIME = 40.0, 60.0  # hours; price of an hour beyond them


def build():
    """The model, with hours of one for each job until a solve changes them."""
    import highspy

    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("threads", 1)
    model.setOptionValue("mip_rel_gap", 0.0)
    take = [model.addBinary(obj=-earns) for earns in EARNS]
    model.addConstr(sum(1.0 * z for z in take) <= DAY)  # row 0
    return model


def true_cost(hours, taken):
    """Overtime that was needed, less what the jobs earn."""
    return float(OVERTIME * max(hours @ taken - DAY, 0.0) - EARNS @ taken)


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))  # crew, weather, distance
    usual = np.array([8.0, 11.0, 6.0, 9.0, 12.0, 7.0, 10.0, 5.0])
    hours = usual * np.exp(
        0.25 * np.sin(X @ np.random.default_rng(5).normal(size=(3, 8)))
        + 0.05 * X[:, :1]
    )
    return X, hours * rng.gamma(12.0, 1.0 / 12.0, size=hours.shape)


PROBLEM = fs.problem_from_highs(
    build,
    true_cost,
    coefficients=[(0, job) for job in range(len(EARNS))],
    lower=0.1,
    name="jobs of a day",
)


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
    fs.plot.compare(main()).savefig("model_in_memory_highs.png")
