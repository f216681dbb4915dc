"""``rmqalloc simulate``: a cluster in virtual time, disturbed as a script says."""

from collections.abc import Mapping
from typing import Any

import click

from rmqalloc.cli._choices import Choice, Count, FileOrExample
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._options import schema_option
from rmqalloc.cli._renamed import renamed
from rmqalloc.cli._sink import draw, hand_over
from rmqalloc.store import write_file


def _schema() -> Mapping[str, Any]:
    from rmqalloc.simulation import script_schema

    return script_schema()


@click.command(cls=Verb)
@click.argument("script", type=FileOrExample("simulation", must_exist=True))
@click.option("--seed", type=Count(min=0), help="Seed instead of the script's; equal seeds give equal output.")
@click.option("--profile", type=Choice(["5.5", "5.3", "4.9"]), help="Release of RocketMQ instead of the script's.")
@click.option(
    "--out", type=click.Path(file_okay=False), help="Directory for the figures and intervals (JSON, Parquet)."
)
@click.option("--svg", type=click.Path(dir_okay=False), help="File for the timeline as a picture.")
@click.option("-o", "--output", type=Choice(("text", "json")), show_default="text", help="Form of what is printed.")
@renamed("--format", "-o", "output", ("--format", "former"), type=Choice(("text", "json")))
@schema_option("a script", _schema)
def simulate(
    script: str, seed: int | None, profile: str | None, out: str | None, svg: str | None, output: str | None
) -> None:
    """Play a SCRIPT (YAML or JSON, or example:NAME) of joins, deaths, pauses and partitions to a simulated cluster.

    \b
    rmqalloc simulate example:three-deaths --svg deaths.svg

    Columns of events: time from an event's last step to the last change of an owner; queues that then had no owner, or
    several; queues moved; time of queues without an owner in all (gap), and the longest; process queues made, passes of
    clients, notices of brokers and requests of clients, where a line has room for them; -o json has all.
    Columns of groups: the same over all, how long a queue had several owners at most, then messages consumed twice, messages
    that waited longer than a second, the longest wait, and messages left.
    """
    import rmqalloc
    from rmqalloc.simulation import svg_timeline

    result = rmqalloc.simulate(script, seed, profile)
    if out is not None:
        result.save(out)
    if svg is not None:
        write_file(svg, svg_timeline(result))
    if output == "json":
        hand_over(result.to_json())
    else:
        draw(result.lines)
