"""What a snapshot says of one consumer group, as far as a script can say it; what it cannot say is
refused or noted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rmqalloc.errors import Error
from rmqalloc.evidence import Known
from rmqalloc.evidence import known as decide
from rmqalloc.evidence.client_method import accepted, is_served, known_by_client, method_of
from rmqalloc.evidence.method import Method
from rmqalloc.globs import literal
from rmqalloc.limits import MOST_MEMBERS
from rmqalloc.model import RETRY_PREFIX
from rmqalloc.remoting import DEFAULT_PROFILE
from rmqalloc.simulation._group_events import StartedClient
from rmqalloc.simulation._settings import MAX_RETRY_QUEUES
from rmqalloc.snapshot.matching import by_name, no_match
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic
from rmqalloc.snapshot.unknown import Unknowns
from rmqalloc.strategies import strategy
from rmqalloc.text import counted


class UnsimulatedError(Error, ValueError):
    """A simulation cannot represent what a snapshot says of a group; the message says what."""


class GroupShape(NamedTuple):
    """A group as it is simulated.

    Attributes
    ----------
    consumer_group : str
    topics : tuple of Topic
        What its clients subscribe to, without its retry topic.
    clients : mapping of str to StartedClient
        By names in the script.
    is_ordered, is_served : bool
        Whether it consumes in order, and whether brokers assign its queues.
    retry_queue_nums : int
        Queues of its retry topic on each broker.
    profile : str
        A key of `rmqalloc.remoting.PROFILES`.
    method : Method
        What its clients divide by.
    lag : int or None
        Messages that it has not consumed; None where not known.
    notes : tuple of str
        What is not known, and what is taken for it.
    """

    consumer_group: str
    topics: tuple[Topic, ...]
    clients: Mapping[str, StartedClient]
    is_ordered: bool
    is_served: bool
    retry_queue_nums: int
    profile: str
    method: Method
    lag: int | None
    notes: tuple[str, ...]

    @property
    def brokers(self) -> list[str]:
        """Names of the brokers that hold its topics."""
        return list(
            dict.fromkeys(one.broker_name for topic in self.topics for one in topic.brokers)
        )

    @property
    def n_queues(self) -> int:
        """Queues that its clients divide."""
        return sum(
            one.read_queue_nums for topic in self.topics for one in topic.brokers if one.is_readable
        )


def shape_of(
    snapshot: Snapshot | Known, consumer_group: str, profile: str | None = None
) -> GroupShape:
    """Return what a snapshot says of a group.

    Raises
    ------
    UnsimulatedError
        A script cannot say it.
    NoMatchError
        There is no such group.
    """
    given = snapshot.snapshot if isinstance(snapshot, Known) else snapshot
    groups = by_name(given.groups, "groups")
    if consumer_group not in groups:
        raise no_match(consumer_group, groups, "group")
    known = given
    if not isinstance(snapshot, Known):
        known = decide(snapshot, [literal(consumer_group)]).snapshot
        groups = by_name(known.groups, "groups")
    group = accepted(groups[consumer_group])
    _check(group, Unknowns(known))
    names = sorted(
        {
            *group.subscriptions,
            *(topic for one in group.clients for topic in one.subscriptions or ()),
        }
    )
    names = [name for name in names if not name.startswith(RETRY_PREFIX)]
    notes: list[str] = []
    topics = tuple(_topics(known, names, notes))
    main = method_of(group, Client(""))
    clients = _clients(group, main, tuple(topic.name for topic in topics))
    if any("@" not in one.client_id for one in group.clients):
        notes.append(
            'a client id without an instance name gets "@1", as RocketMQ makes none without'
        )
    release = profile or _release(group, notes)
    if group.is_ordered:
        notes.append("how long listeners work on messages is not known, so no lock waits for one")
    lag = sum(one.messages for one in group.lags) if group.lags else None
    retry = known.topic(RETRY_PREFIX + group.name)
    return GroupShape(
        group.name, topics, clients, group.is_ordered, is_served(group), _retry_queues(retry), release, main, lag,
        (*notes, *_unsaid(group)),
    )  # fmt: skip


def _check(group: Group, unknown: Unknowns) -> None:
    """Refuse a group that a script cannot represent."""
    for is_so, what in (
        (
            group.message_model != "CLUSTERING",
            "its clients broadcast: each reads all queues, and no rebalance divides them",
        ),
        (
            group.is_shared,
            "its clients share the messages of a queue behind a proxy, so no queue has an owner",
        ),
        (
            is_served(group) and group.server_assignment == "POP",
            "brokers let it pop messages (POP), so no queue has an owner",
        ),
        (group.lite_topic is not None, "it reads lite topics, which are not simulated"),
        (not group.clients, "it has no client, so nothing happens to its queues"),
        (
            len(group.clients) > MOST_MEMBERS,
            f"it has {len(group.clients):,} clients; at most {MOST_MEMBERS:,} are simulated",
        ),
    ):
        if is_so:
            raise UnsimulatedError(f"group {group.name!r} cannot be simulated: {what}")
    for kind in ("clients", "subscriptions"):
        reason = group.unknown.get(kind) or unknown.why(kind, group.name)
        if reason is not None:
            raise UnsimulatedError(
                f"group {group.name!r} cannot be simulated: its {kind} are not known in full: {reason}"
            )
    if group.strategy_doubt is not None and not known_by_client(group):
        raise UnsimulatedError(
            f"group {group.name!r} cannot be simulated: its strategy is in doubt: {group.strategy_doubt}; state the strategy, "
            "or accept what is there"
        )


def _topics(snapshot: Snapshot, names: Iterable[str], notes: list[str]) -> Iterable[Topic]:
    """Yield topics that have queues to divide."""
    unknown = Unknowns(snapshot)
    found = False
    for name in names:
        topic = snapshot.topic(name)
        reason = unknown.why("routes", name) if topic is None or topic.unknown else None
        if topic is not None and topic.unknown:
            reason = reason or "; ".join(topic.unknown.values())
        if reason is not None:
            raise UnsimulatedError(
                f"topic {name!r} cannot be simulated: its route is not known in full: {reason}"
            )
        if topic is None or not topic.brokers:
            notes.append(f"topic {name} has no route, so it is left out")
            continue
        found = True
        yield topic
    if not found:
        raise UnsimulatedError("the group cannot be simulated: none of its topics has a route")


def _clients(group: Group, main: Method, topics: tuple[str, ...]) -> dict[str, StartedClient]:
    """Return clients by names; a second client of one id has a name of its own."""
    of_method: dict[Method, tuple[str, Mapping[str, object]]] = {}
    found: dict[str, StartedClient] = {}
    for client in sorted(group.clients, key=lambda one: one.client_id):
        if not client.client_id:
            raise UnsimulatedError(
                f"group {group.name!r} cannot be simulated: a client of it has no id"
            )
        method = method_of(group, client)
        if method not in of_method:
            of_method[method] = _spelled(group, method)
        own: tuple[str | None, Mapping[str, object] | None] = (
            (None, None) if method == main else of_method[method]
        )
        reads = (
            None
            if client.subscriptions is None
            else tuple(one for one in topics if one in client.subscriptions)
        )
        if reads == ():
            raise UnsimulatedError(
                f"group {group.name!r} cannot be simulated: client {client.client_id!r} subscribes to none of its topics"
            )
        number, name = 1, client.client_id
        while name in found:
            number += 1
            name = f"{client.client_id} ({number})"
        found[name] = StartedClient(client.client_id, *own, None if reads == topics else reads)
    return found


def _spelled(group: Group, method: Method) -> tuple[str, Mapping[str, object]]:
    """Return name and parameters of a strategy that a script can name."""
    why = method.problem
    if why is None and method.asks_for_rooms:
        why = "it reads machine rooms, of which a script cannot say where each client stands"
    if why is None and method.is_config:
        why = "its lists are by client id, and clients come back under other ids"
    if why is None:
        try:
            strategy(method.name, **method.params)
        except Error as error:
            why = str(error)
    if why is not None:
        raise UnsimulatedError(
            f"group {group.name!r} cannot be simulated: of its strategy {method}: {why}"
        )
    return method.name, method.params


_VERSION = re.compile(r"V?(\d{1,3})[._](\d{1,3})", re.ASCII)


def _release(group: Group, notes: list[str]) -> str:
    """Return the release line of most of the clients."""
    found = Counter(_line(one.version) for one in group.clients)
    of_most = max(found, key=lambda one: (found[one], one or ""))
    if of_most is None:
        notes.append(
            f"the release of its clients is not known, so they are taken for {DEFAULT_PROFILE.name}"
        )
        return DEFAULT_PROFILE.name
    if len(found) > 1:
        notes.append(
            f"its clients are of several releases; all are simulated as {of_most}, as {found[of_most]:,} of them are"
        )
    return of_most


def _line(version: str | None) -> str | None:
    """Return the simulated release line that is nearest to a version; None where there is none."""
    match = _VERSION.match(version or "")
    if match is None:
        return None
    major, minor = int(match[1]), int(match[2])
    return "4.9" if major < 5 else "5.3" if (major, minor) < (5, 4) else "5.5"


def _retry_queues(topic: Topic | None) -> int:
    numbers = [one.read_queue_nums for one in topic.brokers] if topic is not None else []
    return min(max(numbers, default=1), MAX_RETRY_QUEUES) or 1


def _unsaid(group: Group) -> Iterable[str]:
    """Yield what a snapshot knows of a group and a script leaves out."""
    if group.broker_client_ids is not None:
        yield "brokers do not agree on its clients; the simulation begins when they do"
    if any(one.sees_read_queue_nums is not None for one in group.clients):
        yield "some of its clients have stale routes; the simulation begins with new ones"
    if group.paused_brokers:
        yield f"{counted(len(group.paused_brokers), 'broker')} do not let it consume, which is not simulated"
    yield "settings of brokers are not in a snapshot: RocketMQ's defaults are taken, with notices to clients"
