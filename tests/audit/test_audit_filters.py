"""Clients of a group that take different messages of a topic: by tags, by conditions of SQL92, or
otherwise than brokers do.
"""

import pytest
from audited import TOPIC, group, of_rule, only, snapshot, topic

from rmqalloc.audit import check_snapshot
from rmqalloc.snapshot import Client, Filter
from rmqalloc.snapshot.files import losses
from rmqalloc.snapshot.plain_data import from_document, to_document

RULE = "mixed-subscriptions"
A, B, BOTH = Filter("TagA"), Filter("TagB"), Filter("TagA || TagB")
SQL = Filter("price > 10", "SQL92")


def taking(*filters, **fields):
    """A group whose clients take these messages of the topic: None for all, ``...`` where it is not
    known.
    """
    clients = [
        Client(
            f"c{i}",
            subscriptions=(TOPIC,),
            filters=None if one is ... else {} if one is None else {TOPIC: one},
        )
        for i, one in enumerate(filters)
    ]
    return snapshot(group(*clients, **fields), topics=(topic(a=4),))


def found(*filters, **fields):
    return [
        (one.severity, one.clients)
        for one in of_rule(check_snapshot(taking(*filters, **fields)), RULE)
    ]


@pytest.mark.parametrize(
    ("filters", "less"),
    [
        ((A, None), ["c0"]),
        ((A, B), ["c0", "c1"]),
        ((A, BOTH, BOTH), ["c0"]),
        ((SQL, None), ["c0"]),
        ((SQL, Filter("price > 11", "SQL92")), ["c0", "c1"]),
        ((A, SQL), ["c0", "c1"]),
        ((Filter("a || b", "SQL92"), Filter("b || a", "SQL92")), ["c0", "c1"]),
        ((Filter("my.Filter", "CLASS"), None, None), ["c0"]),
        ((A, ..., None), ["c0"]),
    ],
)
def test_a_client_that_takes_less_of_a_topic_than_others_loses_messages(filters, less):
    assert found(*filters) == [("error", tuple(less))]


@pytest.mark.parametrize(
    "filters",
    [
        (A, A),
        (BOTH, Filter("TagB||TagA")),
        (None, Filter("*"), Filter(""), Filter(" * ")),
        (SQL, Filter(" price > 10 ", "SQL92")),
        (A, ...),
        (...,),
    ],
)
def test_the_same_messages_written_otherwise_are_no_fault(filters):
    assert found(*filters) == []


def test_the_finding_says_what_is_lost():
    finding = only(check_snapshot(taking(A, None, None)), RULE)
    assert finding.topic == TOPIC and finding.message.startswith(
        f"Clients take different messages of {TOPIC} (TAG TagA: 1 client, all messages: 2 clients): a message whose tag the "
        "owner of its queue does not subscribe to is skipped permanently, because offsets move past it"
    )
    broadcast = only(check_snapshot(taking(A, None, message_model="BROADCASTING")), RULE)
    assert "every client that gets it" in broadcast.message
    hostile = only(check_snapshot(taking(Filter("\x1b[2J" * 90), None)), RULE)
    assert hostile.message.isprintable() and len(hostile.message) < 500


@pytest.mark.parametrize(
    ("listed", "filters", "is_found"),
    [
        ((A,), (None, None), True),
        ((A,), (None, ...), True),
        ((A, Filter()), (..., ...), True),
        ((A,), (A, A), False),
        ((A,), (..., ...), False),
        ((A,), (A, ...), False),
    ],
)
def test_what_brokers_leave_out_that_no_client_does(listed, filters, is_found):
    """Brokers keep the newest subscription, be its client gone or silent."""
    assert found(*filters, filters={TOPIC: listed}) == (
        [("warning", tuple(f"c{i}" for i, one in enumerate(filters) if one is ...))]
        if is_found
        else []
    )


def test_brokers_that_take_all_differ_from_clients_that_do_not():
    assert found(A, A, filters={}) == [("warning", ())]
    assert found(A, A) == []


def test_files_keep_expressions_and_tables_say_that_they_do_not():
    made = taking(A, SQL, None, filters={TOPIC: (A, Filter())})
    document = to_document(made)
    assert from_document(document) == made
    assert document["groups"][0]["clients"][1]["filters"] == {
        TOPIC: {"expression": "price > 10", "type": "SQL92"}
    }
    assert losses(made, "json") == ()
    assert {"groups[].clients[].filters", "groups[].filters"} <= set(losses(made, "csv"))
