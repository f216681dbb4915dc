"""A plan of what the options ask for, and how it is said that a bound is not kept or that machine
rooms are unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from rmqalloc.cli._change_options import Changes
from rmqalloc.cli._choices import Choice, Count, is_given
from rmqalloc.cli._inputs import Inputs
from rmqalloc.cli._options import option
from rmqalloc.cli._sink import print_notes
from rmqalloc.errors import RoomsUnknownError
from rmqalloc.results.and_more import first_of

if TYPE_CHECKING:
    from rmqalloc.evidence import Known
    from rmqalloc.plans import Gates, Plan

MOST_TOLD = 20
"""Most groups that are named for not keeping a gate."""

_ROOM_FLAGS = (
    "give its machine room: --add-client ID=ROOM, --scale N=ROOM, --add-broker NAME:Q=ROOM"
)


def plan_inputs(known: Known, inputs: Inputs, changes: Changes) -> Plan:
    """Return a plan of what the options ask for; its warnings go to standard error."""
    import rmqalloc
    from rmqalloc.plans.unmatched import NO_ROOM, refused_after, unassigned
    from rmqalloc.scenarios.change_flags import with_clients_meant
    from rmqalloc.snapshot.matching import none_planned

    strict = not changes.from_file
    scenarios = changes.scenarios
    if strict:
        ids = known.client_ids()
        scenarios = tuple(with_clients_meant(scenario, ids) for scenario in scenarios)
    with rooms_unknown():
        made = rmqalloc.plan(known, scenarios, inputs.groups, inputs.topics, strict=strict)
    if not any(made.groups["n_topics"].to_pylist()):
        raise none_planned([*made.warnings, *unassigned(made)])
    print_notes(made.warnings)
    if (
        strict
        and _no_room_given(changes)
        and any(NO_ROOM in one for one in refused_after(made.units))
    ):
        print_notes([_ROOM_FLAGS])
    return made


def _no_room_given(changes: Changes) -> bool:
    """Return whether clients or brokers join of which it is not said where they stand."""
    from rmqalloc.scenarios import AddBroker, AddClients, ScaleClients

    made = [change for scenario in changes.scenarios for change in scenario.changes]
    return any(
        isinstance(one, AddBroker | AddClients | ScaleClients) and one.machine_room is None
        for one in made
    )


@contextmanager
def rooms_unknown() -> Iterator[None]:
    """Tell that machine rooms are asked for, and the snapshot knows none."""
    try:
        yield
    except RoomsUnknownError as error:
        text = (
            f"{error}; the snapshot has no machine rooms: set machine_room of every broker "
            "and client in it"
        )
        raise click.ClickException(text) from error


def tell_broken(broken: Sequence[object]) -> None:
    """Tell the first of the gates that are not kept, and how many more there are."""
    print_notes(first_of([*map(str, broken)], MOST_TOLD), "gate not kept")


# --- Gates: bounds whose breach is an exit code ---

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
            "--gates is given together with a gate option; write that gate into the file"
        )
    return read_gates(file)
