"""Groups of a snapshot, put together from the answers of brokers and clients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.remoting.frames import LANGUAGE
from rmqalloc.snapshot.live._answers import (
    ClientConnection,
    Connections,
    ConsumeStats,
    GroupMode,
    Modes,
    RunningInfo,
)
from rmqalloc.snapshot.proxy import is_behind_proxy
from rmqalloc.snapshot.snapshot import Client, Filter, Group, Lag, Topic
from rmqalloc.strategies.dialects import MEMBER

_LISTED_AS = (LANGUAGE, None)
"""Language of clients that may be members of `rmqalloc.client`; None where only running infos are known."""


class Offsets(NamedTuple):
    """Offsets of a group at all brokers, and messages consumed per second; None if not known."""

    lags: tuple[Lag, ...] = ()
    consume_tps: float | None = None

    @classmethod
    def of(cls, stats: Sequence[ConsumeStats]) -> Offsets:
        """Return offsets in the order of their queues, and the sum of the rates."""
        lags = chain.from_iterable(part.lags for part in stats)
        tps = sum(part.consume_tps for part in stats) if stats else None
        return cls(tuple(sorted(lags, key=attrgetter("queue"))), tps)


def topics_of(view: Mapping[str, Connections]) -> set[str]:
    """Return topics that a group subscribes to at any broker."""
    return set().union(*(known.subscriptions for known in view.values()))


def brokers_of(topics: Iterable[str], routes: Mapping[str, Topic]) -> set[str]:
    """Return brokers that hold some of the topics."""
    found: set[str] = set()
    for topic in topics:
        if topic in routes:
            found.update(broker.broker_name for broker in routes[topic].brokers)
    return found


def group(
    name: str,
    view: Mapping[str, Connections],
    infos: Mapping[str, RunningInfo],
    routes: Mapping[str, Topic],
    lags: tuple[Lag, ...] = (),
    consume_tps: float | None = None,
    modes: Mapping[str, Modes] | None = None,
    lite_topic: str | None = None,
    of_rmqalloc: Collection[str] = (),
) -> Group:
    """Put one group together; ``of_rmqalloc`` are ids of clients that reported in an earlier reading
    to be members of `rmqalloc.client`, and may be silent in this one.

    Notes
    -----
    A client registers at the brokers of its topics, so only those lists are compared; the longest of them is the group's.
    Several connections of one client id are several clients, as they are for RocketMQ's strategies; but a broker that did not
    run for a while has dead connections, too, so an id counts as often as it stands in every list that has it. What strategy
    the group uses is left open: clients report theirs, and `rmqalloc.evidence` weighs that against what they own. A group
    without clients subscribes to nothing that a broker knows; it has the topics of its offsets.
    """
    subscriptions, unknown = _subscriptions(view, infos, lags, lite_topic)
    holders = brokers_of(subscriptions, routes)
    listing = {broker: known for broker, known in view.items() if broker in holders} or view
    lists = {broker: known.connections for broker, known in sorted(listing.items())}
    alive = _alive(lists)
    if any(len(alive[broker]) < len(connections) for broker, connections in lists.items()):
        unknown["clients"] = (
            "brokers list different connections for one client id: some are dead, or processes share the id"
        )
    ids = {}
    for broker, connections in alive.items():
        ids[broker] = tuple(connection.client_id for connection in connections)
    longest = max(alive.values(), key=len, default=())
    models = Counter(known.message_model for known in view.values())
    asked = [mode for broker, mode in (modes or {}).items() if broker in holders]
    assignment = _assignment(name, subscriptions, infos, asked)
    return Group(
        name,
        tuple(subscriptions),
        tuple(_clients(longest, infos, of_rmqalloc)),
        message_model=_most(models, "CLUSTERING"),
        is_shared=lite_topic is not None or any(map(_is_shared, view.values())),
        is_ordered=any(info.is_ordered for info in infos.values()),
        server_assignment=assignment.mode,
        pop_share_queue_num=assignment.share,
        broker_client_ids=ids if len(set(ids.values())) > 1 else None,
        lags=lags,
        consume_tps=consume_tps,
        filters=_filters(view.values()),
        lite_topic=lite_topic,
        unknown=unknown,
    )


def _subscriptions(
    view: Mapping[str, Connections],
    infos: Mapping[str, RunningInfo],
    lags: Iterable[Lag],
    lite_topic: str | None,
) -> tuple[list[str], dict[str, str]]:
    """Return topics of a group, sorted, with that of its lite topics, which no client reports; and
    why there may be more topics.
    """
    topics = set() if lite_topic is None else {lite_topic}
    if view:
        # A broker lists the subscriptions of the client that sent the last heartbeat; other
        # clients may subscribe to more.
        topics |= topics_of(view)
        return sorted(topics.union(*(info.subscriptions for info in infos.values()))), {}
    committed = {lag.queue.topic for lag in lags}
    why = "it has no client and brokers have no offsets of it: it never committed any, or it broadcasts"
    if committed:
        why = "it has no client; its topics are those that it committed offsets of"
    return sorted(topics | committed), {"subscriptions": why}


def _is_shared(known: Connections) -> bool:
    """Check whether a broker lists clients that share queues."""
    return known.is_lite or any(is_behind_proxy(client.client_id) for client in known.connections)


def _filters(view: Iterable[Connections]) -> dict[str, tuple[Filter, ...]] | None:
    """Return the filters of topics that a broker lists with a filter; None if none lists filters."""
    found: dict[str, set[Filter]] = {}
    is_known = False
    for known in view:
        if known.filters is None:
            continue
        is_known = True
        for topic in known.subscriptions:
            found.setdefault(topic, set()).add(known.filters.get(topic, Filter()))
    if not is_known:
        return None
    by_topic = {}
    for topic, filters in sorted(found.items()):
        if filters != {Filter()}:
            by_topic[topic] = tuple(sorted(filters, key=attrgetter("type", "expression")))
    return by_topic


def _alive(
    lists: Mapping[str, Sequence[ClientConnection]],
) -> dict[str, tuple[ClientConnection, ...]]:
    """Return lists of brokers with every client id as often as the list that has it least often."""
    least: dict[str, int] = {}
    for connections in lists.values():
        counts = Counter(connection.client_id for connection in connections)
        for client_id, n in counts.items():
            least[client_id] = min(least.get(client_id, n), n)
    found = {}
    for broker, connections in lists.items():
        n_before, kept = Counter[str](), []
        for connection in connections:
            client_id = connection.client_id
            if n_before[client_id] < least[client_id]:
                kept.append(connection)
            n_before[client_id] += 1
        found[broker] = tuple(kept)
    return found


def may_be_assigned(view: Mapping[str, Connections], infos: Mapping[str, RunningInfo]) -> bool:
    """Check whether brokers may assign a group's queues: a client reports it, or none answers and
    the release of some client lets them.
    """
    if infos:
        return any(map(_is_served, infos.values()))
    listed = chain.from_iterable(known.connections for known in view.values())
    return any(map(_may_be_served, listed))


def _may_be_served(client: ClientConnection) -> bool:
    """Check whether the release of a client lets brokers assign: 5.0 and later."""
    version = client.version or ""
    is_new = version >= "5" and not version.startswith("older")
    return is_new and not is_behind_proxy(client.client_id)


def _is_served(info: RunningInfo) -> bool:
    """Check whether brokers assign a client's queues; ordered consumers never let them."""
    return not info.client_rebalance and not info.is_ordered


class _Assignment(NamedTuple):
    """PULL or POP if brokers assign the queues of a group, else None."""

    mode: str | None
    share: int = 0  # the popShareQueueNum that all brokers have, or 0


def _assignment(
    name: str, topics: Iterable[str], infos: Mapping[str, RunningInfo], modes: Iterable[Modes]
) -> _Assignment:
    """Return how brokers assign the queues of a group.

    A client that reports queues which it pops is served by brokers, whatever else it reports (its
    queue -1 stands for all queues of a broker). Where no client reports whether brokers assign, a
    group that somebody has set to POP counts as one that pops.
    """
    keys = [(topic, name) for topic in topics if not topic.startswith(RETRY_PREFIX)]
    is_popping = any(info.popped for info in infos.values())
    is_known = is_popping or any(map(_is_served, infos.values()))
    if infos and not is_known:
        return _Assignment(None)
    found: set[GroupMode | None] = set()
    for of_broker in modes:
        for key in keys:
            if is_known or key in of_broker.given:
                found.add(of_broker.given.get(key, of_broker.default))
    shares = {mode.share for mode in found if mode is not None and mode.is_pop}
    if shares or is_popping:
        return _Assignment("POP", shares.pop() if len(shares) == 1 else 0)
    return _Assignment("PULL" if is_known else None)


def _clients(
    connections: Iterable[ClientConnection],
    infos: Mapping[str, RunningInfo],
    of_rmqalloc: Collection[str],
) -> Iterable[Client]:
    """Yield clients of a list; of several connections of one id only one answers for itself, so
    only the first gets the running info.
    """
    answered = set()
    for connection in connections:
        client_id = connection.client_id
        info = None if client_id in answered else infos.get(client_id)
        answered.add(client_id)
        is_ours = client_id in of_rmqalloc if info is None else info.is_of_rmqalloc
        language = MEMBER if is_ours and connection.language in _LISTED_AS else connection.language
        client = Client(client_id, language=language, version=connection.version)
        if info is not None:
            client = replace(
                client,
                strategy=info.strategy,
                subscriptions=info.subscriptions,
                owned=_owned(info),
                filters=info.filters,
                start_timestamp=info.start_timestamp,
            )
        yield client


def _owned(info: RunningInfo) -> tuple[MessageQueue, ...] | None:
    """Return queues that a client reports to pull or pop, None where it reports neither."""
    if info.owned is None and not info.popped:
        return None
    return tuple(sorted({*(info.owned or ()), *info.popped}))


def _most(counts: Counter[str], otherwise: str) -> str:
    return min(counts, key=lambda value: (-counts[value], value)) if counts else otherwise
