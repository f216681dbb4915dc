"""``rmqalloc compare``: several strategies side by side on one change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from rmqalloc.cli import exit_codes
from rmqalloc.cli.options import Changes, candidate, change_options, rooms_unknown
from rmqalloc.cli.sink import say
from rmqalloc.cli.snapshot_input import (
    Inputs,
    doubt_code,
    snapshot_of,
    snapshot_options,
    strategy_known_options,
    tell,
)
from rmqalloc.cli.table_options import Tables, table_options
from rmqalloc.cli.terminal_text import aligned, printable
from rmqalloc.text import counted

if TYPE_CHECKING:
    from rmqalloc.plans.compare import Candidate

_HEADER = (
    "strategy", "moved", "even", "min/max", "skew", "idle", "unowned", "one leaves: mean", "worst", "even",
)  # fmt: skip
_EVEN = "even: the least that would move if loads differed by one at most"
_SHOWN = 20
_DEFAULT = "AVG,AVG_BY_CIRCLE,CONSISTENT_HASH:10,CONSISTENT_HASH:160"


@click.command()
@snapshot_options
@strategy_known_options()
@click.option(
    "-s",
    "--strategies",
    default=_DEFAULT,
    show_default=True,
    metavar="S,...",
    help="Strategies; CONSISTENT_HASH:160 has 160 virtual nodes, MACHINE_ROOM:hz+sh takes queues from two rooms.",
)
@change_options
@table_options(f"; as text {_SHOWN} groups")
def compare(inputs: Inputs, strategies: str, changes: Changes, tables: Tables) -> int:
    """Compare strategies: what a change moves under each, how even each then is, and what moves if one client leaves.

    \b
    rmqalloc compare -f cluster.yaml -g order-svc
    rmqalloc compare -f cluster.yaml -g order-svc --scale 6 -s AVG,CONSISTENT_HASH:160
    """
    from rmqalloc.plans.compare import compare as compared
    from rmqalloc.scenarios import SetStrategy
    from rmqalloc.snapshot.units import none_planned

    candidates = _candidates(strategies)
    [*scenarios] = changes.scenarios
    if len(scenarios) > 1 or any((one.groups, one.topics) != (("*",), ("*",)) for one in scenarios):
        raise click.UsageError("compare takes one scenario, for all groups and topics; choose these with -g and -t")
    made = [change for one in scenarios for change in one.changes]
    if any(isinstance(change, SetStrategy) for change in made):
        raise click.UsageError("compare sets the strategy itself; leave --to-strategy out and give -s")
    snapshot = snapshot_of(inputs)
    with rooms_unknown():
        table, warnings, refused = compared(snapshot, candidates, made, inputs.groups, inputs.topics)
    if table["n_queues"].null_count == table.num_rows:
        raise none_planned(warnings)
    tell(warnings)
    if tables.is_text:
        for line in _lines(table.to_pylist(), tables.top or _SHOWN):
            say(line)
    else:
        tables.write(table)
    return doubt_code(snapshot, inputs) or (exit_codes.FAILURE if refused else 0)


def _candidates(text: str) -> list[Candidate]:
    """Strategies from ``AVG,CONSISTENT_HASH:160``."""
    from rmqalloc.plans.compare import Candidate

    labels = [label.strip() for label in text.split(",")]
    if len(set(labels)) < len(labels):
        raise click.UsageError(f"-s: a strategy is there twice in {text!r}")
    return [Candidate(label, *candidate(label)) for label in labels]


def _lines(rows: list[Mapping[str, Any]], top: int) -> Iterator[str]:
    """A table of strategies for each group."""
    by_group = [list(rows) for _, rows in groupby(rows, key=lambda row: row["consumer_group"])]
    for mine in by_group[:top]:
        sizes = next(((row["n_queues"], row["n_clients"]) for row in mine if row["n_queues"] is not None), (0, 0))
        queues, clients = (counted(n, what) for n, what in zip(sizes, ("queue", "client"), strict=True))
        yield f"Group {printable(mine[0]['consumer_group'])}  {queues}  {clients}"
        yield from aligned(_HEADER, [_cells(row) for row in mine])
        yield ""
    if len(by_group) > top:
        yield f"and {counted(len(by_group) - top, 'more group')} (--top)"
    yield _EVEN


def _cells(row: Mapping[str, Any]) -> list[str]:
    if row["n_queues"] is None:
        return [row["strategy"], "cannot be assigned", *[""] * 8]
    figures = [f"{row[name]:,}" for name in ("moved", "least_moves")]
    balance = [
        f"{row['min_load']:,}/{row['max_load']:,}",
        f"{row['skew']:.2f}",
        f"{row['idle']:,}",
        f"{row['unowned']:,}",
    ]
    if row["departure_mean"] is None:
        return [row["strategy"], *figures, *balance, "-", "-", "-"]
    leaves = [f"{row['departure_mean']:,.1f}", f"{row['departure_worst']:,}", f"{row['departure_least_mean']:,.1f}"]
    return [row["strategy"], *figures, *balance, *leaves]
