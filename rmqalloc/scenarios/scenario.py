"""Scenarios: changes to groups and topics, as data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from reprlib import repr as shown
from typing import Any, ClassVar, get_args

from rmqalloc.dataclass import dataclass
from rmqalloc.documents.fields import Params, ScenarioError, Text, Texts, Whole
from rmqalloc.documents.records import Checked, by_name, needed, optional
from rmqalloc.errors import Error
from rmqalloc.model import MAX_CLIENTS, MAX_READ_QUEUE_NUMS, MAX_VIRTUAL_NODES
from rmqalloc.scenarios.fixed_names import CURRENT, GENERATED_NAME
from rmqalloc.strategies import Strategy
from rmqalloc.strategies.by_name import rule
from rmqalloc.strategies.spelled import with_params
from rmqalloc.text import did_you_mean

ALL = ("*",)


MEMBERS, ROUTES, DEPLOYMENT = "members", "routes", "deployment"
"""How the clients of a group learn of a change: that others joined or left, by their routes, or by
a deployment.
"""


@dataclass(frozen=True)
class GeneratedName(Text):
    """The name of added clients: text that contains ``{n}`` once."""

    def read(self, given: Any) -> str:
        """Return the text."""
        if (text := super().read(given)).count("{n}") != 1:
            raise ScenarioError(
                f"must contain {{n}} once, as the place of the number, got {shown(given)}"
            )
        return text


@dataclass(frozen=True)
class RemoveClients(Checked):
    """Remove clients.

    Attributes
    ----------
    ids : tuple of str, optional
        Client ids; ids that a unit does not have are ignored.
    pattern : tuple of str, optional
        Patterns of client ids, as for `fnmatch.fnmatchcase`.
    count : int, optional
        Number of clients to remove from each unit; all if it has fewer.
    machine_room : str, optional
        Machine room of the clients; the table must have a column ``client_rooms``.
    which : {"last", "first", "spread"}
        Which clients in Java's sort order, for ``count``; "spread" takes clients at even distances.
    """

    followed_by: ClassVar[str] = MEMBERS
    one_of: ClassVar[tuple[str, ...]] = ("ids", "pattern", "count", "machine_room")
    ids: tuple[str, ...] | None = optional(Texts())
    pattern: tuple[str, ...] | None = optional(Texts())
    count: int | None = optional(Whole(1, MAX_CLIENTS))
    machine_room: str | None = optional(Text())
    which: str = optional(Text(("last", "first", "spread")), "last")


@dataclass(frozen=True)
class AddClients(Checked):
    """Add clients.

    Attributes
    ----------
    ids : tuple of str, optional
        Client ids; an id that a unit already has is then listed twice, as in RocketMQ.
    count : int, optional
        Number of clients to add, with generated ids that the unit does not have yet.
    name : str
        Pattern of generated ids, for ``count``: ``{n}`` is a number of six digits from 000001.
    machine_room : str, optional
        Machine room of the clients; the table must have a column ``client_rooms``.
    """

    followed_by: ClassVar[str] = MEMBERS
    one_of: ClassVar[tuple[str, ...]] = ("ids", "count")
    ids: tuple[str, ...] | None = optional(Texts())
    count: int | None = optional(Whole(1, MAX_CLIENTS))
    name: str = optional(GeneratedName(), GENERATED_NAME)
    machine_room: str | None = optional(Text())


@dataclass(frozen=True)
class ScaleClients(Checked):
    """Scale every unit to ``to`` clients: the last clients in Java's sort order leave, or clients
    with generated ids join.

    Attributes
    ----------
    to : int
        How many.
    name, machine_room
        As for `AddClients`.
    """

    followed_by: ClassVar[str] = MEMBERS
    to: int = needed(Whole(0, MAX_CLIENTS))
    name: str = optional(GeneratedName(), GENERATED_NAME)
    machine_room: str | None = optional(Text())


@dataclass(frozen=True)
class SetStrategy(Checked):
    """Set the strategy.

    Attributes
    ----------
    strategy : str
        RocketMQ's name of it, e.g. ``AVG`` or ``MACHINE_ROOM_NEARBY-AVG``; see `rmqalloc.strategy`.
        Parameters may follow, as in ``CANARY(share=0.05)``; they are moved to ``params``.
    params : mapping
        Its parameters.
    """

    followed_by: ClassVar[str] = DEPLOYMENT
    strategy: str = needed(Text())
    params: Mapping[str, Any] | None = optional(Params())

    def __post_init__(self) -> None:
        super().__post_init__()
        self._put_params()
        self.rule()

    def _put_params(self) -> None:
        """Take parameters out of the text, so that two spellings of one change are equal."""
        try:
            name, params = with_params(self.strategy, self.params or {})
        except Error as error:
            raise ScenarioError(f"cannot be made: {error}") from None
        if name != self.strategy:
            object.__setattr__(self, "strategy", name)
            object.__setattr__(self, "params", params or None)

    def __hash__(self) -> int:
        return hash((self.strategy, json.dumps(self.params, sort_keys=True)))

    def rule(self) -> Strategy:
        """Return the strategy."""
        try:
            return rule(self.strategy, **(self.params or {}))
        except Error as error:
            raise ScenarioError(f"cannot be made: {error}") from None


@dataclass(frozen=True)
class SetVirtualNodes(Checked):
    """Set the number of ring positions per client; strategies without a ring do not change.

    Attributes
    ----------
    virtual_nodes : int
        How many.
    """

    followed_by: ClassVar[str] = DEPLOYMENT
    virtual_nodes: int = needed(Whole(0, MAX_VIRTUAL_NODES))


@dataclass(frozen=True)
class SetQueues(Checked):
    """Set the number of read queues of a topic on each of its brokers.

    The effect is that of ``mqadmin updateTopic -r`` on every broker. A readable broker with 0 read
    queues gets the same number.

    Retry topics, which brokers make for each consumer group with a number of queues of their own,
    stay as they are unless a pattern of ``topics`` begins with ``%RETRY%``.

    Attributes
    ----------
    read_queue_nums : int
        The topic has the queues 0 to ``read_queue_nums - 1`` on every broker of its route that
        consumers may read.
    brokers, topics : tuple of str
        Patterns of the brokers' and the topics' names; all brokers, and all topics but retry
        topics, unless given.
    """

    followed_by: ClassVar[str] = ROUTES
    read_queue_nums: int = needed(Whole(0, MAX_READ_QUEUE_NUMS))
    brokers: tuple[str, ...] = optional(Texts(), ALL)
    topics: tuple[str, ...] = optional(Texts(), ALL)


@dataclass(frozen=True)
class RemoveBroker(Checked):
    """Remove brokers with their queues.

    Attributes
    ----------
    brokers : tuple of str
        Patterns of their names.
    """

    followed_by: ClassVar[str] = ROUTES
    brokers: tuple[str, ...] = needed(Texts())


@dataclass(frozen=True)
class AddBroker(Checked):
    """Add a broker; topics that already have queues on a broker of that name do not change.

    Attributes
    ----------
    broker_name : str
        Its name.
    read_queue_nums : int
        Queues of the topic on it, ids from 0. Retry topics, which brokers create, get as many
        queues as on each of their brokers, or 1 if the brokers differ or there are none.
    machine_room : str, optional
        Machine room of the broker; the table must have a column ``broker_rooms``.
    """

    followed_by: ClassVar[str] = ROUTES
    broker_name: str = needed(Text())
    read_queue_nums: int = needed(Whole(1, MAX_READ_QUEUE_NUMS))
    machine_room: str | None = optional(Text())


@dataclass(frozen=True)
class LoseMachineRoom(Checked):
    """Disconnect a machine room.

    Attributes
    ----------
    machine_room : str
        Which.
    what : {"both", "clients", "brokers"}
        Lost part; the table must have the columns ``client_rooms`` and ``broker_rooms``
        accordingly.
    """

    followed_by: ClassVar[str] = ROUTES
    machine_room: str = needed(Text())
    what: str = optional(Text(("both", "clients", "brokers")), "both")


Change = (
    RemoveClients | AddClients | ScaleClients | SetStrategy | SetVirtualNodes | SetQueues | RemoveBroker | AddBroker
    | LoseMachineRoom
)  # fmt: skip

CHANGES = by_name(*get_args(Change))
"""What each change is called in a file."""


class ChangeList:
    """A field of changes: `Change` objects, or mappings of one change name to its fields."""

    def read(self, given: Any) -> tuple[Any, ...]:
        """Return the changes."""
        if not isinstance(given, list | tuple) or not given:
            raise ScenarioError(f"must be a list of changes that is not empty, got {shown(given)}")
        return tuple(self._change(i, one) for i, one in enumerate(given))

    @staticmethod
    def _change(i: int, given: Any) -> Any:
        if type(given) in CHANGES.values():
            return given
        named = (
            {k: v for k, v in given.items() if v is not None} if isinstance(given, Mapping) else {}
        )
        if len(named) != 1 or next(iter(named)) not in CHANGES:
            meant = did_you_mean(str(next(iter(named))), CHANGES) if len(named) == 1 else ""
            raise ScenarioError(
                f"must be one change by name ({', '.join(CHANGES)}), got {shown(given)}{meant}",
                (i,),
            )
        [(name, data)] = named.items()
        try:
            return CHANGES[name].of(data)
        except ScenarioError as error:
            raise error.inside(name).inside(i) from None

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema."""
        one = {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": False,
        }
        one["properties"] = {name: change.schema() for name, change in CHANGES.items()}
        return {"type": "array", "items": one, "minItems": 1}


@dataclass(frozen=True)
class Scenario(Checked):
    """A named list of changes.

    Attributes
    ----------
    name : str
        Name of the scenario in results; "current" is reserved.
    changes : tuple of Change
        Changes, applied in order.
    groups, topics : tuple of str
        Patterns as for `fnmatch.fnmatchcase`: the changes apply to units whose consumer group and
        topic match. Default: all units.

    Raises
    ------
    ScenarioError
        A field is wrong.

    Examples
    --------
    >>> Scenario("one pod less", [RemoveClients(count=1)], groups="order-*").to_data()
    {'name': 'one pod less', 'changes': [{'remove_clients': {'count': 1}}], 'groups': 'order-*'}
    >>> Scenario.of(_) == Scenario("one pod less", [RemoveClients(count=1)], groups="order-*")
    True
    """

    name: str = needed(Text())
    changes: tuple[Change, ...] = needed(ChangeList())
    groups: tuple[str, ...] = optional(Texts(), ALL)
    topics: tuple[str, ...] = optional(Texts(), ALL)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.name == CURRENT:
            raise ScenarioError(
                f"must not be {CURRENT!r}, which is the state before any change", "name"
            )

    def to_data(self) -> dict[str, Any]:
        """Return plain data, as a file holds it."""
        names = {kind: name for name, kind in CHANGES.items()}
        return {
            **super().to_data(),
            "changes": [{names[type(one)]: one.to_data()} for one in self.changes],
        }


def strategies_set(scenarios: Iterable[Scenario]) -> list[tuple[str, Mapping[str, Any] | None]]:
    """Return the strategies that scenarios set, with their parameters."""
    changes = (change for scenario in scenarios for change in scenario.changes)
    return [(one.strategy, one.params) for one in changes if isinstance(one, SetStrategy)]


def joining_ids(scenarios: Iterable[Scenario]) -> Counter[str]:
    """Return the client ids that scenarios add, and how often one scenario does at most."""
    joining = Counter[str]()
    for scenario in scenarios:
        changes = (change for change in scenario.changes if isinstance(change, AddClients))
        joining |= Counter(one for change in changes for one in change.ids or ())
    return joining


def clients_join(scenarios: Iterable[Scenario]) -> bool:
    """Return True if a scenario adds clients to groups that may have none."""
    changes = (change for scenario in scenarios for change in scenario.changes)
    return any(isinstance(change, AddClients | ScaleClients) for change in changes)
