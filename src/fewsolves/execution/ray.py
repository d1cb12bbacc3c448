"""Solves on a Ray cluster: one machine or many.

Every worker is a Ray actor that has one worker process of `execution.processes` beneath it, so that time limits,
crashes and memory are dealt with on the machine where they happen, and cost one row there as they do here. What is left
for this side is the loss of an actor with its machine: a row that was sent alone has then failed as "lost", a chunk is
sent again row by row. Ray itself never tries again (it would pay again without telling), and each row is accepted once.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import cloudpickle
import numpy as np

from fewsolves.errors import FewsolvesError, InputError, SolverError
from fewsolves.execution.base import Answers, Failure, some
from fewsolves.execution.dispatch import Pace, batch_size
from fewsolves.execution.processes import START_ATTEMPTS, START_LIMIT, Processes
from fewsolves.problem import Array, Problem

CHUNK_SECONDS = 0.25  # a chunk costs a few milliseconds to send
LOOK = 5.0  # seconds between two looks at actors that are to come


class Cluster:
    """`workers` actors, on a local cluster (address "ray") or on one at an address."""

    def __init__(
        self,
        problem: Problem,
        workers: int,
        address: str,
        *,
        time_limit: float | None = None,
        memory_limit: int | None = None,
    ) -> None:
        self.problem, self.workers, self.address = problem, workers, address
        self.limits = {"time_limit": time_limit, "memory_limit": memory_limit}
        self.pace = Pace(CHUNK_SECONDS)
        self.idle: list[Any] = []
        self.coming: dict[Any, Any] = {}  # reference that tells of readiness -> actor
        self.failed_starts = 0  # in a row
        self._ours = False  # the cluster was started here
        self._ray: Any = None
        self._held: Any = None

    def solve(self, rows: Array, y_hat: Array) -> Iterator[Answers]:
        return _Request(self, "solve", rows, (y_hat,)).answers()

    def cost(self, rows: Array, y: Array, z: Sequence[Array]) -> Iterator[Answers]:
        return _Request(self, "cost", rows, (y, z)).answers()

    def ray(self) -> Any:
        """The connected module."""
        if self._ray is None:
            self._ray = _import_ray(self.address)
            if not self._ray.is_initialized():
                self._ours = _connect(self._ray, self.address, self.workers)
            self._held = self._ray.put((cloudpickle.dumps(self.problem), self.limits, sys.path))
        return self._ray

    def hire(self, number: int) -> None:
        """Ask for actors until there are so many; they come when the cluster has room."""
        ray = self.ray()
        for _ in range(number - len(self.idle) - len(self.coming)):
            actor = ray.remote(_Actor).options(num_cpus=1, max_restarts=0, max_task_retries=0).remote(self._held)
            self.coming[actor.ready.remote()] = actor

    def kill(self, actor: Any) -> None:
        with contextlib.suppress(Exception):  # it may be gone already
            self.ray().kill(actor, no_restart=True)

    def close(self) -> None:
        for actor in (*self.idle, *self.coming.values()):
            self.kill(actor)
        self.idle, self.coming = [], {}
        if self._ours:
            self._ray.shutdown()
        self._ray, self._held, self._ours = None, None, False


class _Actor:
    """Lives on a machine of the cluster; its worker process is started by the first call."""

    def __init__(self, held: tuple[bytes, dict[str, Any], list[str]]) -> None:
        problem, limits, path = held
        sys.path += [folder for folder in path if folder not in sys.path]  # the user's modules, where they are shared
        self.pool = Processes(cloudpickle.loads(problem), 1, **limits)

    def ready(self) -> None:
        pass

    def run(self, kind: str, rows: Array, columns: Sequence[Any]) -> list[Answers]:
        return list(getattr(self.pool, kind)(rows, *columns))


class _Request:
    """One request: each of its rows is waiting, in work at an actor, or answered."""

    def __init__(self, cluster: Cluster, kind: str, rows: Array, columns: Sequence[Any]) -> None:
        self.cluster, self.kind, self.rows, self.columns = cluster, kind, rows, columns
        self.waiting = deque(range(len(rows)))
        self.alone: set[int] = set()  # rows of chunks that were lost
        self.in_work: dict[Any, tuple[Any, list[int]]] = {}  # reference to the answers -> actor, positions
        self.batched = getattr(cluster.problem, f"{kind}_batch") is not None

    def answers(self) -> Iterator[Answers]:
        began = time.monotonic()
        try:
            while self.waiting or self.in_work:
                wanted = min(self.cluster.workers, len(self.waiting) + len(self.in_work))
                self.cluster.hire(wanted - len(self.in_work))
                self._hand_out()
                yield from self._wait()
                if self.in_work or self.cluster.idle:
                    began = time.monotonic()
                elif time.monotonic() - began > START_LIMIT:
                    said = f"the Ray cluster gave no worker within {START_LIMIT:g} s; it may have no free CPU"
                    raise SolverError(said, row=int(self.rows[0]))
        finally:
            for actor, _ in self.in_work.values():
                self.cluster.kill(actor)

    def _hand_out(self) -> None:
        while self.waiting and self.cluster.idle:
            actor = self.cluster.idle.pop()
            chunk = sorted(self.waiting.popleft() for _ in range(self._size()))
            columns = [some(column, np.array(chunk)) for column in self.columns]
            self.in_work[actor.run.remote(self.kind, self.rows[chunk], columns)] = actor, chunk

    def _size(self) -> int:
        if self.waiting[0] in self.alone:
            return 1
        if self.batched:
            return min(len(self.waiting), batch_size(len(self.rows), self.cluster.workers))
        return self.cluster.pace.size(self.kind, len(self.waiting), self.cluster.workers)

    def _wait(self) -> Iterator[Answers]:
        ray = self.cluster.ray()
        watched = [*self.in_work, *self.cluster.coming]
        timeout = LOOK if not self.in_work else None
        for done in ray.wait(watched, num_returns=1, timeout=timeout)[0]:
            if done in self.cluster.coming:
                self._welcome(ray, done)
            else:
                yield from self._collect(ray, done)

    def _welcome(self, ray: Any, done: Any) -> None:
        actor = self.cluster.coming.pop(done)
        try:
            ray.get(done)
        except ray.exceptions.RayError as error:  # lost before it came: another is asked for
            self.cluster.failed_starts += 1
            if self.cluster.failed_starts >= START_ATTEMPTS:
                raise SolverError(f"Ray workers end as they start: {error}", row=int(self.rows[0])) from error
        else:
            self.cluster.idle.append(actor)
            self.cluster.failed_starts = 0

    def _collect(self, ray: Any, done: Any) -> Iterator[Answers]:
        actor, chunk = self.in_work.pop(done)
        try:
            landed = ray.get(done)
        except ray.exceptions.RayTaskError as error:  # raised on purpose over there, or a fault of ours
            self.cluster.kill(actor)
            raise error.cause if isinstance(error.cause, FewsolvesError) else error from None
        except ray.exceptions.RayError as error:
            self.cluster.kill(actor)
            yield from self._lost(chunk, error)
            return
        self.cluster.idle.append(actor)
        for answers in landed:
            self.cluster.pace.saw(self.kind, answers.seconds)
            yield answers._replace(at=np.array(chunk)[answers.at])

    def _lost(self, chunk: list[int], error: Exception) -> Iterator[Answers]:
        if len(chunk) > 1:
            self.alone.update(chunk)
            self.waiting.extendleft(reversed(chunk))
            return
        row = int(self.rows[chunk[0]])
        said = f"the Ray worker of `{self.kind}` was lost at row {row} ({type(error).__name__})"
        yield Answers(np.array(chunk), [Failure("lost", said)], [0.0])


def _import_ray(address: str) -> Any:
    if _starts_here(address) and "ray" not in sys.modules:  # Ray reads these as it is imported
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_AUTH_MODE", "token")  # it makes a secret of its own
    try:
        import ray
    except ImportError:
        raise InputError("execution='ray' needs Ray: pip install 'fewsolves[ray]'") from None
    return ray


def _starts_here(address: str) -> bool:
    return address == "ray" and not os.environ.get("RAY_ADDRESS")


def _connect(ray: Any, address: str, workers: int) -> bool:
    """Connect to a cluster; True where it was started for this, on this machine and for nobody else."""
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if not _starts_here(address):
        ray.init(address=None if address == "ray" else address, **quiet)
        return False
    with _on_loopback():
        ray.init(address="local", num_cpus=workers, include_dashboard=False, _node_ip_address="127.0.0.1", **quiet)
    return True


@contextlib.contextmanager
def _on_loopback() -> Iterator[None]:
    """Ray on Linux listens on all interfaces, even where it is told 127.0.0.1; on macOS it does not, by this switch."""
    from ray._private import ray_constants

    before = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before
