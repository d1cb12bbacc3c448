"""`fewsolves benchmarks`: what there is to train on."""

from __future__ import annotations

import click


@click.command()
def benchmarks() -> None:
    """List the benchmarks."""
    from fewsolves_studies.benchmarks.catalogue import DESCRIPTIONS

    for name, description in DESCRIPTIONS.items():
        click.echo(f"{name:16s} {description}")
