"""``rmqalloc generate``: a made-up fleet to try things on."""

import time
from pathlib import Path

import click

from rmqalloc.cli._choices import Count
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._options import option
from rmqalloc.cli._sink import say
from rmqalloc.text import printable


@click.command(cls=Verb)
@click.option(
    "--units",
    type=Count(min=0),
    default=1_000_000,
    show_default=True,
    help="Number of pairs of consumer group and topic.",
)
@option("seed", type=Count(min=0), default=0, show_default=True)
@click.option(
    "--files",
    type=Count(min=1),
    default=16,
    show_default=True,
    help="Number of Parquet files; the rows do not depend on it.",
)
@option("out", more="; a directory of Parquet", required=True, type=click.Path())
def generate(units: int, seed: int, files: int, out: str) -> None:
    """Write a synthetic fleet as Parquet: small groups, and a few with thousands of queues or clients.

    \b
    rmqalloc generate --units 100000 --out fleet/

    """
    from rmqalloc.snapshot.synthetic import write_fleet

    started = time.perf_counter()
    write_fleet(out, units, seed, files)
    size = sum(file.stat().st_size for file in Path(out).glob("part-*.parquet"))
    seconds = time.perf_counter() - started
    say(
        f"Parquet of {units:,} units: {printable(out)} ({files} files, {size / 1e6:,.1f} MB, "
        f"{seconds:.1f} s)"
    )
