"""``rmqalloc plan``: what a change would do to the consumer groups of a snapshot."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli._change_options import Changes, change_options
from rmqalloc.cli._choices import Choice
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._inputs import Inputs
from rmqalloc.cli._left_out import left_out_code
from rmqalloc.cli._options import file_to_write, option
from rmqalloc.cli._planning import (
    gates_of,
    gates_option,
    informed_by_option,
    max_unowned_option,
    plan_inputs,
    tell_broken,
)
from rmqalloc.cli._saved_plans import Undo, check_usage, save, undo_option, undone
from rmqalloc.cli._sink import hand_over, print_notes
from rmqalloc.cli._snapshot_input import snapshot_of, snapshot_options, strategy_known_option
from rmqalloc.cli._table_options import TableOptions, table_options

if TYPE_CHECKING:
    from rmqalloc.plans import Gates, Plan

_TOTALS = {"totals": ("host", "client_id"), "hosts": ("host",)}


@click.command(cls=Verb)
@snapshot_options
@strategy_known_option
@undo_option
@change_options
@table_options(
    ", worst groups and topics first unless --sort is given. Default as text: all groups "
    "that get worse, or 20"
)
@option(
    "show",
    more=": rows by group and topic, group, client or queue; transitions, the interval until "
    "all clients follow; totals and hosts, over all groups; evidence of each group's plan. "
    "Default: text",
    type=Choice(
        ("units", "groups", "clients", "queues", "transitions", "totals", "hosts", "evidence")
    ),
)
@option(
    "out", more="; the plan as JSON, compressed if the name ends in .gz", callback=file_to_write
)
@click.option(
    "--max-moved", metavar="N|P%", help="Gate: most queues of a group that may change owner."
)
@max_unowned_option
@informed_by_option
@click.option(
    "--fail-if-worse",
    is_flag=True,
    help="Gate: unowned, double-owned, idle, skew and highest load must not increase.",
)
@gates_option
@option("detailed-exitcode")
def plan(
    inputs: Inputs,
    changes: Changes,
    undo: Undo | None,
    tables: TableOptions,
    show: str | None,
    out: str | None,
    max_moved: str | None,
    gates_file: str | None,
    detailed_exitcode: bool,
    **bounds: Any,
) -> int:
    """Show the effect of a change on consumer groups: moved queues, and balance afterwards.

    \b
    rmqalloc plan -f example:seed --remove-client 10.0.0.11@1009
    rmqalloc plan -f cluster.yaml -g order-svc --scale 6
    rmqalloc plan -f cluster.json --remove-broker broker-a --max-moved 20% --out plan.json
    """
    from rmqalloc.evidence import Verb
    from rmqalloc.scenarios.scenario import clients_join

    check_usage(changes, undo)
    gates = gates_of(gates_file, **bounds, **_moved(max_moved))
    known = snapshot_of(inputs)
    made = plan_inputs(known, inputs, changes) if undo is None else undone(undo, known)
    if made is None:
        return exit_codes.GATE
    _print(made, gates, tables, show)
    if out is not None:
        print_notes([save(made, gates, out)])
    return (
        left_out_code(known, inputs, Verb.PLAN, clients_join(made.scenarios))
        or _gate_code(made, gates)
        or _refused_code(made)
        or _difference(made, detailed_exitcode)
    )


def _print(made: Plan, gates: Gates, tables: TableOptions, show: str | None) -> None:
    """Print the plan in the form that is asked for."""
    from rmqalloc.plans.plan_text import plan_lines, printed_table
    from rmqalloc.plans.plan_totals import client_totals
    from rmqalloc.plans.worst_first import RANKED, worst_table

    main = printed_table(made) if tables.is_for_people else made.TABLES[0]
    ranked = show or tables.table_of(made, main)
    if show == "transitions":
        tables.write(made.transitions(gates.informed_by))
    elif show in _TOTALS:
        tables.write(client_totals(made.clients, *_TOTALS[show]))
    elif show is None and tables.is_whole and tables.output == "html":
        from rmqalloc.report.html import report

        hand_over(report(made, gates=gates), end="")
    elif ranked in RANKED and tables.is_unordered_top and not (show is None and tables.is_text):
        tables.write(worst_table(made, ranked))
    else:
        lines = plan_lines(made, sys.stdout, tables.top, gates.informed_by)
        tables.show(made, show if tables.is_text else ranked, lines)


def _moved(most: str | None) -> dict[str, float]:
    """Return the fields of gates that ``--max-moved`` stands for."""
    if most is None:
        return {}
    number = most.removesuffix("%")
    if not (number.replace(".", "", 1).isdigit() and number.isascii()):
        raise click.UsageError(
            f"--max-moved: {most!r} is not a limit: give a number of queues or a share, such "
            "as 20 or 20%"
        )
    return (
        {"max_moved_share": float(number) / 100}
        if most.endswith("%")
        else {"max_moved": float(number)}
    )


def _gate_code(made: Plan, gates: Gates) -> int:
    """`exit_codes.GATE` if a gate is not kept, which is reported, else 0."""
    broken = gates.broken(made)
    tell_broken(broken)
    return exit_codes.GATE if broken else 0


def _refused_code(made: Plan) -> int:
    """`exit_codes.FAILURE` if what a change leaves cannot be assigned, which the warnings say, else
    0.
    """
    from rmqalloc.plans.unmatched import refused_after

    return exit_codes.FAILURE if any(refused_after(made.units)) else 0


def _difference(made: Plan, wanted: bool) -> int:
    from rmqalloc.results import compute as pc

    return (
        exit_codes.DIFFERENCE
        if wanted and (pc.sum(made.groups["clients_affected"]).as_py() or 0)
        else 0
    )
