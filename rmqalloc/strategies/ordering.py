"""Java's order of queues and client ids, which is part of every strategy's contract."""

from __future__ import annotations

import encodings.utf_16_be  # noqa: F401 (before threads: a child forked while one imports it waits for ever)
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

from rmqalloc.errors import ArgumentTypeError
from rmqalloc.fleet.groups import check_client_ids
from rmqalloc.lazy import lazy_property
from rmqalloc.model import MessageQueue, Queue, queue_fields


def utf16(text: str) -> bytes:
    """Return bytes that compare as Java compares the string: by UTF-16 code units.

    Examples
    --------
    >>> sorted(["\\uffff", "\\U00010000"], key=utf16) == ["\\U00010000", "\\uffff"]
    True
    """
    return text.encode("utf-16-be", "surrogatepass")


def sort_client_ids(client_ids: Iterable[str]) -> list[str]:
    """Return the client ids in Java's order, repeats kept.

    Parameters
    ----------
    client_ids : iterable of str

    Returns
    -------
    list of str
        A new list; ``String.compareTo`` order, which differs from Python's above U+FFFF.

    Raises
    ------
    TypeError
        An id is null or not a string.

    Examples
    --------
    >>> sort_client_ids(["c10", "c2", "c1"])
    ['c1', 'c10', 'c2']
    """
    ids = list(client_ids)
    check_client_ids(ids)
    return _sorted(ids)


def _sorted(texts: Collection[str]) -> list[str]:
    return sorted(texts) if all(map(str.isascii, texts)) else sorted(texts, key=utf16)


class QueuesInOrder(Sequence[MessageQueue]):
    """Queues of one topic in Java's order, made when one of them is looked at; how many there are
    is known before.

    Examples
    --------
    >>> queues = QueuesInOrder("T", {"b": range(2), "a": [7]})
    >>> len(queues), [queue[1:] for queue in queues]
    (3, [('a', 7), ('b', 0), ('b', 1)])
    """

    def __init__(self, topic: str, ids: Mapping[str, Sequence[int]]) -> None:
        self._topic, self._ids = topic, ids  # of each broker, ascending
        self._n = sum(map(len, ids.values()))

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, at: int) -> MessageQueue: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[MessageQueue, ...]: ...
    def __getitem__(self, at: int | slice) -> MessageQueue | tuple[MessageQueue, ...]:
        return self.made[at]

    def __iter__(self) -> Iterator[MessageQueue]:
        return iter(self.made)

    def __contains__(self, queue: object) -> bool:
        return queue in self.made

    @lazy_property
    def made(self) -> tuple[MessageQueue, ...]:
        """All of them."""
        topic, ids = self._topic, self._ids
        return tuple(
            MessageQueue(topic, name, number) for name in _sorted(ids) for number in ids[name]
        )


def sort_queues(queues: Iterable[Queue]) -> list[Queue]:
    """Return queues in Java's order: topic, broker name (both by UTF-16 code units), queue id.

    Parameters
    ----------
    queues : iterable of queues
        In any form that strategies take.

    Returns
    -------
    list
        A new list of the same objects; equal queues keep their order.

    Raises
    ------
    TypeError
        A queue lacks a field, or one of several has a null topic or broker name, which Java cannot
        compare.

    Notes
    -----
    ``MessageQueue.compareTo``. Java subtracts ids in 32 bits, so for ids more than 2\\ :sup:`31` apart its order depends on
    the order they came in; here ids always compare as numbers.

    Examples
    --------
    >>> sort_queues([("t", "b", 10), ("t", "a", 11), ("t", "b", 9)])
    [('t', 'a', 11), ('t', 'b', 9), ('t', 'b', 10)]
    """
    items = list(queues)
    fields = [queue_fields(queue) for queue in items]
    if len(items) > 1:
        for i, (topic, broker_name, _) in enumerate(fields):
            if topic is None or (broker_name is None and sum(t == topic for t, _, _ in fields) > 1):
                missing = "topic" if topic is None else "broker_name"
                raise ArgumentTypeError(
                    f"the {missing} of queue {i} is null, so it cannot be sorted: {items[i]!r}"
                )
        keys: list[Any] = [
            (utf16(str(topic)), utf16(str(broker_name)), number)
            for topic, broker_name, number in fields
        ]
        order = sorted(range(len(items)), key=keys.__getitem__)
        return [items[i] for i in order]
    return items


__all__ = ["QueuesInOrder", "sort_client_ids", "sort_queues", "utf16"]
