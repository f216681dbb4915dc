"""The state of a subject as bytes: whole, or as what differs from the state before, whichever is
shorter.

A whole state numbers its names from 1 on, clients first; the owner of a queue is one number, 0 for
nobody, and sets of several owners have the numbers behind the names. So a group of 16 queues and
four clients takes 16 bytes and its names.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple, Protocol

from rmqalloc.documents.json_text import check_depth
from rmqalloc.documents.read_budget import made_of_json
from rmqalloc.history._reading_budget import ReadingBudget
from rmqalloc.history._rows import DamageError
from rmqalloc.history._texts import BoundedCache
from rmqalloc.model import MessageQueue
from rmqalloc.text import message

WHOLE, DIFFERENCE = range(2)
MOST_DIFFERENCES = 15
"""Differences in a row at most, so that a state is read from few rows."""
_MOST_NUMBER = 63
_MOST_ID = 1 << 31
_QUEUE_BYTES = 120
_MADE_OF_DATA = 3
"""How much memory objects of a snapshot take, to the data that they are made of."""

Owners = Mapping[MessageQueue, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class KeptState:
    """The lasting state of a group, a topic or the brokers.

    Attributes
    ----------
    settings : str or None
        Document of the subject itself; None where it is gone or not known yet.
    clients : mapping of client id to str
        Document of each client.
    owners : mapping of MessageQueue to tuple of str
        Client ids, () for nobody; a queue that is missing is not known.
    """

    settings: str | None = None
    clients: Mapping[str, str] = field(default_factory=dict)
    owners: Owners = field(default_factory=dict)

    @property
    def is_gone(self) -> bool:
        """Whether nothing is there."""
        return self.settings is None and not self.clients and not self.owners


def texts_of(state: KeptState) -> set[str]:
    """Return all texts that a whole state names."""
    found = {*state.clients, *state.clients.values()}
    found.update(*state.owners.values())
    if state.settings is not None:
        found.add(state.settings)
    if state.owners:
        found.add(layout_text(sorted(state.owners)))
    return found


class Numbered(Protocol):
    """Texts that have numbers, and queues that were made of them."""

    layouts: BoundedCache[str, Any]

    @property
    def budget(self) -> ReadingBudget:
        """What the present reading may still take."""

    def id_of(self, text: str) -> int:
        """Return the number of a text."""

    def text(self, number: int) -> str:
        """Return the text of a number."""


def whole(state: KeptState, texts: Numbered) -> bytes:
    """Return a state as bytes."""
    number = texts.id_of
    out = [WHOLE, 0 if state.settings is None else number(state.settings), len(state.clients)]
    for client, details in state.clients.items():
        out += (number(client), number(details))
    queues = sorted(state.owners)
    owners_of_queues = [state.owners[queue] for queue in queues]
    all_owners = dict.fromkeys(chain.from_iterable(owners_of_queues))
    more = [name for name in all_owners if name not in state.clients]
    out += [len(more), *map(number, more)]
    names = {name: i for i, name in enumerate([*state.clients, *more], 1)}
    sets = dict.fromkeys(owners for owners in owners_of_queues if len(owners) > 1)
    out.append(len(sets))
    for owners in sets:
        out += [len(owners), *(names[name] for name in owners)]
    out.append(number(layout_text(queues)) if queues else 0)
    single_owners = [(name,) for name in names]
    numbers = {owners: i for i, owners in enumerate([(), *single_owners, *sets])}
    out += [numbers[owners] for owners in owners_of_queues]
    return _bytes(out)


def difference(before: KeptState, after: KeptState, texts: Numbered) -> bytes | None:
    """Return the differences as bytes; None if the states have different queues."""
    if before.owners.keys() != after.owners.keys():
        return None
    number = texts.id_of
    settings = 0 if before.settings == after.settings else 1
    out = [DIFFERENCE, settings]
    if settings:
        out.append(0 if after.settings is None else number(after.settings))
    gone = [client for client in before.clients if client not in after.clients]
    out += [len(gone), *map(number, gone)]
    was = before.clients.get
    changed = {client: text for client, text in after.clients.items() if was(client) != text}
    out.append(len(changed))
    for client, details in changed.items():
        out += (number(client), number(details))
    queues = sorted(after.owners)
    moved = [i for i, queue in enumerate(queues) if before.owners[queue] != after.owners[queue]]
    out.append(len(moved))
    for last, i in zip([0, *moved], moved, strict=False):
        owners = after.owners[queues[i]]
        out += [i - last, len(owners), *map(number, owners)]
    return _bytes(out)


def state_of(bodies: Sequence[bytes], texts: Numbered) -> KeptState:
    """Return the state of rows: a whole state first, then differences."""
    state: KeptState | None = None
    for body in bodies:
        state = state_after(state, body, texts)
    return KeptState() if state is None else state


def state_after(state: KeptState | None, body: bytes, texts: Numbered) -> KeptState:
    """Return the state of a row; ``state`` is that of the row before, None for none."""
    numbers = _Numbers(body)
    kind = numbers.next()
    if kind == WHOLE:
        found = _whole_of(numbers, texts)
    elif kind != DIFFERENCE:
        raise DamageError(f"a state is of kind {kind}; {WHOLE} and {DIFFERENCE} are known")
    elif state is None:
        raise DamageError("a state begins with a difference")
    else:
        found = _changed(state, numbers, texts)
    numbers.end()
    return found


def _whole_of(numbers: _Numbers, texts: Numbered) -> KeptState:
    settings = numbers.next()
    n_clients = numbers.count()
    texts.budget.state(0, n_clients)
    clients = {}
    for _ in range(n_clients):
        client = texts.text(numbers.next())
        clients[client] = texts.text(numbers.next())
    if len(clients) < n_clients:
        raise DamageError("a state has a client twice")
    names = list(clients)
    for _ in range(numbers.count()):
        names.append(texts.text(numbers.next()))
    owner_sets: list[tuple[str, ...]] = [(), *((name,) for name in names)]
    for _ in range(numbers.count()):
        n_owners = numbers.count()
        owners_of_set = (_item(names, numbers.next() - 1) for _ in range(n_owners))
        owner_sets.append(tuple(owners_of_set))
    layout = numbers.next()
    queues = _queues(texts.text(layout), numbers.left, texts) if layout else ()
    owners = {queue: _item(owner_sets, numbers.next()) for queue in queues}
    return KeptState(texts.text(settings) if settings else None, clients, owners)


def _changed(state: KeptState, numbers: _Numbers, texts: Numbered) -> KeptState:
    texts.budget.state(len(state.owners), len(state.clients))
    settings, clients, owners = state.settings, dict(state.clients), dict(state.owners)
    if numbers.next():
        number = numbers.next()
        settings = texts.text(number) if number else None
    for _ in range(numbers.count()):
        clients.pop(texts.text(numbers.next()), None)
    for _ in range(numbers.count()):
        client = texts.text(numbers.next())
        clients[client] = texts.text(numbers.next())
    queues, i = sorted(owners), 0
    for _ in range(numbers.count()):
        i += numbers.next()
        n_owners = numbers.count()
        client_ids = tuple(texts.text(numbers.next()) for _ in range(n_owners))
        owners[_item(queues, i)] = client_ids
    return KeptState(settings, clients, owners)


def _item(items: Sequence[Any], i: int) -> Any:
    if not 0 <= i < len(items):
        raise DamageError("a state names an entry that does not exist")
    return items[i]


# --- Queues ---


def layout_text(queues: Iterable[MessageQueue]) -> str:
    """Return queues in their order as a text: topic, broker, and ids as runs."""
    found: list[list[Any]] = []
    for topic, broker, queue_id in queues:
        if not found or found[-1][:2] != [topic, broker]:
            found.append([topic, broker, queue_id, 1])
        elif found[-1][2] + found[-1][3] == queue_id:
            found[-1][3] += 1
        else:
            found.append([topic, broker, queue_id, 1])
    return json.dumps(found, separators=(",", ":"))


def _queues(layout: str, most: int, texts: Numbered) -> tuple[MessageQueue, ...]:
    """Return queues of a text, no more than there are numbers of owners for them."""
    found = texts.layouts.get(layout)
    if found is None:
        runs = [_run(run) for run in _items(data_of(layout, texts.budget))]
        n_queues = sum(run.n_queues for run in runs)
        _check_owners(n_queues, most)
        texts.budget.state(n_queues, 0)
        found = tuple(chain.from_iterable(run.queues() for run in runs))
        texts.layouts.keep(layout, found, n_queues * _QUEUE_BYTES)
    else:
        _check_owners(len(found), most)
        texts.budget.state(len(found), 0)
    return found


def _check_owners(n_queues: int, most: int) -> None:
    if n_queues > most:
        raise DamageError(f"a state has {n_queues:,} queues and owners of {most:,} at most")


class _Run(NamedTuple):
    """Queues of one topic on one broker with ids that follow one another."""

    topic: str
    broker_name: str
    first: int
    n_queues: int

    def queues(self) -> Iterator[MessageQueue]:
        """Yield the queues."""
        for queue_id in range(self.first, self.first + self.n_queues):
            yield MessageQueue(self.topic, self.broker_name, queue_id)


def _run(data: object) -> _Run:
    types = [type(part) for part in _items(data)]
    if types != [str, str, int, int]:
        raise DamageError("queues of a state are not topic, broker, first id and count")
    run = _Run(*_items(data))
    if not 0 <= run.first <= run.first + run.n_queues <= _MOST_ID:
        raise DamageError(f"a state has {run.n_queues} queues from id {run.first} on")
    return run


def _items(data: object) -> list[Any]:
    if not isinstance(data, list):
        raise DamageError("queues of a state are not a list")
    return data


def data_of(text: str, budget: ReadingBudget) -> Any:
    """Return the data of a document that the recorder wrote; it was escaped, so it may hold any
    name.
    """
    budget.check_room(_MADE_OF_DATA * made_of_json(text))
    try:
        data = json.loads(text)
        check_depth(data)
    except (ValueError, RecursionError) as error:
        raise DamageError(f"a document cannot be read: {message(str(error))}") from error
    return data


# --- Numbers of any length as bytes ---


def _bytes(numbers: Iterable[int]) -> bytes:
    out = bytearray()
    for number in numbers:
        while number > 127:
            out.append(number & 127 | 128)
            number >>= 7
        out.append(number)
    return bytes(out)


class _Numbers:
    """Numbers of a row, one after the other."""

    def __init__(self, body: bytes) -> None:
        self._body, self._at = body, 0

    def next(self) -> int:
        """Return the next number."""
        number = shift = 0
        while True:
            if self._at >= len(self._body) or shift > _MOST_NUMBER:
                raise DamageError("a state ends too early")
            byte = self._body[self._at]
            self._at += 1
            number |= (byte & 127) << shift
            if byte < 128:
                if number >= 1 << _MOST_NUMBER:
                    raise DamageError("a state has a number that is too large")
                return number
            shift += 7

    def count(self) -> int:
        """Return the next number, of things that take a byte each at least."""
        number = self.next()
        if number > self.left:
            raise DamageError("a state names more bytes than it has")
        return number

    @property
    def left(self) -> int:
        """Bytes behind the last number."""
        return len(self._body) - self._at

    def end(self) -> None:
        """Raise an error unless the last number was read."""
        if self.left:
            raise DamageError(f"a state has {self.left:,} bytes more than it names")
