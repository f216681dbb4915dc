"""What a name that matches nothing is answered with."""

import pytest

import rmqalloc
from rmqalloc.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.snapshot.matching import NoMatchError, by_name, chosen

SNAPSHOT = Snapshot(
    topics=(Topic("payments", (TopicBroker("broker-a", 4),)), Topic("quiet")),
    groups=(
        Group("billing", ("payments",), (Client("10.0.0.1@7"),)),
        Group("ledger", ("payments",), (Client("10.0.0.2@8"),)),
    ),
)
GROUPS = by_name(SNAPSHOT.groups, "groups")


def said(pattern, names=GROUPS, what="consumer group", snapshot=SNAPSHOT):
    with pytest.raises(NoMatchError) as error:
        chosen([pattern], names, what, snapshot)
    return str(error.value)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("payments", "payments is a topic; groups that read it: billing, ledger"),
        ("quiet", "quiet is a topic; groups that read it: none"),
        ("10.0.0.1@7", "10.0.0.1@7 is a client of group billing"),
        ("10.0.0.2", "10.0.0.2 is a host; client 10.0.0.2@8 of group ledger is on it"),
        ("broker-a", "broker-a is a broker; it has queues of topic payments"),
        ("biling", "near it is 'billing'"),
        ("zzzzzz", "the snapshot has 2: billing, ledger"),
    ],
    ids=["topic", "unread topic", "client", "host", "broker", "near", "neither"],
)
def test_a_name_that_no_group_has_is_explained(name, hint):
    assert said(name) == f"no consumer group matches {name!r}; {hint}"


def test_a_group_given_as_a_topic_is_said_to_be_a_group():
    topics = by_name(SNAPSHOT.topics, "topics")
    expected = "billing is a consumer group; topics that it reads: payments"
    assert said("billing", topics, "topic") == f"no topic matches 'billing'; {expected}"


def test_a_name_of_a_hostile_snapshot_is_printed_harmless():
    topic = Topic("\x1b[31mred", (TopicBroker("broker-a", 1),))
    hostile = Snapshot(topics=(topic,), groups=(Group("\u202eg"),))
    text = said(topic.name, by_name(hostile.groups, "groups"), snapshot=hostile)
    assert "is a topic" in text and "\x1b" not in text


@pytest.mark.parametrize(
    "answer",
    [
        rmqalloc.show,
        rmqalloc.groups,
        rmqalloc.check,
        lambda snapshot, groups: rmqalloc.plan(snapshot, [], groups=groups),
        lambda snapshot, groups: rmqalloc.explain(snapshot, *groups, "payments", "broker-a", 0),
        lambda snapshot, groups: rmqalloc.diff(snapshot, snapshot, groups=groups),
    ],
    ids=["show", "groups", "check", "plan", "explain", "diff"],
)
def test_every_face_names_the_kind(answer):
    with pytest.raises(NoMatchError, match="payments is a topic; groups that read it: billing"):
        answer(SNAPSHOT, ["payments"])
