"""Snapshots as hypothesis draws them, and their plans by the slow twin, name by name."""

from collections import Counter

import drawn_units
import plan_twin
from hypothesis import strategies as st

from rmqalloc import MessageQueue
from rmqalloc.snapshot.snapshot import Client, Group, Lag, Snapshot, Topic, TopicBroker

TOPICS = ("T1", "T2", "t3", "%RETRY%g1")
RULES = [*drawn_units.STRATEGIES, ("CONSISTENT_HASH", {"virtual_nodes": 7})]


@st.composite
def snapshots(draw, rooms=False):
    """A few topics, and groups that each subscribe to some of them."""
    topics = tuple(draw(topic(name, rooms)) for name in TOPICS)
    groups = tuple(draw(group(name, topics, rooms)) for name in draw(st.sampled_from([["g1"], ["g1", "other", "g2"]])))
    return Snapshot(topics, groups)


@st.composite
def topic(draw, name, rooms):
    names = draw(st.lists(st.sampled_from(drawn_units.BROKERS), min_size=1, max_size=4, unique=True))
    room = drawn_units.room_of if rooms else lambda _: None
    counts = [draw(st.integers(0 if i else 1, 4)) for i in range(len(names))]
    return Topic(name, tuple(TopicBroker(b, n, machine_room=room(b)) for b, n in zip(names, counts, strict=True)))


@st.composite
def group(draw, name, topics, rooms):
    ids = draw(st.lists(st.sampled_from(drawn_units.CLIENTS), min_size=1, max_size=6, unique=draw(st.booleans())))
    rule, params = draw(st.sampled_from(RULES + (drawn_units.NEARBY if rooms else [])))
    room = drawn_units.room_of if rooms else lambda _: None
    subscriptions = tuple(draw(st.lists(st.sampled_from(TOPICS), min_size=1, max_size=3, unique=True)))
    queues = [queue for one in topics if one.name in subscriptions for queue in one.queues()]
    some = draw(st.lists(st.sampled_from(queues), max_size=5, unique=True))
    lags = tuple(Lag(queue, draw(st.integers(0, 50)), 0) for queue in some)
    return Group(
        name, subscriptions, tuple(Client(one, room(one)) for one in ids), "CLUSTERING", rule, params, lags=lags
    )


def rows_of(snapshot):
    """Units as rows for the twin, each with its rule."""
    for one in snapshot.groups:
        for name in one.subscriptions:
            brokers = snapshot.topic(name).brokers
            yield (
                {
                    "consumer_group": one.name,
                    "topic": name,
                    "brokers": [{"broker_name": b.broker_name, "read_queue_nums": b.read_queue_nums} for b in brokers],
                    "client_ids": one.client_ids,
                    "broker_rooms": [b.machine_room for b in brokers],
                    "client_rooms": [c.machine_room for c in one.clients],
                },
                (one.strategy, dict(one.strategy_params)),
            )


def states_of(row, rule, scenarios):
    """The twin's state of a unit in every scenario, the one before any change first."""
    yield "current", plan_twin.state_of(row, rule)
    for one in scenarios:
        fits = plan_twin.matches(one.get("groups", "*"), row["consumer_group"])
        fits = fits and plan_twin.matches(one.get("topics", "*"), row["topic"])
        yield one["name"], plan_twin.changed(plan_twin.state_of(row, rule), one["changes"] if fits else [])


def details(snapshot, scenarios):
    """Rows of the tables of clients and queues by the twin; nothing may be refused."""
    clients, queues = {}, {}
    for row, rule in rows_of(snapshot):
        (_, before), *_ = states = list(states_of(row, rule, scenarios))
        old = plan_twin.owned(before, before.owners())
        lags = {
            lag.queue: lag.messages for one in snapshot.groups for lag in one.lags if one.name == row["consumer_group"]
        }
        for name, after in states:
            new = plan_twin.owned(after, after.owners())
            key = (name, row["consumer_group"], row["topic"])
            for queue in old.keys() | new.keys():
                owners = old.get(queue), new.get(queue)
                queues[*key, *queue] = (*owners, change(queue, old, new), lags.get(MessageQueue(row["topic"], *queue)))
            was, is_ = ({client_id for client_id, _ in state.clients} for state in (before, after))
            for client_id in was | is_:
                mine = [{queue for queue, owner in own.items() if owner == client_id} for own in (old, new)]
                status = "stays" if client_id in was & is_ else "new" if client_id in is_ else "gone"
                flows = (len(mine[1] - mine[0]), len(mine[0] - mine[1]))
                clients[*key, client_id] = (len(mine[0]), len(mine[1]), *flows, status)
    return clients, queues


def change(queue, old, new):
    if queue not in new:
        return "gone"
    if new[queue] is None:
        return "unowned"
    if queue not in old:
        return "new"
    return "kept" if old[queue] == new[queue] else "moved"


def group_figures(snapshot, scenarios, units):
    """Rows of the table of groups by the twin, from its own states and the figures of the units."""
    clients, queues = details(snapshot, scenarios)
    slots, double = Counter(), Counter()
    for row, rule in rows_of(snapshot):
        for name, state in states_of(row, rule, scenarios):
            key = (name, row["consumer_group"])
            ids = Counter((*key, client_id) for client_id, _ in state.clients)
            slots |= ids  # of several topics the most repeats of an id
            owners = plan_twin.owned(state, state.owners()).values()
            double[key] += sum(ids[*key, owner] > 1 for owner in owners if owner is not None)
    for name in ["current", *(one["name"] for one in scenarios)]:
        for one in snapshot.groups:
            key = (name, one.name)
            yield figures_of(
                key,
                {client_id: n for (*of, client_id), n in slots.items() if tuple(of) == key},
                {of[2:]: row for of, row in clients.items() if of[:2] == key},
                [row for of, row in queues.items() if of[:2] == key],
                [row for row in units if (row["scenario"], row["consumer_group"]) == key],
            ) | {"double_owned": double[key]}


def figures_of(key, slots, clients, queues, units):
    """One row of the table of groups."""
    loads, growth = Counter(), Counter()
    for (_, client_id), (before, after, *_) in clients.items():
        loads[client_id] += after
        growth[client_id] += after - before
    each = [load for client_id, n in slots.items() for load in [loads[client_id]] + [0] * (n - 1)]
    known = [row for row in queues if row[3] is not None]
    backlog = [row[3] for row in known if row[2] == "moved" or (row[2] == "unowned" and row[0])]
    n_queues, n_clients = sum(row["n_queues"] for row in units), len(each)
    crossing = [row["cross_room"] for row in units if row["cross_room"] is not None]
    return dict(zip(("scenario", "consumer_group"), key, strict=True)) | {
        "n_topics": len(units), "n_queues": n_queues, "n_clients": n_clients, "idle": each.count(0),
        "unowned": sum(row["unowned"] for row in units), "min_load": min(each, default=0),
        "mean_load": n_queues / n_clients if n_clients else 0.0, "max_load": max(each, default=0),
        "skew": max(each, default=0) * n_clients / max(n_queues, 1), "moved": sum(row["moved"] for row in units),
        "least_moves": sum(row["least_moves"] for row in units),
        "clients_affected": len({of[1] for of, row in clients.items() if row[2] or row[3]}),
        "clients_gaining": sum(grow > 0 for grow in growth.values()),
        "clients_losing": sum(grow < 0 for grow in growth.values()), "cross_room": sum(crossing) if crossing else None,
        "backlog_moved": sum(backlog) if known else None,
    }  # fmt: skip
