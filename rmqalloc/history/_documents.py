"""Documents of groups, clients, topics and brokers, as the history keeps them beside owners of
queues, and back.

Values that change all the time and decide nothing are left out: lag, rates, start times of clients,
the lists of single brokers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

from rmqalloc.documents.read_budget import made_of_json
from rmqalloc.history._kept_states import KeptState, data_of
from rmqalloc.history._rows import DamageError
from rmqalloc.history._texts import BoundedCache, HistoryTexts
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.plain_data import SnapshotError, from_document, to_document
from rmqalloc.snapshot.snapshot import Broker, Client, Group, Snapshot, Topic, with_fields
from rmqalloc.text import message, quoted

_BYTES_PER_QUEUE, _BYTES_PER_CLIENT = 130, 600


def _text(snapshot: Snapshot) -> str:
    return json.dumps(to_document(snapshot), separators=(",", ":"), sort_keys=True)


def _read(text: str, texts: HistoryTexts) -> Snapshot:
    found = texts.documents.get(text)
    if found is None:
        try:
            found = from_document(data_of(text, texts.budget))
        except SnapshotError as error:
            raise DamageError(f"a document cannot be read: {message(str(error))}") from error
        texts.documents.keep(text, found, _made_of(text))
    return found


def _made_of(text: str) -> int:
    """About how much memory a document takes, and the snapshot of it."""
    return sys.getsizeof(text) + 2 * made_of_json(text)


def group_text(group: Group, keeps_unknown: bool = False) -> str:
    """Return the document of a group without its clients."""
    still: dict[str, Any] = {
        "lags": (),
        "consume_tps": None,
        "unknown": group.unknown if keeps_unknown else {},
        "broker_client_ids": None,
        "strategy_explains": None,
    }
    return _text(Snapshot(groups=(with_fields(group, clients=(), **still),)))


NOT_READ = "the queues that its clients own were not read"


def without_owners(settings: str, texts: HistoryTexts) -> str:
    """Return the document of a group whose owners were not read: they are those of before."""
    return _with_unknown(settings, {"owners": NOT_READ}, texts)


def has_owners(state: KeptState, texts: HistoryTexts) -> bool:
    """Return whether the owners of a state were read with its clients."""
    if state.settings is None or NOT_READ not in state.settings:
        return True
    groups = _read(state.settings, texts).groups
    return all(group.unknown.get("owners") != NOT_READ for group in groups)


def settings_of(state: KeptState, texts: HistoryTexts) -> str | None:
    """Return the document of a subject, which does not say whether owners were read."""
    if state.settings is None or has_owners(state, texts):
        return state.settings
    return _with_unknown(state.settings, {}, texts)


def _with_unknown(settings: str, unknown: Mapping[str, str], texts: HistoryTexts) -> str:
    """Return the document of a group with other words on its owners."""
    groups = _read(settings, texts).groups
    if len(groups) != 1:
        raise DamageError(f"the document of a group has {len(groups)}")
    (group,) = groups
    others = {name: why for name, why in group.unknown.items() if name != "owners"}
    return _text(Snapshot(groups=(with_fields(group, unknown={**others, **unknown}),)))


def client_texts(group: Group) -> dict[str, str]:
    """Return a document for each client id of a group; an id that is listed twice has two clients in
    it.
    """
    found: dict[str, list[Client]] = {}
    for client in group.clients:
        owned = None if client.owned is None else ()
        kept = with_fields(client, client_id="", owned=owned, start_timestamp=None)
        found.setdefault(client.client_id, []).append(kept)
    return {client_id: _clients_text(clients) for client_id, clients in found.items()}


_TEXTS: BoundedCache[str, str] = BoundedCache()
_FIELDS_OF = attrgetter(*(field.name for field in fields(Client)))
"""All fields of a client; its ``repr`` has only some."""


def _clients_text(clients: list[Client]) -> str:
    """Return the document of clients of one id; most clients have the same, and making it is slow."""
    key = repr([_FIELDS_OF(client) for client in clients])
    found = _TEXTS.get(key)
    if found is None:
        group = Group("", clients=tuple(clients))
        found = _text(Snapshot(groups=(group,)))
        _TEXTS.keep(key, found, sys.getsizeof(key) + sys.getsizeof(found))
    return found


NO_DETAILS = _text(Snapshot(groups=(Group("", clients=(Client(""),)),)))
"""The document of a client of which nothing but its id is known."""


def topic_text(topic: Topic, keeps_unknown: bool = False) -> str:
    """Return the document of a topic."""
    return _text(Snapshot((topic if keeps_unknown else with_fields(topic, unknown={}),)))


def brokers_text(brokers: Iterable[Broker]) -> str:
    """Return the document of all brokers."""
    return _text(Snapshot(brokers=tuple(brokers)))


def group_of(name: str, state: KeptState, texts: HistoryTexts) -> Group | None:
    """Return a group of its state; None where it is gone."""
    if state.settings is None:
        return None
    groups = _read(state.settings, texts).groups
    _check_is(name, groups)
    (group,) = groups
    texts.budget.keep(_made_of(state.settings) + _BYTES_PER_QUEUE * len(state.owners))
    owned: dict[str, list[MessageQueue]] = {}
    for queue, owners in state.owners.items():
        for client_id in owners:
            owned.setdefault(client_id, []).append(queue)
    clients = []
    for client_id, text in state.clients.items():
        queues = tuple(owned.get(client_id, ()))
        for client in _clients_of(text, texts):
            texts.budget.keep(_BYTES_PER_CLIENT + 8 * len(queues))
            mine = None if client.owned is None else queues
            clients.append(with_fields(client, client_id=client_id, owned=mine))
    return with_fields(group, clients=tuple(clients))


def _clients_of(text: str, texts: HistoryTexts) -> tuple[Client, ...]:
    groups = _read(text, texts).groups
    return groups[0].clients if groups else ()


def topic_of(name: str, state: KeptState, texts: HistoryTexts) -> Topic | None:
    """Return a topic of its state; None where it is gone."""
    if state.settings is None:
        return None
    topics = topics_of(state, texts)
    _check_is(name, topics)
    return topics[0]


def topics_of(state: KeptState, texts: HistoryTexts) -> tuple[Topic, ...]:
    """Return the topics that a state has: one, unless it is gone or damaged."""
    return () if state.settings is None else _kept(state.settings, texts).topics


def _check_is(name: str, items: Sequence[Group | Topic]) -> None:
    """Raise an error unless a document has what it is kept for, and nothing else."""
    if [item.name for item in items] != [name]:
        raise DamageError(f"the document of {quoted(name)} is of something else")


def brokers_of(state: KeptState, texts: HistoryTexts) -> tuple[Broker, ...]:
    """Return brokers of their state."""
    return () if state.settings is None else _kept(state.settings, texts).brokers


def _kept(text: str, texts: HistoryTexts) -> Snapshot:
    texts.budget.keep(_made_of(text))
    return _read(text, texts)


FINDING_FIELDS = ("rule", "severity", "message", "topic")


def finding_of(text: str, texts: HistoryTexts) -> dict[str, str | None]:
    """Return the fields of a finding that events show."""
    data = data_of(text, texts.budget)
    if not isinstance(data, dict):
        raise DamageError("the document of a finding is not an object")
    found = {name: data.get(name) for name in FINDING_FIELDS}
    for name, value in found.items():
        if value is not None and not isinstance(value, str):
            raise DamageError(f"the document of a finding has a {name} that is not text")
    return found
