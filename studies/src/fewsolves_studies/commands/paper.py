"""`fewsolves paper NAME`: an experiment of the paper, run again and laid beside its printed figures."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fewsolves._internal.text import clean
from fewsolves.commands.options import on_one_thread

NAMES = ("q1", "q2", "q3", "q4", "ablation", "sensitivity", "smoothing", "regret-calls", "classical", "all")


@click.command(short_help="Regenerate an experiment of the paper.")
@click.argument("name", type=click.Choice(NAMES))
@click.option("--datasets", type=click.IntRange(min=1), help="How many datasets.  [default: 5, with --quick 1]")
@click.option("--quick", is_flag=True, help="Small data and few epochs: ends in minutes, says nothing about regret.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, help="Processes side by side.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for runs, tables and index.html.  [default: results/paper, with --quick runs/paper-quick]",
)
@on_one_thread
def paper(name: str, datasets: int | None, quick: bool, jobs: int, out: Path | None) -> None:
    """Regenerate an experiment of the paper; what is there already is not run again.

    Writes OUT/NAME.csv, OUT/NAME.md, figures, and OUT/index.html with everything that OUT holds. All runs are in
    OUT/runs.jsonl, one line each; one whose settings have changed since is made again. After a stop, even by force, the
    same command goes on where it stopped.
    """
    from fewsolves_studies.benchmarks.study import Study
    from fewsolves_studies.paper.experiment import QUICK_ROWS, Size
    from fewsolves_studies.paper.experiments import EXPERIMENTS
    from fewsolves_studies.paper.output import write
    from fewsolves_studies.paper.run_trials import StudyProgress, run_trials

    size = Size(datasets=datasets or (1 if quick else 5), quick=quick)
    folder = out or Path("runs/paper-quick" if quick else "results/paper")
    chosen = list(EXPERIMENTS.values()) if name == "all" else [EXPERIMENTS[name]]

    try:
        (folder / "runs").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.UsageError(f"--out {folder} cannot be written: {error.strerror}") from None
    study = Study(folder)
    settings = [run.split("/")[0].split(",") for run in study.read()]
    if any((f"n={QUICK_ROWS}" in setting) != quick for setting in settings):
        raise click.UsageError(f"{folder} has runs of {'full' if quick else '--quick'} size; give another --out")

    def show(progress: StudyProgress, news: str) -> None:
        click.echo(f"{clean(news)}  [{progress.line()}]", err=True)

    progress = run_trials((trial for one in chosen for trial in one.trials(size)), study, jobs=jobs, show=show)
    for text in write(list(EXPERIMENTS.values()), chosen, size, study):
        click.echo(text)
    for trial, reason in progress.failed.items():
        click.echo(f"failed: {trial.setting} {trial.name}, dataset {trial.dataset}: {clean(reason)}", err=True)
    sys.exit(1 if progress.failed else 0)
