"""Options that several verbs share, and what they mean."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from rmqalloc.cli._choices import Choice, Command, Count, FileOrExample, TextType, bundle
from rmqalloc.cli._sink import hand_over
from rmqalloc.errors import Error
from rmqalloc.scenarios.fixed_names import CHANGE_FLAGS
from rmqalloc.strategies.by_name import (
    from_flags,
    from_label,
    is_plain,
    plain_parameters,
    plain_strategies,
    rule,
)
from rmqalloc.strategies.parameters import Parameter
from rmqalloc.strategies.spelled import with_params

if TYPE_CHECKING:
    from rmqalloc.scenarios import Scenario

OUTPUTS = ("table", "wide", "json", "jsonl", "yaml", "csv", "parquet", "md", "html")
"""Forms of a result, as `rmqalloc.report.write_table` has them."""


def schema_option(
    what: str, schema: Callable[[], Mapping[str, Any]]
) -> Callable[[Command], Command]:
    """``--schema``: print the JSON Schema of ``what``, and end; it is made only when it is asked
    for.
    """

    def print_schema(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
        if wanted:
            hand_over(json.dumps(schema(), indent=2))
            ctx.exit()

    return click.option(
        "--schema",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=print_schema,
        help=f"Print the JSON Schema of {what}, and end.",
    )


def file_to_write(ctx: click.Context, param: click.Parameter, name: str | None) -> str | None:
    """Return the name of a file to save besides what is printed; ``-`` is none, for the result goes
    there.
    """
    if name in ("", "-"):
        raise click.BadParameter(
            f"{name!r} is not a file; standard output is for the result", ctx, param
        )
    return name


class StrategyName(Choice):
    """One of some strategies, with or without its version and parameters, or one of these over
    another.
    """

    def __init__(self, rooms: bool) -> None:
        super().__init__(plain_strategies(rooms))
        self._rooms = rooms

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the text as it is given."""
        is_name = isinstance(value, str) and is_plain(value, self._rooms)
        return value if is_name else super().convert(value, param, ctx)


def strategy_options(command: Command, rooms: bool = False) -> Command:
    """Add ``--strategy`` and the options of single strategies, which come as ``strategy`` and
    ``params``.

    With ``rooms`` also the strategies that read machine rooms, where what the command reads knows
    them.
    """

    @functools.wraps(command)
    def with_strategy(strategy: str, **others: Any) -> Any:
        flags = {parameter.name: others.pop(parameter.name) for _, parameter in given_by_flags}
        try:
            name, params = with_params(strategy, from_flags(strategy, flags))
            rule(name, **params)
        except Error as error:
            raise click.UsageError(str(error)) from error
        return command(strategy=name, params=params, **others)

    given_by_flags = list(plain_parameters())
    made: Command = with_strategy
    for name, parameter in reversed(given_by_flags):
        made = _parameter_option(name, parameter)(made)
    choice = StrategyName(rooms)
    help_text = "Name of the rule; one over another one as ROTATED-AVG, with parameters as 'CANARY(share=0.05)'."
    return click.option(
        "-s", "--strategy", type=choice, default="AVG", show_default=True, help=help_text
    )(made)


def _parameter_option(strategy: str, parameter: Parameter) -> Callable[[Command], Command]:
    """Return the option of one parameter of a strategy."""
    flags = [parameter.flag, *([parameter.alias] if parameter.alias else [])]
    default = "" if parameter.default is None else f" (RocketMQ's default is {parameter.default})"
    help_text = f"{parameter.text}, for {strategy}{default}."
    if parameter.kind == "names":
        return click.option(*flags, metavar=f"{parameter.metavar},...", help=help_text)
    return click.option(*flags, type=Count(min=0), metavar=parameter.metavar, help=help_text)


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
    """Add the options that say what to change; the command gets them as one argument, ``changes``."""

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


_CHANGE_OPTIONS = (
    click.option(
        "--scale",
        type=_Scale(),
        metavar="N[=ROOM]",
        help="Every group has N clients; those that join stand in ROOM.",
    ),
    click.option(
        "--add-client",
        multiple=True,
        metavar="ID[=ROOM]",
        help="A client joins, in a machine room; repeats. An id that holds a = is given as 'ID='.",
    ),
    click.option(
        "--remove-client",
        multiple=True,
        metavar="ID",
        help="A client, or all of a pattern, goes; repeats.",
    ),
    click.option(
        "--add-broker",
        multiple=True,
        metavar="NAME:Q[=ROOM]",
        help="A broker joins with Q queues, in a machine room; repeats.",
    ),
    click.option(
        "--remove-broker",
        multiple=True,
        metavar="NAME",
        help="A broker, or all of a pattern, goes; repeats.",
    ),
    click.option(
        "--set-queues",
        multiple=True,
        metavar="[TOPIC=]N",
        help="N read queues on each broker; repeats.",
    ),
    click.option(
        "--to-strategy",
        metavar="S",
        help="Another strategy, e.g. CONSISTENT_HASH:160, MACHINE_ROOM_NEARBY-AVG or 'CANARY(share=0.05)'.",
    ),
    click.option(
        "--to-virtual-nodes", type=Count(0), metavar="N", help="Ring positions per client."
    ),
    click.option(
        "--lose-room",
        multiple=True,
        metavar="ROOM",
        help="A machine room with all in it is cut off; repeats.",
    ),
    click.option(
        "--scenario",
        type=FileOrExample("scenarios"),
        metavar="FILE",
        help="YAML or JSON file of scenarios, or example:what-if, instead of the flags above.",
    ),
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
                f"--scenario is given together with {_flag(next(iter(given)))}; write that into the file too"
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


def candidate(label: str, flag: str = "-s") -> tuple[str, dict[str, Any]]:
    """Name and parameters of a strategy, from ``CONSISTENT_HASH:160`` or ``CANARY(share=0.05)``, as
    a flag gives them.
    """
    try:
        name, params = from_label(label)
        rule(name, **params)
    except Error as error:
        raise click.UsageError(f"{flag}: {error}") from error
    return name, params


class Seconds(TextType):
    """A bound in seconds such as ``30@p99``, as text."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text; a message of the option where it is none."""
        from rmqalloc.transitions.seconds_bound import SecondsBound

        try:
            SecondsBound.parse(value)
        except Error as error:
            self.fail(str(error), param, ctx)
        return str(value)


max_unowned_seconds_option = click.option(
    "--max-unowned-seconds",
    type=Seconds(),
    metavar="S[@worst|@p99]",
    help="Gate: longest time that a written queue may have no owner, at worst or in 99 of 100 cases.",
)

informed_by_option = click.option(
    "--informed-by",
    type=Choice(("notice", "timer", "scan", "crash")),
    default="notice",
    show_default=True,
    help="How clients learn that others joined or left: by the broker's notice, at their next pass (notices are off or lost), "
    "when a broker misses the heartbeats of a client that died in silence, or by notice of a client that was killed, whose "
    "locks of an ordered group's queues stay for up to 60 s.",
)
