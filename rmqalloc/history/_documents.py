"""Documents of groups, clients, topics and brokers, as the history keeps them beside owners of
queues, and back.

Values that change all the time and decide nothing are left out: lag, rates, start times of clients,
the lists of single brokers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from rmqalloc.history._kept_states import KeptState, data_of
from rmqalloc.history.history_errors import HistoryError
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.plain_data import SnapshotError, from_document, to_document
from rmqalloc.snapshot.snapshot import Broker, Client, Group, Snapshot, Topic, with_fields


def _text(snapshot: Snapshot) -> str:
    return json.dumps(to_document(snapshot), separators=(",", ":"), sort_keys=True)


@lru_cache(maxsize=20_000)
def _read(text: str) -> Snapshot:
    try:
        return from_document(data_of(text))
    except SnapshotError as error:
        raise HistoryError(
            f"the history is damaged: a document cannot be read ({error})"
        ) from error


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


_TEXTS: dict[str, str] = {}
_MOST_TEXTS = 10_000


def _clients_text(clients: list[Client]) -> str:
    """Return the document of clients of one id; most clients have the same, and making it is slow."""
    key = repr(clients)
    found = _TEXTS.get(key)
    if found is None:
        if len(_TEXTS) >= _MOST_TEXTS:
            _TEXTS.clear()
        group = Group("", clients=tuple(clients))
        found = _TEXTS[key] = _text(Snapshot(groups=(group,)))
    return found


NO_DETAILS = _text(Snapshot(groups=(Group("", clients=(Client(""),)),)))
"""The document of a client of which nothing but its id is known."""


def topic_text(topic: Topic, keeps_unknown: bool = False) -> str:
    """Return the document of a topic."""
    return _text(Snapshot((topic if keeps_unknown else with_fields(topic, unknown={}),)))


def brokers_text(brokers: Iterable[Broker]) -> str:
    """Return the document of all brokers."""
    return _text(Snapshot(brokers=tuple(brokers)))


def group_of(state: KeptState) -> Group | None:
    """Return a group of its state; None where it is gone."""
    if state.settings is None:
        return None
    (group,) = _read(state.settings).groups or (None,)
    if group is None:
        raise HistoryError("the history is damaged: the document of a group has none")
    owned: dict[str, list[MessageQueue]] = {}
    for queue, owners in state.owners.items():
        for client_id in owners:
            owned.setdefault(client_id, []).append(queue)
    clients = []
    for client_id, text in state.clients.items():
        queues = tuple(owned.get(client_id, ()))
        for client in _clients_of(text):
            mine = None if client.owned is None else queues
            clients.append(with_fields(client, client_id=client_id, owned=mine))
    return with_fields(group, clients=tuple(clients))


def _clients_of(text: str) -> tuple[Client, ...]:
    groups = _read(text).groups
    return groups[0].clients if groups else ()


def topic_of(state: KeptState) -> Topic | None:
    """Return a topic of its state; None where it is gone."""
    topics = () if state.settings is None else _read(state.settings).topics
    return topics[0] if topics else None


def brokers_of(state: KeptState) -> tuple[Broker, ...]:
    """Return brokers of their state."""
    return () if state.settings is None else _read(state.settings).brokers
