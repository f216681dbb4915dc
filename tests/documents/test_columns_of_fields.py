"""Lists of mappings are read field by field: the same instances, and the same errors at the same
place, as one by one.
"""

import gc
from dataclasses import FrozenInstanceError, replace
from random import Random

import pytest

from rmqalloc.documents import TextError, json_text
from rmqalloc.documents.fields import FieldError
from rmqalloc.documents.memory import no_collection
from rmqalloc.documents.records import ListOf, record
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.plain_data import SnapshotError, from_document, to_document
from rmqalloc.snapshot.snapshot import (
    Client,
    Filter,
    Group,
    Lag,
    Snapshot,
    Topic,
    TopicBroker,
    with_fields,
)

QUEUE = {"topic": "T", "broker_name": "b", "queue_id": 0}
FIELDS = {
    Client: {
        "client_id": ("a", "b", "ü", ""),
        "version": ("5.1.0", None),
        "virtual_nodes": (10, None),
        "subscriptions": (["T", "U"], [], None),
        "owned": ([QUEUE, QUEUE | {"queue_id": 1}], [], None),
        "filters": ({"T": {"expression": "x"}}, {}, None),
        "start_timestamp": (-5, None),
    },
    TopicBroker: {
        "broker_name": ("a", "b"),
        "read_queue_nums": (4, 8),
        "write_queue_nums": (4, None),
        "perm": (2, 6),
    },
    Topic: {
        "name": ("T", "U"),
        "brokers": ([{"broker_name": "a", "read_queue_nums": 4}], []),
        "unknown": ({}, {"routes": "x"}),
    },
    Filter: {"expression": ("a", "*"), "type": ("TAG", "SQL92")},
    Lag: {"queue": (QUEUE,), "broker_offset": (5, 7), "consumer_offset": (-1, 3)},
    MessageQueue: {"topic": ("T", "U"), "broker_name": ("a",), "queue_id": (0, -1)},
}
WRONG = {"a": 3, "b": True, "c": None, "d": "x", "e": [], "f": -1, "g": 1.0, "h": "\ud800"}


def some(cls, random, n=12):
    """Mappings of a class, with all or some of its fields in any order."""
    needed = record(cls).needed
    for _ in range(n):
        names = [one for one in FIELDS[cls] if one in needed or random.random() < 0.4]
        random.shuffle(names)
        yield {name: random.choice(FIELDS[cls][name]) for name in names}


@pytest.mark.parametrize("cls", FIELDS)
@pytest.mark.parametrize("seed", range(5))
def test_columns_give_what_each_mapping_gives(cls, seed):
    given = list(some(cls, Random(seed)))
    kind = (
        record(cls)
        if cls is not MessageQueue
        else ListOf(record(Client)).kind.kinds["owned"].kind.kind
    )
    assert list(kind.read_all(given)) == [kind.read(one) for one in given]


def test_instances_made_at_once_are_such_as_are_made_singly():
    made = record(Topic).made({"name": ["T", "U"]}, 2)
    assert [type(topic) for topic in made] == [Topic, Topic]
    assert made == [Topic("T"), Topic("U")] and {*made} == {Topic("T"), Topic("U")}
    assert made[0].unknown is not made[1].unknown
    with pytest.raises(FrozenInstanceError):
        made[0].name = "V"


@pytest.mark.parametrize("cls", [one for one in FIELDS if one is not MessageQueue])
@pytest.mark.parametrize("seed", range(5))
def test_the_first_fault_is_said_at_its_place(cls, seed):
    random = Random(seed)
    given = list(some(cls, random))
    at, also = sorted(random.sample(range(len(given)), 2))
    for number in (at, also):
        name = random.choice(list(FIELDS[cls]))
        given[number] = given[number] | (
            {"whatever": 1} if random.random() < 0.3 else {name: random.choice([*WRONG.values()])}
        )
    kind, found = record(cls), None
    for number, one in enumerate(given):
        try:
            kind.read(one)
        except FieldError as error:
            found = error.inside(number)
            break
    if found is None:
        assert ListOf(kind).read(given) == tuple(map(kind.read, given))
        return
    with pytest.raises(FieldError) as caught:
        ListOf(kind).read(given)
    assert (caught.value.what, caught.value.parts) == (found.what, found.parts)


def test_a_truth_is_no_number_though_it_equals_one():
    given = [
        {"broker_name": "a", "read_queue_nums": 1},
        {"broker_name": "a", "read_queue_nums": True},
    ]
    with pytest.raises(FieldError, match="must be a whole number"):
        ListOf(record(TopicBroker)).read(given)


@pytest.mark.parametrize("wrong", [True, 1.0])
def test_lists_that_are_equal_but_for_a_type_are_read_each(wrong):
    given = [
        {"name": name, "brokers": [{"broker_name": "a", "read_queue_nums": number}]}
        for name, number in (("T", wrong), ("U", 1))
    ]
    with pytest.raises(FieldError, match="must be a whole number") as caught:
        ListOf(record(Topic)).read(given)
    assert caught.value.parts == (0, "brokers", 0, "read_queue_nums")


@pytest.mark.parametrize("names", [("topics", "groups", "errors"), ("errors", "groups", "topics")])
def test_of_several_faults_the_first_in_the_file_is_said(names):
    document = to_document(Snapshot()) | dict.fromkeys(names, 3)
    with pytest.raises(SnapshotError, match=f"{names[0]} must be a list"):
        from_document(document)


def test_topics_on_equal_brokers_share_them():
    topics = tuple(Topic(name, (TopicBroker("a", 4), TopicBroker("b", 8))) for name in "TUV")
    read = from_document(to_document(Snapshot(topics)))
    assert read.topics == topics
    assert len({id(one.brokers) for one in read.topics}) == 1


@pytest.mark.parametrize(
    "text",
    ['{"a" : 1, "a" : 2}', '{"a": 1, "a" : 2}', '{"a": 1, "b": ":", "a"\n:2}', '{":": 1, ":": 2}'],
)
def test_a_key_given_twice_is_seen_whatever_stands_before_its_colon(text):
    with pytest.raises(TextError, match="given twice"):
        json_text.loads(text)


@pytest.mark.parametrize(
    "text", ['{"a" : ":", "b\\":": ["::"]}', '{"a": ":b"}', '{"host": "h:1", "::" : 1}']
)
def test_colons_in_texts_are_no_keys(text):
    assert list(json_text.loads(text))


@pytest.mark.parametrize(
    ("part", "others"),
    [(Client("a", version="5"), {"owned": ()}), (Group("g", ("T",)), {"clients": ()})],
)
def test_a_copy_is_what_replace_makes(part, others):
    assert with_fields(part, **others) == replace(part, **others)
    with pytest.raises(AttributeError):
        with_fields(part, whatever=1)


def test_many_objects_are_old_at_once_and_frozen_ones_stay_frozen():
    with no_collection():
        kept = [[one] for one in range(1 << 16)]
    assert gc.get_count()[0] < len(kept) // 2
    gc.freeze()
    try:
        with no_collection():
            kept = [[one] for one in range(1 << 16)]
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()
