"""Gates: bounds whose breach is an exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rmqalloc.cli._choices import Choice, Count, is_given
from rmqalloc.cli._options import option

if TYPE_CHECKING:
    from rmqalloc.plans import Gates

max_unowned_option = option("max-unowned", type=Count(0))

gates_option = option("gates", "gates_file")

informed_by_option = option(
    "informed-by",
    type=Choice(("notice", "timer", "scan", "crash")),
    default="notice",
    show_default=True,
)


def gates_of(file: str | None, **bounds: Any) -> Gates:
    """Return the gates of a file, or those that flags give; not both."""
    from rmqalloc.plans import Gates, read_gates

    gates = Gates(**bounds)
    if file is None:
        return gates
    if not gates.is_open or is_given("informed_by"):
        raise click.UsageError(
            "--gates is given together with a gate of its own option; write that into the file too"
        )
    return read_gates(file)
