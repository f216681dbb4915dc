"""A group of a snapshot from what brokers and clients say of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.snapshot.live._answers import ClientConnection, Connections, Modes, RunningInfo
from rmqalloc.snapshot.proxy import is_behind_proxy
from rmqalloc.snapshot.snapshot import Client, Filter, Group, Lag, Topic


def group(
    name: str,
    view: Mapping[str, Connections],
    infos: Mapping[str, RunningInfo],
    routes: Mapping[str, Topic],
    lags: tuple[Lag, ...] = (),
    consume_tps: float | None = None,
    modes: Mapping[str, Modes] | None = None,
    lite_topic: str | None = None,
) -> Group:
    """Put together what is known of one group.

    Notes
    -----
    A client registers at the brokers of its topics, so only those lists are compared; the longest of them is the group's.
    Several connections of one client id are several clients, as they are for RocketMQ's strategies; but a broker that did not
    run for a while has dead connections, too, so an id counts as often as it stands in every list that has it. What strategy
    the group uses is left open: clients report theirs, and `rmqalloc.evidence` weighs that against what they own. A group
    without clients subscribes to nothing that a broker knows; it has the topics of its offsets.
    """
    subscriptions, unknown = _subscriptions(view, infos, lags, lite_topic)
    holders = {
        b.broker_name for topic in subscriptions if topic in routes for b in routes[topic].brokers
    }
    lists = {broker: one for broker, one in view.items() if broker in holders} or view
    lives = _alive({broker: one.connections for broker, one in sorted(lists.items())})
    if any(len(lives[broker]) < len(one.connections) for broker, one in lists.items()):
        unknown["clients"] = (
            "brokers do not list the same connections of one client id: some are dead, or processes share it"
        )
    ids = {broker: tuple(c.client_id for c in some) for broker, some in lives.items()}
    longest = max(lives.values(), key=len, default=())
    models = Counter(one.message_model for one in view.values())
    asked = [one for broker, one in (modes or {}).items() if broker in holders]
    assignment, share = _assignment(name, subscriptions, infos, asked)
    return Group(
        name,
        tuple(subscriptions),
        tuple(_clients(longest, infos)),
        message_model=_most(models, "CLUSTERING"),
        is_shared=lite_topic is not None or any(map(_is_shared, view.values())),
        is_ordered=any(info.is_ordered for info in infos.values()),
        server_assignment=assignment,
        pop_share_queue_num=share,
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
    """Return topics of a group, that of its lite topics among them, which nobody else says; and why
    there may be more.
    """
    parents = () if lite_topic is None else (lite_topic,)
    if view:
        # A broker lists what the client subscribes to that sent the last heartbeat; others may
        # subscribe to more.
        listed = {topic for one in view.values() for topic in one.subscriptions}
        return sorted(listed.union(parents, *(info.subscriptions for info in infos.values()))), {}
    committed = {lag.queue.topic for lag in lags}
    why = "it has no client and brokers have no offsets of it: it never committed any, or it broadcasts"
    if committed:
        why = "it has no client; its topics are those that it committed offsets of"
    return sorted(committed.union(parents)), {"subscriptions": why}


def _is_shared(known: Connections) -> bool:
    """Return whether a broker lists clients that share queues."""
    return known.is_lite or any(is_behind_proxy(one.client_id) for one in known.connections)


def _filters(view: Iterable[Connections]) -> dict[str, tuple[Filter, ...]] | None:
    """Return what brokers say that the group takes of topics, of those that not all of them say it
    takes whole; None if none says.
    """
    told = [one for one in view if one.filters is not None]
    if not told:
        return None
    found: dict[str, set[Filter]] = {}
    for one in told:
        for topic in one.subscriptions:
            found.setdefault(topic, set()).add((one.filters or {}).get(topic, Filter()))
    return {
        topic: tuple(sorted(some, key=lambda one: (one.type, one.expression)))
        for topic, some in sorted(found.items())
        if some != {Filter()}
    }


def _alive(
    lists: Mapping[str, Sequence[ClientConnection]],
) -> dict[str, tuple[ClientConnection, ...]]:
    """Return lists of brokers with every client id as often as all lists have it that have it at
    all.
    """
    counts = [Counter(one.client_id for one in some) for some in lists.values()]
    least = {
        one: min(count[one] for count in counts if one in count)
        for count in counts
        for one in count
    }
    found = {}
    for broker, some in lists.items():
        seen, kept = Counter[str](), []
        for one in some:
            seen[one.client_id] += 1
            kept += [one] if seen[one.client_id] <= least[one.client_id] else []
        found[broker] = tuple(kept)
    return found


def may_be_assigned(view: Mapping[str, Connections], infos: Mapping[str, RunningInfo]) -> bool:
    """Return whether brokers may assign a group's queues: a client says so, or none answers and
    some release can.
    """
    if infos:
        return any(map(_is_served, infos.values()))
    listed = (one for known in view.values() for one in known.connections)
    return any(_assigns(one.version or "") and not is_behind_proxy(one.client_id) for one in listed)


def _assigns(version: str) -> bool:
    """Return whether a release lets brokers assign: 5.0 and later."""
    return version >= "5" and not version.startswith("older")


def _is_served(info: RunningInfo) -> bool:
    """Return whether brokers assign a client's queues; ordered consumers never let them."""
    return not info.client_rebalance and not info.is_ordered


def _assignment(
    name: str, topics: Iterable[str], infos: Mapping[str, RunningInfo], modes: Iterable[Modes]
) -> tuple[str | None, int]:
    """PULL or POP if brokers assign the queues of a group, else None; and the popShareQueueNum that
    all of them have, or 0.

    Where no client says whether they do, a group that somebody has set to POP is taken for one that
    pops.
    """
    keys = [(topic, name) for topic in topics if not topic.startswith(RETRY_PREFIX)]
    is_known = any(map(_is_served, infos.values()))
    if infos and not is_known:
        return None, 0
    found = {
        one.given.get(key, one.default)
        for one in modes
        for key in keys
        if is_known or key in one.given
    }
    shares = {mode.share for mode in found if mode is not None and mode.is_pop}
    if shares or any(info.popped for info in infos.values()):
        return "POP", shares.pop() if len(shares) == 1 else 0
    return ("PULL", 0) if is_known else (None, 0)


def _clients(
    connections: Iterable[ClientConnection], infos: Mapping[str, RunningInfo]
) -> Iterable[Client]:
    """Return clients of a list; of several connections of one id only one answers for itself, so
    only the first gets it.
    """
    answered = set()
    for one in connections:
        client = Client(one.client_id, language=one.language, version=one.version)
        info = None if one.client_id in answered else infos.get(one.client_id)
        answered.add(one.client_id)
        if info is not None:
            client = replace(
                client, strategy=info.strategy, subscriptions=info.subscriptions, owned=_owned(info)
            )
            client = replace(client, filters=info.filters, start_timestamp=info.start_timestamp)
        yield client


def _owned(info: RunningInfo) -> tuple[MessageQueue, ...] | None:
    """Return queues that a client says it pulls or pops, None where it reports neither."""
    return (
        None
        if info.owned is None and not info.popped
        else tuple(sorted({*(info.owned or ()), *info.popped}))
    )


def _most(counts: Counter[str], otherwise: str) -> str:
    return min(counts, key=lambda one: (-counts[one], one)) if counts else otherwise
