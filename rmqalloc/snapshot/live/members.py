"""A group of a snapshot from what brokers and clients say of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.live.answers import Connection, Connections, RunningInfo
from rmqalloc.snapshot.model import Client, Group, Lag, Topic


def group(
    name: str,
    view: Mapping[str, Connections],
    infos: Mapping[str, RunningInfo],
    routes: Mapping[str, Topic],
    lags: tuple[Lag, ...] = (),
    consume_tps: float | None = None,
) -> Group:
    """Put together what is known of one group.

    Parameters
    ----------
    name : str
    view : mapping of broker name to Connections
        The group as each broker that knows it lists it.
    infos : mapping of client id to RunningInfo
    routes : mapping of topic to Topic
    lags : tuple of Lag
    consume_tps : float, optional

    Notes
    -----
    A client registers at the brokers of its topics, so only those lists are compared; the longest of them is the group's.
    Several connections of one client id are several clients, as they are for RocketMQ's strategies.
    """
    subscriptions = sorted({topic for one in view.values() for topic in one.subscriptions})
    holders = {b.broker_name for topic in subscriptions if topic in routes for b in routes[topic].brokers}
    lists = {broker: one for broker, one in view.items() if broker in holders} or view
    ids = {broker: tuple(c.client_id for c in one.connections) for broker, one in sorted(lists.items())}
    longest = max(lists.values(), key=lambda one: len(one.connections)).connections if lists else ()
    models = Counter(one.message_model for one in view.values())
    strategies = Counter(info.strategy for info in infos.values() if info.strategy is not None)
    served = [info for info in infos.values() if not info.client_rebalance and not info.is_ordered]
    return Group(
        name,
        tuple(subscriptions),
        tuple(_clients(longest, infos)),
        message_model=_most(models, "CLUSTERING"),
        strategy=_most(strategies, "AVG"),
        is_ordered=any(info.is_ordered for info in infos.values()),
        server_assignment=("POP" if any(info.popped for info in served) else "PULL") if served else None,
        broker_client_ids=ids if len(set(ids.values())) > 1 else None,
        lags=lags,
        consume_tps=consume_tps,
    )


def _clients(connections: Iterable[Connection], infos: Mapping[str, RunningInfo]) -> Iterable[Client]:
    """Clients of a list; of several connections of one id only one answers for itself, so only the first gets it."""
    answered = set()
    for one in connections:
        info = None if one.client_id in answered else infos.get(one.client_id)
        answered.add(one.client_id)
        if info is None:
            yield Client(one.client_id, language=one.language, version=one.version)
            continue
        owned: tuple[MessageQueue, ...] = tuple(sorted({*info.owned, *info.popped}))
        yield Client(
            one.client_id,
            language=one.language,
            version=one.version,
            strategy=info.strategy,
            subscriptions=info.subscriptions,
            owned=owned,
        )


def _most(counts: Counter[str], otherwise: str) -> str:
    return min(counts, key=lambda one: (-counts[one], one)) if counts else otherwise
