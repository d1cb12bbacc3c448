"""Execution on a Ray cluster: one machine or many.

Every worker is a Ray actor that has one worker process of `execution.processes` beneath it, so that time limits,
crashes and memory are dealt with on the machine where they happen, and cost one row there as they do here. What is left
for this side is the loss of an actor with its machine: a row that was sent alone has then failed as "lost", a chunk is
sent again row by row. Ray itself never retries (it would pay again unnoticed), and each row is accepted once.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import cloudpickle

from fewsolves.errors import FewsolvesError, InputError, SolverError
from fewsolves.execution.base import Answers, Failure, Resources
from fewsolves.execution.dispatch import (
    WAIT_SECONDS,
    Chunk,
    Event,
    FailedStart,
    Gone,
    Landed,
    Noticed,
    Ready,
    WorkerExecution,
    now,
)
from fewsolves.execution.processes import START_LIMIT, Processes
from fewsolves.execution.registry import register
from fewsolves.problem import Array, Problem

LOCAL_CLUSTER = "ray"  # the address of a private cluster, started on this machine
RAY_CHUNK_SECONDS = 1.0  # a chunk costs some milliseconds, whatever is in it
WHOLE = 4  # factor by which a chunk may take longer than estimated
LOOPBACK = "127.0.0.1"
NEVER_RAN = "The actor never ran"  # Ray's message for an actor whose node was lost meanwhile


class _Worker:
    """An actor, seen from here."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.chunk: Chunk | None = None


class Cluster(WorkerExecution[_Worker]):
    """`workers` actors, on a cluster that is started here or on one at an address."""

    def __init__(
        self,
        problem: Problem,
        workers: int,
        address: str = LOCAL_CLUSTER,
        *,
        time_limit: float | None = None,
        memory_limit: int | None = None,
    ) -> None:
        super().__init__(problem, workers, RAY_CHUNK_SECONDS)
        self.address = address
        self.limits = {"time_limit": time_limit, "memory_limit": memory_limit}
        self._pending: dict[Any, _Worker] = {}  # by reference to the actor's pending result
        self._ours = False  # the cluster was started here
        self._ray: Any = None
        self._held: Any = None

    def start_worker(self) -> _Worker:
        """An actor that comes when the cluster has room."""
        actor_class = self._connected().remote(_Actor)
        actor = actor_class.options(num_cpus=1, max_restarts=0, max_task_retries=0).remote(self._held)
        worker = _Worker(actor)
        self._pending[actor.ready.remote()] = worker
        return worker

    def send(self, worker: _Worker, chunk: Chunk) -> None:
        worker.chunk = chunk
        self._pending[worker.actor.run.remote(chunk.kind, chunk.rows, chunk.columns)] = worker

    def wait(self) -> Iterator[Event]:
        busy = any(worker.chunk is not None for worker in self._pending.values())
        timeout = min(WAIT_SECONDS, max(0.0, self.until - now())) if busy else START_LIMIT
        done, _ = self._ray.wait(list(self._pending), num_returns=1, timeout=timeout)
        if not done and not busy:
            message = f"the Ray cluster gave no worker within {START_LIMIT:g} s; it may have no free CPU"
            raise SolverError(message, row=-1)
        for reference in done:
            worker = self._pending.pop(reference)
            if worker.chunk is None:
                yield self._started(worker, reference)
            else:
                yield from self._answered(worker, worker.chunk, reference)

    def stop_workers(self, workers: Sequence[_Worker]) -> None:
        for worker in workers:
            with contextlib.suppress(Exception):  # it may be gone already
                self._ray.kill(worker.actor, no_restart=True)
        self._pending = {reference: one for reference, one in self._pending.items() if one not in workers}

    def close(self) -> None:
        super().close()
        if self._ours:
            self._ray.shutdown()
        self._ray, self._held, self._ours = None, None, False

    def _connected(self) -> Any:
        """The module, connected to the cluster."""
        if self._ray is None:
            self._ray = _import_ray(self.address)
            if not self._ray.is_initialized():
                self._ours = _connect(self._ray, self.address, self.workers)
            self._held = self._ray.put((cloudpickle.dumps(self.problem), self.limits, sys.path))
        return self._ray

    def _started(self, worker: _Worker, reference: Any) -> Event:
        try:
            self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            return FailedStart(worker, f"Ray workers end as they start: {error}", counts=NEVER_RAN not in str(error))
        return Ready(worker)

    def _answered(self, worker: _Worker, chunk: Chunk, reference: Any) -> Iterator[Event]:
        try:
            landed, noticed = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:  # raised on purpose over there, or a fault of ours
            raise error.cause if isinstance(error.cause, FewsolvesError) else error from None
        except self._ray.exceptions.RayError as error:
            self.stop_workers([worker])
            message = f"the Ray worker of `{chunk.kind}` was lost at row {chunk.rows[0]} ({type(error).__name__})"
            yield Gone(worker, Failure("lost", message), in_work=len(chunk.numbers))
            return
        worker.chunk = None
        yield from map(Noticed, noticed)
        for answers in landed:
            for at, value, seconds in zip(answers.at, answers.values, answers.seconds, strict=True):
                yield Landed(worker, chunk.numbers[at], value, seconds)


class _Actor:
    """Lives on a machine of the cluster; its worker process is started by the first call."""

    def __init__(self, held: tuple[bytes, dict[str, Any], list[str]]) -> None:
        problem, limits, path = held
        sys.path += [folder for folder in path if folder not in sys.path]  # the user's modules, where they are shared
        # one chunk in, one chunk out: partial results are not reported
        self.processes = Processes(cloudpickle.loads(problem), 1, chunk_seconds=WHOLE * RAY_CHUNK_SECONDS, **limits)

    def ready(self) -> None:
        pass

    def run(self, kind: str, rows: Array, columns: Sequence[Any]) -> tuple[list[Answers], list[str]]:
        """The answers, and warnings for the user."""
        with warnings.catch_warnings(record=True) as noticed:
            warnings.simplefilter("always")
            answers = list(getattr(self.processes, kind)(rows, *columns))
        return answers, [str(one.message) for one in noticed if one.category is RuntimeWarning]


def _import_ray(address: str) -> Any:
    if _starts_here(address) and "ray" not in sys.modules:
        _prepare_for_a_cluster_of_our_own()
    try:
        import ray
    except ImportError:
        raise InputError("execution='ray' needs Ray: pip install 'fewsolves[ray]'") from None
    return ray


def _starts_here(address: str) -> bool:
    return address == LOCAL_CLUSTER and not os.environ.get("RAY_ADDRESS")


def _prepare_for_a_cluster_of_our_own() -> None:
    """Ray reads these as it is imported: no reports to its makers, a secret that every client must know, and the
    switch by which it decides between all interfaces and the loopback one (off on Windows and macOS, on on Linux)."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    if "RAY_AUTH_TOKEN_PATH" not in os.environ and not Path("~/.ray/auth_token").expanduser().exists():
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))  # Ray would write one that others can read


def _connect(ray: Any, address: str, workers: int) -> bool:
    """Connect to a cluster; True if a private cluster was started on this machine."""
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if not _starts_here(address):
        ray.init(address=None if address == LOCAL_CLUSTER else address, **quiet)
        return False
    if ray.util.get_node_ip_address() != LOOPBACK:
        raise InputError(
            "Ray was imported before fewsolves could set it up, and a cluster that it starts now would listen on all "
            "network interfaces and ask for no token; before `import ray` set RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 and "
            "RAY_AUTH_MODE=token in the environment, or call ray.init() yourself with the settings that you want"
        )
    ray.init(address="local", num_cpus=workers, include_dashboard=False, _node_ip_address=LOOPBACK, **quiet)
    return True


def start(problem: Problem, resources: Resources, *, address: str = LOCAL_CLUSTER) -> Cluster:
    """For the registry."""
    return Cluster(
        problem, resources.workers, address, time_limit=resources.time_limit, memory_limit=resources.memory_limit
    )


register("ray", start)
