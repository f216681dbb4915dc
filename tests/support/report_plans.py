"""Plans to draw: one as people have it, one of names that attack whoever shows them, and one too large to draw whole."""

from rmqalloc.audit._finding import Finding
from rmqalloc.model import MessageQueue
from rmqalloc.plans._plan_snapshot import plan_snapshot
from rmqalloc.snapshot._snapshot import Client, Group, Lag, Snapshot, Topic, TopicBroker

HOSTILE = (
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    '"><svg onload=document.title="owned">',
    "</title></style></script><script>document.title='owned'</script>",
    "javascript:alert(1)//https://evil.example/x",
    "\u202egnp.exe\u202c \u2066turned\u2069",
    "שלום-הזמנות",
    "nul\x00 esc\x1b[2J\r\nline",
    "é\u0301\u0301 订单服务 😀 &amp; &#60;b&#62;",
    "-->]]><!--",
    "x" * 5000,
    "订" * 70,
    "WM@" * 30,
    "style='position:fixed' onclick=document.title='owned' ",
)


def everyday():
    """Three services on two machine rooms; what if pods join, a broker goes, or the ring gets more positions."""
    rooms = {"broker-a": "dc1", "broker-b": "dc1", "broker-c": "dc2"}
    topics = [
        Topic(name, tuple(TopicBroker(broker, n, n, machine_room=room) for broker, room in rooms.items()))
        for name, n in (("orders", 8), ("order-events", 4), ("payments", 6), ("audit-log", 2))
    ]
    groups = (
        Group(
            "order-service", ("orders", "order-events"), _clients("10.0.3", 7), strategy="CONSISTENT_HASH", lags=_lags()
        ),
        Group("payment-service", ("payments", "orders"), _clients("10.0.4", 5), strategy="AVG"),
        Group("audit-writer", ("audit-log",), _clients("10.0.5", 8), strategy="AVG"),
        Group("notifier", ("orders",), _clients("10.0.6", 3), message_model="BROADCASTING", strategy="AVG"),
    )
    scenarios = [
        {"name": "two more pods", "changes": [{"add_clients": {"count": 2, "name": "10.0.9.{n}@4100"}}]},
        {"name": "broker-c leaves", "changes": [{"remove_broker": {"brokers": "broker-c"}}]},
    ]
    return plan_snapshot(Snapshot(tuple(topics), groups), scenarios)


def everyday_findings():
    """As an audit would find them."""
    queues = tuple(MessageQueue("audit-log", "broker-a", i) for i in range(2))
    return (
        Finding(
            "double-owned",
            "error",
            "order-service",
            "orders",
            queues[:1],
            ("10.0.3.1@4121", "10.0.3.2@4122"),
            "1 queue has two owners",
            "Restart the older client.",
        ),
        Finding(
            "idle-clients",
            "warning",
            "audit-writer",
            None,
            (),
            tuple(f"10.0.5.{i}@41{i}" for i in range(9)),
            "2 clients of 8 own no queue",
            "Run 6 clients, or give the topic 8 queues.",
        ),
    )


def hostile():
    """Groups, topics, brokers, clients and scenarios of such names."""
    topics = tuple(Topic(name, (TopicBroker(name, 5, 5, machine_room=name),)) for name in HOSTILE)
    clients = tuple(Client(name, machine_room=name) for name in HOSTILE)
    groups = tuple(Group(name, tuple(HOSTILE), clients, strategy="AVG") for name in HOSTILE)
    broken = Group("<b>broken</b>", (HOSTILE[0],), clients, strategy="<script>document.title='owned'</script>")
    scenarios = [{"name": name, "changes": [{"remove_clients": {"ids": HOSTILE[2]}}]} for name in HOSTILE[:4]]
    return plan_snapshot(Snapshot(topics, (*groups, broken)), scenarios)


def hostile_findings():
    """The same in an audit."""
    return tuple(
        Finding(name, "error", name, name, (MessageQueue(name, name, 0),), (name,), name, name) for name in HOSTILE
    )


def many(n_groups=120, n_clients=90, n_topics=12):
    """More groups, clients and topics than a page shows."""
    topics = tuple(
        Topic(f"topic-{i:02}", (TopicBroker("broker-a", 8 + i), TopicBroker("broker-b", 8))) for i in range(n_topics)
    )
    names = tuple(topic.name for topic in topics)
    groups = [
        Group(f"service-{i:03}", names[: 1 + i % n_topics], _clients(f"10.{i}.0", 3 + i % 5), strategy="AVG")
        for i in range(n_groups)
    ]
    groups.append(Group("large-service", names, _clients("10.200.1", n_clients), strategy="CONSISTENT_HASH"))
    return plan_snapshot(
        Snapshot(topics, tuple(groups)), [{"name": "two less", "changes": [{"remove_clients": {"count": 2}}]}]
    )


def _clients(prefix, n):
    return tuple(Client(f"{prefix}.{i}@{4120 + i}", machine_room=f"dc{1 + i % 2}") for i in range(1, n + 1))


def _lags():
    brokers = ("broker-a", "broker-b", "broker-c")
    return tuple(
        Lag(MessageQueue("orders", broker, i), 90_000 + 977 * i, 88_000) for broker in brokers for i in range(8)
    )
