"""``--self-check``: the tables of a result are held to one another before any of it is shown or
saved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rmqalloc.cli._sink import print_notes
from rmqalloc.results.and_more import first_of
from rmqalloc.text import counted

if TYPE_CHECKING:
    from rmqalloc.plans import Plan

_MOST_TOLD = 20

self_check_option = click.option(
    "--self-check",
    is_flag=True,
    help="Hold all tables of the result to one another first: what contradicts itself is a defect of rmqalloc.",
)


def hold_to_itself(
    wanted: bool, result: Any, plan: Plan | None = None, informed_by: str = "notice"
) -> None:
    """Check a result if that is asked for, as `rmqalloc.invariants.checked` does, and say how much
    was checked.
    """
    if not wanted:
        return
    from rmqalloc.invariants import checked

    found = checked(result, plan, informed_by)
    if found.broken:
        lines = first_of([*map(str, found.broken)], _MOST_TOLD)
        raise RuntimeError(
            "\n  ".join([f"the result contradicts itself ({len(found.broken):,} rows):", *lines])
        )
    rules, rows = counted(found.n_rules, "rule holds", "rules hold"), counted(found.n_rows, "row")
    print_notes([f"{rules} on {rows}"], "self-check")
