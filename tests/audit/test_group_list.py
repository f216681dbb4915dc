"""All groups in one row each: against plans, findings and who owns what, and null where something
is not known.
"""

from collections import Counter
from io import StringIO
from random import Random

import pytest
from audited import TOPIC, group, snapshot, topic
from bruteforce import reached
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis_budget import examples

import rmqalloc
from rmqalloc.audit import check_snapshot, current_owners, group_list, group_table
from rmqalloc.audit._owner_signs import computed_owners
from rmqalloc.audit.group_table_text import group_lines
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

SEEDS = st.integers(0, 2**32)
OWNED = ("idle", "unowned", "double_owned", "skew")
LAGS = (Lag(MessageQueue(TOPIC, "a", 0), 9, 4),)
DOUBT = {"strategy_source": "assumed", "strategy_doubt": "nothing shows it"}


def by_name(found):
    rows = {row["consumer_group"]: row for row in found.groups.to_pylist()}
    assert len(rows) == found.groups.num_rows
    return rows


def listed(*groups, **fields):
    return by_name(group_list(snapshot(*groups, **fields)))


def reads_retry(group):
    """Whether a group lists a retry topic, which plans count and this table does not."""
    return any(name.startswith(RETRY_PREFIX) for name in group.all_subscriptions)


# --- Random snapshots ---


@examples(30, nightly=1000)
@given(SEEDS)
@example(240)  # a group that broadcasts and has a server assignment: its clients have an old route
@example(539)  # the same behind a proxy
def test_every_group_is_there_with_the_figures_of_others(seed):
    cluster = from_document(reached.case(Random(seed)))
    found, findings = group_list(cluster), check_snapshot(cluster)
    rows = by_name(found)
    assert rows.keys() == {one.name for one in cluster.groups}
    try:
        plan = rmqalloc.plan(cluster, ())
        planned = {row["consumer_group"]: row for row in plan.groups.to_pylist()}
        failed = {row["consumer_group"] for row in plan.units.to_pylist() if row["err_code"]}
    except NoMatchError:
        planned, failed = {}, set()
    for name, row in rows.items():
        counts = Counter(one.severity for one in findings if one.consumer_group == name)
        assert [row[f"{one}s"] for one in ("error", "warning", "note")] == [
            counts[one] for one in ("error", "warning", "note")
        ]
        assert row["worst"] == next(
            (one.rule for one in findings if one.consumer_group == name), None
        )
        [of_group] = (one for one in cluster.groups if one.name == name)
        if {"clients", "subscriptions", "routes"}.intersection(row["not_known"]):
            assert [row[one] for one in OWNED] == [None] * 4
        elif of_group.server_assignment == "POP":
            continue  # plans take readers as they are computed, whatever clients report
        elif name in planned and name not in failed and not reads_retry(of_group):
            assert [row[one] for one in OWNED] == [planned[name][one] for one in OWNED]


@examples(30, nightly=1000)
@given(SEEDS)
def test_lag_and_unread_queues_are_those_that_show_and_check_have(seed):
    cluster = from_document(reached.case(Random(seed)))
    rows, reach, shown = (
        by_name(group_list(cluster)),
        check_snapshot(cluster).reach,
        current_owners(cluster).queues,
    )
    assert rows
    for name, row in rows.items():
        states = Counter(one["state"] for one in reach.to_pylist() if one["consumer_group"] == name)
        assert row["unread"] == (states["unread"] or (None if states["unknown"] else 0))
        mine = [one["messages"] for one in shown.to_pylist() if one["consumer_group"] == name]
        assert (row["messages"] or 0) == sum(filter(None, mine))
        if "lags" in row["not_known"] and not any(
            one.lags for one in cluster.groups if one.name == name
        ):
            assert row["messages"] is None


# --- Single snapshots ---


def test_of_what_is_not_known_figures_are_null_and_never_zero():
    rows = listed(
        group("c1", name="fine", lags=LAGS),
        group("c1", name="doubt", **DOUBT),
        group("c1", name="part", unknown={"clients": "one broker is silent"}),
        group(name="dead"),
        group("c1", name="subscribed", unknown={"subscriptions": "not asked"}),
    )
    assert {rows["fine"][one] for one in OWNED} == {0, 1.0} and rows["fine"]["messages"] == 5
    for name in ("doubt", "part", "dead", "subscribed"):
        assert [rows[name][one] for one in (*OWNED, "messages")] == [None] * 5
    assert (rows["part"]["n_clients"], rows["dead"]["n_clients"], rows["doubt"]["n_clients"]) == (
        None,
        0,
        1,
    )
    assert (rows["subscribed"]["n_topics"], rows["subscribed"]["n_queues"]) == (None, None)
    assert (rows["part"]["not_known"], rows["fine"]["not_known"]) == (["clients", "lags"], [])
    assert (rows["dead"]["unread"], rows["doubt"]["unread"], rows["fine"]["unread"]) == (8, None, 0)


def test_groups_that_share_queues_say_how():
    rows = listed(
        group("c1", name="all", message_model="BROADCASTING"),
        group("c1", name="grpc", is_shared=True),
        group("c1", name="pop", server_assignment="POP"),
    )
    assert {name: row["strategy"] for name, row in rows.items()} == {
        "all": "BROADCASTING",
        "grpc": "PROXY",
        "pop": "POP",
    }
    assert rows["all"]["messages"] is None and rows["all"]["not_known"] == []


def test_the_worst_come_first_and_null_is_not_taken_for_nothing():
    many = Lag(MessageQueue(TOPIC, "a", 0), 10**9, 0)
    rows = listed(
        group("c1", "c2", "c3", name="skewed"),
        group("c1", name="a-fine"),
        group("c1", name="b-lag", lags=(many,)),
        group("c1", "c1", "c2", name="twice"),
        group(*(f"c{i}" for i in range(9)), name="idle"),
        group("c1", name="doubt", **DOUBT),
        group(name="dead", lags=(many,)),
        group(name="gone"),
    )
    assert list(rows) == ["twice", "dead", "gone", "doubt", "idle", "skewed", "b-lag", "a-fine"]


def test_patterns_choose_groups_and_topics():
    retry = f"{RETRY_PREFIX}g"
    one = group("c1", "c2", subscriptions=(TOPIC, retry), lags=LAGS)
    cluster = snapshot(
        one,
        group("c1", name="h", subscriptions=("pay",)),
        topics=(topic(), topic("pay"), topic(retry, a=1)),
    )
    assert list(by_name(group_list(cluster, groups=("h",)))) == ["h"]
    (row,) = group_list(cluster, topics=(TOPIC,)).groups.to_pylist()
    assert (row["n_topics"], row["n_queues"]) == (1, 8)
    (row,) = group_list(cluster, topics=("%RETRY%*",)).groups.to_pylist()
    assert (row["n_topics"], row["n_queues"], row["idle"], row["messages"]) == (1, 1, 1, None)
    with pytest.raises(NoMatchError, match="no consumer group matches 'x'"):
        group_list(cluster, groups=("x",))


# --- Text ---


def test_columns_of_problems_that_no_group_has_are_left_out():
    fine = str(group_list(snapshot(group("c1"))))
    assert fine.splitlines()[:3] == [
        "1 group: no problem; no lag known",
        "",
        "  group  clients  queues  strategy     messages  skew",
    ]
    text = str(
        group_list(snapshot(group("c1", "c1"), group("c1", name="h", **DOUBT), group(name="dead")))
    )
    assert text.startswith(
        "3 groups: 1 with errors, 1 without clients, 1 with unknown owners; no lag known"
    )
    head, *rows = text.splitlines()[2:]
    assert {"unowned", "double-owned", "errors", "worst"} <= set(
        head.split()
    ) and "warnings" not in head
    assert [(row[0], row.split()[1]) for row in rows] == [("!", "g"), ("~", "dead"), ("?", "h")]


def test_findings_of_no_group_are_said():
    cluster = snapshot(group("c1", subscriptions=("x" * 64,)), topics=(topic("x" * 64),))
    assert "; 1 finding not about a single group (rmqalloc check)" in str(group_list(cluster))


def test_a_cluster_that_answered_in_part_has_all_groups():
    lost = SourceError("broker a", "GET_CONSUMER_CONNECTION_LIST lost", "timeout")
    rows = listed(group("c1"), group(name="lost"), errors=(lost,))
    assert (rows["g"]["unowned"], rows["lost"]["unowned"], rows["lost"]["n_clients"]) == (
        0,
        None,
        None,
    )


def test_hostile_names_reach_no_terminal():
    evil = "a\x1b[2J\n\u202eb"
    text = str(
        group_list(
            snapshot(
                group(Client(evil), name=evil, subscriptions=(evil,)), topics=(topic(evil, a=2),)
            )
        )
    )
    assert (
        "\x1b" not in text
        and "\u202e" not in text
        and "\\x1b" in text
        and len(text.splitlines()) == 4
    )


def test_nothing_is_a_list_too():
    assert str(group_list(Snapshot())) == "No group."


def test_rows_are_cheap_for_ordinary_groups(monkeypatch):
    """No group is laid out queue by queue that has nothing unusual: 10,000 groups take seconds."""
    from rmqalloc.evidence.views.group_views import ViewReader

    laid_out = []
    units_of = ViewReader.units_of
    monkeypatch.setattr(
        ViewReader,
        "units_of",
        lambda self, one: laid_out.append(one.group.name) or units_of(self, one),
    )
    group_list(
        snapshot(
            *(group("c1", "c2", name=f"g{i}") for i in range(300)), group("c1", "c1", name="odd")
        )
    )
    assert set(laid_out) == {"odd"}


class Terminal(StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("width", [80, 120, 200])
def test_a_terminal_shows_what_fits_the_worst_columns_last(monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    groups = (
        group("c1", "c1", name="group-with-a-long-name"),
        group("c1", "c2", *(f"d{i}" for i in range(9)), name="idle"),
    )
    lines = list(group_lines(group_list(snapshot(*groups, group(name="dead"))), Terminal()))
    assert max(map(len, lines[2:])) <= width
    assert {"group", "unowned", "double-owned", "idle", "errors", "worst"} <= set(lines[2].split())
    assert ("skew" in lines[2]) is (width > 150)
    assert ("messages" in lines[2]) is (width > 150)  # not known of any group


@pytest.mark.parametrize(("is_silent", "idle"), [(False, 0), (True, None)])
def test_a_silent_broker_hides_the_figures_of_an_ordinary_group(is_silent, idle):
    made = Group("g", ("T",), (Client("a"), Client("b")), strategy="AVG")
    broker = Broker("b", "10.0.0.1:10911", is_silent=is_silent)
    cluster = Snapshot((Topic("T", (TopicBroker("b", 4),)),), (made,), brokers=(broker,))
    assert group_list(cluster).groups["idle"].to_pylist() == [idle]


def test_groups_of_one_shape_have_the_figures_that_each_has_alone():
    topics = topic("T", a=4), topic("U", a=2, b=2), topic("V", a=7), topic("%RETRY%r", a=5)
    read = (("T",), ("T", "T"), ("T", "U"), ("U", "T"), ("T", "V"), ("V",), ("T", "%RETRY%r"))
    read += ("T", "T", "V"), ("T", "U", "V")
    groups = []
    for number, names in enumerate(read):
        for strategy in ("AVG", "AVG_BY_CIRCLE"):
            for n_clients in (1, 3, 4):
                ids = [f"c{number}-{client}" for client in range(n_clients)]
                name = f"{strategy} {number} {n_clients}"
                groups.append(group(*ids, name=name, subscriptions=names, strategy=strategy))
    together = by_name(group_list(snapshot(*groups, topics=topics)))
    for made in groups:
        alone = by_name(group_list(snapshot(made, topics=topics)))
        assert together[made.name] == alone[made.name]
    assert len({row["skew"] for row in together.values()}) > 5


def test_owners_are_computed_once_for_groups_of_one_shape(monkeypatch):
    computed = []

    def recorded(groups, topics):
        computed.append([shape.name for shape in groups])
        return computed_owners(groups, topics)

    monkeypatch.setattr(group_table, "computed_owners", recorded)
    made = [group(f"a{i}", f"b{i}", name=f"g{i}") for i in range(9)]
    found = group_list(snapshot(*made, group("a", "b", "c", name="h"))).groups
    assert computed == [["g0", "h"]]
    assert found["skew"].to_pylist() == [1.125, *[1.0] * 9]
