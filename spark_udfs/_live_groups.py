"""State of topics while events arrive: the route of each topic, and the clients of every consumer
group that reads it.

The state is a set of registers: one for the route, one for every client of every group. The event
with the highest stamp ``(event_time, sequence)`` wins in each, whatever the order of arrival, and
an event that is there twice changes nothing. So the state depends on the set of events alone, and
not on how they were cut into batches.

State is kept by topic and not by group: a change of a route has to reach every group that reads the
topic, and all of them are here. A change of a group's clients names the topics that it concerns, as
RocketMQ's own events do (``ConsumerGroupEvent.CLIENT_UNREGISTER`` carries the topics that the group
subscribes to).

Spark keeps many topics under one key, a bucket: a call per key costs it milliseconds, an event
costs us a fiftieth of one. The text of a bucket has a line per topic, and only lines that an event
or the time concerns are parsed.

Runs in Python workers; imports no pyspark. Owners are not computed here: who owns what follows from
the lists before and after.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rmqalloc.errors import Error
from rmqalloc.model import MAX_CLIENTS
from rmqalloc.strategies import sort_client_ids
from spark_udfs._event_bounds import CODE, REFUSED, brokers_of

__all__ = ["Advanced", "LivePlansError", "LiveRules", "LiveTopic", "advance"]

_FORM = 1  # of the text that a state is kept as
_NEVER = 1 << 62


class LivePlansError(Error, ValueError):
    """A checkpoint does not belong to this query; the message says what differs and what to do."""


class LiveRules(NamedTuple):
    """What decides about a state besides its events."""

    described: str  # all parameters of the query as text; a state that was kept under other ones is refused
    client_ttl: (
        int | None
    )  # microseconds after its last event that a client is there; None for until it leaves
    group_ttl: int  # microseconds after its last change that a group without clients is remembered


class _Stamped(NamedTuple):
    """Register of a client. Of equal stamps a leave wins, then more channels: any order gives the
    same.
    """

    time: int
    sequence: int
    is_gone: int
    channels: int


class _Route(NamedTuple):
    """Register of the route; of equal stamps the greater list of brokers wins."""

    time: int
    sequence: int
    brokers: tuple[tuple[str, int], ...]


_NO_ROUTE = _Route(-1, -1, ())


@dataclass(slots=True)
class _LiveGroup:
    """Clients of one group. ``version`` is that of its last row, 0 before the first."""

    version: int = 0
    clients: dict[str, _Stamped] = field(default_factory=dict)

    def view(self, brokers: tuple[tuple[str, int], ...]) -> _View:
        """Return the brokers, and the ids of present clients in Java's order, each once per
        channel.
        """
        present = Counter[str]()
        for client_id, register in self.clients.items():
            if not register.is_gone:
                present[client_id] = register.channels
        n_clients = present.total()
        if n_clients > MAX_CLIENTS:
            wrong = f"the group has {n_clients} clients; at most {MAX_CLIENTS} can be planned"
            return _View(brokers, (), wrong)
        return _View(brokers, tuple(sort_client_ids(present.elements())))


class _View(NamedTuple):
    """Brokers and clients of a group in a row; a group of too many clients has a reason instead."""

    brokers: tuple[tuple[str, int], ...]
    client_ids: tuple[str, ...]
    wrong: str | None = None


class Advanced(NamedTuple):
    """The result of a batch of events."""

    state: str | None  # the new state of the bucket; None if there is nothing left to remember
    deadline: (
        int | None
    )  # the watermark (microseconds) at which something expires next; None for never
    # What changed, by topic and group: ``consumer_group``, ``topic``, ``version``, ``event_time``,
    # ``before`` and ``after``, each with ``brokers`` and ``client_ids``; and ``refused``, why the
    # clients are not listed, if they are too many. After those of a topic the events that were
    # refused: ``event``, ``err_msg``, ``err_code``.
    rows: list[dict[str, Any]]


class LiveTopic:
    """The registers of one topic.

    Examples
    --------
    >>> topic = LiveTopic()
    >>> topic.apply({"kind": "join", "consumer_group": "g", "client_id": "c", "time": 7})
    >>> topic.apply({"kind": "leave", "consumer_group": "g", "client_id": "c", "time": 5})
    >>> topic.views()
    {'g': _View(brokers=(), client_ids=('c',), wrong=None)}
    """

    def __init__(self) -> None:
        self._route = _NO_ROUTE
        self._groups: dict[str, _LiveGroup] = {}

    @classmethod
    def from_text(cls, text: str) -> LiveTopic:
        """Read back what `text` gave."""
        topic = cls()
        (time, sequence, brokers), groups = json.loads(text)
        topic._route = _Route(time, sequence, tuple((name, n) for name, n in brokers))
        for name, (version, clients) in groups.items():
            registers = {client_id: _Stamped(*fields) for client_id, fields in clients.items()}
            topic._groups[name] = _LiveGroup(version, registers)
        return topic

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to remember."""
        return self._route.time < 0 and not self._groups

    def text(self) -> str:
        """Return the registers in one line; equal registers have equal texts."""
        groups = {
            name: [group.version, dict(sorted(group.clients.items()))]
            for name, group in sorted(self._groups.items())
        }
        return json.dumps([self._route, groups], ensure_ascii=False, separators=(",", ":"))

    def apply(self, event: Mapping[str, Any]) -> None:
        """Take in one event, which `spark_udfs._event_bounds.check` let pass."""
        time, sequence = event["time"], event.get("sequence", 0)
        if event["kind"] == "route":
            self._route = max(self._route, _Route(time, sequence, brokers_of(event)))
            return
        is_gone = int(event["kind"] == "leave")
        stamped = _Stamped(time, sequence, is_gone, event.get("channels", 1))
        group = self._groups.setdefault(event["consumer_group"], _LiveGroup())
        client_id = event["client_id"]
        group.clients[client_id] = max(group.clients.get(client_id, stamped), stamped)

    def expire(self, watermark: int, rules: LiveRules) -> None:
        """Forget what no event that is still accepted can change, and clients whose time is up.

        Events at the watermark or before it are refused by Spark, so what a tombstone kept away can
        no longer come.
        """
        for name, group in list(self._groups.items()):
            for client_id, register in list(group.clients.items()):
                if _end(register, rules) <= watermark:
                    del group.clients[client_id]
            if not group.clients and group.version + rules.group_ttl <= watermark:
                del self._groups[name]
        if not self._route.brokers and not self._groups and self._route.time <= watermark:
            self._route = _NO_ROUTE

    def deadline(self, rules: LiveRules) -> int:
        """Return the next watermark at which `expire` has something to do."""
        ends = []
        for group in self._groups.values():
            ends += [_end(register, rules) for register in group.clients.values()]
            if not group.clients:
                ends.append(group.version + rules.group_ttl)
        if not self._route.brokers and not self._groups and self._route.time >= 0:
            ends.append(self._route.time)
        return min(ends, default=_NEVER)

    def views(self) -> dict[str, _View]:
        """Return the brokers and client ids of every group, the groups sorted."""
        return {
            name: group.view(self._route.brokers) for name, group in sorted(self._groups.items())
        }

    def shown(self) -> dict[str, _View]:
        """Return the views of groups that had a row: what the last row said."""
        return {name: view for name, view in self.views().items() if self._groups[name].version}

    def next_version(self, group: str, newest: int) -> int:
        """Return the version of a group's next row: a hybrid logical clock.

        It is the newest event's time, or one more than the last version, whichever is greater: so
        versions of a unit never repeat, also where a group was forgotten in between, for what comes
        then is newer than what was forgotten.
        """
        known = self._groups.get(group)
        version = max(newest, known.version + 1 if known else 0)
        if known:
            known.version = version
        return version


def advance(
    state: str | None,
    events: Iterable[tuple[str, str]],
    watermark: int,
    rules: LiveRules,
) -> Advanced:
    """Apply the events of one micro-batch and return what they changed.

    Examples
    --------
    >>> rules = LiveRules("strategy='AVG'", client_ttl=None, group_ttl=10)
    >>> joined = '{"kind": "join", "consumer_group": "g", "client_id": "c", "time": 7}'
    >>> done = advance(None, [("T", joined)], 0, rules)
    >>> done.rows[0]["version"], done.rows[0]["after"]
    (7, {'brokers': [], 'client_ids': ['c']})
    >>> advance(done.state, [("T", joined)], 0, rules).rows
    []
    """
    kept = _kept(state, rules)
    arrived: dict[str, list[str]] = {}
    for topic, text in events:
        arrived.setdefault(topic, []).append(text)
    due = {topic for topic, line in kept.items() if line.deadline <= watermark}
    rows = []
    for topic in sorted({*arrived, *due}):
        known = LiveTopic.from_text(kept[topic].text) if topic in kept else LiveTopic()
        before = known.shown()
        texts = arrived.get(topic, ())
        rows += _advance_topic(known, topic, before, events=texts, watermark=watermark, rules=rules)
        kept.pop(topic, None)
        if not known.is_empty:
            kept[topic] = _Line(known.deadline(rules), known.text())
    deadline = min((line.deadline for line in kept.values()), default=_NEVER)
    return Advanced(_bucket(kept, rules), None if deadline >= _NEVER else deadline, rows)


class _Line(NamedTuple):
    """What is kept of one topic, and when it is due."""

    deadline: int
    text: str


def _kept(state: str | None, rules: LiveRules) -> dict[str, _Line]:
    """Read the topics of a bucket: a line that says what wrote it, then deadline, topic and
    registers of each, in tabs.
    """
    if state is None:
        return {}
    head, *lines = state.split("\n")
    form, _, described = head.partition("\t")
    if int(form) != _FORM:
        raise LivePlansError(
            f"the checkpoint holds state of form {form}, this release of rmqalloc reads form {_FORM}: "
            "go on with the release that wrote it, or start with a new checkpoint"
        )
    if described != _escaped(rules.described):
        raise LivePlansError(
            f"the checkpoint belongs to live_plans({json.loads(described)}), but this query is "
            f"live_plans({rules.described}): give the parameters of the checkpoint, or start with a new one"
        )
    fields = (line.split("\t") for line in lines)  # JSON has neither tabs nor line breaks
    return {json.loads(topic): _Line(int(deadline), text) for deadline, topic, text in fields}


def _bucket(kept: Mapping[str, _Line], rules: LiveRules) -> str | None:
    if not kept:
        return None
    lines = [
        f"{line.deadline}\t{_escaped(topic)}\t{line.text}" for topic, line in sorted(kept.items())
    ]
    return "\n".join([f"{_FORM}\t{_escaped(rules.described)}", *lines])


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _advance_topic(
    known: LiveTopic,
    topic: str,
    before: Mapping[str, _View],
    events: Iterable[str],
    watermark: int,
    rules: LiveRules,
) -> list[dict[str, Any]]:
    """Take in the events of one topic and return its rows."""
    newest, wrong = watermark, []
    for text in events:
        event = json.loads(text)
        if REFUSED in event:
            row = {"topic": topic or None, "event": event["event"]}
            wrong.append(row | {"err_msg": event[REFUSED], CODE: event[CODE]})
        else:
            known.apply(event)
            newest = max(newest, event["time"])
    rows = _changes(known, topic, before, newest=newest, watermark=watermark, rules=rules)
    return [*rows, *sorted(wrong, key=lambda row: row["event"])]


_NOBODY = _View((), ())


def _changes(
    known: LiveTopic,
    topic: str,
    before: Mapping[str, _View],
    newest: int,
    watermark: int,
    rules: LiveRules,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the groups that changed."""
    arrived = known.views()
    known.expire(watermark, rules)
    after = known.views()
    for group in sorted({*before, *arrived}):
        was = before.get(group, _NOBODY)
        now = after.get(group, _View(arrived.get(group, was).brokers, ()))
        if was != now and (group in before or now.client_ids or now.wrong):
            row = {
                "consumer_group": group,
                "topic": topic,
                "version": known.next_version(group, newest),
                "event_time": newest,
                "before": _side(was),
                "after": _side(now),
            }
            yield row | {"refused": now.wrong} if now.wrong else row


def _side(view: _View) -> dict[str, Any]:
    return {"brokers": list(map(list, view.brokers)), "client_ids": list(view.client_ids)}


def _end(register: _Stamped, rules: LiveRules) -> int:
    """Return the watermark at which a client's register is dropped: a tombstone's own time, the end
    of a client's life.
    """
    if register.is_gone:
        return register.time
    return _NEVER if rules.client_ttl is None else register.time + rules.client_ttl
