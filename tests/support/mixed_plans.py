"""Groups whose clients differ, as hypothesis draws them, and the plain twin of their plans: every client asked on its own."""

from collections import Counter
from dataclasses import replace
from itertools import product

import audited
from audited import TOPIC, share, topics
from hypothesis import strategies as st

from rmqalloc import sort_queues
from rmqalloc.snapshot.snapshot import Client, Group, Topic

NAMES = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")


@st.composite
def clients(draw):
    """A client of which it is known what it divides by."""
    name = draw(st.sampled_from(NAMES))
    return Client(
        draw(audited.ids),
        strategy=name,
        virtual_nodes=draw(st.integers(0, 9)) if name == "CONSISTENT_HASH" else None,
        subscriptions=draw(st.none() | st.just((TOPIC,)) | st.just(("other",))),
        sees_read_queue_nums=draw(
            st.none() | topics.map(lambda one: {TOPIC: {b.broker_name: b.read_queue_nums for b in one.brokers}})
        ),
    )


@st.composite
def groups(draw):
    """A group given by its own strategy, whose clients report others or nothing."""
    made = draw(st.lists(clients() | audited.ids.map(Client), min_size=1, max_size=6))
    name = draw(st.sampled_from(NAMES))
    params = {"virtual_nodes": draw(st.integers(0, 9))} if name == "CONSISTENT_HASH" else {}
    listed = st.lists(st.sampled_from([one.client_id for one in made] + ["c0"]), max_size=7)
    lists = draw(st.none() | st.dictionaries(st.sampled_from("abc"), listed.map(tuple), min_size=1, max_size=3))
    return Group(
        "g",
        (TOPIC,),
        tuple(made),
        strategy=name,
        strategy_params=params,
        strategy_source="given",
        broker_client_ids=lists,
    )


def changes():
    """A change as data, and what it makes of a topic and a group."""
    return st.one_of(
        st.sampled_from(NAMES[:2]).map(lambda name: {"set_strategy": {"strategy": name}}),
        audited.ids.map(lambda one: {"remove_clients": {"ids": one}}),
        st.sampled_from(["c0", "c11", "z"]).map(lambda one: {"add_clients": {"ids": one}}),
        st.integers(1, 6).map(lambda n: {"set_queues": {"read_queue_nums": n}}),
    )


def changed(change, topic, group):
    """The topic and the group after a change."""
    [(kind, what)] = change.items()
    if kind == "set_strategy":
        alike = (replace(one, strategy=None, virtual_nodes=None) for one in group.clients)
        return topic, replace(group, clients=tuple(alike), strategy=what["strategy"], strategy_params={})
    if kind == "remove_clients":
        lists = {
            b: tuple(one for one in ids if one != what["ids"]) for b, ids in (group.broker_client_ids or {}).items()
        }
        left = tuple(one for one in group.clients if one.client_id != what["ids"])
        return topic, replace(group, clients=left, broker_client_ids=lists or None)
    if kind == "add_clients":
        lists = {b: (*ids, what["ids"]) for b, ids in (group.broker_client_ids or {}).items()}
        return topic, replace(group, clients=(*group.clients, Client(what["ids"])), broker_client_ids=lists or None)
    n = what["read_queue_nums"]
    stale = [
        one
        if one.sees_read_queue_nums is None
        else replace(one, sees_read_queue_nums={TOPIC: dict.fromkeys(one.sees_read_queue_nums[TOPIC], n)})
        for one in group.clients
    ]
    return Topic(topic.name, tuple(replace(one, read_queue_nums=n) for one in topic.brokers)), replace(
        group, clients=tuple(stale)
    )


def everyone(group):
    """All clients, those that only some brokers list too."""
    clients, listed = list(group.clients), Counter(group.client_ids)
    for ids in (group.broker_client_ids or {}).values():
        clients += [Client(one) for one in (Counter(ids) - listed).elements()]
        listed |= Counter(ids)
    return clients


def lists_of(topic, group):
    """Client lists that a client may be given."""
    lists = group.broker_client_ids or {}
    mine = [lists[one.broker_name] for one in topic.brokers if one.broker_name in lists]
    return mine or [*lists.values()] or [group.client_ids]


def clients_reading(topic, group):
    """The clients that may read each queue, each as its id and how often that comes before."""
    found = {queue: set() for queue in sort_queues(topic.queues())}
    for client, one in zip(everyone(group), clients_of(group), strict=True):
        for queue in set().union(*(share(group, client, topic, ids) for ids in lists_of(topic, group))):
            if queue in found:
                found[queue].add(one)
    return found


def clients_of(group):
    """Every client of a group, as its id and how often that comes before."""
    seen = Counter()
    ids = [one.client_id for one in everyone(group)]
    return [(one, seen.update([one]) or seen[one] - 1) for one in ids]


def readers(topic, group):
    """The client ids that may read each queue, and how many clients surely do."""
    found = {queue: (set(), []) for queue in sort_queues(topic.queues())}
    for client in everyone(group):
        shares = [share(group, client, topic, ids) for ids in lists_of(topic, group)]
        for queue, (ids, sure) in found.items():
            if any(queue in one for one in shares):
                ids.add(client.client_id)
                sure.append(all(queue in one for one in shares))
    return {queue: (ids, sum(sure)) for queue, (ids, sure) in found.items()}


def least_moves(before, after, able):
    """Fewest queues whose owners change to any state with one owner each and even loads, by trying all such states."""
    both = [queue for queue in after if queue in before]
    if not able:
        return sum(bool(before[queue][0]) for queue in both)
    best = len(after)
    for owners in product(sorted(able), repeat=len(after)):
        loads = [owners.count(one) for one in able]
        if max(loads) - min(loads) <= 1:
            pairs = zip(after, owners, strict=True)
            best = min(best, sum(before[queue][0] != {owner} for queue, owner in pairs if queue in before))
    return best


def able(topic, group):
    """Ids that may own queues of the topic: all that subscribe."""
    return {one.client_id for one in everyone(group) if one.subscriptions is None or topic.name in one.subscriptions}


def figures(before, after, group):
    """What a plan has to say of a unit."""
    loads = Counter(client for ids, _ in after.values() for client in ids)
    listed = Counter(one.client_id for one in everyone(group))
    each = [0 if again else loads[one] for one, n in listed.items() for again in range(n)]
    nobody = set(), 0
    changes = [(before.get(queue, nobody)[0], after.get(queue, nobody)[0]) for queue in before.keys() | after.keys()]
    return {
        "n_queues": len(after),
        "n_clients": len(each),
        "idle": each.count(0),
        "unowned": sum(not ids for ids, _ in after.values()),
        "double_owned": sum(sure > 1 for _, sure in after.values()),
        "min_load": min(each, default=0),
        "max_load": max(each, default=0),
        "moved": sum(before[queue][0] != after[queue][0] for queue in before.keys() & after.keys()),
        "clients_affected": len({one for was, is_ in changes for one in was ^ is_}),
    }
