"""The proof that all faces judge rows alike finds one that does not."""

import pytest

pytest.importorskip("pyspark")

from row_faces.__main__ import judged
from row_faces.faces import UNKNOWN, Inside

TWICE = (
    3,
    "MessageQueue [topic=T, brokerName=b, queueId=0] is there twice; give every queue once",
    None,
)


@pytest.mark.parametrize(
    ("verdict", "cell"),
    [
        (TWICE, "3"),
        ((UNKNOWN, TWICE[1], None), "3"),
        ((UNKNOWN, Inside(f"failed: {TWICE[1]}"), None), "3"),
        ((UNKNOWN, UNKNOWN, None), "3"),
        ((UNKNOWN, UNKNOWN, [0, 0, 0, 0, 1, 1, 1, 1]), "✗"),
        ((UNKNOWN, None, None), "✗"),
        ((UNKNOWN, Inside("failed: out of memory"), None), "✗"),
        ((1, TWICE[1], None), "✗"),
    ],
)
def test_a_verdict_is_compared_as_far_as_the_face_gives_it(verdict, cell):
    found, why = judged("SQL", verdict, TWICE, "broker twice")
    assert (found, bool(why)) == (cell, cell == "✗")


@pytest.mark.parametrize(
    ("kind", "verdict", "cell"),
    [
        ("broker twice", TWICE, "3"),
        ("broker twice", (1, "broker 'b' stands twice in the route", None), "✗"),
        ("broker twice", (3, "something else", None), "✗"),
        ("read_queue_nums null", (1, "read_queue_nums of 'b' must be", None), "1 e"),
        ("clients empty", (0, None, []), "0"),
    ],
)
def test_events_are_judged_by_their_own_codes(kind, verdict, cell):
    assert judged("live_plans", verdict, TWICE, kind)[0] == cell
