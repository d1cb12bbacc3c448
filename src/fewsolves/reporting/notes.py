"""The words of a page: what a reader must know before believing the numbers, the headline, and the captions.

Notes are warnings of the runs and gaps in the comparison. A caption says what one sees in a figure; the same words are
read to those who cannot see it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from fewsolves._internal.text import number
from fewsolves.reporting.groups import BASELINE, Group, relative_to, same_rows, same_rows_in_training
from fewsolves.reporting.runs import Described, Run
from fewsolves.reporting.tables import decimals, fixed, gains, ordered, ranges, regret_name

CALIBRATION_CAPTION = (
    "Whether that trust is deserved: share of later regrets that fell within the surrogate's intervals, against the "
    "probability it stated. On the dashed line confidence is earned, below it the surrogate is overconfident. "
    "Bars: one standard error."
)


class Note(NamedTuple):
    about: str
    text: str


def notes(groups: Sequence[Group]) -> list[Note]:
    """Warnings of the runs, equal ones drawn together, then what the comparison itself suffers from."""
    found = _of_runs(groups)
    for benchmark in dict.fromkeys(group.benchmark for group in groups):
        found += _gaps(benchmark, [group for group in groups if group.benchmark == benchmark])
    return found + _of_commits(groups)


def _of_runs(groups: Sequence[Group]) -> list[Note]:
    seeds: dict[tuple[str, str, str], list[int]] = {}
    for group in groups:
        for run in group.runs:
            texts = list(run.warnings)
            if not run.unjudged and not math.isfinite(run.regret):
                observed = f"{regret_name([group])} is {fixed(run.regret, 0)}"
                texts.append(f"{observed}: the run diverged, and every mean that includes it is invalid")
            for text in texts:
                seeds.setdefault((group.benchmark, group.label, text), []).append(run.dataset_seed)
    return [
        Note(f"{benchmark}, {label}, {'seed' if len(set(at)) == 1 else 'seeds'} {ranges(at)}", text)
        for (benchmark, label, text), at in seeds.items()
    ]


def _of_commits(groups: Sequence[Group]) -> list[Note]:
    commits = sorted({run.commit or "unknown" for group in groups for run in group.runs})
    texts = []
    if len(commits) > 1:
        texts.append(f"the runs come from {len(commits)} commits: {', '.join(commits)}")
    changed = [commit for commit in commits if commit.endswith("+")]
    if changed:
        texts.append(f"the code had changes that are in no commit ({', '.join(changed)}): the run cannot be reproduced")
    return [Note("All runs", text) for text in texts]


def _gaps(benchmark: str, groups: Sequence[Group]) -> list[Note]:
    everywhere = sorted({seed for group in groups for seed in group.seeds})
    return [
        Note(
            f"{benchmark}, {group.label}",
            f"ran on dataset seeds {ranges(group.seeds)}, of {ranges(everywhere)} in all: its mean is over fewer",
        )
        for group in groups
        if group.seeds != everywhere
    ]


def problem_in_words(run: Run) -> str:
    """The problem of one run, as far as its result describes it; empty where it does not."""
    known = run.described
    if known is None:
        return ""
    rows = f"The table has {run.table_rows:,} rows"
    sentences = [
        _predicted(known),
        "The solver decides by the prediction, and the cost of its decision follows from the true parameters.",
        f"{rows}, each with known data of its own." if known.known_data else f"{rows}.",
    ]
    if known.linear is not None:
        sentences.append(f"The objective is linear in the parameters, and {known.linear}imised.")
    if known.noisy is not None:
        sentences.append(
            f"{'Both functions are' if known.noisy == 'both' else f'The {known.noisy} function is'} random."
        )
    return " ".join(sentences)


def _predicted(known: Described) -> str:
    """What is predicted, from what, and between which bounds."""
    inputs = " x ".join(f"{size:,}" for size in known.inputs) or "no"
    limits = [
        f"at {end} {number(value)}"
        for end, value in (("least", known.lower), ("most", known.upper))
        if value is not None
    ]
    one, many = ("parameter", "is") if known.parameters == 1 else ("parameters", "are")
    bounds = f", {'each ' if known.parameters > 1 else ''}{' and '.join(limits)}," if limits else " without bounds"
    return (
        f"{known.parameters:,} {one}{bounds} {many} predicted from {inputs} {'input' if inputs == '1' else 'inputs'}."
    )


def headline(groups: Sequence[Group]) -> str:
    """One or two sentences: who is best, and who is cheapest among those that gain on PFL."""
    ranked = [group for group in ordered(groups) if math.isfinite(group.regret.mean)]
    what = regret_name(groups)
    if not ranked:
        return _without_regret(groups)
    first = ranked[0]
    if not same_rows(groups):
        return _each_beside_its_start(ranked)
    text = f"{first.label} has the lowest {what}{_terms(first)}."
    rivals = [group for group in ranked if gains(group) and _paid(group) is not None]
    cheapest = min(rivals, key=lambda group: _paid(group) or 0.0, default=None)
    if cheapest is not None and cheapest is not first and cheapest.relative is not None:
        text += f" {cheapest.label} pays least among the methods that gain on PFL{_terms(cheapest)}."
    if len(ranked) > 1:
        return text
    regret = fixed(first.regret.mean, decimals([first.regret.mean]))
    return f"{first.label} is the only method here, with a {what} of {regret}{_terms(first)}."


def _without_regret(groups: Sequence[Group]) -> str:
    reasons = {run.unjudged for group in groups for run in group.runs}
    if "" in reasons:
        return f"No run ended with a finite {regret_name(groups)}."
    return f"No regret is known: {'; '.join(sorted(reasons))}."


def _each_beside_its_start(ranked: Sequence[Group]) -> str:
    """The headline of runs that were judged on different rows."""
    known = [f"{one.label} has {fixed(one.relative.mean, 2)}" for one in ranked if one.relative is not None]
    shown = f": of its start's regret, {', '.join(known)}" if known else ""
    return (
        f"These runs were judged on different rows, so their regrets cannot be compared with each other; each is "
        f"shown beside its own start{shown}. fs.compare(models, X_new, Y_new) compares them on the same rows."
    )


def _terms(group: Group) -> str:
    paid, ratio = _paid(group), group.relative
    shown = f", {fixed(ratio.mean, 2)} of PFL’s" if ratio and group.method != BASELINE else ""
    return shown + (f", at {fixed(paid, 1)} solves per row of the table" if paid is not None else "")


def _paid(group: Group) -> float | None:
    found = group.spread(lambda run: run.solves_per_row)
    return None if found is None else found.mean


def regret_caption(groups: Sequence[Group]) -> str:
    beside = {"PFL": " relative to PFL on the same dataset", "": ""}
    what = regret_name(groups).capitalize() + beside.get(
        relative_to(groups), " relative to that of its own start on the same rows, which differ from run to run"
    )
    return (
        f"{what}, against all solves per row of the table (the axis is logarithmic from 1 on). Lower and further left "
        f"is better.{_bars(groups)}"
    )


def training_captions(groups: Sequence[Group]) -> tuple[str, str]:
    """Of the figure against solves, and of that against epochs."""
    several = any(len(group.runs) > 1 for group in groups)
    means = " Means over dataset seeds; a run that has stopped counts with its last value." if several else ""
    what = "Mean regret" if any(group.runs[0].stages for group in groups) else "Validation regret"
    levels = " Of a method in stages: by the estimated change of each." if any(g.runs[0].stages for g in groups) else ""
    if not same_rows_in_training(groups):
        levels += " The runs were judged on different rows: compare each with its own start, not with the others."
    return (
        f"{what} of the best model so far, against everything paid until then, labels and validation "
        f"included. Dashed: the start, where all have the same.{levels}{means}",
        _caption_by_epoch(groups),
    )


def _caption_by_epoch(groups: Sequence[Group]) -> str:
    staged = [bool(group.runs[0].stages) for group in groups]
    if all(staged):
        return "The estimated regret after each stage; open where the change was not taken. Dashed: the start."
    rows = [row for group in groups for run in group.runs for row in run.history]
    thin = any(row.stage == "start" and row.validation_regret is not None for row in rows)
    return (
        "Validation regret as measured, epoch by epoch, so that overfitting shows. The prediction-focused warm start"
        f"{' (thin lines)' if thin else ''} ends at epoch 0."
        + " A method in stages has a mark after each, open where the change was not taken."
        * any(staged)
    )


def trust_caption(groups: Sequence[Group]) -> str:
    several = any(len(group.runs) > 1 for group in groups)
    return (
        "How the surrogate earned trust. Left: share of training rows for which it was confident enough to replace "
        "the solver. Right: solves that the other rows cost in that epoch."
        + " Means over the dataset seeds that were still training."
        * several
    )


def _bars(groups: Sequence[Group]) -> str:
    most = max(len(group.runs) for group in groups)
    return f" Markers: means over dataset seeds; bars: one standard deviation over them (up to {most} runs)." * (
        most > 1
    )
