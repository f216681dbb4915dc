"""Everything that can happen in a script, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from reprlib import repr as shown
from typing import Any

from rmqalloc.documents.fields import (
    Duration,
    FieldError,
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
from rmqalloc.limits import MAX_READ_QUEUE_NUMS
from rmqalloc.simulation._settings import SetConsumeMode, UpdateBrokerConfig, UpdateSubGroup
from rmqalloc.strategies import Strategy, strategy
from rmqalloc.strategies.by_name import is_plain, plain_strategies
from rmqalloc.strategies.spelled import with_params


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
            raise ScenarioError(
                "needs a strategy beside it, such as strategy: CONSISTENT_HASH", "params"
            )
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


_CLIENTS = "Names of clients that run then."
_ALL_BROKERS = "Names of brokers; all if left out."


@dataclass(frozen=True)
class Join(WithStrategy):
    """Clients join a group, perhaps with an id that another has, another strategy or other topics."""

    group: str = needed(Text(), "Name of the group.")
    clients: tuple[str, ...] = needed(
        Texts(), "Names of clients that do not run then: new ones, or some that left."
    )
    client_id: str | None = optional(
        Text(), says="Client id instead of the name with @1, such as one that another client has."
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
class Shutdown(Checked):
    """Clients leave in good order."""

    clients: tuple[str, ...] = needed(Texts(), _CLIENTS)


@dataclass(frozen=True)
class Crash(Shutdown):
    """Clients die, and their connections are closed."""


@dataclass(frozen=True)
class Vanish(Shutdown):
    """Clients die and nobody notices: no connection is closed."""


@dataclass(frozen=True)
class Disconnect(Checked):
    """Living clients lose their connections, to some brokers or to all."""

    clients: tuple[str, ...] = needed(Texts(), _CLIENTS)
    brokers: tuple[str, ...] | None = optional(Texts(), says=_ALL_BROKERS)


@dataclass(frozen=True)
class Pause(Checked):
    """Clients keep their queues and neither read nor rebalance for a while."""

    clients: tuple[str, ...] = needed(Texts(), _CLIENTS)
    lasts: int = needed(Duration(1), "How long.")


@dataclass(frozen=True)
class Freeze(Pause):
    """Clients stall for a while, as in a long garbage collection."""


@dataclass(frozen=True)
class RestartBroker(Checked):
    """Brokers go down and come back; after a crash routes show them for two more minutes."""

    brokers: tuple[str, ...] = needed(Texts(), "Names of brokers that run then.")
    lasts: int = needed(Duration(1), "How long they are down.")
    crash: bool = optional(Truth(), False, "They die, instead of leaving in good order.")


@dataclass(frozen=True)
class ChangeTopic(Checked):
    """A topic gets another number of read queues, or can no longer be read."""

    topic: str = needed(Text(), "Name of the topic.")
    read_queue_nums: int = needed(
        Whole(0, MAX_READ_QUEUE_NUMS), "Read queues on each of the brokers."
    )
    brokers: tuple[str, ...] | None = optional(
        Texts(),
        says="Names of brokers, also such that do not hold the topic yet; all that hold it if left out.",
    )
    readable: bool = optional(Truth(), True, "Whether it may be read.")


@dataclass(frozen=True)
class Partition(Checked):
    """Clients and brokers cannot reach each other for a while."""

    clients: tuple[str, ...] = needed(Texts(), "Names of clients that run at some time meanwhile.")
    brokers: tuple[str, ...] = needed(Texts(), "Names of brokers.")
    lasts: int = needed(Duration(1), "How long.")


@dataclass(frozen=True)
class Notices(Checked):
    """Brokers notify clients of changed groups, or no longer do: `update_broker_config` of that
    flag on all brokers.
    """

    enabled: bool = needed(Truth(), "notifyConsumerIdsChangedEnable of all brokers.")


@dataclass(frozen=True)
class RollingRestart(Checked):
    """The clients of a group are shut down and restarted, one batch after the other."""

    group: str = needed(Text(), "Name of the group; all its clients that run then are restarted.")
    batch: int = optional(Whole(1, 100_000), 1, "How many clients at a time.")
    every: int = optional(Duration(1), Milliseconds(30_000), "From one batch to the next.")
    down: int = optional(Duration(1), Milliseconds(10_000), "How long a client is gone.")
    new_ids: bool = optional(Truth(), True, "Clients come back with new client ids.")


EVENTS = by_name(
    Join, Shutdown, Crash, Vanish, Disconnect, Pause, Freeze, RestartBroker, ChangeTopic, Partition, Notices, RollingRestart,
    UpdateBrokerConfig, UpdateSubGroup, SetConsumeMode,
)  # fmt: skip
"""What can happen, by what a script calls it."""


@dataclass(frozen=True)
class Event:
    """Something that happens at a time, in milliseconds since the simulation began."""

    at: int
    kind: str
    detail: Any

    def __str__(self) -> str:
        """Return a short text for people."""
        said = []
        for one in fields(self.detail):
            value = getattr(self.detail, one.name)
            if value != one.default:
                shown_value = value.to_data() if isinstance(value, Milliseconds) else _short(value)
                said.append(
                    shown_value
                    if one.name in ("clients", "brokers")
                    else f"{one.name}={shown_value}"
                )
        return " ".join([self.kind, *said])

    def to_data(self) -> dict[str, Any]:
        """Return plain data, as a script holds it."""
        return {"at": Milliseconds(self.at).to_data(), self.kind: self.detail.to_data()}


@dataclass(frozen=True)
class Events:
    """A list of events, each a mapping of ``at`` and one of `EVENTS`."""

    def read(self, given: Any) -> tuple[Event, ...]:
        """Return the events."""
        if not isinstance(given, list | tuple):
            raise ScenarioError(f"must be a list of events, got {shown(given)}")
        events = []
        for i, one in enumerate(given):
            try:
                events.append(one if isinstance(one, Event) else self._event(one))
            except FieldError as error:
                raise error.inside(i) from None
        return tuple(events)

    @staticmethod
    def _event(given: Any) -> Event:
        kinds = [kind for kind in given if kind != "at"] if isinstance(given, Mapping) else []
        if len(kinds) != 1 or kinds[0] not in EVENTS or "at" not in given:
            raise ScenarioError(
                f"must be a mapping of at and one of {', '.join(EVENTS)}, got {shown(given)}"
            )
        reading = "at"
        try:
            at = Duration().read(given[reading])
            reading = kinds[0]
            return Event(at, reading, EVENTS[reading].of(given[reading]))
        except FieldError as error:
            raise error.inside(reading) from None

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema."""
        kinds = {kind: described(cls) for kind, cls in EVENTS.items()}
        at = {
            **Duration().schema(),
            "description": "When it happens, from the beginning on; before the end.",
        }
        one = {"type": "object", "properties": {"at": at, **kinds}, "required": ["at"]}
        return {
            "type": "array",
            "items": {**one, "minProperties": 2, "maxProperties": 2, "additionalProperties": False},
        }


def _short(value: Any) -> str:
    """Return a value in a few words."""
    if not isinstance(value, tuple):
        return str(value)
    return ",".join(value) if len(value) <= 4 else f"{value[0]},...,{value[-1]} ({len(value)})"
