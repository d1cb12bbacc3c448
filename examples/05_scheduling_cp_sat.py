"""A workshop whose forecast knows about deadlines delivers with less delay.

OR-tools' CP-SAT returns the order of six jobs on one machine; how long they take is
predicted. The true cost runs the order with the true durations. Late jobs cost by the
hour, and a job that would begin after the shift waits until the next morning, which the
solver does not know.
Run: python examples/05_scheduling_cp_sat.py   (pip install 'fewsolves[examples]')
"""

import numpy as np

import fewsolves as fs

JOBS = 6
DUE = np.array([8, 12, 18, 22, 28, 34])
WEIGHT = np.array([3, 1, 4, 2, 5, 2])
SHIFT = 16.0  # hours, after which no job begins until the next morning


def schedule(hours):
    """The order of least weighted tardiness, in quarters of an hour."""
    from ortools.sat.python import cp_model

    lengths = np.maximum(np.round(4 * np.nan_to_num(hours)), 1).astype(int)
    horizon = int(lengths.sum())
    model = cp_model.CpModel()
    starts = [model.new_int_var(0, horizon, f"start {j}") for j in range(JOBS)]
    late = [model.new_int_var(0, horizon, f"late {j}") for j in range(JOBS)]
    model.add_no_overlap(
        [
            model.new_fixed_size_interval_var(start, int(length), "")
            for start, length in zip(starts, lengths, strict=True)
        ]
    )
    for j in range(JOBS):
        model.add(late[j] >= starts[j] + int(lengths[j]) - int(4 * DUE[j]))
    model.minimize(sum(int(WEIGHT[j]) * late[j] for j in range(JOBS)))
    solver = cp_model.CpSolver()
    # with one worker and a seed, a solve repeats itself
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        raise fs.Infeasible(f"CP-SAT: {solver.status_name()}")
    return np.argsort([solver.value(start) for start in starts], kind="stable")


def true_cost(hours, order):
    """Run the jobs in this order: weighted hours of delay."""
    clock, cost = 0.0, 0.0
    for j in order:
        if clock % 24.0 > SHIFT:
            clock = 24.0 * np.ceil(clock / 24.0)
        clock += hours[j]
        cost += WEIGHT[j] * max(clock - DUE[j], 0.0)
    return float(cost)


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))  # material, operator, temperature, batch size
    base = np.array([3.0, 4.0, 5.0, 6.0, 4.0, 5.0])
    mean = base * np.exp(0.3 * X @ np.random.default_rng(9).normal(size=(4, JOBS)) / 2)
    return X, mean * rng.gamma(6.0, 1 / 6.0, size=(n, JOBS))


PROBLEM = fs.Problem(solve=schedule, cost=true_cost, name="scheduling")


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
    fs.plot.compare(main()).savefig("scheduling_cp_sat.png")
