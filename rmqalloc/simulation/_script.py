"""What is to happen to a cluster, as data: a script, from a YAML or JSON file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from reprlib import repr as shown
from typing import Any

from rmqalloc.dataclass import dataclass
from rmqalloc.documents import read_document
from rmqalloc.documents.fields import Milliseconds, ScenarioError
from rmqalloc.documents.records import document_schema
from rmqalloc.remoting import PROFILES
from rmqalloc.simulation._events import Event
from rmqalloc.simulation._script_parts import ScriptFields
from rmqalloc.simulation._settings import UpdateBrokerConfig, unknown_setting
from rmqalloc.simulation._steps import Course, Place, Rehearsal

LEAST_WARM_UP = 90_000
"""Milliseconds in which clients start and settle."""


@dataclass(frozen=True)
class Script(ScriptFields):
    """A cluster and what happens to it.

    Examples
    --------
    >>> script = Script.of({"duration": "1m", "brokers": "broker-a", "topics": [{"name": "t", "read_queue_nums": 4}],
    ...     "groups": [{"name": "g", "topics": "t", "clients": 2}],
    ...     "events": [{"at": "30s", "shutdown": {"clients": "g-1"}}]})
    >>> script.groups[0].client_names, str(script.events[0])
    (('g-0', 'g-1'), 'shutdown clients=g-1')
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        topics = [topic.name for topic in self.topics]
        groups = [group.name for group in self.groups]
        for what, names in (("brokers", self.brokers), ("topics", topics), ("groups", groups)):
            repeated = _repeated(names)
            if repeated:
                raise ScenarioError(
                    f"has {shown(repeated)} twice; give each a name of its own", what
                )
        for i, topic in enumerate(self.topics):
            brokers = topic.brokers or list(topic.queues_by_broker(self.brokers))
            _known(brokers, self.brokers, ("topics", i, "brokers"))
        for i, group in enumerate(self.groups):
            _known(group.topics, topics, ("groups", i, "topics"))
        clients = list(chain.from_iterable(group.client_names for group in self.groups))
        repeated = _repeated(clients)
        if repeated is not None:
            raise ScenarioError(
                f"name the client {shown(repeated)} twice; give each client a name of its own",
                "groups",
            )
        if 0 < self.warm_up < LEAST_WARM_UP:
            least = Milliseconds(LEAST_WARM_UP).to_data()
            raise ScenarioError(f"must be 0, or {least} or more: clients settle in it", "warm_up")
        self._check_settings()
        self.check_profile(self.profile)
        self.course()

    def course(self, seed: int | None = None) -> Course:
        """Return the steps that the events come to under a seed; by default the script's."""
        return Rehearsal(self, self.seed if seed is None else seed).play()

    def check_profile(self, profile: str) -> None:
        """Refuse settings that a release does not have.

        Raises
        ------
        ScenarioError
            The script has such a setting.
        """
        release = PROFILES[profile]
        settings: dict[Place, Any] = {}
        for i, given in enumerate(self.broker_settings):
            settings["broker_settings", i] = given
        for i, event in enumerate(self.events):
            settings["events", i, event.kind] = event.detail
        unknown: list[Place] = []
        for place, detail in settings.items():
            if isinstance(detail, UpdateBrokerConfig):
                name = unknown_setting(detail, release)
                if name is not None:
                    unknown.append((*place, name))
        for i, group in enumerate(self.groups):
            if group.server_assignment and not release.server_assignment:
                unknown.append(("groups", i, "server_assignment"))
        if unknown:
            what = f"is not known to RocketMQ {profile}; it came with 5.x"
            raise self.located(ScenarioError(what, unknown[0]))

    def located(self, error: ScenarioError) -> ScenarioError:
        """Return the error with file, line and column, if the script was read from a file."""
        document = getattr(self, "_document", None)
        return error if document is None or not error.parts else document.located(error)

    def _check_settings(self) -> None:
        """Refuse a setting that is given twice for a broker."""
        seen: set[tuple[str, str]] = set()
        for i, config in enumerate(self.broker_settings):
            _known(config.brokers, self.brokers, ("broker_settings", i, "brokers"))
            for setting in config.given():
                for broker in config.brokers or self.brokers:
                    if (broker, setting) in seen:
                        raise ScenarioError(
                            f"is set twice for broker {shown(broker)}; set it once",
                            ("broker_settings", i, setting),
                        )
                    seen.add((broker, setting))


def script_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a script, for editors and other programs.

    Examples
    --------
    >>> script_schema()["required"]
    ['brokers', 'topics', 'groups']
    """
    return document_schema("Script of a simulation, of rmqalloc", Script.schema())


def read_script(
    path: str | os.PathLike[str],
    cluster: Mapping[str, Any] | None = None,
    events: Sequence[str | Event] = (),
) -> Script:
    """Read a script from a YAML file (``.yaml``, ``.yml``; needs PyYAML) or a JSON file (any other
    name).

    Parameters
    ----------
    path : path
    cluster : mapping, optional
        Fields that the file leaves out, as `script_of_snapshot` takes them from a snapshot.
    events : sequence of str or Event
        Events after those of the file.

    Raises
    ------
    OSError
        The file cannot be read.
    ScenarioError
        The file is not a script; the message names the file, the line, the field and the expected
        value.
    ModuleNotFoundError
        A YAML file is given and PyYAML is not installed.
    """
    document = read_document(path, ScenarioError)
    data = document.data
    if isinstance(data, Mapping):
        data = {**(cluster or {}), **data}
    if events:
        data = {**data, "events": [*(data.get("events") or ()), *events]}
    try:
        script: Script = Script.of(data)
    except ScenarioError as error:
        raise document.located(error) from None
    object.__setattr__(script, "_document", document)  # for errors that only show when it runs
    return script


def _known(names: Sequence[str] | None, known: Iterable[str], parts: tuple[str | int, ...]) -> None:
    """Refuse a name that nothing has, and one that is given twice."""
    if names is not None and (repeated := _repeated(names)) is not None:
        raise ScenarioError(f"has {shown(repeated)} twice; name each once", parts)
    for name in names or ():
        if name not in known:
            raise ScenarioError(
                f"names {shown(name)}, which does not exist; there are {shown(sorted(known))}",
                parts,
            )


def _repeated(names: Sequence[str]) -> str | None:
    """Return the first name that is there twice, None if there is none."""
    seen: set[str] = set()
    return next((name for name in names if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]
