"""What is to happen to a cluster, as data: a script, from a YAML or JSON file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from reprlib import repr as shown
from typing import Any

from rmqalloc.documents import read_document
from rmqalloc.documents.fields import (
    MAX_READ_QUEUE_NUMS,
    Checked,
    Duration,
    Members,
    Milliseconds,
    Params,
    Part,
    Parts,
    ScenarioError,
    Text,
    Texts,
    Truth,
    Whole,
    needed,
    optional,
)
from rmqalloc.remoting import DEFAULT_PROFILE, PROFILES
from rmqalloc.simulation.events import STRATEGIES, Event, Events, Join, Partition, WithStrategy
from rmqalloc.simulation.settings import (
    MODES,
    SHARE,
    BrokerSettings,
    GroupSettings,
    UpdateBrokerConfig,
    unknown_setting,
)
from rmqalloc.simulation.steps import Place, Rehearsal

RATE = Whole(0, 1_000_000)


@dataclass(frozen=True)
class TopicPart(Checked):
    """A topic: its queues on each broker, and how many messages each queue gets."""

    name: str = needed(Text(), "Name of the topic.")
    read_queue_nums: int = needed(Whole(0, MAX_READ_QUEUE_NUMS), "Read queues on each of its brokers.")
    brokers: tuple[str, ...] | None = optional(Texts(), says="Names of brokers that hold it; all if left out.")
    produced_per_second: int = optional(RATE, 10, "Messages that each of its queues gets.")


@dataclass(frozen=True)
class GroupPart(WithStrategy):
    """A consumer group; its clients start with the simulation, one after the other, and read queues from the first message."""

    name: str = needed(Text(), "Name of the group.")
    topics: tuple[str, ...] = needed(Texts(), "Names of the topics that its clients subscribe to.")
    clients: int | tuple[str, ...] = needed(
        Members(), "Names of its clients, or how many: 2 clients of a group g are g-0 and g-1."
    )
    start_every: int = optional(Duration(), Milliseconds(0), "From the start of one client to that of the next.")
    strategy: str | None = optional(Text(STRATEGIES), "AVG", "How queues are divided.")
    params: Mapping[str, Any] | None = optional(Params(), says="Parameters of the strategy, by name.")
    ordered: bool = optional(Truth(), False, "Consume in order, under locks.")
    listener_time: int = optional(
        Duration(), Milliseconds(0), "Longest time that the user's code works on messages of an ordered queue."
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
    pop_share_queue_num: int = optional(SHARE, 0, "With message_request_mode POP; see set_consume_mode.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.message_request_mode is not None and not self.server_assignment:
            raise ScenarioError("needs server_assignment: true beside it", "message_request_mode")
        if self.pop_share_queue_num and self.message_request_mode != "POP":
            raise ScenarioError("needs message_request_mode: POP beside it", "pop_share_queue_num")

    @property
    def client_names(self) -> tuple[str, ...]:
        """Names of the clients it starts with."""
        if not isinstance(self.clients, int):
            return self.clients
        width = len(str(max(0, self.clients - 1)))
        return tuple(f"{self.name}-{i:0{width}}" for i in range(self.clients))


@dataclass(frozen=True)
class Script(Checked):
    """A cluster and what happens to it.

    Examples
    --------
    >>> script = Script.of({"duration": "1m", "brokers": "broker-a", "topics": [{"name": "t", "read_queue_nums": 4}],
    ...     "groups": [{"name": "g", "topics": "t", "clients": 2}],
    ...     "events": [{"at": "30s", "shutdown": {"clients": "g-1"}}]})
    >>> script.groups[0].client_names, str(script.events[0])
    (('g-0', 'g-1'), 'shutdown g-1')
    """

    duration: int = needed(Duration(1), "How long it all takes, in virtual time.")
    brokers: tuple[str, ...] = needed(Texts(), "Names of the brokers.")
    topics: tuple[TopicPart, ...] = needed(Parts(TopicPart), "Topics.")
    groups: tuple[GroupPart, ...] = needed(Parts(GroupPart), "Consumer groups and their clients.")
    events: tuple[Event, ...] = optional(
        Events(), (), "What happens; of several at one time, the earlier in the list first."
    )
    broker_settings: tuple[BrokerSettings, ...] = optional(
        Parts(BrokerSettings), (), "Settings of brokers at their start, each for some brokers or for all."
    )
    name: str = optional(Text(), "simulation", "What it is called in the output.")
    seed: int = optional(Whole(0, 2**63 - 1), 0, "Of all that is random; equal seeds give equal output.")
    profile: str = optional(Text(tuple(PROFILES)), DEFAULT_PROFILE.name, "Release of RocketMQ.")
    latency: int = optional(Duration(1), Milliseconds(1), "Of the network, one way.")

    def __post_init__(self) -> None:
        super().__post_init__()
        topics, groups = [one.name for one in self.topics], [one.name for one in self.groups]
        for what, names in (("brokers", self.brokers), ("topics", topics), ("groups", groups)):
            if repeated := _repeated(names):
                raise ScenarioError(f"has {shown(repeated)} twice; give each a name of its own", what)
        for i, topic in enumerate(self.topics):
            _known(topic.brokers, self.brokers, ("topics", i, "brokers"))
        for i, group in enumerate(self.groups):
            _known(group.topics, topics, ("groups", i, "topics"))
        self._check_settings()
        self._check_events(topics, groups)
        self.check_profile(self.profile)
        Rehearsal(self).play()

    def check_profile(self, profile: str) -> None:
        """Refuse what a release does not have.

        Raises
        ------
        ScenarioError
            The script asks for it.
        """
        release = PROFILES[profile]
        settings: list[tuple[UpdateBrokerConfig, Place]] = [
            (one, ("broker_settings", i)) for i, one in enumerate(self.broker_settings)
        ]
        assigned: list[Place] = [
            ("groups", i, "server_assignment") for i, one in enumerate(self.groups) if one.server_assignment
        ]
        for i, event in enumerate(self.events):
            if isinstance(event.detail, UpdateBrokerConfig):
                settings.append((event.detail, ("events", i, event.kind)))
        for one, place in settings:
            if (name := unknown_setting(one, release)) is not None:
                raise self.located(
                    ScenarioError(f"is not known to RocketMQ {profile}; it came with 5.x", (*place, name))
                )
        if assigned and not release.server_assignment:
            raise self.located(ScenarioError(f"is not known to RocketMQ {profile}; it came with 5.x", assigned[0]))

    def located(self, error: ScenarioError) -> ScenarioError:
        """The error with file, line and column before it, if the script was read from a file."""
        document = getattr(self, "_document", None)
        return error if document is None or not error.parts else document.located(error)

    def _check_settings(self) -> None:
        """Each setting of a broker is said once."""
        seen: set[tuple[str, str]] = set()
        for i, one in enumerate(self.broker_settings):
            _known(one.brokers, self.brokers, ("broker_settings", i, "brokers"))
            for setting in one.given():
                for broker in one.brokers or self.brokers:
                    if (broker, setting) in seen:
                        raise ScenarioError(
                            f"is set twice for broker {shown(broker)}; say it once", ("broker_settings", i, setting)
                        )
                    seen.add((broker, setting))

    def _check_events(self, topics: list[str], groups: list[str]) -> None:
        """Names that events speak of exist by then; a client does from the first event that lets it join."""
        names = [name for group in self.groups for name in group.client_names]
        if (repeated := _repeated(names)) is not None:
            raise ScenarioError(
                f"name the client {shown(repeated)} twice; give each client a name of its own", "groups"
            )
        clients = set(names)
        coming = clients | {name for one in self.events if isinstance(one.detail, Join) for name in one.detail.clients}
        for i, event in sorted(enumerate(self.events), key=lambda one: one[1].at):
            place, detail = ("events", i, event.kind), event.detail
            if event.at >= self.duration:
                what = "after the end" if event.at > self.duration else "the end"
                raise ScenarioError(
                    f"is {what} of the simulation ({Milliseconds(self.duration).to_data()})", ("events", i, "at")
                )
            if isinstance(detail, Join):
                clients.update(detail.clients)
                _known(detail.topics, topics, (*place, "topics"))
            known = coming if isinstance(detail, Partition) else clients
            _known(getattr(detail, "clients", None), known, (*place, "clients"))
            _known(getattr(detail, "brokers", None), self.brokers, (*place, "brokers"))
            _known(_listed(getattr(detail, "group", None)), groups, (*place, "group"))
            _known(_listed(getattr(detail, "topic", None)), topics, (*place, "topic"))


def script_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a script, for editors and other programs.

    Examples
    --------
    >>> script_schema()["required"]
    ['duration', 'brokers', 'topics', 'groups']
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Script of a simulation, of rmqalloc",
        **Script.schema(),
    }


def read_script(path: str | os.PathLike[str]) -> Script:
    """Read a script from a YAML file (``.yaml``, ``.yml``; needs PyYAML) or a JSON file (any other name).

    Raises
    ------
    OSError
        The file cannot be read.
    ScenarioError
        It is no script; the message names the file, the line and the field, and what would be right.
    ModuleNotFoundError
        A YAML file is given and PyYAML is not installed.
    """
    document = read_document(path, ScenarioError)
    try:
        script: Script = Script.of(document.data)
    except ScenarioError as error:
        raise document.located(error) from None
    object.__setattr__(script, "_document", document)  # for errors that only show when it runs
    return script


def _known(names: Sequence[str] | None, known: Iterable[str], parts: tuple[str | int, ...]) -> None:
    """Refuse a name that nothing has, and one that is said twice."""
    if names is not None and (repeated := _repeated(names)) is not None:
        raise ScenarioError(f"has {shown(repeated)} twice; name each once", parts)
    for name in names or ():
        if name not in known:
            raise ScenarioError(f"names {shown(name)}, which is not there; there are {shown(sorted(known))}", parts)


def _repeated(names: Sequence[str]) -> str | None:
    """The first name that is there twice."""
    seen: set[str] = set()
    return next((name for name in names if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]


def _listed(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)
