"""Options that say what to change, and the scenarios that they make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from rmqalloc.cli._choices import Command, Count, FileOrExample, TextType, bundle
from rmqalloc.cli._options import option
from rmqalloc.scenarios.fixed_names import CHANGE_FLAGS

if TYPE_CHECKING:
    from rmqalloc.scenarios import Scenario


class Changes(NamedTuple):
    """What the options of `change_options` ask for.

    Attributes
    ----------
    scenarios : tuple of Scenario
        Those of a file, or one of all flags; none if nothing is given.
    from_file : bool
        Whether they come from a file.
    """

    scenarios: tuple[Scenario, ...]
    from_file: bool


def change_options(command: Command) -> Command:
    """Add the options that say what to change; the command gets them as one "
    "argument, ``changes``."""

    return bundle(
        "changes", _changes_given, reversed(_CHANGE_OPTIONS), command, ("scenario", *CHANGE_FLAGS)
    )


class _Scale(TextType):
    """A number of clients and, behind ``=``, the machine room of those that join; kept as text."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the text as it is, once its number is one."""
        from rmqalloc.scenarios.change_flags import room_behind

        Count(0)(room_behind(str(value))[0], param, ctx)
        return str(value)


scenario_option = option("scenario", type=FileOrExample("scenarios"))

_CHANGE_OPTIONS = (
    click.option(
        "--scale",
        type=_Scale(),
        metavar="N[=ROOM]",
        help="Set the number of clients of every group to N; new clients are in machine room ROOM.",
    ),
    click.option(
        "--add-client",
        multiple=True,
        metavar="ID[=ROOM]",
        help="Add a client, in machine room ROOM; repeatable. Write an id that contains = as "
        "'ID='.",
    ),
    click.option(
        "--remove-client",
        multiple=True,
        metavar="ID",
        help="Remove clients by id, host such as 10.0.0.1, or pattern; repeatable.",
    ),
    click.option(
        "--add-broker",
        multiple=True,
        metavar="NAME:Q[=ROOM]",
        help="Add a broker with Q queues, in machine room ROOM; repeatable.",
    ),
    click.option(
        "--remove-broker",
        multiple=True,
        metavar="NAME",
        help="Remove brokers by name or pattern; repeatable.",
    ),
    option("set-queues", multiple=True, more="; TOPIC=N for one topic; repeatable"),
    option("to-strategy"),
    scenario_option,
)


def _changes_given(scenario: str | None, **flags: Any) -> Changes:
    return Changes(_scenarios(scenario, flags), scenario is not None)


def _scenarios(file: str | None, flags: dict[str, Any]) -> tuple[Scenario, ...]:
    """Return what the options ask for: the scenarios of a file, or one of all flags."""
    from rmqalloc.scenarios import read_scenarios
    from rmqalloc.scenarios.change_flags import FlagError, scenario_of_flags

    given = {name: _texts(value) for name, value in flags.items() if value not in (None, ())}
    if file is not None:
        if given:
            raise click.UsageError(
                f"--scenario is given together with {_flag(next(iter(given)))}; write that "
                "change into the file"
            )
        return read_scenarios(file)
    try:
        made = scenario_of_flags(given)
    except FlagError as error:
        raise click.UsageError(f"{', '.join(map(_flag, error.flags))}: {error.what}") from error
    return () if made is None else (made,)


def _texts(value: Any) -> tuple[str, ...]:
    """Return the values of a flag as text."""
    return value if isinstance(value, tuple) else (str(value),)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
