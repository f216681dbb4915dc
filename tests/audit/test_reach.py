"""Who reads every written queue, or why nobody does: against a twin that looks at each queue alone,
and the findings.
"""

import json
from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from audited import TOPIC, group, queues, topic
from bruteforce import reached
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc.audit import check_snapshot
from rmqalloc.audit.reach import REACH_SCHEMA, UNREAD_SCHEMA, Reach, unread_row
from rmqalloc.audit.reach_reasons import REASONS
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.plain_data import from_document
from rmqalloc.snapshot.snapshot import (
    Broker,
    Client,
    Lag,
    Snapshot,
    SourceError,
    Topic,
    TopicBroker,
)

KEY = ("consumer_group", "topic", "broker_name", "queue_id")
RULES = (
    "unowned-queue", "config-hole", "actual-unowned", "written-not-read", "unreadable-broker", "stranded-backlog",
    "no-consumer", "ordered-lock-holder-gone", "consumption-disabled",
)  # fmt: skip
"""Rules whose queues nobody reads."""


def by_queue(findings):
    """Rows of all queues by group and queue."""
    rows = findings.reach.to_pylist()
    found = {tuple(row[name] for name in KEY): row for row in rows}
    assert len(found) == len(rows)
    return found


def reasons(findings):
    return {key: row["reason"] for key, row in by_queue(findings).items()}


# --- Random snapshots ---


@examples(120, nightly=3000)
@given(st.integers(0, 2**32))
def test_every_queue_has_the_reason_that_the_twin_gives(seed):
    document = reached.case(Random(seed))
    found = by_queue(check_snapshot(from_document(document)))
    assert {key: (row["reason"], row["messages"]) for key, row in found.items()} == reached.reach(
        document
    )


def test_random_snapshots_hold_every_reason():
    seen = {
        reason
        for seed in range(400)
        for reason, _ in reached.reach(reached.case(Random(seed))).values()
    }
    assert seen == set(REASONS)


@examples(120, nightly=3000)
@given(st.integers(0, 2**32))
@example(304)  # a group in POP mode whose clients have an old route
def test_the_table_and_the_findings_agree(seed):
    findings = check_snapshot(from_document(reached.case(Random(seed))))
    rows = by_queue(findings)
    found = {
        (one.consumer_group, *queue)
        for one in findings
        if one.rule in RULES
        for queue in one.queues
    }
    unread = {key for key, row in rows.items() if row["state"] == "unread"}
    unseen = {key for key in unread if rows[key]["reason"] == "not-seen"}
    stale = (one for one in findings if one.rule == "stale-route")
    assert unseen <= {(one.consumer_group, *queue) for one in stale for queue in one.queues}
    # Queues that nobody writes to and in which nothing waits are in findings alone: there is no
    # message to read.
    assert all(key not in rows for key in found - unread)
    # A group that is gone is a finding only where messages wait; no rule is about topics without
    # groups, and that of topics without a route, like that of brokers whose write queues are not
    # known, names no queues.
    silent = dict.fromkeys(("no-client", "no-subscriber"), lambda row: not row["messages"])
    silent |= dict.fromkeys(("no-group", "no-route"), lambda _: True)
    for key in unread - unseen - found:
        row = rows[key]
        is_silent = silent.get(
            row["reason"],
            lambda row: row["reason"] == "no-permission" or row["consumer_group"] is None,
        )
        assert is_silent(row), (key, row)


@examples(60, nightly=1000)
@given(st.integers(0, 2**32))
def test_the_rows_by_group_are_the_queues_put_together(seed):
    findings = check_snapshot(from_document(reached.case(Random(seed))))
    rows, queues_of = findings.unread.to_pylist(), {}
    for row in by_queue(findings).values():
        if row["state"] == "unread":
            queues_of.setdefault((row["consumer_group"], row["topic"], row["reason"]), []).append(
                row
            )
    assert len(rows) == len(queues_of)
    for row in rows:
        mine = queues_of[row["consumer_group"], row["topic"], row["reason"]]
        known = [one["messages"] for one in mine if one["messages"] is not None]
        assert row["messages"] == (sum(known) if known else None)
        assert (row["n_queues"], row["n_without_lag"]) == (len(mine), len(mine) - len(known))
        assert row["n_written"] == sum(one["is_written"] for one in mine)
        assert spelled_out(row["queues"]) == {(one["broker_name"], one["queue_id"]) for one in mine}
    backlogs = [row["messages"] or 0 for row in rows]
    assert backlogs == sorted(backlogs, reverse=True)


def spelled_out(text):
    """Queues of the compact form."""
    found = set()
    for part in text.split(" "):
        broker, _, ranges = part.rpartition(":")
        for one in ranges.split(","):
            first, _, last = one.partition("-")
            found.update((broker, i) for i in range(int(first), int(last or first) + 1))
    return found


# --- A small example of every reason ---

ONE = (Topic(TOPIC, (TopicBroker("a", 2, 2),)),)
WIDE = (Topic(TOPIC, (TopicBroker("a", 2, 4),)),)
CLOSED = (Topic(TOPIC, (TopicBroker("a", 2, 2), TopicBroker("b", 2, 2, perm=2))),)
GONE = (Lag(MessageQueue(TOPIC, "gone", 0), 7, 3),)
TWICE = ("c1", "c1")
RING = Client("c2", strategy="AVG_BY_CIRCLE")
DOUBT = {"strategy_source": "assumed", "strategy_doubt": "nothing shows it"}
SLAVE = (Broker("a", "h:1", "SLAVE"),)


def whole(*groups, topics=ONE, **fields):
    return Snapshot(topics, groups, **fields)


EXAMPLES = {
    "no-route": (whole(group("c1", lags=GONE)), queues([0], "gone"), ["c1"]),
    "no-permission": (whole(group("c1"), topics=CLOSED), queues([0, 1], "b"), ["c1"]),
    "beyond-read-queues": (whole(group("c1"), topics=WIDE), queues([2, 3]), ["c1"]),
    "no-group": (whole(), queues([0, 1]), []),
    "no-client": (whole(group()), queues([0, 1]), []),
    "no-subscriber": (whole(group(Client("c1", subscriptions=("pay",)))), queues([0, 1]), []),
    "paused": (whole(group("c1", paused_brokers=("a",))), queues([0, 1]), []),
    "no-lock": (whole(group("c1", is_ordered=True), brokers=SLAVE), queues([0, 1]), []),
    "no-owner": (whole(group(*TWICE)), queues([1]), ["c1"]),
    "not-seen": (
        whole(
            group(
                Client("c1", sees_read_queue_nums={TOPIC: {"a": 1}}), message_model="BROADCASTING"
            )
        ),
        queues([1]),
        [],
    ),
    "not-owned-now": (whole(group(Client("c1", owned=queues([0])))), queues([1]), ["c1"]),
    "owner": (whole(group("c1", "c2")), queues([0, 1]), ["c1", "c2"]),
    "several-owners": (whole(group(*TWICE)), queues([0]), ["c1"]),
    "popped": (whole(group("c1", "c2", server_assignment="POP")), queues([0, 1]), ["c1", "c2"]),
    "shared": (whole(group("c1", "c2", is_shared=True)), queues([0, 1]), ["c1", "c2"]),
    "broadcast": (
        whole(group("c1", "c2", message_model="BROADCASTING")),
        queues([0, 1]),
        ["c1", "c2"],
    ),
    "lite": (
        whole(group("c1", "c2", lite_topic=TOPIC, is_shared=True)),
        queues([0, 1]),
        ["c1", "c2"],
    ),
    "unknown": (whole(group("c1", "c2", **DOUBT)), queues([0, 1]), ["c1", "c2"]),
}


@pytest.mark.parametrize("topics", [WIDE, CLOSED])
def test_a_route_that_is_known_only_in_part_hides_no_queue(topics):
    in_part = (replace(topics[0], unknown={"routes": "its route of before is kept"}),)
    lags = (Lag(MessageQueue(TOPIC, "a", 9), 7, 3),)
    rows = by_queue(check_snapshot(whole(group("c1", lags=lags), topics=in_part))).values()
    hidden = [row for row in rows if row["reason"] != "owner"]
    assert {(row["state"], row["reason"]) for row in hidden} == {("unknown", "unknown")}
    assert {row["detail"] for row in hidden} == {"its route of before is kept"}


def test_there_is_an_example_of_every_reason():
    assert list(EXAMPLES) == list(REASONS)
    assert {one.state for one in REASONS.values()} == {"read", "unread", "unknown"}
    assert all(one.help for one in REASONS.values() if one.state == "unread")


@pytest.mark.parametrize("reason", REASONS)
def test_the_example_of_a_reason(reason):
    made, named, readers = EXAMPLES[reason]
    rows = [row for row in by_queue(check_snapshot(made)).values() if row["reason"] == reason]
    assert [(row["broker_name"], row["queue_id"]) for row in rows] == [
        (q.broker_name, q.queue_id) for q in named
    ]
    state = REASONS[reason].state
    assert {row["state"] for row in rows} == {state}
    seen = {one for row in rows for one in row["readers"]}
    assert seen == (set() if state == "unread" else set(readers))
    unread = [row for row in check_snapshot(made).unread.to_pylist() if row["reason"] == reason]
    assert len(unread) == (state == "unread")


def test_tables_have_their_columns_even_if_empty():
    found = check_snapshot(Snapshot())
    assert (found.unread.schema, found.reach.schema) == (UNREAD_SCHEMA, REACH_SCHEMA)
    assert found.unread.num_rows == found.reach.num_rows == 0


# --- What goes before what ---


def test_what_clients_report_goes_before_a_doubt_in_their_strategy():
    told = Client("c1", owned=queues([0])), Client("c2", owned=queues([1]))
    found = by_queue(check_snapshot(whole(group(*told, **DOUBT))))
    assert [(row["reason"], row["readers"]) for row in found.values()] == [
        ("owner", ["c1"]),
        ("owner", ["c2"]),
    ]
    half = told[0], Client("c2")
    found = by_queue(check_snapshot(whole(group(*half, **DOUBT))))
    assert [(row["reason"], row["readers"]) for row in found.values()] == [
        ("owner", ["c1"]),
        ("unknown", ["c2"]),
    ]


def test_a_paused_group_reads_nothing_whoever_else_its_clients_are():
    """The settings of a broker say it of all clients, those that are not known among them; it is a
    finding, too.
    """
    elsewhere, why = Client("c1", subscriptions=("pay",)), {"clients": "a broker did not answer"}
    found = check_snapshot(whole(group(elsewhere, paused_brokers=("a",), unknown=why)))
    assert set(reasons(found).values()) == {"paused"} and "consumption-disabled" in {
        one.rule for one in found
    }
    both = Topic(TOPIC, (TopicBroker("a", 1, 1), TopicBroker("b", 1, 1)))
    found = check_snapshot(
        whole(group(elsewhere, paused_brokers=("a",), unknown=why), topics=(both,))
    )
    assert list(reasons(found).values()) == ["paused", "unknown"]


def test_clients_that_differ_and_of_which_each_is_known_leave_no_doubt():
    four = (Topic(TOPIC, (TopicBroker("a", 4, 4),)),)
    mixed = group(Client("c1", strategy="AVG"), RING, strategy=None)
    assert [*reasons(check_snapshot(whole(mixed, topics=four))).values()].count("unknown") == 0
    strange = group(
        Client("c1", strategy="AVG"), Client("c2", strategy="com.acme.Own"), strategy=None
    )
    assert set(reasons(check_snapshot(whole(strange, topics=four))).values()) == {"unknown"}


def test_what_depends_on_the_broker_that_a_client_asks_is_not_known():
    routes = (Topic(TOPIC, (TopicBroker("a", 2, 2), TopicBroker("b", 2, 2))),)
    split = group("c1", "c2", broker_client_ids={"a": ("c1", "c2"), "b": ("c2",)})
    found = by_queue(check_snapshot(whole(split, topics=routes)))
    assert {row["reason"] for row in found.values()} == {"owner", "unknown"}
    (row, *_) = [row for row in found.values() if row["reason"] == "unknown"]
    assert (row["readers"], row["detail"].split(",")[0]) == (
        ["c1", "c2"],
        "brokers list different clients",
    )


def test_a_client_that_reports_a_queue_which_none_takes_owns_it():
    both = Client("c1", owned=queues([0])), Client("c1", owned=queues([1]))
    row = by_queue(check_snapshot(whole(group(*both))))["g", TOPIC, "a", 1]
    assert (row["reason"], row["readers"]) == ("owner", ["c1"])


# --- Groups and topics that are no faults of their own ---


def test_committed_offsets_of_a_topic_that_no_group_subscribes_to_are_told():
    lags = tuple(Lag(queue, 10, n) for queue, n in zip(queues([0, 1]), (4, -1), strict=True))
    left = group("c1", subscriptions=("pay",), lags=lags)
    other = group("c1", name="h", subscriptions=("pay",), lags=(Lag(*queues([0]), 10, 9),))
    (row,) = check_snapshot(whole(left, other)).unread.to_pylist()
    assert (row["consumer_group"], row["reason"], row["queues"], row["messages"]) == (
        None,
        "no-group",
        "a:0-1",
        11,
    )
    assert row["detail"] == "g, h committed offsets there and do not subscribe now"


def test_groups_of_which_no_subscription_is_known_may_have_been_it():
    (row,) = check_snapshot(whole(group(subscriptions=()))).unread.to_pylist()
    assert row["detail"] == "the past subscriptions of g, without a client now, are not known"


def test_topics_without_a_group_are_named_only_if_all_groups_were_looked_at():
    both = whole(group("c1", subscriptions=("pay",)), topics=(*ONE, topic("pay", a=1)))
    assert check_snapshot(both).unread.num_rows == 1
    assert check_snapshot(both, groups=("g",)).unread.num_rows == 0
    assert check_snapshot(both, topics=("pay",)).reach["topic"].to_pylist() == ["pay"]
    lost = replace(
        both, errors=(SourceError("broker a", "GET_CONSUMER_CONNECTION_LIST h", "timeout"),)
    )
    assert reasons(check_snapshot(lost))[None, TOPIC, "a", 0] == "unknown"


def test_topics_of_rocketmq_itself_need_no_group():
    own = (
        "%DLQ%g",
        "%RETRY%gone",
        "SCHEDULE_TOPIC_XXXX",
        "rmq_sys_x",
        "DefaultCluster_REPLY_TOPIC",
        "a",
        "%LMQ%x",
    )
    made = Snapshot(tuple(topic(name, a=1) for name in own), brokers=(Broker("a", "h:1"),))
    assert check_snapshot(made).reach.num_rows == 0
    read = replace(made, groups=(group(subscriptions=("%DLQ%g",)),))
    assert reasons(check_snapshot(read)) == {("g", "%DLQ%g", "a", 0): "no-client"}


def test_a_retry_topic_of_a_group_without_clients_gets_nothing_new():
    routes = (*ONE, topic("%RETRY%g", a=2))
    dead = group(lags=(Lag(*queues([1], name="%RETRY%g"), 5, 2),))
    found = reasons(check_snapshot(whole(dead, topics=routes)))
    assert [key for key in found if key[1] == "%RETRY%g"] == [("g", "%RETRY%g", "a", 1)]
    alive = group("c1", subscriptions=(TOPIC, "%RETRY%g"))
    assert set(reasons(check_snapshot(whole(alive, topics=routes))).values()) == {"owner"}


def test_queues_that_nobody_writes_to_matter_while_messages_wait():
    dry = (Topic(TOPIC, (TopicBroker("a", 2, 2), TopicBroker("b", 2, 2, perm=4))),)
    dead = group(lags=(Lag(*queues([0], "b"), 9, 4), Lag(*queues([1], "b"), 9, 9)))
    (row,) = check_snapshot(whole(dead, topics=dry)).unread.to_pylist()
    figures = ("queues", "n_queues", "n_written", "messages", "n_without_lag")
    assert [row[name] for name in figures] == ["a:0-1 b:0", 3, 2, 5, 2]


# --- As text, as JSON ---


def test_the_table_stands_before_the_findings():
    lines = str(
        check_snapshot(whole(group(*TWICE, lags=(Lag(*queues([1]), 1234, 0),))))
    ).splitlines()
    assert lines[0] == "Unread messages: 1 queue of 1 topic, 1,234 messages waiting"
    assert lines[1].split() == ["messages", "group", "topic", "reason", "queue", "detail"]
    assert lines[2].split()[:6] == ["1,234", "g", TOPIC, "no-owner", "1", "a:1"]
    assert lines[3:6] == ["no-owner: no client takes the queue", "", "Group g"]


def test_one_line_says_that_everything_is_read():
    assert (
        str(check_snapshot(whole(group("c1"))))
        == "Every written queue of 1 topic is read.\n\n0 findings (no lags are known)"
    )
    unknown = str(check_snapshot(whole(group("c1", **DOUBT)))).splitlines()[:2]
    assert unknown == [
        "No queue of 1 topic is known to be unread.",
        "It is not known who reads 2 queues of 1 topic: nothing shows it",
    ]
    assert str(check_snapshot(Snapshot())) == (
        "No topic is known to have a queue that producers write to.\n\n0 findings as far as is known\n"
        "not known: routes (the snapshot has neither a topic nor a group)"
    )


def test_many_rows_and_brokers_are_folded_unless_all_are_asked_for():
    brokers = {f"b{i}": 1 for i in range(9)}
    found = check_snapshot(
        whole(*(group(name=f"g{i:02}") for i in range(30)), topics=(topic(**brokers),))
    )
    text = str(found).split("\n\n")[0]
    assert "g19" in text and "g20" not in text and "and 10 more rows: -o wide shows all" in text
    assert "b0:0 b1:0 b2:0 b3:0 and 5 more brokers" in text and "b4" not in text
    everything = found.text(most=None).split("\n\n")[0]
    assert "g29" in everything and "b8:0" in everything and "more" not in everything


def test_json_has_the_rows_first():
    found = check_snapshot(whole(group(*TWICE)))
    document = json.loads(json.dumps(found.to_dict()))
    assert list(document)[2] == "unread"
    assert document["unread"] == found.unread.to_pylist()
    assert document["n_queues_by_reason"] == {"no-owner": 1, "several-owners": 1}


def test_only_the_findings_of_some_groups_and_what_they_read():
    both = check_snapshot(whole(group(*TWICE), group(*TWICE, name="h")))
    mine = both.of_groups(["h"])
    assert (
        {one.consumer_group for one in mine}
        == {"h"}
        == set(mine.unread["consumer_group"].to_pylist())
    )
    assert both.at_least("error").unread == both.unread


HOSTILE = "<img src=x>\x1b[2J\u202e\n|"


def test_names_cannot_draw_on_the_terminal():
    made = whole(
        group(name=HOSTILE, subscriptions=(HOSTILE,)),
        topics=(Topic(HOSTILE, (TopicBroker(HOSTILE, 2, 2),)),),
    )
    found = check_snapshot(made)
    table = str(found).split("\n\n")[0]
    assert len(table.splitlines()) == 4 and table.replace("\n", "").isprintable()
    (row,) = found.unread.to_pylist()
    assert (row["consumer_group"], row["topic"], row["queues"]) == (
        HOSTILE,
        HOSTILE,
        f"{HOSTILE}:0-1",
    )


@examples(60, nightly=1000)
@given(st.integers(0, 2**32))
def test_sums_are_those_of_all_answers_though_most_groups_are_not_looked_at(seed):
    found = check_snapshot(from_document(reached.case(Random(seed)))).who_reads
    counts, answers = Counter(), found.answers
    for answer in answers:
        counts[answer.reason] += len(answer.queues)
    assert found.counts() == dict(sorted(counts.items()))
    assert found.n_topics == len({answer.topic for answer in answers})
    of_all = Reach(lambda: answers)
    for some, expected in ((found.unread, of_all.unread), (found.unknown, of_all.unknown)):
        assert list(map(unread_row, some)) == list(map(unread_row, expected))


def test_topics_that_are_read_are_counted_by_group_as_far_as_they_are_chosen():
    lost, light = "lost", "%LMQ%light"
    readers = (group("c1", name=f"g{i}", subscriptions=(TOPIC, TOPIC, light)) for i in range(3))
    snapshot = whole(*readers, group("c1", name="h", subscriptions=(lost,)))
    found = check_snapshot(snapshot).who_reads
    assert (found.n_topics, found.counts()) == (1, {"owner": 3 * 2})
    found = check_snapshot(snapshot, topics=(light,)).who_reads
    assert (found.n_topics, found.counts()) == (0, {})


# --- Two looks ---


def test_only_what_is_unread_at_both_looks_lasts():
    first = check_snapshot(whole(group(), group(name="h"))).who_reads
    second = check_snapshot(whole(group(), group("c1", name="h"), group(name="i"))).who_reads
    lasting = second.lasting(first)
    assert {one.consumer_group for one in lasting.unread} == {"g"}
    assert [(one.consumer_group, one.detail) for one in lasting.unknown] == [
        ("i", "it was not unread in the previous reading")
    ]
    assert lasting.counts() == {"no-client": 2, "owner": 2, "unknown": 2}


# --- Many groups ---


@examples(3)
@given(st.booleans())
def test_a_topic_that_is_read_has_one_answer_without_a_look_at_its_queues(with_lags):
    lags = tuple(Lag(queue, 5, 5) for queue in ONE[0].queues()) if with_lags else ()
    made = whole(*(group("c1", "c2", name=f"g{i}", lags=lags) for i in range(50)))
    answers = check_snapshot(made).who_reads.answers
    assert len(answers) == 50
    assert len({id(one.queues) for one in answers}) == 1
