"""May a client stop now: decided group by group, from one snapshot."""

from dataclasses import replace

import pytest
from audited import TOPIC, group, queues, snapshot, topic, with_owned

from rmqalloc.evidence import known
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.matching import NoMatchError
from rmqalloc.snapshot.snapshot import Client, Group, SourceError
from rmqalloc.watching.guard import may_stop

IDS = ("10.0.0.1@7#1", "10.0.0.2@7#2", "10.0.0.3@7#3")
MIXED = ("AVG", "AVG_BY_CIRCLE", "AVG")


def settled(*ids, **fields):
    """A group each client of which owns what its strategy gives it."""
    return replace(with_owned(group(*ids, **fields), [topic()]), name=fields.get("name", "g"))


def owning(made, **owned):
    """The same with other queues of some clients, by the last digit of their ids."""
    return replace(
        made,
        clients=tuple(
            replace(one, owned=owned.get(f"c{one.client_id[-1]}", one.owned))
            for one in made.clients
        ),
    )


def asked(*groups, target=IDS[0], **fields):
    return may_stop(snapshot(*groups, **fields), target)


def test_a_client_of_a_settled_group_may_stop():
    answer = asked(settled(*IDS))
    assert (answer.verdict, answer.is_settled, answer.clients) == ("yes", True, IDS[:1])
    assert answer.reason == "10.0.0.1@7#1 may stop: 3 queues of g get new owners"
    [row] = answer.groups.to_pylist()
    assert (row["n_clients"], row["n_queues"], row["unowned_meanwhile"], row["unowned_after"]) == (
        3,
        3,
        3,
        0,
    )


@pytest.mark.parametrize(
    ("owned", "reason"),
    [
        ({"c3": ()}, "2 queues of orders have no owner"),
        ({"c3": queues([3, 2], "b") + queues([0])}, "1 queue of orders has several owners"),
        (
            {"c2": queues([3]) + queues([0, 2], "b"), "c3": queues([1, 3], "b")},
            "2 queues of orders have another owner than expected",
        ),
    ],
)
def test_not_while_the_change_before_has_not_settled(owned, reason):
    answer = asked(owning(settled(*IDS), **owned))
    assert (answer.verdict, answer.is_settled) == ("no", False)
    assert answer.reason == f"the previous change of g has not settled: {reason}"


def test_not_while_brokers_list_different_clients():
    made = replace(settled(*IDS), broker_client_ids={"a": IDS, "b": IDS[:2]})
    assert asked(made).verdict == "no"


def test_unknown_where_what_decides_is_not_known():
    made = settled(*IDS)
    whole = snapshot(made)
    for kind in ("clients", "subscriptions", "owners"):
        answer = may_stop(
            replace(whole, groups=(replace(made, unknown={kind: "left out"}),)), IDS[0]
        )
        assert (answer.verdict, answer.is_settled) == ("unknown", False)
        assert kind in answer.reason
    routes = replace(whole, topics=(replace(topic(), unknown={"routes": "broker c is silent"}),))
    assert may_stop(routes, IDS[0]).reason == "g: not known: routes of orders (broker c is silent)"
    assert asked(group(*IDS)).reason == "g: the queues that its clients own are not known"
    assert asked(replace(made, strategy=None)).verdict == "yes"  # fitted
    doubted = replace(made, strategy_source="fitted", strategy_doubt="two explain it")
    assert asked(doubted).reason == "g: its strategy is in doubt: two explain it"
    assert may_stop(known(snapshot(doubted), assume=True), IDS[0]).verdict == "yes"


def test_a_silent_client_leaves_it_unknown():
    silent = SourceError("broker a", f"GET_CONSUMER_RUNNING_INFO g, {IDS[1]}", "timeout")
    answer = asked(owning(settled(*IDS), c2=None), errors=(silent,))
    assert answer.verdict == "unknown"


def test_the_last_client_may_not_stop():
    answer = asked(settled(IDS[0]))
    assert (answer.verdict, answer.is_settled) == ("no", True)
    assert answer.reason == "g has no other client: its 8 queues would be unread"


def test_not_where_nobody_takes_over():
    lists = {"message_queues": {IDS[0]: [["orders", "a", 0]], IDS[1]: [["orders", "a", 1]]}}
    owned = {"c1": queues([0]), "c2": queues([1])}
    made = owning(group(*IDS[:2], strategy="CONFIG", strategy_params=lists), **owned)
    answer = may_stop(snapshot(made, topics=(topic(a=2),)), IDS[0])
    assert (answer.verdict, answer.reason) == ("no", "no client would take over 1 queue of g")


def test_not_while_a_queue_has_no_owner_whatever_the_clients_compute():
    lists = {"message_queues": {IDS[0]: [], IDS[1]: [["orders", "a", 0]]}}
    made = owning(group(*IDS[:2], strategy="CONFIG", strategy_params=lists), c1=(), c2=queues([0]))
    answer = may_stop(snapshot(made, topics=(topic(a=2),)), IDS[0])
    assert (answer.verdict, answer.is_settled) == ("no", False)
    assert answer.reason.endswith("1 queue of orders has no owner")


def test_not_while_a_queue_has_several_owners_whatever_the_clients_compute():
    lists = {"message_queues": {client_id: [["orders", "a", 0]] for client_id in IDS[:2]}}
    made = owning(
        group(*IDS[:2], strategy="CONFIG", strategy_params=lists), c1=queues([0]), c2=queues([0])
    )
    answer = may_stop(snapshot(made, topics=(topic(a=1),)), IDS[0])
    assert (answer.verdict, answer.is_settled) == ("no", False)


def test_not_where_a_queue_would_have_several_owners():
    clients = [Client(one, strategy=name) for one, name in zip(IDS, MIXED, strict=True)]
    made = with_owned(group(*clients), [topic(a=3)])
    answer = may_stop(snapshot(made, topics=(topic(a=3),)), IDS[0])
    assert (answer.verdict, answer.is_settled) == ("no", True)
    assert "of g would have several owners" in answer.reason


def test_what_cannot_be_computed_is_not_known():
    made = owning(
        group(*IDS[:2], strategy="MACHINE_ROOM_NEARBY-AVG"), c1=queues([0]), c2=queues([1])
    )
    answer = may_stop(snapshot(made, topics=(topic(a=2),)), IDS[0])
    assert answer.verdict == "unknown"


@pytest.mark.parametrize(
    "shared", [{"message_model": "BROADCASTING"}, {"server_assignment": "POP"}, {"is_shared": True}]
)
def test_where_clients_share_queues_one_has_to_stay(shared):
    answer = asked(group(*IDS[:2], **shared))
    assert (answer.verdict, answer.groups["unowned_meanwhile"].to_pylist()) == ("yes", [0])
    assert asked(group(IDS[0], **shared)).verdict == "no"


def test_a_group_of_different_strategies_settles_too():
    clients = [Client(one, strategy=name) for one, name in zip(IDS, MIXED, strict=True)]
    mixed = with_owned(group(*clients), [topic(a=3)])
    answer = may_stop(snapshot(mixed, topics=(topic(a=3),)), IDS[0])
    assert answer.is_settled


# --- Which clients, which groups ---


def test_a_target_is_an_id_an_address_or_a_host():
    ids = ("10.0.0.1@7#1", "10.0.0.1@8#2", "10.0.0.11@7#3", "10.0.0.2@7#4")
    made = settled(*ids)
    for target, meant in (
        ("10.0.0.1@7#1", ids[:1]),
        ("10.0.0.1@8", ids[1:2]),
        ("10.0.0.1", ids[:2]),
        ("10.0.0.11", ids[2:3]),
    ):
        assert asked(made, target=target).clients == meant


def test_every_group_of_the_client_decides():
    answer = asked(settled(*IDS), settled(*IDS[:1], name="h"), settled(*IDS[1:], name="i"))
    assert answer.verdict == "no"
    assert dict(
        zip(
            answer.groups["consumer_group"].to_pylist(),
            answer.groups["verdict"].to_pylist(),
            strict=True,
        )
    ) == {
        "g": "yes",
        "h": "no",
    }
    assert (
        may_stop(snapshot(settled(*IDS), settled(*IDS[:1], name="h")), IDS[0], ["g"]).verdict
        == "yes"
    )


def test_no_client_matches():
    with pytest.raises(NoMatchError, match=r"no client matches '10.0.0.1@9'; near it"):
        asked(settled(*IDS), target="10.0.0.1@9")


def test_a_client_that_may_not_be_listed_is_not_known():
    lost = SourceError("broker a", "GET_CONSUMER_CONNECTION_LIST g", "timeout")
    answer = asked(settled(*IDS), target="10.0.0.9", errors=(lost,))
    assert answer.verdict == "unknown"
    assert answer.reason.startswith("whether 10.0.0.9 is a client of g is not known: broker a")


def test_a_group_without_queues_may_lose_any_client():
    made = Group("g", (), tuple(Client(one, owned=()) for one in IDS), strategy="AVG")
    assert asked(made).reason == "10.0.0.1@7#1 may stop: no queue needs a new owner"


# --- How it is said ---


def test_hostile_names_are_said_in_one_harmless_line():
    made = settled("a\x1b[2J@1\n2", "b@1", name="g\r\nx")
    [first] = asked(made, target="a\x1b[2J@1\n2").lines()
    assert first.isprintable()
    assert asked(settled("a\x1b@1", name="g\n"), target="a\x1b").reason.isprintable()


def test_the_document():
    document = asked(settled(*IDS), settled(*IDS, name="h")).to_dict()
    assert {name: document[name] for name in ("kind", "verdict", "target", "clients")} == {
        "kind": "GuardAnswer", "verdict": "yes", "target": IDS[0], "clients": [IDS[0]],
    }  # fmt: skip
    assert [one["consumer_group"] for one in document["groups"]] == ["g", "h"]


def test_the_retry_topic_has_to_settle_too():
    retry = topic("%RETRY%g", a=1)
    made = settled(*IDS, subscriptions=(TOPIC, retry.name))
    owned = MessageQueue(retry.name, "a", 0)
    own = {one.client_id: one.owned for one in made.clients}
    right = owning(made, c1=(*own[IDS[0]], owned))
    wrong = owning(made, c2=(*own[IDS[1]], owned))
    both = (topic(), retry)
    assert may_stop(snapshot(right, topics=both), IDS[1]).verdict == "yes"
    assert may_stop(snapshot(wrong, topics=both), IDS[1]).verdict == "no"
