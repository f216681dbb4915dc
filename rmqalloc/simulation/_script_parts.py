"""What a script declares: its fields, those of its topics and of its groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from rmqalloc.documents.records import Checked, MappingOf, Part, list_of, needed, optional
from rmqalloc.model import MAX_READ_QUEUE_NUMS
from rmqalloc.remoting import DEFAULT_PROFILE, PROFILES
from rmqalloc.simulation._events import SPELLING, Event, Events, Started, StrategyText, WithStrategy
from rmqalloc.simulation._settings import MODES, SHARE, BrokerSettings, GroupSettings

MOST_RATE = 1_000_000
"""Greatest rate of a queue; a client that reads as fast is never behind."""


@dataclass(frozen=True)
class QueueRate:
    """Messages per second of a queue; whole numbers stay whole, so that offsets are exact."""

    def read(self, given: Any) -> int | float:
        """Return the rate."""
        if isinstance(given, float) and 0 <= given <= MOST_RATE:
            return given
        return Whole(0, MOST_RATE).read(given)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema."""
        return {"type": "number", "minimum": 0, "maximum": MOST_RATE}


@dataclass(frozen=True)
class NumbersByBroker:
    """Read queues on each broker, or by the name of each."""

    def read(self, given: Any) -> int | Mapping[str, int]:
        """Return the number, or the numbers by broker."""
        number = Whole(0, MAX_READ_QUEUE_NUMS)
        return MappingOf(number).read(given) if isinstance(given, Mapping) else number.read(given)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema."""
        number = Whole(0, MAX_READ_QUEUE_NUMS)
        return {"anyOf": [number.schema(), MappingOf(number).schema()]}


@dataclass(frozen=True)
class TopicPart(Checked):
    """A topic: its queues on each broker, and how many messages each queue gets."""

    name: str = needed(Text(), "Name of the topic.")
    read_queue_nums: int | Mapping[str, int] = needed(
        NumbersByBroker(), "Read queues on each of its brokers, or a number by the name of each."
    )
    brokers: tuple[str, ...] | None = optional(
        Texts(), says="Names of brokers that hold it; all if left out."
    )
    produced_per_second: int | float = optional(
        QueueRate(), 10, "Messages that each of its queues gets."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.brokers is not None and isinstance(self.read_queue_nums, Mapping):
            raise ScenarioError("names the brokers already; leave out brokers", "read_queue_nums")

    def queues_by_broker(self, brokers: Sequence[str]) -> dict[str, int]:
        """Return how many queues may be read on each broker that holds it, of all brokers."""
        if isinstance(self.read_queue_nums, Mapping):
            return dict(self.read_queue_nums)
        return dict.fromkeys(self.brokers or brokers, self.read_queue_nums)


@dataclass(frozen=True, kw_only=True)
class ClientPart(Started):
    """A client that differs from others of its group."""

    name: str = needed(Text(), "Its name.")


@dataclass(frozen=True)
class ClientParts:
    """How many clients, their names, or what each is."""

    def read(self, given: Any) -> int | tuple[str | ClientPart, ...]:
        """Return the number or the clients."""
        if not isinstance(given, list | tuple) or all(isinstance(item, str) for item in given):
            return Members().read(given)
        clients: list[str | ClientPart] = []
        for i, one in enumerate(given):
            try:
                clients.append(Text().read(one) if isinstance(one, str) else _CLIENT.read(one))
            except FieldError as error:
                raise error.inside(i) from None
        return tuple(clients)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema."""
        one = {"anyOf": [Text().schema(), _CLIENT.schema()]}
        return {
            "anyOf": [*Members().schema()["anyOf"], {"type": "array", "items": one, "minItems": 1}]
        }


_CLIENT = Part(ClientPart)


@dataclass(frozen=True)
class GroupPart(WithStrategy):
    """A consumer group; its clients start with the simulation, one after the other, and read queues
    from the first message.
    """

    name: str = needed(Text(), "Name of the group.")
    topics: tuple[str, ...] = needed(Texts(), "Names of the topics that its clients subscribe to.")
    clients: int | tuple[str | ClientPart, ...] = needed(
        ClientParts(),
        "Names of its clients, settings by name, or a number: 2 clients of a group g are g-0 and g-1.",
    )
    start_every: int = optional(
        Duration(), Milliseconds(0), "From the start of one client to that of the next."
    )
    strategy: str | None = optional(StrategyText(), "AVG", f"How queues are divided; {SPELLING}")
    params: Mapping[str, Any] | None = optional(
        Params(), says="Parameters of the strategy, by name."
    )
    ordered: bool = optional(Truth(), False, "Consume in order, under locks.")
    listener_time: int = optional(
        Duration(),
        Milliseconds(0),
        "Longest time that the user's code works on messages of an ordered queue.",
    )
    consumed_per_second: int | float = optional(
        QueueRate(), 100, "Messages that a client consumes of one queue."
    )
    server_assignment: bool = optional(Truth(), False, "Brokers divide the queues (5.x).")
    subscription_group: GroupSettings | None = optional(
        Part(GroupSettings),
        says="Its configuration on all brokers from the start; by default created by its first heartbeat.",
    )
    message_request_mode: str | None = optional(
        Text(MODES),
        says="How brokers let it read its topics from the start on, with server_assignment; see set_consume_mode.",
    )
    pop_share_queue_num: int = optional(
        SHARE, 0, "With message_request_mode POP; see set_consume_mode."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.message_request_mode is not None and not self.server_assignment:
            raise ScenarioError("needs server_assignment: true beside it", "message_request_mode")
        if self.pop_share_queue_num and self.message_request_mode != "POP":
            raise ScenarioError("needs message_request_mode: POP beside it", "pop_share_queue_num")

    @property
    def members(self) -> list[ClientPart]:
        """Return the clients it starts with."""
        clients = self.clients
        if isinstance(clients, int):
            width = len(str(max(0, clients - 1)))
            clients = tuple(f"{self.name}-{i:0{width}}" for i in range(clients))
        return [
            ClientPart(name=client) if isinstance(client, str) else client for client in clients
        ]

    @property
    def client_names(self) -> tuple[str, ...]:
        """Return the names of the clients it starts with."""
        return tuple(client.name for client in self.members)


@dataclass(frozen=True)
class ScriptFields(Checked):
    """The fields of a script, each right by itself; `rmqalloc.simulation.Script` checks them
    against each other.
    """

    brokers: tuple[str, ...] = needed(Texts(), "Names of the brokers.")
    topics: tuple[TopicPart, ...] = needed(list_of(TopicPart), "Topics.")
    groups: tuple[GroupPart, ...] = needed(list_of(GroupPart), "Consumer groups and their clients.")
    events: tuple[Event, ...] = optional(
        Events(), (), "Events; events at the same time happen in the order of the list."
    )
    broker_settings: tuple[BrokerSettings, ...] = optional(
        list_of(BrokerSettings),
        (),
        "Settings of brokers at their start, each for some brokers or for all.",
    )
    name: str = optional(Text(), "simulation", "Name in the output.")
    seed: int = optional(
        Whole(0, 2**63 - 1), 0, "Seed of all random choices; equal seeds give equal output."
    )
    profile: str = optional(Text(tuple(PROFILES)), DEFAULT_PROFILE.name, "Release of RocketMQ.")
    duration: int | None = optional(
        Duration(1),
        says="Duration in virtual time; by default until brokers have noticed the last event.",
    )
    warm_up: int = optional(
        Duration(),
        Milliseconds(0),
        "Time before the events, in which clients start at random moments and settle; times of events count from its end.",
    )
    notes: tuple[str, ...] = optional(
        Texts(), (), "Facts about the cluster that are not known; printed with the result."
    )
    latency: int = optional(Duration(1), Milliseconds(1), "Of the network, one way.")
