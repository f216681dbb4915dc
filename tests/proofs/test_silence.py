"""What is wrong without a source is seen, and readings of real clusters lose what is taken from
them.
"""

import pytest
import removed_sources
from silence import __main__ as program
from silence import sources
from silence.recorded import Recording

from rmqalloc.audit import Finding, Findings, check_snapshot
from rmqalloc.snapshot.unknown import NotKnown

FAULT = Finding("no-consumer", "error", "g", "t", (), (), "", "")
LIST_LOST = NotKnown("clients", "g", "timeout")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (Findings([FAULT]), Findings([FAULT]), None),
        (Findings([FAULT]), Findings(not_known=[LIST_LOST]), None),
        (Findings([FAULT]), Findings(), "a fault becomes an all-clear"),
        (Findings(), Findings([FAULT], not_known=[LIST_LOST]), "an error is new"),
        (Findings(), Findings(), None),
    ],
)
def test_what_must_not_be_said_without_a_source(before, after, said):
    assert (removed_sources.wrong(before, after) or "").startswith(said or "")
    assert bool(removed_sources.wrong(before, after)) is bool(said)


def test_a_recording_is_read_as_the_cluster_was_and_lacks_what_is_taken_from_it():
    recording = Recording.load(sources.RECORDINGS / "ill.json.gz")
    whole = recording.taken()
    assert not whole.errors and {one.rule for one in check_snapshot(whole)} >= {
        "no-consumer",
        "mixed-strategies",
    }
    lost = next(
        key
        for key in recording.answers
        if "GET_CONSUMER_CONNECTION_LIST" in key and "strategies-differ" in key
    )
    less = recording.taken({lost})
    assert [one.request for one in less.errors] == [
        "GET_CONSUMER_CONNECTION_LIST strategies-differ"
    ]


def test_all_kinds_of_snapshots_are_tried(capsys, monkeypatch):
    monkeypatch.setattr(program, "QUICK", 2)
    monkeypatch.setattr("sys.argv", ["silence", "--quick"])
    assert program.main() == 0
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == [
        "| random",
        "| outputs of mqadmin",
        "| readings of real clusters",
    ]
    assert all(int(row[2].replace(",", "")) > 20 for row in rows)


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        ("clients of allocateMQ", "clients of"),
        ("subscriptions of client 2 of canal", "subscriptions of client"),
        ("guessed route of T", "guessed route of"),
        ("GET_CONSUME_STATS", "GET_CONSUME_STATS"),
    ],
)
def test_a_kind_of_source_has_no_name_of_a_group_or_topic(what, kind):
    assert program.kind_of(what) == kind
