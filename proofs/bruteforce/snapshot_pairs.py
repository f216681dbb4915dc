"""Pairs of snapshots as hypothesis draws them, and the plain twin of their difference: every client
is asked on its own.
"""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import mixed_plans
from audited import TOPIC, plain_groups, topics
from hypothesis import strategies as st

from bruteforce.twin import computed
from rmqalloc.snapshot.snapshot import Client, Snapshot

OTHER = "other"
STEPS = ("topics", "subscriptions", "strategies", "clients_left", "clients_joined", "views")
FIELDS = tuple(Client.__slots__)
OF_STRATEGY = ("strategy", "virtual_nodes", "language", "machine_room")


@st.composite
def snapshots(draw):
    """A topic or two, a group whose clients may differ, and perhaps one whose clients do not."""
    routes = [draw(topics)]
    if draw(st.booleans()):
        routes.append(replace(draw(topics), name=OTHER))
    mine = replace(
        draw(mixed_plans.groups()),
        subscriptions=draw(st.sampled_from([(TOPIC,), (TOPIC, OTHER), (OTHER,)])),
    )
    found = [mine]
    if draw(st.booleans()):
        plain = draw(plain_groups)
        params = {"virtual_nodes": 3} if plain.strategy == "CONSISTENT_HASH" else {}
        found.append(replace(plain, name="h", strategy_params=params, strategy_source="given"))
    return Snapshot(tuple(routes), tuple(found))


@st.composite
def pairs(draw):
    """Two snapshots: drawn apart, or alike but for a part of one group."""
    before, after = draw(snapshots()), draw(snapshots())
    if draw(st.booleans()):
        fields = draw(
            st.sets(
                st.sampled_from(["clients", "strategy", "broker_client_ids", "subscriptions"]),
                max_size=2,
            )
        )
        fields |= {"strategy_params"} if "strategy" in fields else set()
        new = replace(before.groups[0], **{name: getattr(after.groups[0], name) for name in fields})
        routes = draw(st.sampled_from([before.topics, after.topics]))
        after = Snapshot(routes, (new, *before.groups[1:]))
    return before, after


def owners(snapshot):
    """Who may read each queue of each group."""
    return {
        (state.unit.main.group, *queue): ids
        for state in computed(snapshot)
        for queue, ids in state.owners.items()
    }


def change(before, after):
    """What became of a queue, given its owners; None where it is not there."""
    if before is None or after is None:
        return "new" if before is None else "gone"
    if not after:
        return "unowned"
    if len(after) > 1:
        return "moved" if len(before) > 1 else "double_owned"
    return "moved" if len(before) == 1 else "repaired"


def differing(before, after):
    """Queues whose owners differ, with these and what became of them."""
    old, new = owners(before), owners(after)
    sides = {queue: (old.get(queue), new.get(queue)) for queue in old.keys() | new.keys()}
    return {queue: (*side, change(*side)) for queue, side in sides.items() if side[0] != side[1]}


def flows(before, after):
    """Queues before and after, gained and lost, by group and client; those alone that gain or lose."""
    old, new = owners(before), owners(after)
    counts = {}
    for queue in old.keys() | new.keys():
        had, has = old.get(queue, frozenset()), new.get(queue, frozenset())
        for client in had | has:
            each = (client in had, client in has, client in has - had, client in had - has)
            mine = counts.setdefault((queue[0], client), [0, 0, 0, 0])
            mine[:] = [one + more for one, more in zip(mine, each, strict=True)]
    return {key: tuple(each) for key, each in counts.items() if each[2] or each[3]}


def presence(before, after):
    """Clients of a group that are on one side alone, as often as they are."""
    old, new = (Counter(one.client_ids) for one in (before, after))
    return Counter({("left", one): n for one, n in (old - new).items()}) + Counter(
        {("joined", one): n for one, n in (new - old).items()}
    )


# --- The replay ---


def states(before, after, name):
    """Owners in a group of both snapshots, before and after each kind of differences is done to the
    first.
    """
    old, new = ({group.name: group for group in one.groups}[name] for one in (before, after))
    clients = {key: dict(zip(FIELDS, fields, strict=True)) for key, fields in _keyed(old)}
    theirs = {key: dict(zip(FIELDS, fields, strict=True)) for key, fields in _keyed(new)}
    both = clients.keys() & theirs.keys()
    group, lists = old, {broker: list(ids) for broker, ids in (old.broker_client_ids or {}).items()}

    def seen(routes):
        made = tuple(Client(**fields) for fields in clients.values())
        given = {broker: tuple(ids) for broker, ids in lists.items()} or None
        return owners(Snapshot(routes, (replace(group, clients=made, broker_client_ids=given),)))

    yield seen(before.topics)
    yield seen(after.topics)
    group = replace(group, subscriptions=new.subscriptions)
    for key in both:
        clients[key]["subscriptions"] = theirs[key]["subscriptions"]
    yield seen(after.topics)
    group = replace(group, strategy=new.strategy, strategy_params=new.strategy_params)
    for key in both:
        clients[key] |= {field: theirs[key][field] for field in OF_STRATEGY}
    yield seen(after.topics)
    for client_id, n in (Counter(old.client_ids) - Counter(new.client_ids)).items():
        for listed in lists.values():
            for _ in range(min(n, listed.count(client_id))):
                listed.remove(client_id)
    for key in clients.keys() - both:
        del clients[key]
    lists = lists if clients else {}
    yield seen(after.topics)
    for client_id in (Counter(new.client_ids) - Counter(old.client_ids)).elements():
        for listed in lists.values():
            listed.append(client_id)
    clients |= {key: dict(theirs[key]) for key in theirs.keys() - both}
    yield seen(after.topics)
    for key in both:
        clients[key]["sees_read_queue_nums"] = theirs[key]["sees_read_queue_nums"]
    lists = dict(new.broker_client_ids or {})
    yield seen(after.topics)


def moved_by_step(before, after, name):
    """How many queues that are on both sides each kind of differences moves."""
    there = owners(before).keys() & owners(after).keys()
    found = Counter()
    made = list(states(before, after, name))
    for step, (one, other) in zip(STEPS, pairwise(made), strict=True):
        found[step] = sum(one[queue] != other[queue] for queue in there if queue[0] == name)
    return +found


def _keyed(group):
    """Clients with their fields, by id and number of its repeat."""
    seen = Counter()
    for client in group.clients:
        yield (client.client_id, seen[client.client_id]), [getattr(client, name) for name in FIELDS]
        seen[client.client_id] += 1
