"""What is to happen to a cluster, as data: a script, from a YAML or JSON file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from reprlib import repr as shown
from typing import Any

from rmqalloc.documents import read_document
from rmqalloc.protocol import DEFAULT_PROFILE, PROFILES
from rmqalloc.simulation.events import STRATEGIES, Event, Events, Join, WithStrategy
from rmqalloc.simulation.kinds import Duration, Members, Parts, Truth
from rmqalloc.whatif.scenarios.fields import (
    MAX_READ_QUEUE_NUMS,
    Checked,
    Params,
    ScenarioError,
    Text,
    Texts,
    Whole,
    needed,
    optional,
)

RATE = Whole(0, 1_000_000)


@dataclass(frozen=True)
class TopicPart(Checked):
    """A topic: its queues on each broker, and how many messages each queue gets."""

    name: str = needed(Text())
    read_queue_nums: int = needed(Whole(0, MAX_READ_QUEUE_NUMS))
    brokers: tuple[str, ...] | None = optional(Texts())
    produced_per_second: int = optional(RATE, 10)


@dataclass(frozen=True)
class GroupPart(WithStrategy):
    """A consumer group; its clients start with the simulation, one after the other, and read queues from the first message."""

    name: str = needed(Text())
    topics: tuple[str, ...] = needed(Texts())
    clients: int | tuple[str, ...] = needed(Members())
    start_every: int = optional(Duration(), 0)
    strategy: str | None = optional(Text(STRATEGIES), "AVG")
    params: Mapping[str, Any] | None = optional(Params())
    ordered: bool = optional(Truth(), False)
    listener_time: int = optional(Duration(), 0)
    consumed_per_second: int = optional(RATE, 100)
    server_assignment: bool = optional(Truth(), False)

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

    duration: int = needed(Duration(1))
    brokers: tuple[str, ...] = needed(Texts())
    topics: tuple[TopicPart, ...] = needed(Parts(TopicPart))
    groups: tuple[GroupPart, ...] = needed(Parts(GroupPart))
    events: tuple[Event, ...] = optional(Events(), ())
    name: str = optional(Text(), "simulation")
    seed: int = optional(Whole(0, 2**63 - 1), 0)
    profile: str = optional(Text(tuple(PROFILES)), DEFAULT_PROFILE.name)
    latency: int = optional(Duration(1), 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        topics, groups = [one.name for one in self.topics], [one.name for one in self.groups]
        for what, names in (("brokers", self.brokers), ("topics", topics), ("groups", groups)):
            if repeated := [name for name in names if list(names).count(name) > 1]:
                raise ScenarioError(f"has {shown(repeated[0])} twice; give each a name of its own", what)
        for i, topic in enumerate(self.topics):
            _known(topic.brokers, self.brokers, ("topics", i, "brokers"))
        for i, group in enumerate(self.groups):
            _known(group.topics, topics, ("groups", i, "topics"))
        self._check_events(topics, groups)

    def _check_events(self, topics: list[str], groups: list[str]) -> None:
        """Names that events speak of exist by then; a client does from the first event that lets it join."""
        names = [name for group in self.groups for name in group.client_names]
        if len(clients := set(names)) < len(names):
            repeated = next(name for name in names if names.count(name) > 1)
            raise ScenarioError(
                f"name the client {shown(repeated)} twice; give each client a name of its own", "groups"
            )
        for i, event in sorted(enumerate(self.events), key=lambda one: one[1].at):
            place, detail = ("events", i, event.kind), event.detail
            if event.at > self.duration:
                raise ScenarioError(f"is after the end of the simulation ({self.duration}ms)", ("events", i, "at"))
            if isinstance(detail, Join):
                clients.update(detail.clients)
                _known(detail.topics, topics, (*place, "topics"))
            _known(getattr(detail, "clients", None), clients, (*place, "clients"))
            _known(getattr(detail, "brokers", None), self.brokers, (*place, "brokers"))
            _known(_listed(getattr(detail, "group", None)), groups, (*place, "group"))
            _known(_listed(getattr(detail, "topic", None)), topics, (*place, "topic"))


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
    return script


def _known(names: Iterable[str] | None, known: Iterable[str], parts: tuple[str | int, ...]) -> None:
    """Refuse a name that nothing has."""
    for name in names or ():
        if name not in known:
            raise ScenarioError(f"names {shown(name)}, which is not there; there are {shown(sorted(known))}", parts)


def _listed(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)
