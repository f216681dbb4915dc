"""What a script declares: its fields, those of its topics and of its groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rmqalloc.documents.fields import (
    Duration,
    Members,
    Milliseconds,
    Params,
    ScenarioError,
    Text,
    Texts,
    Truth,
    Whole,
)
from rmqalloc.documents.records import Checked, Part, list_of, needed, optional
from rmqalloc.limits import MAX_READ_QUEUE_NUMS
from rmqalloc.remoting import DEFAULT_PROFILE, PROFILES
from rmqalloc.simulation._events import SPELLING, Event, Events, StrategyText, WithStrategy
from rmqalloc.simulation._settings import MODES, SHARE, BrokerSettings, GroupSettings

RATE = Whole(0, 1_000_000)


@dataclass(frozen=True)
class TopicPart(Checked):
    """A topic: its queues on each broker, and how many messages each queue gets."""

    name: str = needed(Text(), "Name of the topic.")
    read_queue_nums: int = needed(
        Whole(0, MAX_READ_QUEUE_NUMS), "Read queues on each of its brokers."
    )
    brokers: tuple[str, ...] | None = optional(
        Texts(), says="Names of brokers that hold it; all if left out."
    )
    produced_per_second: int = optional(RATE, 10, "Messages that each of its queues gets.")


@dataclass(frozen=True)
class GroupPart(WithStrategy):
    """A consumer group; its clients start with the simulation, one after the other, and read queues
    from the first message.
    """

    name: str = needed(Text(), "Name of the group.")
    topics: tuple[str, ...] = needed(Texts(), "Names of the topics that its clients subscribe to.")
    clients: int | tuple[str, ...] = needed(
        Members(), "Names of its clients, or how many: 2 clients of a group g are g-0 and g-1."
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
    consumed_per_second: int = optional(RATE, 100, "Messages that a client consumes of one queue.")
    server_assignment: bool = optional(Truth(), False, "Brokers divide the queues (5.x).")
    subscription_group: GroupSettings | None = optional(  # noqa: RUF009
        Part(GroupSettings),
        says="Its configuration on all brokers from the start; made by its first heartbeat if left out.",
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
    def client_names(self) -> tuple[str, ...]:
        """Return the names of the clients it starts with."""
        if not isinstance(self.clients, int):
            return self.clients
        width = len(str(max(0, self.clients - 1)))
        return tuple(f"{self.name}-{i:0{width}}" for i in range(self.clients))


@dataclass(frozen=True)
class ScriptFields(Checked):
    """The fields of a script, each right by itself; `rmqalloc.simulation.Script` checks them
    against each other.
    """

    duration: int = needed(Duration(1), "How long it all takes, in virtual time.")
    brokers: tuple[str, ...] = needed(Texts(), "Names of the brokers.")
    topics: tuple[TopicPart, ...] = needed(list_of(TopicPart), "Topics.")
    groups: tuple[GroupPart, ...] = needed(list_of(GroupPart), "Consumer groups and their clients.")
    events: tuple[Event, ...] = optional(
        Events(), (), "What happens; of several at one time, the earlier in the list first."
    )
    broker_settings: tuple[BrokerSettings, ...] = optional(
        list_of(BrokerSettings),
        (),
        "Settings of brokers at their start, each for some brokers or for all.",
    )
    name: str = optional(Text(), "simulation", "What it is called in the output.")
    seed: int = optional(
        Whole(0, 2**63 - 1), 0, "Of all that is random; equal seeds give equal output."
    )
    profile: str = optional(Text(tuple(PROFILES)), DEFAULT_PROFILE.name, "Release of RocketMQ.")
    latency: int = optional(Duration(1), Milliseconds(1), "Of the network, one way.")
