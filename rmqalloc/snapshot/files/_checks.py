"""What a snapshot must keep besides the types of its fields."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from operator import attrgetter

from rmqalloc.documents import known_names
from rmqalloc.documents.fields import FieldError, read_all
from rmqalloc.documents.records import kinds_of
from rmqalloc.model import MAX_QUEUES
from rmqalloc.snapshot.plain_data import SnapshotError
from rmqalloc.snapshot.snapshot import Broker, Group, Snapshot, Topic
from rmqalloc.snapshot.unknown import KINDS
from rmqalloc.text import printable

Part = str | int

_CHOICES = {
    cls: [
        (name, kind)
        for name, kind in kinds_of(cls).items()
        if getattr(getattr(kind, "kind", kind), "choices", ())
    ]
    for cls in (Group, Broker)
}
"""Kinds of the fields that hold one of a few words."""

_NUMBERS = {name: kinds_of(Group)[name] for name in ("strategy_explains", "consume_tps")}


def check_values(snapshot: Snapshot) -> None:
    """Raise unless names are unique where they must be, and counts and words are such as RocketMQ
    has.
    """
    _check_unique("topic", [one.name for one in snapshot.topics], lambda i: ("topics", i, "name"))
    _check_unique("group", [one.name for one in snapshot.groups], lambda i: ("groups", i, "name"))
    _check_kinds(snapshot.unknown, ())
    checked: set[int] = set()
    for i, topic in enumerate(snapshot.topics):
        if topic.unknown:
            _check_kinds(topic.unknown, ("topics", i))
        if id(topic.brokers) not in checked:  # a reader gives topics on the same brokers one tuple
            checked.add(id(topic.brokers))
            _check_brokers(topic, i)
    if not _are_plainly_right(snapshot.groups):
        for i, group in enumerate(snapshot.groups):
            _check_group(group, i)
    names = [one.broker_name for one in snapshot.brokers]
    _check_unique("broker", names, lambda i: ("brokers", i, "broker_name"))
    for i, asked in enumerate(snapshot.brokers):
        _check_words(asked, ("brokers", i))


def _check_unique(
    what: str, names: Sequence[str], place: Callable[[int], tuple[Part, ...]]
) -> None:
    if len(set(names)) == len(names):
        return
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name in seen:
            raise SnapshotError(
                f"repeats {what} {printable(name)}; give each once, with all that belongs to it",
                place(i),
            )
        seen.add(name)


def _check_brokers(topic: Topic, i: int) -> None:
    names = [one.broker_name for one in topic.brokers]
    what = f"broker of topic {printable(topic.name)}"
    _check_unique(what, names, lambda j: ("topics", i, "brokers", j, "broker_name"))
    for j, broker in enumerate(topic.brokers):
        for name in ("read_queue_nums", "write_queue_nums"):
            if (getattr(broker, name) or 0) > MAX_QUEUES:
                what = f"must be at most {MAX_QUEUES}, got {getattr(broker, name)}"
                raise SnapshotError(what, ("topics", i, "brokers", j, name))


def _are_plainly_right(groups: Sequence[Group]) -> bool:
    """Return True if `_check_group` finds nothing in any group: the values of each field are looked
    at together.
    """
    try:
        for name, kind in (*_CHOICES[Group], *_NUMBERS.items()):
            read_all(kind, list(map(attrgetter(name), groups)))
    except FieldError:
        return False
    return {*chain.from_iterable(map(attrgetter("unknown"), groups))} <= {*KINDS}


def _check_group(group: Group, i: int) -> None:
    _check_words(group, ("groups", i))
    _check_kinds(group.unknown, ("groups", i))
    for name in _NUMBERS:
        if not math.isfinite(getattr(group, name) or 0):
            raise SnapshotError(
                f"must be a finite number, got {getattr(group, name)}", ("groups", i, name)
            )


def _check_kinds(unknown: Mapping[str, str], place: tuple[Part, ...]) -> None:
    """Refuse other kinds of facts: nothing would ask for them, so what is not known would pass for
    known.
    """
    for kind in unknown:
        if kind not in KINDS:
            raise SnapshotError(
                f"kind of facts {printable(kind)} is not known; {known_names(kind, KINDS)}",
                (*place, "unknown"),
            )


def _check_words(item: Group | Broker, place: tuple[Part, ...]) -> None:
    for name, kind in _CHOICES[type(item)]:
        try:
            kind.read(getattr(item, name))
        except FieldError as error:
            raise SnapshotError(error.what, (*place, name)) from None
