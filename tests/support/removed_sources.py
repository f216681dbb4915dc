"""Snapshots without one of their sources of knowledge, as a reader leaves them that did not get
that answer.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace

from rmqalloc.audit import Findings
from rmqalloc.snapshot.snapshot import Group, Snapshot, SourceError, Topic

WHY = "it was not given"


def without_one(snapshot: Snapshot) -> Iterator[tuple[str, Snapshot]]:
    """Every snapshot that lacks one source, by what it lacks."""
    for at, group in enumerate(snapshot.groups):
        for what, less in _of_group(group):
            yield f"{what} of {group.name}", _with_group(snapshot, at, less)
        rest = (*snapshot.groups[:at], *snapshot.groups[at + 1 :])
        yield (
            f"group {group.name}",
            replace(snapshot, groups=rest, unknown=snapshot.unknown | {"subscriptions": WHY}),
        )
    for at, topic in enumerate(snapshot.topics):
        rest = (*snapshot.topics[:at], *snapshot.topics[at + 1 :])
        failed = SourceError("name server", f"route of topic {topic.name}", "timeout")
        yield (
            f"route of {topic.name}",
            replace(snapshot, topics=rest, errors=(*snapshot.errors, failed)),
        )
        guessed = _guessed(topic, snapshot)
        yield f"guessed route of {topic.name}", replace(snapshot, topics=(*rest, *([guessed] if guessed else ())),
            unknown=snapshot.unknown | {"routes": WHY})  # fmt: skip
    for broker in sorted({one.broker_name for topic in snapshot.topics for one in topic.brokers}):
        yield f"broker {broker}", _without_broker(snapshot, broker)


def _with_group(snapshot: Snapshot, at: int, group: Group) -> Snapshot:
    return replace(snapshot, groups=(*snapshot.groups[:at], group, *snapshot.groups[at + 1 :]))


def _of_group(group: Group) -> Iterator[tuple[str, Group]]:
    yield (
        "clients",
        replace(
            group, clients=(), broker_client_ids=None, unknown=group.unknown | {"clients": WHY}
        ),
    )
    yield "lags", replace(group, lags=())
    yield (
        "subscriptions",
        replace(group, subscriptions=(), unknown=group.unknown | {"subscriptions": WHY}),
    )
    for broker in group.broker_client_ids or {}:
        yield f"clients at {broker}", _without_list(group, broker)
    for at, client in enumerate(group.clients):
        rest = group.clients[:at], group.clients[at + 1 :]
        if client.owned is not None and client.client_id not in group.client_ids[:at]:
            # A cluster is asked by id, so one answer stands for all processes that share it.
            silent = (
                replace(one, owned=None) if one.client_id == client.client_id else one
                for one in group.clients
            )
            yield f"owners of client {at}", replace(group, clients=tuple(silent))
        if client.subscriptions is not None:
            less = replace(client, subscriptions=None, filters=None)
            clients, unknown = (*rest[0], less, *rest[1]), group.unknown | {"subscriptions": WHY}
            yield f"subscriptions of client {at}", replace(group, clients=clients, unknown=unknown)


def _without_list(group: Group, broker: str) -> Group:
    """The group as the other brokers list it: the longest list counts."""
    lists = {name: ids for name, ids in (group.broker_client_ids or {}).items() if name != broker}
    listed = max(lists.values(), key=len, default=())
    left, clients = list(listed), []
    for client in group.clients:
        if client.client_id in left:
            left.remove(client.client_id)
            clients.append(client)
    more = type(group.clients[0]) if group.clients else None
    clients += [more(one) for one in left] if more else []
    several = lists if len(set(lists.values())) > 1 else None
    return replace(
        group,
        clients=tuple(clients),
        broker_client_ids=several,
        unknown=group.unknown | {"clients": WHY},
    )


def _guessed(topic: Topic, snapshot: Snapshot) -> Topic | None:
    """The topic as far as lags and owned queues name its queues."""
    named = [lag.queue for group in snapshot.groups for lag in group.lags]
    named += [
        queue
        for group in snapshot.groups
        for client in group.clients
        for queue in client.owned or ()
    ]
    counts: dict[str, int] = {}
    for queue in named:
        if queue.topic == topic.name and queue.queue_id >= 0:
            counts[queue.broker_name] = max(counts.get(queue.broker_name, 0), queue.queue_id + 1)
    if not counts:
        return None
    from rmqalloc.snapshot.snapshot import TopicBroker

    brokers = tuple(TopicBroker(name, n) for name, n in sorted(counts.items()))
    return Topic(topic.name, brokers, {"routes": WHY})


def _without_broker(snapshot: Snapshot, name: str) -> Snapshot:
    """The snapshot as it is read while a broker does not answer."""
    groups = []
    for group in snapshot.groups:
        less = _without_list(group, name) if name in (group.broker_client_ids or {}) else group
        lags = tuple(lag for lag in group.lags if lag.queue.broker_name != name)
        groups.append(replace(less, lags=lags, unknown=group.unknown | {"clients": WHY}))
    brokers = tuple(
        replace(one, is_silent=one.is_silent or one.broker_name == name) for one in snapshot.brokers
    )
    return replace(snapshot, groups=tuple(groups), brokers=brokers)


def subjects(findings: Findings, said: Collection[tuple[str, ...]] = ()) -> set[tuple[str, ...]]:
    """What errors are about: queues and clients of groups; where an error names neither, the group
    itself. Errors that are about queues `said` alone do not count.
    """
    found: set[tuple[str, ...]] = set()
    for one in findings:
        if one.severity == "error":
            named = [("queue", one.consumer_group, *map(str, queue)) for queue in one.queues]
            if named and set(named) <= set(said):
                continue
            named += [("client", one.consumer_group, client) for client in one.clients]
            found.update(named or [("group", one.consumer_group, one.rule, one.topic or "")])
    return found


def is_all_clear(findings: Findings) -> bool:
    """Whether an audit says that nothing is wrong, and names nothing that is not known."""
    return not findings and not findings.unread.num_rows and not findings.not_known


def reported(snapshot: Snapshot, what: str) -> set[tuple[str, ...]]:
    """Queues of which a removed source says who owns them: without it what clients compute counts,
    which may leave them out. Or queues that a guessed route has and the known one has not.
    """
    if what.startswith("guessed route of "):
        [topic] = (known for known in snapshot.topics if what.endswith(f" {known.name}"))
        guessed = _guessed(topic, snapshot)
        more = set(guessed.queues() if guessed else ()) - set(topic.queues())
        return {
            ("queue", group.name, *map(str, queue)) for group in snapshot.groups for queue in more
        }
    if not what.startswith(("owners of ", "subscriptions of client ")):
        return set()
    return {
        ("queue", group.name, *map(str, queue))
        for group in snapshot.groups
        for client in group.clients
        for queue in client.owned or ()
        if what.startswith("owners of ") or not _is_read(group, queue.topic)
    }


def _is_read(group: Group, topic: str) -> bool:
    """Whether a client subscribes to a topic: of one that none does nobody reads what it owns."""
    of_clients = (client.subscriptions for client in group.clients)
    return any(topic in (group.subscriptions if names is None else names) for names in of_clients)


def wrong(before: Findings, after: Findings, said: Collection[tuple[str, ...]] = ()) -> str | None:
    """What an audit says without a source that it must not say, given what it says with it, and
    queues of which the source itself says something; None if nothing.
    """
    known = subjects(before) | set(said)
    if new := subjects(after, known if said else ()) - known:
        return f"an error is new: {min(new)}"
    is_at_stake = bool(before.unread.num_rows or before.at_least("warning"))
    return "a fault becomes an all-clear" if is_at_stake and is_all_clear(after) else None
