"""How fast the Gaussian processes are, against GPyTorch and scikit-learn, and how their cost grows.

    python -m fewsolves_studies.measure.gp_engine [--quick] [--json FILE] [--plot FILE.png|.svg]

All engines run on the same data in one process, on one thread, one after the other in each round; the table gives
medians over rounds, of CPU time (steadier than wall time on a shared machine; both are in the JSON). Where an engine is
too slow to run to the end, its time is extrapolated and marked "x": GPyTorch from a few of 50 Adam steps, the
scikit-learn loop from a few examples. "From nothing" adds all points and fits; "refit" starts from the last optimum,
with the distances known, and has no counterpart in the other engines.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fewsolves.methods.gp_surrogate.gp.processes import GPs

Array = np.ndarray[Any, Any]
ADAM_STEPS = 50
NOISE_FLOOR = 1e-4


def regret_like(n_examples: int, n_points: int, n_inputs: int, seed: int = 0) -> tuple[Array, Array]:
    """Half the points common to all examples, half along a path of each; step-shaped, standardised targets."""
    rng = np.random.default_rng(seed)
    common = n_points // 2
    points = np.empty((n_examples, n_points, n_inputs))
    points[:, :common] = rng.normal(size=(common, n_inputs))
    path = 0.05 * rng.normal(size=(n_examples, n_points - common, n_inputs)).cumsum(axis=1)
    centre = 0.5 * rng.normal(size=(n_examples, 1, n_inputs))
    points[:, common:] = centre + path + 0.1 * rng.normal(size=path.shape)
    direction = rng.normal(size=(n_examples, n_inputs)) / math.sqrt(n_inputs)
    targets = np.floor(3 * np.einsum("mnd,md->mn", points, direction)) / 3 + 0.1 * rng.normal(size=points.shape[:2])
    targets -= targets.mean(axis=1, keepdims=True)
    return points, targets / targets.std(axis=1, keepdims=True)


def filled(points: Array, targets: Array) -> GPs:
    n_examples, n_points, n_inputs = points.shape
    gps = GPs(n_examples, n_inputs)
    gps.add(np.repeat(np.arange(n_examples), n_points), points.reshape(-1, n_inputs), targets.ravel())
    return gps


def timed(work: Callable[[], object], repeats: int = 1) -> tuple[float, float]:
    """CPU and wall seconds of one call."""
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(repeats):
        work()
    return (time.process_time() - cpu) / repeats, (time.perf_counter() - wall) / repeats


def medians(rounds: list[dict[str, tuple[float, float]]]) -> dict[str, dict[str, float]]:
    """Median CPU and wall milliseconds of each engine."""
    return {
        name: {
            "cpu_ms": 1e3 * float(np.median([r[name][0] for r in rounds])),
            "wall_ms": 1e3 * float(np.median([r[name][1] for r in rounds])),
        }
        for name in rounds[0]
    }


def map_objective(points: Array, targets: Array, lengthscale: float, outputscale: float, noise: float) -> float:
    """log p(y | ..) + log p(l) of one example, the plain way; the noise is raised to the floor of `GPs` if below."""
    n, n_inputs = points.shape
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    noise = max(noise, NOISE_FLOOR * outputscale)
    root = np.linalg.cholesky(outputscale * np.exp(-squares / (2 * lengthscale**2)) + noise * np.eye(n))
    white = np.linalg.solve(root, targets)
    u = math.log(lengthscale)
    prior = -u - 0.5 * (u - math.log(n_inputs) / 2) ** 2 - 0.5 * math.log(2 * math.pi)
    return float(-0.5 * white @ white - np.log(np.diag(root)).sum() - 0.5 * n * math.log(2 * math.pi) + prior)


class GPyTorchBatch:
    """All examples as one batch of exact GPs, float64, with the same prior."""

    def __init__(self, points: Array, targets: Array) -> None:
        import gpytorch

        self.gpytorch = gpytorch
        self.x, self.y = torch.from_numpy(points), torch.from_numpy(targets)
        batch = torch.Size([len(points)])
        prior = gpytorch.priors.LogNormalPrior(math.log(points.shape[2]) / 2, 1.0)
        rbf = gpytorch.kernels.RBFKernel(batch_shape=batch, lengthscale_prior=prior)
        kernel = gpytorch.kernels.ScaleKernel(rbf, batch_shape=batch)
        constraint = gpytorch.constraints.GreaterThan(NOISE_FLOOR)
        self.likelihood = gpytorch.likelihoods.GaussianLikelihood(batch_shape=batch, noise_constraint=constraint)

        class Model(gpytorch.models.ExactGP):
            def __init__(self, x: Any, y: Any, likelihood: Any) -> None:
                super().__init__(x, y, likelihood)
                self.mean, self.kernel = gpytorch.means.ZeroMean(batch_shape=batch), kernel

            def forward(self, x: Any) -> Any:
                return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

        self.model = Model(self.x, self.y, self.likelihood).double()
        rbf.lengthscale = math.sqrt(points.shape[2])
        self.marginal = gpytorch.mlls.ExactMarginalLogLikelihood(self.likelihood, self.model)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.1)

    def steps(self, n: int) -> None:
        self.model.train()
        for _ in range(n):
            self.optimizer.zero_grad()
            (-self.marginal(self.model(self.x), self.y).sum()).backward()
            self.optimizer.step()

    def hyperparameters(self, i: int) -> tuple[float, float, float]:
        kernel = self.model.kernel
        lengthscale, noise = kernel.base_kernel.lengthscale[i].item(), self.likelihood.noise[i].item()
        return lengthscale, kernel.outputscale[i].item(), noise

    def posterior(self, y_hat: torch.Tensor) -> None:
        self.model.eval()
        with self.gpytorch.settings.fast_pred_var():
            prediction = self.model(y_hat[:, None])
        (prediction.mean + prediction.stddev).sum().backward()


def fit_with_scikit_learn(points: Array, targets: Array) -> tuple[float, float, float]:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    start = math.sqrt(points.shape[1])
    kernel = ConstantKernel(1.0) * RBF(start, (1e-2, 1e4)) + WhiteKernel(1e-2, (NOISE_FLOOR, 1e2))
    fitted = GaussianProcessRegressor(kernel, alpha=0.0).fit(points, targets).kernel_
    return fitted.k1.k2.length_scale, fitted.k1.k1.constant_value, fitted.k2.noise_level


def bench_fit(n_examples: int, rounds: int, quick: bool) -> dict[str, Any]:
    points, targets = regret_like(n_examples, 40, 50)
    n_steps, n_loop = (2, 3) if quick else (3, 6)
    compared = range(16 if quick else 64)
    gps = filled(points, targets)
    gps.fit()  # compiles
    batch = GPyTorchBatch(points, targets)
    batch.steps(1)
    results = []
    for _ in range(rounds):

        def from_nothing() -> None:
            filled(points, targets).fit()

        gpytorch_time = timed(lambda: batch.steps(n_steps))
        sklearn_time = timed(lambda: [fit_with_scikit_learn(points[i], targets[i]) for i in range(n_loop)])
        results.append(
            {
                "fewsolves, from nothing": timed(from_nothing),
                "fewsolves, refit": timed(lambda: gps.fit(np.arange(n_examples))),
                "GPyTorch batch, 50 Adam steps x": tuple(t * ADAM_STEPS / n_steps for t in gpytorch_time),
                "scikit-learn loop x": tuple(t * n_examples / n_loop for t in sklearn_time),
            }
        )
    small = GPyTorchBatch(points[: len(compared)], targets[: len(compared)])
    small.steps(ADAM_STEPS)
    ours = np.array([map_objective(points[i], targets[i], *_hyperparameters(gps, i)) for i in compared])
    theirs = np.array([map_objective(points[i], targets[i], *small.hyperparameters(i)) for i in compared])
    loop = [
        map_objective(points[i], targets[i], *fit_with_scikit_learn(points[i], targets[i])) for i in range(2 * n_loop)
    ]
    return {
        "size": {"examples": n_examples, "points": 40, "inputs": 50},
        "times": medians(results),
        "objective_over_gpytorch": _spread(ours - theirs),
        "objective_over_scikit_learn": _spread(ours[: len(loop)] - np.array(loop)),
    }


def _hyperparameters(gps: GPs, i: int) -> tuple[float, float, float]:
    return gps.lengthscale[i], gps.outputscale[i], gps.noise[i]


def _spread(differences: Array) -> dict[str, float]:
    return {"min": float(differences.min()), "median": float(np.median(differences)), "max": float(differences.max())}


def bench_posterior(n_examples: int, rounds: int) -> dict[str, Any]:
    points, targets = regret_like(n_examples, 40, 50)
    gps = filled(points, targets)
    gps.fit()
    batch = GPyTorchBatch(points, targets)
    y_hat = torch.from_numpy(points.mean(axis=1)).requires_grad_()
    everyone = np.arange(n_examples)

    def ours() -> None:
        mean, std = gps.posterior(y_hat, everyone)
        (mean + std).sum().backward()

    ours()
    batch.posterior(y_hat)  # fills its caches
    results = [
        {
            "fewsolves": timed(ours, 5),
            "GPyTorch batch, cached, fast_pred_var": timed(lambda: batch.posterior(y_hat), 2),
        }
        for _ in range(rounds)
    ]
    return {"size": {"examples": n_examples, "points": 40, "inputs": 50}, "times": medians(results)}


def bench_epoch(n_examples: int, rounds: int) -> dict[str, Any]:
    """All surrogate steps of one epoch: predictor, posterior, backward pass, Adam; and the same without posterior."""
    points, targets = regret_like(n_examples, 40, 50)
    gps = filled(points, targets)
    gps.fit()
    x = torch.randn(n_examples, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    model = torch.nn.Linear(5, 50, dtype=torch.float64)
    optimizers = {kind: torch.optim.Adam(model.parameters(), lr=1e-9, **{kind: True}) for kind in ("fused", "foreach")}

    def epoch(size: int, kind: str, surrogate: bool) -> None:
        for start in range(0, n_examples, size):
            y_hat = model(x[start : start + size])
            if surrogate:
                mean, std = gps.posterior(y_hat, np.arange(start, min(start + size, n_examples)))
            else:
                mean, std = y_hat.sum(dim=1), y_hat.sum(dim=1)
            optimizers[kind].zero_grad()
            (mean + std).mean().backward()
            optimizers[kind].step()

    cases = {
        f"batches of {size}, Adam {kind}" + ("" if surrogate else ", no surrogate"): (size, kind, surrogate)
        for size in (32, n_examples)
        for kind, surrogate in (("fused", True), ("foreach", True), ("fused", False))
    }
    for case in cases.values():
        epoch(*case)
    results = [{name: timed(lambda c=case: epoch(*c), 3) for name, case in cases.items()} for _ in range(rounds)]
    return {"size": {"examples": n_examples, "points": 40, "inputs": 50}, "times": medians(results)}


def cost(n_examples: int, n_points: int, n_inputs: int) -> dict[str, float]:
    """Microseconds per example to fit from nothing, to refit, and for posterior with gradients; bytes held."""
    gps = GPs(n_examples, n_inputs)
    adding = 0.0
    for start in range(0, n_examples, 2000):  # in parts, so that the test data need little memory
        size = min(2000, n_examples - start)
        points, targets = regret_like(size, n_points, n_inputs, seed=start)
        index = np.repeat(np.arange(start, start + size), n_points)
        adding += timed(lambda i=index, p=points, t=targets: gps.add(i, p.reshape(-1, n_inputs), t.ravel()))[0]
    first = timed(gps.fit)[0]
    again = timed(lambda: gps.fit(np.arange(n_examples)))[0]
    y_hat = torch.zeros(n_examples, n_inputs, dtype=torch.float64, requires_grad=True)

    def posterior() -> None:
        mean, std = gps.posterior(y_hat, np.arange(n_examples))
        (mean + std).sum().backward()

    posterior()
    per_example = 1e6 / n_examples
    return {
        "examples": n_examples,
        "points": n_points,
        "inputs": n_inputs,
        "add_us": adding * per_example,
        "fit_us": first * per_example,
        "refit_us": again * per_example,
        "posterior_us": timed(posterior, 3)[0] * per_example,
        "kilobytes": gps.n_bytes / n_examples / 1e3,
        "peak_gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }


def bench_size(quick: bool) -> dict[str, Any]:
    few = 200 if quick else 800
    return {
        "examples": [cost(m, 40, 50) for m in ((500, 1000) if quick else (1000, 10_000, 100_000))],
        "points": [cost(few, n, 50) for n in ((10, 40) if quick else (10, 20, 40, 80, 120, 200))],
        "inputs": [cost(few, 40, d) for d in ((1, 50) if quick else (1, 5, 20, 50, 150, 512))],
    }


def print_times(title: str, result: dict[str, Any], base: str) -> None:
    print(f"\n{title}  {result['size']}")
    reference = result["times"][base]["cpu_ms"]
    for name, row in result["times"].items():
        ratio = row["cpu_ms"] / reference
        print(f"  {name:42s} {row['cpu_ms']:12.2f} ms CPU {row['wall_ms']:12.2f} ms wall {ratio:10.1f} times")


def print_costs(title: str, rows: list[dict[str, float]], varied: str) -> None:
    print(f"\n{title} (microseconds of CPU per example)")
    print(f"  {varied:>9s} {'add':>9s} {'fit':>9s} {'refit':>9s} {'posterior':>9s} {'kB held':>9s}")
    for row in rows:
        numbers = " ".join(f"{row[k]:9.2f}" for k in ("add_us", "fit_us", "refit_us", "posterior_us", "kilobytes"))
        print(f"  {row[varied]:9d} {numbers}")


def plot(results: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter

    figure, axes = plt.subplots(2, 2, figsize=(13, 8), layout="constrained")
    for axis, section, title in ((axes[0, 0], "fit", "Fit"), (axes[0, 1], "posterior", "Posterior and gradients")):
        times = {name.replace(", ", ",\n"): row for name, row in results[section]["times"].items()}
        axis.barh(
            [*times], [row["cpu_ms"] for row in times.values()], color=["C0" if "few" in n else "C7" for n in times]
        )
        axis.set(xscale="log", xlabel="CPU ms", title=f"{title}, {results[section]['size']['examples']} examples")
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.invert_yaxis()
    for axis, varied, label in ((axes[1, 0], "points", "points per example"), (axes[1, 1], "inputs", "inputs")):
        rows = results["size"][varied]
        for key, name in (("fit_us", "first fit"), ("refit_us", "refit"), ("posterior_us", "posterior and gradients")):
            axis.plot([r[varied] for r in rows], [r[key] for r in rows], "o-", label=name)
        axis.set(xscale="log", yscale="log", ylim=(0.5, None), xlabel=label, ylabel="CPU microseconds per example")
        axis.legend()
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, one round")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    parser.add_argument("--plot", type=Path, help="write a picture here (.png or .svg)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # of the other engines, about convergence and jitter
    n_examples, rounds = (200, 1) if options.quick else (800, 5)
    results: dict[str, Any] = {
        "machine": {"processor": platform.processor() or platform.machine(), "python": platform.python_version()},
        "fit": bench_fit(n_examples, rounds, options.quick),
        "posterior": bench_posterior(n_examples, rounds),
        "epoch": bench_epoch(n_examples, rounds),
        "size": bench_size(options.quick),
    }
    print_times("Fit", results["fit"], "fewsolves, from nothing")
    for other in ("gpytorch", "scikit_learn"):
        print(f"  MAP objective of fewsolves minus that of {other}, nats: {results['fit'][f'objective_over_{other}']}")
    print_times("Posterior, std and gradient", results["posterior"], "fewsolves")
    print_times("Epoch of surrogate steps", results["epoch"], "batches of 32, Adam fused")
    for varied in ("examples", "points", "inputs"):
        print_costs(f"Cost against {varied}", results["size"][varied], varied)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    if options.plot:
        plot(results, options.plot)


if __name__ == "__main__":
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        main()
