"""Options that all rollouts share, and how a rollout is printed."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli._choices import Amount, Choice, Command, Count, bundle, read_by
from rmqalloc.cli._inputs import Inputs
from rmqalloc.cli._left_out import left_out_code
from rmqalloc.cli._options import option
from rmqalloc.cli._planning import (
    MOST_TOLD,
    gates_of,
    gates_option,
    max_unowned_option,
    tell_broken,
)
from rmqalloc.cli._sink import draw, print_notes
from rmqalloc.cli._snapshot_input import snapshot_options, strategy_known_option
from rmqalloc.cli._table_options import TableOptions, table_options
from rmqalloc.dataclass import dataclass
from rmqalloc.results.and_more import first_of

if TYPE_CHECKING:
    import pyarrow as pa

    from rmqalloc.evidence import Known
    from rmqalloc.plans import Gates
    from rmqalloc.rollouts.rollout_result import Rollout

SHOWN = ("totals", "steps", "topics", "queues", "skipped", "ways")


@dataclass(frozen=True)
class Printing:
    """How to show a rollout, and which bounds it must keep."""

    tables: TableOptions
    show: str | None
    max_moved_per_queue: float | None
    bounds: Gates

    @property
    def detail(self) -> bool:
        """Whether topics or queues are to be named."""
        return self.show in ("topics", "queues")

    @property
    def gates(self) -> dict[str, Any]:
        """Return the bounds that must be kept, as `violated_gates` takes them."""
        names = ("max_unowned", "max_double", "max_unowned_seconds")
        found = {name: getattr(self.bounds, name) for name in names}
        return {"max_moved_per_queue": self.max_moved_per_queue, **found}

    def print(self, rollout: Rollout, known: Known, inputs: Inputs, is_switch: bool = False) -> int:
        """Write the tables that are asked for; gives the exit code."""
        from rmqalloc.evidence import Verb
        from rmqalloc.rollouts.rollout_gates import violated_gates

        print_notes(rollout.warnings)
        broken = list(map(str, violated_gates(rollout, **self.gates)))
        as_text = self._show(rollout)
        if self.show != "skipped" and not (as_text and rollout.skipped.num_rows):
            print_notes(
                first_of(rollout.skipped["reason"].to_pylist(), MOST_TOLD, "", " (--show skipped)"),
                "skipped",
            )
        print_notes(rollout.refusals, "refused")
        tell_broken(broken)
        verb = Verb.SWITCH if is_switch else Verb.RECOMMEND
        code = left_out_code(known, inputs, verb)
        return code or (exit_codes.GATE if broken or rollout.refusals else 0)

    def _show(self, rollout: Rollout) -> bool:
        """Write the rollout, or a table of it; whether it was written as text."""
        from rmqalloc.rollouts.rollout_text import printed_table, wide_lines

        is_text = self.tables.is_for_people
        if is_text and self.show is None and self.tables.is_whole:
            draw(
                rollout.lines if self.tables.output == "table" else partial(wide_lines, rollout),
                self.tables.top,
            )
            return True
        main = "ways" if rollout.ways.num_rows else "steps"
        if is_text:
            main = printed_table(rollout)
        shown = self.show or self.tables.table_of(rollout, main)
        write_figures(self.tables, getattr(rollout, "exposed" if shown == "queues" else shown))
        return False


def write_figures(tables: TableOptions, table: pa.Table) -> None:
    """Write a table; people see an upper bound as ``≤ 62``, where programs find a column that ends
    in ``_is_exact``.
    """
    if tables.is_whole and tables.output in ("table", "wide", "md", "html"):
        from rmqalloc.results.renderer import with_bounds

        table = with_bounds(table)
    tables.write(table)


def rollout_options(command: Command) -> Command:
    """Add the snapshot, the order of clients and what to show; the command gets ``inputs``, ``how``
    and ``printing``.
    """

    ordered = bundle("how", dict, (), command, ("order", "seed"))
    takes = ("tables", "show", "max_moved_per_queue", "max_unowned", "gates_file")
    made = bundle("printing", _printing, _OPTIONS, ordered, takes)
    return snapshot_options(strategy_known_option(made))


_OF_PLANS = ("max_moved", "max_moved_share", "max_skew", "fail_if_worse")
"""Gates that say nothing of the steps of a rollout."""


def _printing(max_unowned: int | None, gates_file: str | None, **others: Any) -> Printing:
    gates = gates_of(gates_file, max_unowned=max_unowned)
    if odd := [name for name in gates.to_data() if name in _OF_PLANS]:
        raise click.UsageError(
            f"--gates: {odd[0]} applies to plans only; a rollout has max_unowned, max_double "
            "and max_unowned_seconds"
        )
    if gates_file is not None and gates.informed_by != "notice":
        raise click.UsageError(
            "--gates: informed_by applies to plans only; for `rollout restart`, give --informed-by"
        )
    return Printing(bounds=gates, **others)


_OPTIONS = (
    gates_option,
    max_unowned_option,
    click.option(
        "--max-moved-per-queue",
        type=Amount(0),
        metavar="X",
        help="Gate: most moves per queue in total.",
    ),
    table_options(". Default as text: 20 groups; for a few groups, steps of each"),
    option(
        "show",
        more=": rows by group (totals), step, step and topic, unread or doubly read queue, "
        "skipped group, or variant tried by --best (ways). Default: totals and steps as "
        "text; for programs steps, or with --best ways",
        type=Choice(SHOWN),
    ),
    option(
        "seed", more="; it sets the shuffled order", type=Count(0), default=0, show_default=True
    ),
    click.option(
        "--order",
        type=Choice(("shuffled", "sorted", "reversed", "spread")),
        default="shuffled",
        show_default=True,
        help="Order of the clients: by a hash of the client id, by id, or spread evenly over "
        "the ids.",
    ),
)


def _read_batch(text: str) -> None:
    from rmqalloc.rollouts.schedule import batch_size

    batch_size(text, sys.maxsize, "")


batch_option = click.option(
    "-b",
    "--batch",
    default="1",
    show_default=True,
    metavar="N|P%",
    callback=read_by(_read_batch),
    help="Clients that change at once.",
)

refreshed_option = click.option(
    "--refreshed",
    type=Amount(0, 1),
    default=0.5,
    show_default=True,
    metavar="SHARE",
    help="With --show queues: show the moment when this share of the clients has new routes.",
)


def only_topic(inputs: Inputs) -> str:
    """Return the one topic that is named."""
    if len(inputs.topics) != 1 or inputs.topics == ("*",):
        raise click.UsageError("give exactly one topic: -t TOPIC")
    return inputs.topics[0]
