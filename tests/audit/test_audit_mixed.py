"""Groups whose clients are not alike, see different things, take what was written down, or leave it
to the brokers.
"""

from itertools import product

import pytest
from audited import TOPIC, group, of_rule, only, queues, share, snapshot, takers, topic
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc import sort_queues
from rmqalloc.audit import check_snapshot
from rmqalloc.snapshot.live._answers import version_name
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

RETRY = "%RETRY%g"


def clients(*names, **fields):
    return [Client(name, **fields) for name in names]


# --- Strategies, virtual nodes, subscriptions ---


@pytest.mark.parametrize(
    ("rule", "odd"),
    [
        ("mixed-strategies", {"strategy": "AVG_BY_CIRCLE"}),
        ("mixed-strategies", {"strategy": "CONSISTENT_HASH", "virtual_nodes": 10}),
    ],
)
def test_what_mixed_strategies_make_is_named_exactly(rule, odd):
    one = group(*clients("c1", "c2"), *clients("c3", **odd))
    found = check_snapshot(snapshot(one))
    counts = takers(one, topic())
    assert only(found, rule).queues == tuple(queue for queue, n in counts.items() if n != 1)
    assert only(found, rule).clients == ("c3",)
    assert f"AVG: 2 clients, {odd['strategy']}: 1 client" in only(found, rule).message
    assert only(found, rule).severity == "error"


def test_different_rings_in_one_group():
    one = group(*clients("c1", "c2"), Client("c3", virtual_nodes=160), strategy="CONSISTENT_HASH")
    found = check_snapshot(snapshot(one))
    counts = takers(one, topic())
    assert only(found, "mixed-virtual-nodes").queues == tuple(
        queue for queue, n in counts.items() if n != 1
    )
    assert (
        "10 virtual nodes: 2 clients, 160 virtual nodes: 1 client"
        in only(found, "mixed-virtual-nodes").message
    )
    assert not of_rule(found, "mixed-strategies")


def test_strategies_that_come_to_the_same_are_a_warning():
    one = group(*clients("c1"), *clients("c2", strategy="AVG_BY_CIRCLE"))
    assert (
        only(check_snapshot(snapshot(one, topics=(topic(a=2),))), "mixed-strategies").severity
        == "warning"
    )


def test_saying_what_the_group_uses_anyway_is_no_difference():
    one = group(*clients("c1"), *clients("c2", strategy="AVG", virtual_nodes=7))
    assert check_snapshot(snapshot(one)) == ()
    ring = group(
        *clients("c1", "c2"),
        *clients("c3", strategy="CONSISTENT_HASH", virtual_nodes=10),
        strategy="CONSISTENT_HASH",
    )
    assert not {f.rule for f in check_snapshot(snapshot(ring))} & {
        "mixed-strategies",
        "mixed-virtual-nodes",
    }


def test_a_topic_is_divided_also_among_those_that_do_not_subscribe():
    own = (
        clients("c1", subscriptions=(TOPIC, RETRY)),
        clients("c2", "c3", subscriptions=(TOPIC, "pay")),
    )
    one = group(*own[0], *own[1], subscriptions=(TOPIC, "pay", RETRY))
    routes = (topic(a=6), topic("pay", a=6), topic(RETRY, a=3))
    found = check_snapshot(snapshot(one, topics=routes))
    assert only(found, "mixed-subscriptions").queues == queues([0, 1], name="pay")
    assert only(found, "mixed-subscriptions").clients == ("c1",)
    assert only(found, "mixed-subscriptions").topic == "pay"
    assert [f.topic for f in of_rule(found, "unowned-queue")] == ["pay"]
    assert "do not subscribe get queues too" in only(found, "unowned-queue").message


def test_a_retry_topic_that_a_client_does_not_list_is_no_difference():
    own = clients("c1", subscriptions=(TOPIC, RETRY)), clients("c2", subscriptions=(TOPIC,))
    one = group(*own[0], *own[1], subscriptions=(TOPIC, RETRY))
    assert check_snapshot(snapshot(one, topics=(topic(), topic(RETRY, a=2)))) == ()


def test_who_broadcasts_may_disturb_the_table_of_subscriptions():
    own = clients("c1", subscriptions=(TOPIC,)), clients("c2", subscriptions=(TOPIC, "pay"))
    one = group(*own[0], *own[1], subscriptions=(TOPIC, "pay"), message_model="BROADCASTING")
    (finding,) = check_snapshot(snapshot(one, topics=(topic(), topic("pay"))))
    assert (finding.rule, finding.severity, finding.clients) == (
        "mixed-subscriptions",
        "warning",
        ("c1",),
    )
    assert "every heartbeat replaces" in finding.message


def test_topics_that_only_a_client_names_are_checked_too():
    one = group(
        *clients("c1", subscriptions=(TOPIC, "new")), *clients("c2", subscriptions=(TOPIC,))
    )
    found = check_snapshot(snapshot(one, topics=(topic(), topic("new", a=2))))
    assert only(found, "unowned-queue").queues == queues([1], name="new")


# --- SDKs and releases ---


@pytest.mark.parametrize(
    ("strategy", "languages", "severity", "said"),
    [
        ("AVG", "JAVA GO", "note", "agree on AVG"),
        ("CONSISTENT_HASH", "JAVA GO", "error", "CRC-32"),
        ("MACHINE_ROOM", "JAVA GO", "error", "AllocateByMachineRoom"),
        ("MACHINE_ROOM_NEARBY-AVG", "JAVA GO", "error", "AllocateByMachineNearby"),
        ("AVG_BY_CIRCLE", "JAVA CPP PYTHON", "error", "CPP and PYTHON clients have only AVG"),
        pytest.param(
            "CONSISTENT_HASH",
            "GO CPP",
            "error",
            "CPP clients have only AVG, and the group should use CONSISTENT_HASH",
            id="CONSISTENT_HASH-GO CPP",
        ),
    ],
)
def test_what_sdks_differ_in(strategy, languages, severity, said):
    own = [Client(f"c{i}", language=one) for i, one in enumerate(languages.split())]
    params = {"machine_rooms": ["r"]} if strategy == "MACHINE_ROOM" else {}
    finding = only(
        check_snapshot(snapshot(group(*own, strategy=strategy, strategy_params=params))),
        "mixed-languages",
    )
    assert (finding.severity, said in finding.message) == (severity, True)


def test_one_sdk_alone_is_no_finding_and_neither_are_releases_of_one_line():
    own = [
        Client("c1", language="GO", version="5.1.0"),
        Client("c2", language="GO", version="5.3.3"),
        Client("c3"),
    ]
    assert check_snapshot(snapshot(group(*own))) == ()


def test_gos_nearby_is_computed_as_avg():
    routes = (
        Topic(
            TOPIC, (TopicBroker("a", 2, machine_room="x"), TopicBroker("b", 4, machine_room="y"))
        ),
    )
    java, go = (
        Client("c1", machine_room="x", language="JAVA"),
        Client("c2", machine_room="y", language="GO"),
    )
    nearby = {"strategy": "MACHINE_ROOM_NEARBY", "strategy_params": {"inner": "AVG"}}
    found = check_snapshot(snapshot(group(java, go, **nearby), topics=routes))
    assert only(found, "unowned-queue").queues == queues([0], "b")
    assert only(found, "mixed-strategies").clients == ("c2",)
    java_too = Client("c2", machine_room="y", language="JAVA")
    assert check_snapshot(snapshot(group(java, java_too, **nearby), topics=routes)) == ()


def test_releases_before_and_after_5():
    own = [
        Client("c1", version="4.9.3"),
        Client("c2", version="5.3.3"),
        Client("c3", version="5.1.0"),
    ]
    finding = only(check_snapshot(snapshot(group(*own))), "mixed-versions")
    assert (finding.severity, finding.clients) == ("note", ("c1",))
    served = check_snapshot(snapshot(group(*own, server_assignment="PULL")))
    assert only(served, "mixed-versions").severity == "warning"
    assert "4.x: 1 client, 5.x: 2 clients" in finding.message


def test_what_other_sdks_put_for_a_release_is_not_compared_with_javas():
    """Go's SDK sends 317, Java's 4.5.2, in all of its releases."""
    go = [
        Client("c1", language="GO", version=version_name(317)),
        Client("c2", language="GO", version=version_name(317)),
    ]
    java = [
        Client("c3", language="JAVA", version="5.3.3"),
        Client("c4", version="3.9.9"),
        Client("c5", language="CPP"),
    ]
    assert not of_rule(check_snapshot(snapshot(group(*go, *java))), "mixed-versions")
    served = group(*go, *java, server_assignment="PULL")
    assert not of_rule(check_snapshot(snapshot(served)), "mixed-versions")


def test_releases_of_each_language_are_named_with_it():
    java = [
        Client(f"j{i}", language="JAVA", version=one)
        for i, one in enumerate(["4.9.3", "5.3.3", "5.1.0"])
    ]
    cpp = [Client(f"n{i}", language="CPP", version=one) for i, one in enumerate(["3.1.8", "4.6.0"])]
    both = only(check_snapshot(snapshot(group(*java, *cpp))), "mixed-versions")
    assert (
        "(CPP 3.x: 1 client, CPP 4.x: 1 client, JAVA 4.x: 1 client, JAVA 5.x: 2 clients)"
        in both.message
    )
    assert both.clients == ("j0", "n1")
    alone = only(
        check_snapshot(snapshot(group(*cpp, java[1], server_assignment="PULL"))), "mixed-versions"
    )
    assert (alone.severity, alone.clients, "is not known" in alone.message) == (
        "note",
        ("n1",),
        True,
    )


_releases = st.sampled_from([None, "3.2.6", "4.5.2", "4.9.8", "5.1.0", "newer than 5.9.9"])
_languages = st.sampled_from([None, "JAVA", "GO", "CPP"])


@examples(100)
@given(st.lists(st.tuples(_languages, _releases), min_size=1, max_size=6))
def test_releases_are_mixed_just_where_one_language_has_two_majors(told):
    own = [Client(f"c{i}", language=one, version=release) for i, (one, release) in enumerate(told)]
    majors = {(one, release[0]) for one, release in told if release and release[0].isdigit()}
    is_mixed = len(majors) > len({one for one, _ in majors})
    assert bool(of_rule(check_snapshot(snapshot(group(*own))), "mixed-versions")) == is_mixed


# --- Different views ---


def test_clients_with_old_routes_are_named_with_what_that_makes():
    old, new = clients("c1", "c2", sees_read_queue_nums={TOPIC: {"a": 4}}), clients("c3", "c4")
    one = group(*old, *new)
    found = check_snapshot(snapshot(one, topics=(topic(a=8),)))
    counts = takers(one, topic(a=8))
    finding = only(found, "stale-route")
    assert finding.queues == tuple(queue for queue, n in counts.items() if n != 1)
    assert finding.clients == ("c1", "c2")
    assert "routes of clients differ" in only(found, "unowned-queue").message


def test_queues_that_only_an_old_route_has_are_counted():
    old = Client("c1", sees_read_queue_nums={TOPIC: {"a": 4, "gone": 2}})
    found = check_snapshot(snapshot(group(old, "c2"), topics=(topic(a=4),)))
    assert "2 queues that they see do not exist" in only(found, "stale-route").message


def test_a_view_that_is_the_route_is_no_finding():
    assert (
        check_snapshot(
            snapshot(group(Client("c1", sees_read_queue_nums={TOPIC: {"b": 4, "a": 4}}), "c2"))
        )
        == ()
    )


lists = st.dictionaries(
    st.sampled_from("ab"),
    st.lists(st.sampled_from(["c1", "c2", "c3"]), min_size=1, unique=True),
    min_size=1,
)


@examples(100)
@given(lists, st.sampled_from(["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"]), st.integers(1, 5))
def test_the_queues_at_risk_are_those_of_all_ways_to_ask_the_brokers(by_broker, name, n):
    """Every client asks any of the brokers: all choices are tried."""
    route = topic(a=n, b=2)
    ids = sorted({one for ids in by_broker.values() for one in ids})
    by_broker = {broker: tuple(ids) for broker, ids in by_broker.items()}
    one = group(*ids, strategy=name, broker_client_ids=by_broker)
    there = sort_queues(route.queues())
    counts = []
    for choice in product(by_broker.values(), repeat=len(ids)):
        shares = [
            share(one, client, route, told)
            for client, told in zip(one.clients, choice, strict=True)
        ]
        counts.append([sum(queue in mine for mine in shares) for queue in there])
    by_queue = dict(zip(there, zip(*counts, strict=True), strict=True))
    always = (
        {q for q, ns in by_queue.items() if max(ns) == 0},
        {q for q, ns in by_queue.items() if min(ns) > 1},
    )
    at_risk = {q for q, ns in by_queue.items() if 0 in ns or max(ns) > 1} - always[0] - always[1]
    found = check_snapshot(Snapshot((route,), (one,)))
    assert {q for f in of_rule(found, "split-client-list") for q in f.queues} == at_risk
    assert {q for f in of_rule(found, "unowned-queue") for q in f.queues} == always[0]
    assert {q for f in of_rule(found, "double-owned-queue") for q in f.queues} == always[1]


def test_lists_that_differ_name_the_clients_and_count_the_worst():
    one = group("c1", "c2", broker_client_ids={"a": ("c1", "c2"), "b": ("c1",)})
    finding = only(check_snapshot(snapshot(one)), "split-client-list")
    assert (finding.clients, finding.severity) == (("c2",), "warning")
    assert "(1 or 2)" in finding.message
    assert (
        "at worst that leaves 4 queues without an owner and 4 with several owners"
        in finding.message
    )
    assert finding.queues == queues(range(4), "b")


def test_an_id_that_only_one_broker_lists_twice_is_named():
    one = group("c1", "c1", "c2", broker_client_ids={"a": ("c1", "c1", "c2"), "b": ("c1", "c2")})
    assert only(check_snapshot(snapshot(one)), "split-client-list").clients == ("c1",)


def test_different_views_of_who_knows_what_strategy_are_told_without_numbers():
    one = group("c1", "c2", strategy="CONFIG", broker_client_ids={"a": ("c1", "c2"), "b": ("c1",)})
    found = check_snapshot(snapshot(one))
    assert (
        "of a random broker: the effect on owners is not known (the lists of CONFIG"
        in only(found, "split-client-list").message
    )


def test_a_list_of_a_broker_without_the_topic_is_not_asked():
    one = group("c1", "c2", broker_client_ids={"a": ("c1", "c2"), "elsewhere": ("c1",)})
    assert check_snapshot(snapshot(one)) == ()


def test_a_client_that_only_one_broker_lists_counts_as_a_client():
    one = group("c1", "c2", broker_client_ids={"a": ("c1", "c2"), "b": ("c1", "c3")})
    assert only(check_snapshot(snapshot(one)), "split-client-list").clients == ("c2", "c3")


# --- CONFIG ---


def config(lists, *ids):
    return group(*ids, strategy="CONFIG", strategy_params={"message_queues": lists})


def test_config_lists_that_overlap_leave_out_and_name_what_is_not_there():
    lists = {
        "c1": [[TOPIC, "a", 0], [TOPIC, "a", 1]],
        "c2": [{"topic": TOPIC, "broker_name": "a", "queue_id": 1}, [TOPIC, "x", 9]],
    }
    found = check_snapshot(snapshot(config(lists, "c1", "c2"), topics=(topic(a=3),)))
    assert only(found, "config-overlap").queues == queues([1])
    assert only(found, "config-overlap").clients == ("c1", "c2")
    assert only(found, "config-hole").queues == queues([2])
    assert only(found, "config-unknown-queue").queues == queues([9], "x")
    assert only(found, "config-unknown-queue").clients == ("c2",)
    assert len(found) == 3


def test_config_lists_that_fit_are_no_finding():
    lists = {"c1": [[TOPIC, "a", 0], [TOPIC, "a", 2]], "c2": [[TOPIC, "a", 1]]}
    assert check_snapshot(snapshot(config(lists, "c1", "c2"), topics=(topic(a=3),))) == ()


def test_one_list_for_all_clients_is_all_overlap():
    found = check_snapshot(snapshot(config([[TOPIC, "a", 0]], "c1", "c2"), topics=(topic(a=1),)))
    assert only(found, "config-overlap").queues == queues([0])


# --- Brokers that assign ---


@pytest.mark.parametrize("mode", ["PULL", "POP"])
def test_a_strategy_that_brokers_do_not_know_gives_nobody_a_queue(mode):
    found = check_snapshot(
        snapshot(group("c1", "c2", strategy="CONSISTENT_HASH", server_assignment=mode))
    )
    assert {f.rule for f in found} == {"unsupported-server-strategy"}
    assert (found[0].severity, len(found[0].queues), found[0].clients) == ("error", 8, ("c1", "c2"))


def test_only_the_clients_that_ask_for_it_are_named():
    one = group("c1", Client("c2", strategy="CONFIG"), server_assignment="PULL")
    assert only(check_snapshot(snapshot(one)), "unsupported-server-strategy").clients == ("c2",)


@pytest.mark.parametrize("fields", [{"is_ordered": True}, {"message_model": "BROADCASTING"}])
def test_who_never_lets_brokers_assign_may_use_any_strategy(fields):
    one = group("c1", strategy="CONSISTENT_HASH", server_assignment="PULL", **fields)
    assert check_snapshot(snapshot(one)) == ()


def test_brokers_go_by_their_own_routes():
    old = Client("c1", sees_read_queue_nums={TOPIC: {"a": 1}})
    assert check_snapshot(snapshot(group(old, "c2", server_assignment="PULL"))) == ()


@pytest.mark.parametrize("share_num", [0, 1, 2, 9])
def test_pop_shares_queues_so_none_is_double_owned(share_num):
    one = group(
        "c1",
        "c2",
        "c3",
        "c4",
        server_assignment="POP",
        pop_share_queue_num=share_num,
        subscriptions=(TOPIC, RETRY),
    )
    assert check_snapshot(snapshot(one, topics=(topic(), topic(RETRY, a=4)))) == ()


def test_pop_by_repeated_ids_may_leave_queues_and_its_retry_topic_is_pulled():
    ids = ("c1", "c1", "c1", "c2")
    one = Group(
        "g", (TOPIC, RETRY), tuple(map(Client, ids)), server_assignment="POP", pop_share_queue_num=1
    )
    found = check_snapshot(snapshot(one, topics=(topic(a=4), topic(RETRY, a=4))))
    assert [(f.topic, f.queues) for f in of_rule(found, "unowned-queue")] == [
        (RETRY, queues([1, 2], name=RETRY)),
        (TOPIC, queues([1, 2])),
    ]
    assert [f.topic for f in of_rule(found, "double-owned-queue")] == [RETRY]
