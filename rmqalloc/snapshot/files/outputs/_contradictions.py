"""Outputs that contradict each other: which clients a group has, and which queues they own.

Outputs are of different moments, brokers or clients. Where two disagree nobody can tell which is
right, so the fact is not known; every client that any output names is kept as seen there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from rmqalloc.model import MessageQueue, host_of
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.snapshot import Client
from rmqalloc.text import counted, printable


class NamedClients(NamedTuple):
    """Clients that an output names."""

    command: str
    place: str  # file and line
    client_ids: tuple[str, ...]  # of consumerProgress addresses

    def __str__(self) -> str:
        return f"{self.command} ({self.place})"


class CountedClients(NamedTuple):
    """How many clients an output counts, which does not name them."""

    n: int
    command: str
    place: str

    def __str__(self) -> str:
        return f"{self.command} ({self.place})"


class SeenClients(NamedTuple):
    """Clients that are named beside the list of a group's clients, and what contradicts the list."""

    unlisted: tuple[str, ...]
    contradictions: tuple[str, ...]


def seen_clients(
    lists: Sequence[NamedClients],
    mentions: Iterable[NamedClients],
    counts: Iterable[CountedClients] = (),
) -> SeenClients:
    """Compare lists of a group's clients with each other, and with outputs that name or count
    clients.

    Parameters
    ----------
    lists : sequence of NamedClients
        Outputs that name all clients, the one that counts first.
    mentions : iterable of NamedClients
        Outputs that name some clients, be it by their addresses.
    counts : iterable of CountedClients

    Examples
    --------
    >>> listed = NamedClients("consumerConnection", "c:1", ("10.0.0.1@1",))
    >>> seen = seen_clients([listed], [NamedClients("consumerProgress", "p:3", ("10.0.0.1", "10.0.0.2"))])
    >>> seen.unlisted, *seen.contradictions
    (('10.0.0.2',), 'consumerProgress (p:3) shows 10.0.0.2, consumerConnection (c:1) does not')
    """
    known = set(lists[0].client_ids) if lists else set()
    unlisted: list[str] = []
    contradictions: list[str] = []
    known |= {host_of(name) for name in known}
    for found in (*lists[1:], *mentions):
        new = [name for name in dict.fromkeys(found.client_ids) if name not in known]
        known.update(new, map(host_of, new))
        unlisted += new
        if lists and new:
            contradictions.append(f"{found} shows {_named(new)}, {lists[0]} does not")
    for listed in lists[1:]:
        named_there = set(listed.client_ids)
        absent = [name for name in lists[0].client_ids if name not in named_there]
        if absent:
            contradictions.append(f"{lists[0]} shows {_named(absent)}, {listed} does not")
    for count in counts:
        if lists and count.n != len(lists[0].client_ids):
            n_listed = counted(len(lists[0].client_ids), "client")
            contradictions.append(
                f"{count} counts {counted(count.n, 'client')}, {lists[0]} lists {n_listed}"
            )
    return SeenClients(tuple(unlisted), tuple(contradictions))


def owner_contradictions(
    owners: Mapping[MessageQueue, str],
    places: Mapping[MessageQueue, str],
    clients: Collection[Client],
    command: str,
) -> Iterator[tuple[MessageQueue, str]]:
    """Yield queues that consumerProgress shows at a client and clients report otherwise, and how.

    Parameters
    ----------
    owners : mapping of MessageQueue to str
        Id or address of a client, by consumerProgress or another output.
    places : mapping of MessageQueue to str
        File and line of these.
    clients : collection of Client
        Clients with the queues that they report themselves.
    command : str
        What shows the owners.
    """
    reporting = [client for client in clients if client.owned is not None]
    if not reporting:
        return
    silent = [client for client in clients if client.owned is None]
    open_names = {name for client in silent for name in (client.client_id, client.host)}
    holders: dict[MessageQueue, list[str]] = {}
    for client in reporting:
        for queue in client.owned or ():
            holders.setdefault(queue, []).append(client.client_id)
    for queue, address in owners.items():
        found = holders.get(queue, [])
        names = {*found, *map(host_of, found)}
        if address in names or (not found and address in open_names):
            continue
        reported = (
            f"{_named(found)} reports it"
            if found
            else f"no client at {printable(address)} reports it"
        )
        where = printable(f"{queue.topic}/{queue.broker_name}:{queue.queue_id}")
        yield (
            queue,
            f"{command} ({places[queue]}) shows {where} at {printable(address)}, {reported}",
        )


class Statements:
    """Values of facts, each with the output that has it.

    Examples
    --------
    >>> statements = Statements()
    >>> for place, model in {"c:1": "CLUSTERING", "s:1": "BROADCASTING", "s:9": "BROADCASTING"}.items():
    ...     statements.add("message model", f"an output ({place})", model)
    >>> list(statements.contradictions())
    ['message model: CLUSTERING in an output (c:1), BROADCASTING in an output (s:1)']
    """

    def __init__(self) -> None:
        self._values: dict[str, dict[str, dict[str, str]]] = {}

    def add(self, fact: str, source: str, value: str | None, client_id: str = "") -> None:
        """Keep the value of a fact, perhaps about one client, that an output has; None is no value."""
        if value:
            by_client = self._values.setdefault(fact, {})
            by_client.setdefault(client_id, {}).setdefault(value, source)

    def contradictions(self) -> Iterator[str]:
        """Yield facts of which outputs have different values, each once with the first client."""
        for fact, by_client in self._values.items():
            differing = [client_id for client_id, values in by_client.items() if len(values) > 1]
            if not differing:
                continue
            values = by_client[differing[0]]
            shown = ", ".join(f"{printable(value)} in {source}" for value, source in values.items())
            clients = f" of {_named([*filter(None, differing)])}" if differing[0] else ""
            yield f"{fact}{clients}: {shown}"


def _named(names: Sequence[str]) -> str:
    return named(list(map(printable, names)))
