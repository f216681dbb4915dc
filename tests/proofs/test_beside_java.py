"""The judges of members beside Java, on stories that were made up: true ones pass, and every fault
is found.
"""

import struct

import pytest
from beside_java.deliveries import RECORD, Delivery, Lost, Sent, Span, judged, read
from beside_java.owners import difference
from beside_java.seen import info_of

from rmqalloc import MessageQueue

NAMES = ["hz-java-0", "sh-python-1"]
KINDS = ["java", "python"]
SECOND = 1_000_000
SPANS = [Span("all join", 0, 500), Span("a member leaves", 10_000, 11_000)]
STORY = [  # member, number, offset, second
    (0, 0, 0, 1), (0, 1, 1, 2), (0, 2, 2, 3),
    (1, 2, 2, 10.5), (1, 3, 3, 11), (1, 4, 4, 12),
]  # fmt: skip


def judge(tmp_path, story, n=5, unsure=(), end=5):
    for member, name in enumerate(NAMES):
        file = tmp_path / f"{name}-1"
        file.with_name(f"{file.name}.keys").write_text(f"g\tg/{name}\tT\ta\t0\n")
        mine = [one for one in story if one[0] == member]
        file.write_bytes(
            b"".join(struct.pack("<iiqq", 0, *one[1:3], int(one[3] * SECOND)) for one in mine)
            + b"torn"
        )
    sent = Sent(n, frozenset(unsure), {("a", 0): end})
    return judged(read(tmp_path, "g", "T", NAMES), sent, SPANS, KINDS)


def test_a_true_story_passes(tmp_path):
    found = judge(tmp_path, STORY)
    assert found.wrong(in_order=True) == []
    assert (found.n_stored, found.n_distinct) == (5, 5)
    assert found.twice == {("a member leaves", "java to python"): 1}
    assert [(one.event, one.kinds, one.begins) for one in found.handovers] == [
        ("a member leaves", "java to python", -1)
    ]
    assert RECORD.itemsize == 24


@pytest.mark.parametrize(
    ("story", "more", "says"),
    [
        (STORY[:-1], {}, "1 of 5 stored messages never came"),
        ([*STORY, (1, 5, 5, 13)], {}, "1 came that are not stored"),
        ([*STORY[:-1], (1, 3, 4, 12)], {}, "1 numbers never came"),
        ([*STORY, (1, 4, 4, 60)], {}, "1 came twice while nothing happened"),
        ([*STORY[:4], (1, 4, 4, 11), (1, 3, 3, 12)], {}, "1 out of order"),
        ([], {"n": 0, "end": 0}, "0 of 0"),
    ],
)
def test_every_fault_is_found(tmp_path, story, more, says):
    [wrong] = judge(tmp_path, story, **more).wrong(in_order=True)
    assert says in wrong


def test_a_lost_message_is_told_with_the_deliveries_around_it(tmp_path):
    story = [delivery for delivery in STORY if delivery[2] != 1] + [(1, 5, 5, 13)]
    found = judge(tmp_path, story, n=6, end=6).lost_messages
    around = [(0, 0, 1), (2, 0, 3), (2, 1, 10.5), (3, 1, 11)]
    assert found == [
        Lost(("a", 0), 1, [Delivery(offset, member, 1000 * at) for offset, member, at in around])
    ]
    assert judge(tmp_path, STORY).lost_messages == []


def test_all_messages_of_a_queue_that_nobody_was_given_are_lost(tmp_path):
    judge(tmp_path, STORY)
    sent = Sent(7, frozenset(), {("a", 0): 5, ("a", 1): 2})
    found = judged(read(tmp_path, "g", "T", NAMES), sent, SPANS, KINDS).lost_messages
    assert found == [Lost(("a", 1), 0, []), Lost(("a", 1), 1, [])]


def test_what_may_or_may_not_have_been_sent_is_not_missed(tmp_path):
    assert judge(tmp_path, STORY, n=6, unsure={5}).wrong(in_order=True) == []
    assert "1 numbers" in judge(tmp_path, STORY, n=6).wrong(in_order=True)[0]


def test_groups_that_do_not_consume_in_order_may_be_late(tmp_path):
    late = [*STORY[:4], (1, 4, 4, 11), (1, 3, 3, 12)]
    found = judge(tmp_path, late)
    assert found.wrong(in_order=False) == []
    assert found.out_of_order == {"a member leaves": 1}


def test_order_across_members_is_judged_by_the_clock(tmp_path):
    both = [(0, 0, 0, 1), (1, 1, 1, 0.5), (1, 2, 2, 3)]
    assert "1 out of order" in judge(tmp_path, both, n=3, end=3).wrong(in_order=True)[0]


def test_owners_that_differ():
    one, other = MessageQueue("T", "a", 0), MessageQueue("T", "a", 1)
    right = {"c1": frozenset({one}), "c2": frozenset({other})}
    assert difference(right, right, "T") == ""
    assert "c2 lacks 1" in difference({"c1": frozenset({one}), "c2": frozenset()}, right, "T")
    assert "c1 lacks 0 and has 1" in difference(right | {"c1": frozenset({one, other})}, right, "T")
    assert "members" in difference({"c1": frozenset({one})}, right, "T")
    assert difference(right | {"c1": frozenset()}, right, "other topic") == ""


def test_sections_of_the_administrators_tool():
    text = "#Consumer Properties#\nPROP_CONSUMEORDERLY   : false\n\n#Consumer Offset#\n#Topic  #Broker\nT  a  3  17\n"
    info = info_of(text)
    assert info.properties == {"PROP_CONSUMEORDERLY": "false"}
    assert info.queues("Consumer Offset") == {MessageQueue("T", "a", 3)}
    assert info.queues("Consumer MQ Detail") == set()
