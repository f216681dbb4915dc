"""Everything that can happen in a simulation: in a script, and as a line of text on the command line.

An event is a kind and its fields. A script writes it as a mapping (``crash: {clients: a}``) or as the
line that ``--event`` takes (``crash clients=a``); both are read by the same declarations.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import fields
from reprlib import repr as shown
from typing import Any

from rmqalloc.dataclass import dataclass
from rmqalloc.documents.fields import (
    Duration,
    FieldError,
    Members,
    Milliseconds,
    Params,
    ScenarioError,
    Text,
    Texts,
    Truth,
    Whole,
)
from rmqalloc.documents.records import Checked, by_name, described, needed, optional
from rmqalloc.errors import Error
from rmqalloc.model import MAX_READ_QUEUE_NUMS, MOST_MEMBERS
from rmqalloc.simulation._settings import SetConsumeMode, UpdateBrokerConfig, UpdateSubGroup
from rmqalloc.strategies import Strategy, strategy
from rmqalloc.strategies.by_name import is_plain, plain_strategies
from rmqalloc.strategies.spelled import with_params
from rmqalloc.text import did_you_mean


@dataclass(frozen=True)
class StrategyText(Text):
    """A strategy by name, with or without its version, over another one, or with its parameters, as
    a command line has it.
    """

    choices: tuple[str, ...] = plain_strategies()

    def read(self, given: Any) -> str:
        """Return the text."""
        return (
            Text().read(given)
            if isinstance(given, str) and is_plain(given)
            else super().read(given)
        )

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema: the names, or a text that begins with one."""
        begins = "|".join(dict.fromkeys(one.partition("/")[0] for one in self.choices))
        other = {"type": "string", "pattern": f"^({begins})(/[0-9]+)?([-(].*)?$"}
        return {"anyOf": [super().schema(), other]}


SPELLING = "one over another as ROTATED-AVG, with parameters as CANARY(share=0.05)."


class WithStrategy(Checked):
    """Data with the fields ``strategy`` and ``params``, which have to fit each other."""

    strategy: str | None
    params: Mapping[str, Any] | None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.strategy is None and self.params is not None:
            raise ScenarioError("needs a strategy, such as strategy: CONSISTENT_HASH", "params")
        self.made_strategy()

    def made_strategy(self) -> Strategy | None:
        """Return the strategy; None if none is named."""
        try:
            if self.strategy is None:
                return None
            name, params = with_params(self.strategy, self.params or {})
            return strategy(name, **params)
        except Error as error:
            raise ScenarioError(f"cannot be used: {error}", "params") from None


CHOSEN = Members(1)
"""Names, patterns of names, or how many: then every seed chooses some by chance."""

_CLIENTS = "Names of clients that run then, patterns of them, or how many."
_BROKERS = "Names of brokers that run then, patterns of them, or how many."
_ALL_BROKERS = "Names of brokers, or patterns of them; all if left out."
_GROUP = "Name of the group; needed if there are several."


@dataclass(frozen=True)
class Started(WithStrategy):
    """How a client starts, where it differs from its group."""

    client_id: str | None = optional(
        Text(), says="Client id instead of the name with @1, for example an id of another client."
    )
    strategy: str | None = optional(
        StrategyText(), says=f"Strategy instead of the group's; {SPELLING}"
    )
    params: Mapping[str, Any] | None = optional(
        Params(), says="Parameters of that strategy, by name."
    )
    topics: tuple[str, ...] | None = optional(
        Texts(), says="Topics to subscribe to instead of the group's."
    )


@dataclass(frozen=True)
class Join(Started):
    """Clients join a group, perhaps with an id that another has, another strategy or other topics."""

    group: str | None = optional(Text(), says=_GROUP)
    clients: int | tuple[str, ...] = optional(
        CHOSEN, 1, "Names of clients that do not run at that time, or a number of new clients."
    )


@dataclass(frozen=True)
class Shutdown(Checked):
    """Clients leave in good order."""

    clients: int | tuple[str, ...] = optional(CHOSEN, 1, _CLIENTS)


@dataclass(frozen=True)
class Crash(Shutdown):
    """Clients die, and their connections are closed."""


@dataclass(frozen=True)
class Vanish(Shutdown):
    """Clients die unnoticed: no connection is closed."""


@dataclass(frozen=True)
class Disconnect(Checked):
    """Living clients lose their connections, to some brokers or to all."""

    clients: int | tuple[str, ...] = optional(CHOSEN, 1, _CLIENTS)
    brokers: int | tuple[str, ...] | None = optional(CHOSEN, says=_ALL_BROKERS)


@dataclass(frozen=True)
class Pause(Checked):
    """Clients keep their queues and neither read nor rebalance for a while."""

    lasts: int = needed(Duration(1), "How long.")
    clients: int | tuple[str, ...] = optional(CHOSEN, 1, _CLIENTS)


@dataclass(frozen=True)
class Freeze(Pause):
    """Clients stall for a while, as in a long garbage collection."""


@dataclass(frozen=True)
class Restart(WithStrategy):
    """Clients of a group are shut down and started again, one batch after the other."""

    group: str | None = optional(Text(), says=_GROUP)
    clients: int | tuple[str, ...] | None = optional(
        CHOSEN, says="Which of its clients, in that order; all that run then, in any, if left out."
    )
    batch: int = optional(Whole(1, MOST_MEMBERS), 1, "How many clients at a time.")
    every: int = optional(Duration(1), Milliseconds(30_000), "From one batch to the next.")
    down: int = optional(Duration(1), Milliseconds(10_000), "How long a client is gone.")
    ids: str = optional(
        Text(("suffix", "stable", "address")),
        "suffix",
        "Ids with which clients come back, as `rollout restart` has them.",
    )
    strategy: str | None = optional(
        StrategyText(), says="Strategy with which they come back, if it changes."
    )
    params: Mapping[str, Any] | None = optional(
        Params(), says="Parameters of that strategy, by name."
    )


@dataclass(frozen=True)
class Scale(Checked):
    """Clients join a group, or are shut down, until it has so many."""

    to: int = needed(Whole(0, MOST_MEMBERS), "How many.")
    group: str | None = optional(Text(), says=_GROUP)


@dataclass(frozen=True)
class RestartBroker(Checked):
    """Brokers go down and come back; after a crash routes show them for two more minutes."""

    lasts: int = needed(Duration(1), "How long they are down.")
    brokers: int | tuple[str, ...] = optional(CHOSEN, 1, _BROKERS)
    crash: bool = optional(Truth(), False, "They die, instead of leaving in good order.")


@dataclass(frozen=True)
class ChangeTopic(Checked):
    """A topic gets another number of read queues, or can no longer be read."""

    topic: str = needed(Text(), "Name of the topic, or a pattern of several.")
    read_queue_nums: int = needed(
        Whole(0, MAX_READ_QUEUE_NUMS), "Read queues on each of the brokers."
    )
    brokers: int | tuple[str, ...] | None = optional(
        CHOSEN,
        says="Names of brokers, also such that do not hold the topic yet; all that hold it if left out.",
    )
    readable: bool = optional(Truth(), True, "Whether it may be read.")


@dataclass(frozen=True)
class Partition(Checked):
    """Clients and brokers cannot reach each other for a while."""

    lasts: int = needed(Duration(1), "How long.")
    clients: int | tuple[str, ...] = optional(
        CHOSEN, 1, "Names of clients that run at some time meanwhile, patterns, or how many."
    )
    brokers: int | tuple[str, ...] = optional(CHOSEN, 1, _BROKERS)


@dataclass(frozen=True)
class Notices(Checked):
    """Brokers notify clients of changed groups, or no longer do: `update_broker_config` of that
    flag on all brokers.
    """

    enabled: bool = needed(Truth(), "notifyConsumerIdsChangedEnable of all brokers.")


EVENTS = by_name(
    Join, Shutdown, Crash, Vanish, Disconnect, Pause, Freeze, Restart, Scale, RestartBroker, ChangeTopic, Partition, Notices,
    UpdateBrokerConfig, UpdateSubGroup, SetConsumeMode,
)  # fmt: skip
"""What can happen, by what a script calls it."""


@dataclass(frozen=True)
class Event:
    """An event at a time in milliseconds; None means a minute after the previous event."""

    at: int | None
    kind: str
    detail: Any

    def __str__(self) -> str:
        """Return the event as a line of text, without its time."""
        said = [self.kind]
        for one in fields(self.detail):
            value = getattr(self.detail, one.name)
            if value is not None and value != one.default:
                said.append(f"{one.name}={_short(value)}")
        return " ".join(said)

    def to_data(self) -> dict[str, Any]:
        """Return plain data, as a script holds it."""
        at = {} if self.at is None else {"at": Milliseconds(self.at).to_data()}
        return {**at, self.kind: self.detail.to_data()}


@dataclass(frozen=True)
class Events:
    """A list of events: each a mapping of ``at`` and one of `EVENTS`, or a line of text."""

    def read(self, given: Any) -> tuple[Event, ...]:
        """Return the events."""
        if not isinstance(given, list | tuple):
            raise ScenarioError(f"must be a list of events, got {shown(given)}")
        events = []
        for i, one in enumerate(given):
            try:
                events.append(_event(one))
            except FieldError as error:
                raise error.inside(i) from None
        return tuple(events)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema."""
        kinds = {kind: described(cls) for kind, cls in EVENTS.items()}
        at = {
            **Duration().schema(),
            "description": "Time of the event from the start; by default a minute after the previous event.",
        }
        mapping = {
            "type": "object",
            "properties": {"at": at, **kinds},
            "oneOf": [{"required": [kind]} for kind in kinds],
            "additionalProperties": False,
        }
        text = {"type": "string", "description": "The same as KIND key=value ..."}
        return {"type": "array", "items": {"anyOf": [mapping, text]}}


def _event(given: Any) -> Event:
    """Read one event of a list."""
    if isinstance(given, Event):
        return given
    if isinstance(given, str):
        return read_event(given)
    kinds = [kind for kind in given if kind != "at"] if isinstance(given, Mapping) else []
    if len(kinds) != 1 or kinds[0] not in EVENTS:
        raise ScenarioError(
            f"must be a mapping of at and one of {', '.join(EVENTS)}, got {shown(given)}"
        )
    return _made(given.get("at"), kinds[0], given[kinds[0]])


def _made(at: Any, kind: str, given: Any) -> Event:
    reading = "at"
    try:
        time = None if at is None else Duration().read(at)
        reading = kind
        return Event(time, kind, EVENTS[kind].of(given))
    except FieldError as error:
        raise ScenarioError(error.what, (reading, *error.parts)) from None


def read_event(text: str) -> Event:
    """Read an event from a line of text: ``KIND key=value ...``.

    Raises
    ------
    ScenarioError
        There is no such kind, or a field is wrong.

    Examples
    --------
    >>> event = read_event("freeze clients=10.0.* lasts=45s at=2m")
    >>> event.at, event.kind, event.detail.clients
    (120000, 'freeze', ('10.0.*',))
    """
    try:
        kind, *words = shlex.split(text)
    except ValueError:
        raise ScenarioError(
            f"must be KIND key=value ..., such as 'crash clients=1', got {shown(text)}"
        ) from None
    if kind not in EVENTS:
        raise ScenarioError(
            f"has no kind of event {shown(kind)}; there are {', '.join(EVENTS)}"
            f"{did_you_mean(kind, EVENTS)}"
        )
    given: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name in given:
            raise ScenarioError(f"must be KIND key=value ..., each key once, got {shown(word)}")
        given[name] = _value(value)
    return _made(given.pop("at", None), kind, given)


def _value(text: str) -> Any:
    """Return a value as a script holds it: true or false, a whole number, a list, or text."""
    if text in ("true", "false"):
        return text == "true"
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    return text.split(",") if "," in text and "(" not in text else text


def _short(value: Any) -> str:
    """Return a value in a few words, as a line of text has it."""
    if isinstance(value, Milliseconds):
        return value.to_data()
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, tuple):
        return str(value)
    return ",".join(value) if len(value) <= 4 else f"{value[0]},...,{value[-1]} ({len(value)})"
