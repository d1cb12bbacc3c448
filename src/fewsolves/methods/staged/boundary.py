"""The boundary after a stage: what a run saves there, so that it replays at most one stage after a kill.

    kept        plain facts of the run: parts of the schedule that have ended, levels, flags, report
    states      start, best and current state of the models, each once
    judge       the order of the evidence rows
    pool        decisions that were paid for, their points, and every regret that was priced
    stand-ins   by name, with what each has learned
    rng         the state of the random stream

Rows, folds, labels and the starts of the models follow from data, settings and seed, and from the ledger: they are made
again, without a call. The counts of calls and the history are saved by `fitting.resume`. Only the version that wrote a
boundary continues from it, since another one may draw or train in another way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from fewsolves._internal.dense import fitting
from fewsolves.methods.base import State
from fewsolves.methods.reading import Reading
from fewsolves.methods.staged.evidence import Candidate, Change, Judge
from fewsolves.methods.staged.pool import Pool
from fewsolves.methods.staged.schedule import Schedule, Stage
from fewsolves.methods.staged.stand_ins import STAND_INS, StandIn
from fewsolves.methods.staged.tuning import Tuning
from fewsolves.problem import Array

if TYPE_CHECKING:
    from fewsolves.methods.staged.cross_fitting import CrossFitting

NAME = "stages"  # of the checkpoints
KIND = "!"  # in a saved tree, before what is no JSON
KEPT = ("ended", "report", "start_regret", "_level", "_regret", "_gain_before", "_pairs_next", "_only_shifts")
KINDS = {kind.name: kind for kind in STAND_INS}


def end_stage(run: CrossFitting, name: str) -> None:
    """A part of the schedule has ended: save the run, where it has a folder."""
    run.ended.append(name)
    if run.context.checkpoints is None:
        return
    arrays: dict[str, Array] = {}
    try:
        facts = flattened(_state(run), arrays)
    except TypeError:
        return  # a stand-in has what no file keeps: the run is replayed from the boundary before
    run.context.checkpoints.save(NAME, arrays, facts)


def load_boundary(run: CrossFitting) -> bool:
    """Continue a run, whose models are at their starts, from its last boundary; whether there is one that fits."""

    def take(saved: State) -> None:
        models, rng = run.models.snapshot(), run.rows.rng.bit_generator.state
        try:
            _restore(run, unflattened(saved.facts, saved.arrays))
        except BaseException:
            run.models.restore(models)
            run.rows.rng.bit_generator.state = rng
            raise

    if run.context.checkpoints is None or not run.context.checkpoints.load(NAME, take):
        return False
    assert run.pool is not None
    run.context.note_start(Reading(run.start.regret[: run.schedule.evidence_rows]))
    run.rows.oracle.account.charging.count_unanswered(["cost"])  # of the stage that was killed: spent
    room = run.context.budget_left.calls_left("cost", "online") - (run.schedule.allowed - run.rows.paid)
    run.pool.calls_left = min(run.pool.calls_left, room)
    return True


def _written_by(run: CrossFitting) -> dict[str, Any]:
    """What must be the same in a run that continues."""
    from importlib.metadata import version  # imported here: a run without a folder does not need it

    return {"fewsolves": version("fewsolves"), "numpy": np.__version__, "tuning": asdict(run.tuning)}


def _state(run: CrossFitting) -> dict[str, Any]:
    """All of the run that does not follow from data, settings and seed."""
    assert run.pool is not None
    roles = (run.start, run.best, run.current)
    states = list({id(one): one for one in roles}.values())
    in_use = run.candidates if run.stand_in is None else [run.stand_in]
    return {
        "written_by": _written_by(run),
        "kept": {name: getattr(run, name) for name in KEPT},
        "last": asdict(run.last) if hasattr(run, "last") else None,
        "schedule": asdict(run.schedule),
        "paid": run.rows.paid,
        "states": [vars(one) for one in states],
        "roles": [next(k for k, other in enumerate(states) if other is one) for one in roles],
        "judge": run.judge.state(),
        "pool": run.pool.state(),
        "stand_ins": [{"name": one.name, "tuning": asdict(one.tuning), "state": one.state()} for one in in_use],
        "chosen": run.stand_in is not None,
        "rng": run.rows.rng.bit_generator.state,
    }


def _restore(run: CrossFitting, state: Mapping[str, Any]) -> None:
    """Take what `_state` returned; raises where it does not fit, before anything but models and rng has changed."""
    if state["written_by"] != _written_by(run):
        raise ValueError("another version, or one with other constants, has written it")
    states = [Candidate(**one) for one in state["states"]]
    for one in states:
        fitting("unseen", one.unseen, (run.rows.n, run.rows.d))
        run.models.restore(one.models)
    stages = tuple(Stage(**one) for one in state["schedule"].pop("stages"))
    schedule = Schedule(**state["schedule"], stages=stages)
    judge = Judge(run.rows, run.folds, run.models, schedule.evidence_rows)
    judge.restore(state["judge"])
    pool = Pool(run.rows, 0)
    pool.restore(state["pool"])
    stand_ins = [_stand_in(pool, one) for one in state["stand_ins"]]
    start, best, current = (states[k] for k in state["roles"])
    kept = {name: state["kept"][name] for name in KEPT}
    if state["last"] is not None:
        kept["last"] = Change(**state["last"])
    run.rows.rng.bit_generator.state = state["rng"]
    run.rows.paid = state["paid"]
    run.schedule, run.judge, run.pool = schedule, judge, pool
    run.start, run.best, run.current = start, best, current
    run.candidates, run.stand_in = stand_ins, stand_ins[0] if state["chosen"] else None
    vars(run).update(kept)


def _stand_in(pool: Pool, saved: Mapping[str, Any]) -> StandIn:
    one = KINDS[saved["name"]](pool, Tuning(**saved["tuning"]))
    one.restore(saved["state"])
    return one


def flattened(tree: Any, arrays: dict[str, Array], path: str = "") -> Any:
    """A tree of numbers, text, lists, tuples, dicts and arrays as JSON; its arrays go to `arrays`, by their path.

    Args:
        tree: What is saved.
        arrays: Gets the arrays.
        path: To this part of the tree.
    """
    if isinstance(tree, np.ndarray) and tree.dtype.kind in "biuf":
        return _flattened_array(tree, arrays, path)
    if isinstance(tree, np.generic):
        tree = tree.item()
    if tree is None or isinstance(tree, bool | int | float | str):
        return tree
    if isinstance(tree, tuple | list):
        items = [flattened(one, arrays, f"{path}.{k}") for k, one in enumerate(tree)]
        return items if isinstance(tree, list) else {KIND: "tuple", "items": items}
    if isinstance(tree, dict) and KIND not in tree and all(isinstance(name, str) for name in tree):
        before = f"{path}." if path else ""
        return {name: flattened(one, arrays, before + name) for name, one in tree.items()}
    raise TypeError(f"{path} is a {type(tree).__name__}, which is not saved")


def _flattened_array(array: Array, arrays: dict[str, Array], path: str) -> dict[str, str]:
    turned = array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous
    arrays[path] = array.T if turned else array  # sums in another order of memory have other last bits
    return {KIND: "turned array" if turned else "array", "path": path}


def unflattened(plain: Any, arrays: Mapping[str, Array]) -> Any:
    """What `flattened` was given; its arrays are copies.

    Args:
        plain: What `flattened` returned.
        arrays: Those that it filled.
    """
    if isinstance(plain, list):
        return [unflattened(one, arrays) for one in plain]
    if not isinstance(plain, Mapping):
        return plain
    kind = plain.get(KIND)
    if kind == "tuple":
        return tuple(unflattened(one, arrays) for one in plain["items"])
    if kind is not None:
        array = np.array(arrays[plain["path"]])
        return array.T if kind == "turned array" else array
    return {name: unflattened(one, arrays) for name, one in plain.items()}
