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


def schema_option(what: str, schema: Callable[[], Mapping[str, Any]]) -> Callable[[Command], Command]:
    """``--schema``: print the JSON Schema of ``what``, and end; it is made only when it is asked for."""

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
    """Return the name of a file to save besides what is printed; ``-`` is none, for the result goes there."""
    if name in ("", "-"):
        raise click.BadParameter(f"{name!r} is not a file; standard output is for the result", ctx, param)
    return name


class StrategyName(Choice):
    """One of some strategies, with or without its version and parameters, or one of these over another."""

    def __init__(self, rooms: bool) -> None:
        super().__init__(plain_strategies(rooms))
        self._rooms = rooms

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the text as it is given."""
        is_name = isinstance(value, str) and is_plain(value, self._rooms)
        return value if is_name else super().convert(value, param, ctx)


def strategy_options(command: Command, rooms: bool = False) -> Command:
    """Add ``--strategy`` and the options of single strategies, which come as ``strategy`` and ``params``.

    With ``rooms`` also the strategies that read machine rooms, where what the command reads knows them.
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
    return click.option("-s", "--strategy", type=choice, default="AVG", show_default=True, help=help_text)(made)


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

    return bundle("changes", _changes_given, reversed(_CHANGE_OPTIONS), command, ("scenario", *_CHANGES))


class _Scale(TextType):
    """A number of clients and, behind ``=``, the machine room of those that join; kept as text."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the text as it is, once its number is one."""
        Count(0)(_and_room(str(value))[0], param, ctx)
        return str(value)


_CHANGE_OPTIONS = (
    click.option(
        "--scale", type=_Scale(), metavar="N[=ROOM]", help="Every group has N clients; those that join stand in ROOM."
    ),
    click.option(
        "--add-client",
        multiple=True,
        metavar="ID[=ROOM]",
        help="A client joins, in a machine room; repeats. An id that holds a = is given as 'ID='.",
    ),
    click.option("--remove-client", multiple=True, metavar="ID", help="A client, or all of a pattern, goes; repeats."),
    click.option(
        "--add-broker",
        multiple=True,
        metavar="NAME:Q[=ROOM]",
        help="A broker joins with Q queues, in a machine room; repeats.",
    ),
    click.option(
        "--remove-broker", multiple=True, metavar="NAME", help="A broker, or all of a pattern, goes; repeats."
    ),
    click.option("--set-queues", multiple=True, metavar="[TOPIC=]N", help="N read queues on each broker; repeats."),
    click.option(
        "--to-strategy",
        metavar="S",
        help="Another strategy, e.g. CONSISTENT_HASH:160, MACHINE_ROOM_NEARBY-AVG or 'CANARY(share=0.05)'.",
    ),
    click.option("--to-virtual-nodes", type=Count(0), metavar="N", help="Ring positions per client."),
    click.option(
        "--lose-room", multiple=True, metavar="ROOM", help="A machine room with all in it is cut off; repeats."
    ),
    click.option(
        "--scenario",
        type=FileOrExample("scenarios"),
        metavar="FILE",
        help="YAML or JSON file of scenarios, or example:what-if, instead of the flags above.",
    ),
)

# In this order, so that a new broker has the queues that it is said to have, and --scale says how many clients there are.
_CHANGES = (
    "remove_broker", "set_queues", "add_broker", "lose_room", "remove_client", "add_client", "scale", "to_strategy",
    "to_virtual_nodes",
)  # fmt: skip


def _changes_given(scenario: str | None, **flags: Any) -> Changes:
    return Changes(_scenarios(scenario, flags), scenario is not None)


def _scenarios(file: str | None, flags: dict[str, Any]) -> tuple[Scenario, ...]:
    """Return what the options ask for: the scenarios of a file, or one of all flags."""
    from rmqalloc.scenarios import ScenarioError, read_scenarios, scenarios_of

    given = [name for name, value in flags.items() if value not in (None, ())]
    if file is not None:
        if given:
            raise click.UsageError(f"--scenario is given together with {_flag(given[0])}; write that into the file too")
        return read_scenarios(file)
    if not given:
        return ()
    changes = [change for name in _CHANGES if name in given for change in _changes(name, flags[name])]
    shown = " ".join(text for name in given for text in _shown(name, flags[name]))
    try:
        return scenarios_of([{"name": shown[:_LONGEST_NAME], "changes": changes}], "flags")
    except ScenarioError as error:
        raise click.UsageError(_hint(given, error)) from error


_LONGEST_NAME = 200


def _shown(name: str, value: Any) -> list[str]:
    """Return flags as they were given, for the scenario's name."""
    return [f"{name.replace('_', '-')} {one}" for one in (value if isinstance(value, tuple) else (value,))]


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _hint(given: list[str], error: Any) -> str:
    """Return an error of a scenario in terms of the flags."""
    return f"{', '.join(map(_flag, given))}: {error.what}"


def candidate(label: str, flag: str = "-s") -> tuple[str, dict[str, Any]]:
    """Name and parameters of a strategy, from ``CONSISTENT_HASH:160`` or ``CANARY(share=0.05)``, as a flag gives them."""
    try:
        name, params = from_label(label)
        rule(name, **params)
    except Error as error:
        raise click.UsageError(f"{flag}: {error}") from error
    return name, params


def _changes(name: str, value: Any) -> list[dict[str, Any]]:
    """Return changes that one kind of flag asks for, as a file of scenarios would have them."""
    match name:
        case "scale":
            return [{"scale_clients": _scale(value)}]
        case "add_client":
            ids_in: dict[str, list[str]] = {}
            for text in value:
                client_id, room = _and_room(text)
                ids_in.setdefault(room, []).append(client_id)
            return [{"add_clients": {"ids": ids, **_in_room(room)}} for room, ids in ids_in.items()]
        case "remove_client":
            patterns = [one for one in value if set(one) & set("*?")]
            ids = [one for one in value if one not in patterns]
            both = {"ids": ids, "pattern": patterns}
            return [{"remove_clients": {field: names}} for field, names in both.items() if names]
        case "add_broker":
            return [{"add_broker": _broker(text)} for text in value]
        case "remove_broker":
            return [{"remove_broker": {"brokers": list(value)}}]
        case "set_queues":
            return [{"set_queues": _queues(text)} for text in value]
        case "to_strategy":
            strategy, params = candidate(value, "--to-strategy")
            return [{"set_strategy": {"strategy": strategy, **({"params": params} if params else {})}}]
        case "to_virtual_nodes":
            return [{"set_virtual_nodes": {"virtual_nodes": value}}]
        case _:
            return [{"lose_machine_room": {"machine_room": room}} for room in value]


def _and_room(text: str) -> tuple[str, str]:
    """Return what joins, and its machine room behind the last ``=``; no room if nothing stands there.

    Not behind ``@`` or ``:``, which ids of clients and names of brokers hold.
    """
    what, equals, room = text.rpartition("=")
    return (what, room) if equals else (text, "")


def _in_room(room: str) -> dict[str, str]:
    return {"machine_room": room} if room else {}


def _scale(text: str) -> dict[str, Any]:
    number, room = _and_room(text)
    return {"to": int(number), **_in_room(room)}


def _broker(text: str) -> dict[str, Any]:
    both, room = _and_room(text)
    name, _, number = both.rpartition(":")
    if not name or not _is_number(number):
        raise click.UsageError(f"--add-broker: {text!r} is not NAME:Q, such as broker-c:8, or NAME:Q=ROOM")
    return {"broker_name": name, "read_queue_nums": int(number), **_in_room(room)}


def _queues(text: str) -> dict[str, Any]:
    topics, equals, number = text.rpartition("=")
    if not _is_number(number) or (equals and not topics):
        raise click.UsageError(f"--set-queues: {text!r} is not N or TOPIC=N, such as orders=16")
    return {"read_queue_nums": int(number), **({"topics": topics} if topics else {})}


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


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
