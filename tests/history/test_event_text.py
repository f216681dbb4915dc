"""Events as text: every line says what happened, and of what."""

import pytest

from rmqalloc.history.history_events import HistoryEvents, event_lines, events_table

TIMES = {
    "last_seen_before": "2026-05-02T03:11:40+02:00",
    "first_seen_after": "2026-05-02T03:12:10+02:00",
}


@pytest.mark.parametrize(
    ("row", "group", "what"),
    [
        (
            {"event": "settings", "consumer_group": "g"},
            "g",
            "subscriptions, strategy or mode of the group",
        ),
        ({"event": "settings", "topic": "orders"}, "–", "orders"),
        ({"event": "settings"}, "–", "brokers of the cluster"),
        ({"event": "gone", "broker_name": "b"}, "–", "broker b"),
        (
            {"event": "gone", "topic": "orders", "broker_name": "b", "queue_id": 3},
            "–",
            "1 queue of orders on b: 3",
        ),
        (
            {
                "event": "raised",
                "consumer_group": "",
                "rule": "silent-broker",
                "severity": "warning",
                "message": "no answer",
            },
            "–",
            "warning silent-broker: no answer",
        ),
    ],
)
def test_every_line_says_of_what_it_is(row, group, what):
    _, *lines = event_lines(HistoryEvents(events_table([{**TIMES, **row}])))
    assert " ".join(lines).split()[2:] == [group, row["event"], *what.split()]


def moved(number):
    queue = {"topic": "orders", "broker_name": "b", "queue_id": number}
    owners = {"owners_before": ["c1"], "owners_after": ["c2"]}
    return {**TIMES, "event": "moved", "consumer_group": "g", **queue, **owners}


def test_a_line_counts_all_queues_and_names_the_first():
    rows = [moved(number) for number in range(12)]
    _, *lines = event_lines(HistoryEvents(events_table(rows)))
    text = " ".join(" ".join(lines).split())
    named = [f"orders b:{number} c1 → c2" for number in range(3)]
    assert f"12 queues: {', '.join(named)} and 9 more" in text


def test_a_text_that_is_far_too_long_is_cut_in_the_middle():
    row = {**TIMES, "event": "gap", "message": "a" * 9000 + "z"}
    _, *lines = event_lines(HistoryEvents(events_table([row])))
    text = "".join(line.strip() for line in lines)
    assert "a…a" in text and text.endswith("z") and len(text) < 3000
