"""Who owns what now: against what `check` says of the same queues, what plans compute, and what
clients report.
"""

from io import StringIO
from itertools import chain
from random import Random

import pytest
from audited import TOPIC, group, queues, snapshot, topic
from bruteforce import reached
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis_budget import examples

import rmqalloc
from rmqalloc.audit import check_snapshot, current_owners
from rmqalloc.audit.owner_tables_text import owners_lines
from rmqalloc.audit.reach_reasons import REASONS
from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.snapshot.matching import NoMatchError
from rmqalloc.snapshot.plain_data import from_document
from rmqalloc.snapshot.snapshot import (
    Broker,
    Client,
    Group,
    Lag,
    Snapshot,
    SourceError,
    Topic,
    TopicBroker,
)

KEY = ("consumer_group", "topic", "broker_name", "queue_id")
SEEDS = st.integers(0, 2**32)


def random_snapshot(seed):
    return from_document(reached.case(Random(seed)))


def by_queue(table):
    rows = table.to_pylist()
    found = {tuple(row[name] for name in KEY): row for row in rows}
    assert len(found) == len(rows)
    return found


# --- Random snapshots ---


@examples(40, nightly=1000)
@given(SEEDS)
def test_check_and_show_say_the_same_of_every_queue_that_both_look_at(seed):
    cluster = random_snapshot(seed)
    shown, looked_at = (
        by_queue(current_owners(cluster).queues),
        by_queue(check_snapshot(cluster).reach),
    )
    assume(looked_at)
    for key, row in looked_at.items():
        mine = shown[key]
        assert {name: mine[name] for name in ("state", "reason", "messages")} == {
            name: row[name] for name in ("state", "reason", "messages")
        }
        assert (mine["detail"] or "") == row["detail"]
        if row["state"] == "unread":
            assert row["readers"] == []  # whoever owns the queue
            continue
        assert (mine["perhaps"] if mine["known"] == "unknown" else mine["owners"]) == row["readers"]


@examples(40, nightly=1000)
@given(SEEDS)
def test_every_queue_that_a_client_sees_is_there(seed):
    cluster = random_snapshot(seed)
    shown, routes = (
        by_queue(current_owners(cluster).queues),
        {one.name: one for one in cluster.topics},
    )
    for one in cluster.groups:
        for name in one.subscriptions:
            is_silent = not one.clients and name.startswith(RETRY_PREFIX)
            for queue in routes[name].queues() if name in routes and not is_silent else ():
                assert (one.name, *queue) in shown
    assume(shown)
    for row in shown.values():
        assert row["state"] == REASONS[row["reason"]].state
        assert (row["known"] == "unknown") is (row["owners"] is None)
        if row["reason"] not in ("paused", "no-lock"):  # which nobody reads, whoever owns them
            assert (row["known"] == "unknown") is (row["state"] == "unknown")
        assert (row["perhaps"] is None) is (row["owners"] is not None)


@examples(40, nightly=1000)
@given(SEEDS)
def test_clients_and_hosts_are_sums_over_queues(seed):
    cluster = random_snapshot(seed)
    found = current_owners(cluster)
    counted = [row for row in found.queues.to_pylist() if not row["topic"].startswith(RETRY_PREFIX)]
    unknown = {row["consumer_group"] for row in counted if row["known"] == "unknown"}
    partial = {
        group.name
        for group in cluster.groups
        if {client.owned is None for client in group.clients} == {True, False}
        or {*chain(*(group.broker_client_ids or {}).values())} - {*group.client_ids}
    }
    clients = found.clients.to_pylist()
    assert len({(row["consumer_group"], row["client_id"]) for row in clients}) == len(clients)
    for row in clients:
        mine = [
            one for one in counted
            if one["consumer_group"] == row["consumer_group"] and row["client_id"] in (one["owners"] or ())
        ]  # fmt: skip
        if row["known"] == "unknown":
            assert row["consumer_group"] in unknown | partial
            assert {row[name] for name in ("n_queues", "messages", "n_without_lag", "is_idle")} == {
                None
            }
            continue
        lags = [one["messages"] for one in mine if one["messages"] is not None]
        assert (row["n_queues"], row["is_idle"]) == (len(mine), not mine)
        assert row["n_without_lag"] == len(mine) - len(lags)
        assert row["messages"] == (sum(lags) if lags or not mine else None)
        assert row["topics"] == sorted({one["topic"] for one in mine})
    for host in found.hosts.to_pylist():
        some = [row for row in clients if row["host"] == host["host"]]
        n_queues = [row["n_queues"] for row in some]
        assert host["n_clients"] == len(some)
        assert host["n_queues"] == (None if None in n_queues else sum(n_queues))


@examples(40, nightly=1000)
@given(SEEDS)
def test_owners_are_those_of_a_plan_or_those_that_clients_report(seed):
    cluster = random_snapshot(seed)
    try:
        planned = by_queue(rmqalloc.plan(cluster, ()).queues)
    except NoMatchError:
        planned = {}
    reported = {}
    for one in cluster.groups:
        for client in one.clients:
            for queue in client.owned or ():
                reported.setdefault((one.name, *queue), set()).add(client.client_id)
    shown = by_queue(current_owners(cluster).queues)
    owned = {key: row for key, row in shown.items() if row["reason"] == "owner"}
    assume(owned)
    for key, row in owned.items():
        if row["known"] == "reported":
            assert set(row["owners"]) == reported[key]
        elif key in planned and not is_planned_otherwise(cluster, key[0]):
            assert (
                row["owners"] == [planned[key]["owner_before"]]
                and not planned[key]["others_before"]
            )


def is_planned_otherwise(cluster, name):
    """Whether a plan takes others to own queues: all that a broker lists, those that report, not
    what CONFIG lists beyond a client's own route.
    """
    (one,) = (one for one in cluster.groups if one.name == name)
    is_config = one.strategy == "CONFIG" or any(
        client.strategy == "CONFIG" for client in one.clients
    )
    return one.broker_client_ids is not None or any(
        client.owned is not None or (is_config and client.sees_read_queue_nums)
        for client in one.clients
    )


# --- Single snapshots ---

DRY = Topic(TOPIC, (TopicBroker("a", 4, 2),))
TIMES = (
    Lag(MessageQueue(TOPIC, "a", 0), 9, 4, 1_795_250_051_509),
    Lag(MessageQueue(TOPIC, "a", 1), 3, 3, 0),
)


def rows_of(*groups, topics=(DRY,), **fields):
    return current_owners(Snapshot(topics, groups, **fields)).queues.to_pylist()


def test_queues_that_nobody_writes_to_have_owners_too():
    cluster = Snapshot((DRY,), (group("c1", "c2"),))
    assert check_snapshot(cluster).reach.num_rows == 2
    assert [row["owners"] for row in current_owners(cluster).queues.sort_by("queue_id").to_pylist()] == [
        ["c1"], ["c1"], ["c2"], ["c2"],
    ]  # fmt: skip


def test_lag_and_time_are_those_of_the_queue_and_null_where_nothing_is_known():
    rows = {row["queue_id"]: row for row in rows_of(group("c1", lags=TIMES))}
    assert [(rows[i]["messages"], rows[i]["last_consumed"]) for i in range(3)] == [
        (5, "2026-11-21T08:34:11.509Z"),
        (0, None),
        (None, None),
    ]


@pytest.mark.parametrize("time", [-(2**63), -1, 0, 2**63 - 1])
def test_a_time_that_is_none_is_null(time):
    (row, *_) = rows_of(group("c1", lags=(Lag(MessageQueue(TOPIC, "a", 0), 9, 4, time),)))
    assert (row["messages"], row["last_consumed"]) == (5, None)


def test_the_worst_come_first():
    groups = (
        group("c1", name="fine", lags=TIMES),
        group("c1", name="doubt", strategy_source="assumed", strategy_doubt="nothing shows it"),
        group("c1", "c1", "c2", name="twice"),
    )
    order = [(row["consumer_group"], row["reason"]) for row in rows_of(*groups)]
    assert list(dict.fromkeys(order)) == [
        ("twice", "no-owner"), ("twice", "several-owners"), ("doubt", "unknown"), ("fine", "owner"), ("twice", "owner"),
    ]  # fmt: skip


def test_reports_go_before_a_doubt_and_say_so():
    clients = Client("c1", owned=queues([0, 1])), Client("c2", owned=queues([2, 3]))
    rows = rows_of(group(*clients, strategy_source="assumed", strategy_doubt="nothing shows it"))
    assert {(*row["owners"], row["known"]) for row in rows} == {
        ("c1", "reported"),
        ("c2", "reported"),
    }


def test_what_a_silent_client_owns_is_null_and_what_another_reports_is_not():
    found = current_owners(
        snapshot(group(Client("c1", owned=queues([0])), Client("c2")), topics=(topic(a=2),))
    )
    assert [
        (row["owners"], row["known"]) for row in found.queues.sort_by("queue_id").to_pylist()
    ] == [
        (["c1"], "reported"),
        (None, "unknown"),
    ]
    assert {
        row["client_id"]: (row["n_queues"], row["is_idle"], row["known"])
        for row in found.clients.to_pylist()
    } == {
        "c1": (1, False, "reported"),
        "c2": (None, None, "unknown"),
    }
    assert {row["host"]: row["n_queues"] for row in found.hosts.to_pylist()} == {
        "c1": 1,
        "c2": None,
    }


def test_queues_of_a_silent_broker_are_unknown_and_so_is_who_reports_one():
    clients = Client("c1", owned=queues([0, 1])), Client("c2", owned=())
    brokers = (Broker("a", "h:1", is_silent=True),)
    found = current_owners(Snapshot((topic(a=2),), (group(*clients),), brokers=brokers))
    assert {row["client_id"]: row["n_queues"] for row in found.clients.to_pylist()} == {
        "c1": None,
        "c2": 0,
    }


def test_a_cluster_that_answered_in_part_is_shown_in_part():
    lost = SourceError("broker a", "GET_CONSUMER_CONNECTION_LIST lost", "timeout")
    cluster = Snapshot((topic(a=2),), (group("c1"), group(name="lost")), (lost,))
    shown = {row["consumer_group"]: row for row in current_owners(cluster).queues.to_pylist()}
    assert (shown["g"]["known"], shown["lost"]["known"]) == ("computed", "unknown")
    assert "GET_CONSUMER_CONNECTION_LIST lost: timeout" in " ".join(
        str(current_owners(cluster)).split()
    )


def test_clients_are_chosen_by_id_and_by_host():
    ids = ("10.0.0.1@a", "10.0.0.1@b", "10.0.0.2@a")
    cluster = snapshot(group(*ids), topics=(topic(a=3),))
    for pattern, n in (("10.0.0.1", 2), ("10.0.0.1@b", 1), ("*@a", 2), ("10.0.0.?", 3)):
        found = current_owners(cluster, clients=(pattern,))
        assert found.queues.num_rows == found.clients.num_rows == n
    with pytest.raises(NoMatchError, match=r"no client matches '10\.0\.0\.9'; near it are"):
        current_owners(cluster, clients=("10.0.0.9",))


def test_retry_topics_are_shown_and_count_only_if_they_are_asked_for():
    retry = f"{RETRY_PREFIX}g"
    cluster = snapshot(
        group("c1", subscriptions=(TOPIC, retry)), topics=(topic(a=2), topic(retry, a=1))
    )
    assert current_owners(cluster).queues.num_rows == 3
    assert current_owners(cluster).clients["n_queues"].to_pylist() == [2]
    assert current_owners(cluster, topics=("%RETRY%*",)).clients["n_queues"].to_pylist() == [1]


# --- Text ---


def test_queues_of_one_owner_are_one_line_and_reasons_stand_below_whole():
    long = "x" * 300
    text = str(current_owners(snapshot(group(long, long, "c2"), topics=(topic(a=6),))))
    assert (
        "! orders  2  a:4-5  no client" in text
        and "      no-owner: no client takes the queue: client id" in text
    )
    assert f"\n      {long}\n      is not unique." in text and text.count("no-owner") == 1


def test_the_worst_lines_are_shown_whichever_group_they_are_of():
    groups = [group("c1", name=f"g{i:03}", lags=TIMES) for i in range(40)]
    cluster = snapshot(*groups, group("c1", "c1", name="z"), topics=(DRY,))
    lines = list(owners_lines(current_owners(cluster), top=3))
    assert lines[0] == "164 queues of 41 groups: 2 unread, 2 with several owners"
    assert lines[2].startswith("Group z  AVG (given)  2 clients  4 queues  lag unknown")
    assert lines[-1] == "and 39 more lines of 156 queues (--top)"


def test_lines_are_ordered_by_the_lag_of_all_their_queues():
    lags = tuple(Lag(MessageQueue(TOPIC, "a", i), n, 0) for i, n in enumerate((6, 6, 10, 0)))
    lines = str(
        current_owners(snapshot(group("c1", "c2", lags=lags), topics=(topic(a=4),)))
    ).splitlines()
    assert [line.split()[3:6] for line in lines[4:]] == [
        ["c1", "computed", "12"],
        ["c2", "computed", "10"],
    ]


@pytest.mark.parametrize("by", ["queues", "clients", "hosts"])
def test_hostile_names_reach_no_terminal(by):
    evil = "a\x1b[2J\n\u202eb"
    one = group(f"{evil}@1", f"{evil}@1", name=evil, subscriptions=(evil,))
    text = "\n".join(owners_lines(current_owners(snapshot(one, topics=(topic(evil, a=2),))), by=by))
    assert "\x1b" not in text and "\u202e" not in text and "\\x1b" in text
    assert not any(line.startswith(("\u202e", "b")) for line in text.split("\n"))


def test_nothing_to_show_is_said():
    found = current_owners(Snapshot())
    assert [list(owners_lines(found, by=by)) for by in found.TABLES] == [
        ["No queue."],
        ["No client."],
        ["No host."],
    ]


class Terminal(StringIO):
    def isatty(self):
        return True


def test_a_narrow_terminal_does_without_columns_and_cuts_no_queue_and_no_reason(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    brokers = {f"broker-of-zone-{i}": 2 for i in range(2)}
    lags = tuple(Lag(MessageQueue(TOPIC, name, 0), 9, 4, 1_795_250_051_509) for name in brokers)
    ids = [f"10.0.0.1@a-long-name-of-a-container-{i}" for i in (1, 1, 2)]
    found = current_owners(snapshot(group(*ids, lags=lags), topics=(topic(**brokers),)))
    lines = list(owners_lines(found, Terminal()))
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert "broker-of-zone-0:0-1" in text and "consumed" not in text
    monkeypatch.setenv("COLUMNS", "200")
    assert "consumed" in str(found)
    assert "Remove the cause" in text.replace("\n      ", " ")


def test_a_topic_without_a_group_comes_before_groups_that_are_as_bad():
    topics = tuple(Topic(name, (TopicBroker("b", 4),)) for name in "TZ")
    found = current_owners(Snapshot(topics, (Group("g", ("T",)),)))
    heads = [line.partition("  ")[0] for line in owners_lines(found) if line.startswith(("N", "G"))]
    assert heads == ["No group", "Group g"]
