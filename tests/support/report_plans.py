"""Plans to draw: one as people have it, one of names that attack whoever shows them, and one too
large to draw whole.
"""

import json
from dataclasses import replace

import pyarrow as pa

from rmqalloc.audit import Findings
from rmqalloc.audit.finding import Finding
from rmqalloc.audit.reach import Reach
from rmqalloc.audit.reach_answers import Answer
from rmqalloc.evidence import EVIDENCE_SCHEMA
from rmqalloc.model import MessageQueue
from rmqalloc.plans._plan import TRANSITIONS_SCHEMA, StoredDetails
from rmqalloc.plans._plan_snapshot import plan_snapshot
from rmqalloc.snapshot.snapshot import Client, Group, Lag, Snapshot, Topic, TopicBroker

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
    """Three services on two machine rooms; what if pods join, a broker goes, or the ring gets more
    positions.
    """
    rooms = {"broker-a": "dc1", "broker-b": "dc1", "broker-c": "dc2"}
    topics = [
        Topic(
            name,
            tuple(TopicBroker(broker, n, n, machine_room=room) for broker, room in rooms.items()),
        )
        for name, n in (("orders", 8), ("order-events", 4), ("payments", 6), ("audit-log", 2))
    ]
    groups = (
        Group(
            "order-service",
            ("orders", "order-events"),
            _clients("10.0.3", 7),
            strategy="CONSISTENT_HASH",
            lags=_lags(),
        ),
        Group("payment-service", ("payments", "orders"), _clients("10.0.4", 5), strategy="AVG"),
        Group("audit-writer", ("audit-log",), _clients("10.0.5", 8), strategy="AVG"),
        Group(
            "notifier",
            ("orders",),
            _clients("10.0.6", 3),
            message_model="BROADCASTING",
            strategy="AVG",
        ),
    )
    scenarios = [
        {
            "name": "two more pods",
            "changes": [{"add_clients": {"count": 2, "name": "10.0.9.{n}@4100"}}],
        },
        {"name": "broker-c leaves", "changes": [{"remove_broker": {"brokers": "broker-c"}}]},
    ]
    return plan_snapshot(
        Snapshot(tuple(topics), groups, fetched_at="2026-11-22T12:00:00Z"), scenarios
    )


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
    scenarios = [
        {"name": name, "changes": [{"remove_clients": {"ids": HOSTILE[2]}}]} for name in HOSTILE[:4]
    ]
    return plan_snapshot(hostile_snapshot(), scenarios)


def hostile_snapshot():
    """The same before any scenario."""
    topics = tuple(Topic(name, (TopicBroker(name, 5, 5, machine_room=name),)) for name in HOSTILE)
    clients = tuple(Client(name, machine_room=name) for name in HOSTILE)
    groups = tuple(Group(name, tuple(HOSTILE), clients, strategy="AVG") for name in HOSTILE)
    broken = Group(
        "<b>broken</b>", (HOSTILE[0],), clients, strategy="<script>document.title='owned'</script>"
    )
    return Snapshot(topics, (*groups, broken))


def hostile_findings():
    """The same in an audit."""
    return tuple(
        Finding(name, "error", name, name, (MessageQueue(name, name, 0),), (name,), name, name)
        for name in HOSTILE
    )


class _Tables(StoredDetails):
    """Tables of a plan that are given, those of its transitions too."""

    told = TRANSITIONS_SCHEMA.empty_table()

    def transitions(self, scenarios, informed_by):
        return self.told


def with_tables(plan, evidence=(), transitions=()):
    """A plan that rests on other evidence and has other transitions, each as rows; without them it
    has none.
    """
    evidence = pa.Table.from_pylist(list(evidence), EVIDENCE_SCHEMA)
    details = _Tables(
        plan.groups, plan.clients, plan.queues, plan.input_digest, plan.inputs, plan.undo, evidence
    )
    details.told = pa.Table.from_pylist(list(transitions), TRANSITIONS_SCHEMA)
    return replace(plan, details=details)


def whole(names=None, n_findings=12):
    """`everyday` with everything a page can show; hostile names for its groups' texts where they
    are given.
    """
    texts = names or ("fitted text",)
    groups = ("order-service", "payment-service", "audit-writer")
    plan = everyday()
    told = {
        groups[0]: {
            "source": "fitted",
            "explains": 0.961,
            "errors": ["GET of broker-c: timeout"],
            "n_reporting": 0,
        }
        | {"parameters": json.dumps({"virtual_nodes": 20})},
        groups[1]: {
            "source": "reported",
            "explains": 1.0,
            "n_reporting": 5,
            "may_be_cut": list(texts),
        },
        groups[2]: {"source": "assumed", "strategy": texts[0], "differs": 3}
        | {"parameters": json.dumps({texts[-1]: texts[0]})},
    }
    evidence = [
        row | told[row["consumer_group"]] | {"age_seconds": 9000.0}
        for row in plan.evidence.to_pylist()
        if row["consumer_group"] in told
    ]
    place = {scenario.name: i for i, scenario in enumerate(plan.scenarios)}
    moments = [
        row
        | transition_row(12 - place[row["scenario"]], exact=not place[row["scenario"]])
        | {
            f"{kind}_{name}": n
            for kind in ("unowned", "double_owned")
            for name, n in _EXPECTED.items()
        }
        for row in plan.transitions().to_pylist()
        if row["consumer_group"] in groups
    ]
    found = Findings(everyday_findings() * (n_findings // 2), unread(*groups, detail=texts[0]))
    return with_tables(plan, evidence, moments), found


_EXPECTED = {"expected": 4.25, "seconds_worst": 40.0, "seconds_p99": 21.5}


def unread(*groups, detail="it was deleted", n=6):
    """Who reads what, where nobody reads anything: the queues with the greatest backlog come last,
    that of one is not known.
    """

    def made(i):
        queues = tuple(MessageQueue(f"orders-{i}", "broker-a", queue_id) for queue_id in range(4))
        waiting = dict.fromkeys(queues, 250 * i) if i else {}
        return Answer(
            groups[i % len(groups)], f"orders-{i}", "no-client", queues, detail, waiting=waiting
        )

    return Reach(lambda: map(made, range(n)))


def transition_row(worst, double=3, exact=True, expected=None, worst_s=None, p99_s=None):
    """The figures of one step or scenario while clients hear of it."""
    return {
        "unowned": worst,
        "unowned_is_exact": exact,
        "unowned_expected": expected,
        "unowned_seconds_worst": worst_s,
        "unowned_seconds_p99": p99_s,
        "double_owned": double,
        "double_owned_is_exact": True,
        "double_owned_expected": expected,
        "double_owned_seconds_worst": worst_s,
        "double_owned_seconds_p99": p99_s,
    }


def many(n_groups=120, n_clients=90, n_topics=12):
    """More groups, clients and topics than a page shows."""
    topics = tuple(
        Topic(f"topic-{i:02}", (TopicBroker("broker-a", 8 + i), TopicBroker("broker-b", 8)))
        for i in range(n_topics)
    )
    names = tuple(topic.name for topic in topics)
    groups = [
        Group(
            f"service-{i:03}",
            names[: 1 + i % n_topics],
            _clients(f"10.{i}.0", 3 + i % 5),
            strategy="AVG",
        )
        for i in range(n_groups)
    ]
    groups.append(
        Group("large-service", names, _clients("10.200.1", n_clients), strategy="CONSISTENT_HASH")
    )
    return plan_snapshot(
        Snapshot(topics, tuple(groups)),
        [{"name": "two less", "changes": [{"remove_clients": {"count": 2}}]}],
    )


def _clients(prefix, n):
    return tuple(
        Client(f"{prefix}.{i}@{4120 + i}", machine_room=f"dc{1 + i % 2}") for i in range(1, n + 1)
    )


def _lags():
    brokers = ("broker-a", "broker-b", "broker-c")
    return tuple(
        Lag(MessageQueue("orders", broker, i), 90_000 + 977 * i, 88_000)
        for broker in brokers
        for i in range(8)
    )
