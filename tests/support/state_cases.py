"""Small clusters whose readers are worked out by hand, by `docs/reference/findings.md` and RocketMQ's rules.

Topic ``orders`` has the queues a:0 to a:3 unless a case says otherwise; clients are c1, c2, ... by
slot. Under AVG two clients have two queues each, and three have 2, 1 and 1.
"""

from audited import TOPIC, group, queues, snapshot, topic

from rmqalloc.snapshot.snapshot import Client

Q0, Q1, Q2, Q3 = queues(range(4))
FOUR = (topic(a=4),)
SEES_TWO = {TOPIC: {"a": 2}}
STALE = Client("c2", sees_read_queue_nums=SEES_TWO)
BY_CIRCLE = Client("c2", strategy="AVG_BY_CIRCLE")
ELSEWHERE = Client("c2", subscriptions=("pay",))


def owning(client_id, *owned):
    return Client(client_id, owned=owned)


def cluster(*clients, topics=FOUR, errors=(), **fields):
    return snapshot(group(*clients, **fields), topics=topics, errors=errors)


def pop(*clients, share):
    return cluster(*clients, server_assignment="POP", pop_share_queue_num=share)


def by_queue(readers_of):
    """Readers of each queue in order, as text: ``"0 01 - 1"``."""
    return " ".join("".join(map(str, readers)) or "-" for readers in readers_of)


SPLIT_LISTS = {"a": ("c1", "c2"), "b": ("c2",)}

CASES = {
    "nobody": cluster(),
    "two clients": cluster("c1", "c2"),
    "more clients than queues": cluster("c1", "c2", "c3", "c4", "c5"),
    # Both holders of an id take the share of its first place; nobody has that of the second place.
    "duplicate id": cluster("c1", "c1"),
    "duplicate id of three": cluster("c1", "c2", "c2"),
    # c1 takes 0 and 1, c2 takes 1 and 3.
    "different strategies": cluster("c1", BY_CIRCLE),
    # What all clients report is what they run, whatever the snapshot says.
    "all report another strategy": cluster(Client("c1", strategy="AVG_BY_CIRCLE"), BY_CIRCLE),
    # c2 divides the queues 0 and 1 alone, and is the second client.
    "stale route": cluster("c1", STALE),
    # c1 divides eight queues, of which the first four are there.
    "route with a broker that is gone": cluster(
        Client("c1", sees_read_queue_nums={TOPIC: {"a": 4, "z": 4}}), "c2"
    ),
    # A topic is divided among all clients, also those that do not subscribe.
    "one does not subscribe": cluster("c1", ELSEWHERE),
    "nobody subscribes": cluster(Client("c1", subscriptions=("pay",)), ELSEWHERE),
    "subscriptions not known": cluster("c1", "c2", unknown={"subscriptions": "not asked"}),
    # By the list of broker b, c2 is alone, and c1 is not in the list and has nothing.
    "split client lists": cluster(
        "c1", "c2", topics=(topic(a=2, b=2),), broker_client_ids=SPLIT_LISTS
    ),
    "broadcast": cluster("c1", "c2", message_model="BROADCASTING"),
    "broadcast, stale route": cluster("c1", STALE, message_model="BROADCASTING"),
    "behind a proxy": cluster("c1", "c2", is_shared=True),
    # Each client pops its own share and that of the next client.
    "POP, share 1": pop("c1", "c2", "c3", share=1),
    "POP, everybody": pop("c1", "c2", share=-1),
    # Client number i pops queue i mod 4.
    "POP, more clients than queues": pop("c1", "c2", "c3", "c4", "c5", share=1),
    "reported as computed": cluster(owning("c1", Q0, Q1), owning("c2", Q2, Q3)),
    "reported otherwise": cluster(owning("c1", Q0, Q1, Q2, Q3), owning("c2")),
    "reported twice": cluster(owning("c1", Q0, Q1), owning("c2", Q1, Q2, Q3)),
    "reported by nobody": cluster(owning("c1", Q0, Q1), owning("c2", Q2)),
    "silent client": cluster(owning("c1", Q0, Q1, Q2), "c2"),
    "one of two with one id is silent": cluster(owning("c1", Q0, Q1, Q2), "c1"),
}
