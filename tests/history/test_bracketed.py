"""What a history reports, two readings bracket; all else is not known, and clients that both
readings around a moment have are certain.
"""

from pathlib import Path

import pytest
from watched_snapshots import Watched, cluster

from rmqalloc.cli import main
from rmqalloc.history import History, MomentUnknownError, Recorder
from rmqalloc.history.moments import moment_text

CASES = Path(__file__).parents[1] / "data" / "cases" / "every-day"
START = 1_795_000_000.0


def group(ids):
    """A cluster of one group, whose clients are letters."""
    return cluster(("g", *ids), n_queues=4)


@pytest.fixture
def recorded(tmp_path):
    """Return a function that records clients by time, and returns the history."""

    def record(*readings):
        path, watched = tmp_path / "new.history", Watched()
        with Recorder(path) as recorder:
            for at, ids in readings:
                recorder.record(watched.observe(group(ids), START + at))
        return History(path)

    return record


def known_at(history, *moments):
    """Return clients at moments, None where they are not known."""
    found = []
    for moment in moments:
        try:
            past = history.owners_at("g", history.first_reading + moment)
        except MomentUnknownError:
            found.append(None)
        else:
            found.append("".join(past.client_ids) if past.doubt is None else None)
    return found


def every_30_seconds(*states):
    return [(30 * number, ids) for number, ids in enumerate(states)]


def test_states_that_one_reading_saw_are_no_state_without_clients(recorded):
    history = recorded(*every_30_seconds("a", "a", "a", "b", "c", "d"))
    assert known_at(history, 45, 75, 90, 105, 120, 135, 150) == [
        "a",
        None,
        "b",
        None,
        "c",
        None,
        "d",
    ]
    owners = history.owners_at("g", START + 120).owners
    assert set(owners.values()) == {("c",)}, "clients and owners are of one reading"


def test_a_client_that_stays_is_certain_while_all_others_change(recorded):
    history = recorded(*every_30_seconds("ab", "ab", "ac", "ad", "ae"))
    for moment in (45, 75, 105):
        found = history.owners_at("g", START + moment)
        assert found.doubt and found.certain_ids == ("a",) and "a" in found.client_ids
    [error] = history.snapshot_at(START + 75).errors
    assert error.message.endswith("certain: a")


def test_what_two_readings_saw_is_known_up_to_the_last(recorded):
    history = recorded(*every_30_seconds("a", "a", "b", "b"))
    assert known_at(history, 15, 30, 45, 60, 75, 90) == ["a", "a", None, "b", "b", "b"]


def test_a_state_between_equal_ones_is_no_part_of_them(recorded):
    history = recorded(*every_30_seconds("a", "a", "ab", "a", "a"))
    assert known_at(history, 45, 60, 75, 105) == [None, "ab", None, "a"]
    assert history.events().events.num_rows == 0


def test_who_left_while_the_clock_was_behind_is_reported_over_the_gap(recorded):
    history = recorded(
        *[(0, "ab"), (30, "ab"), (60, "ab")], *[(20 + 10 * number, "b") for number in range(12)]
    )
    assert known_at(history, 45, 60, 65, 70, 75, 130) == ["ab", "ab", None, "b", "b", "b"]
    [left] = [row for row in history.events().events.to_pylist() if row["event"] == "left"]
    assert (left["client_id"], left["last_seen_before"], left["first_seen_after"]) == (
        "a",
        moment_text(START + 60),
        moment_text(START + 70),
    )


@pytest.mark.parametrize(
    ("name", "known", "certain"),
    [
        ("rolling-unconfirmed", ["a", None, None, None], ()),
        ("storm", ["ab", None, None, None], ("c",)),
        ("clock-back", [None, None, None, None], ("b",)),
    ],
)
def test_files_of_recorders_before_answer_what_they_know(name, known, certain, capsys):
    path = CASES / f"{name}.history"
    history = History(path)
    assert known_at(history, 45, 75, 105, 119) == known
    moment = history.first_reading + 105
    assert history.owners_at("g", moment).certain_ids == certain
    assert main(["show", "-f", str(path), "--at", moment_text(moment)]) == 4
    assert "no-client" not in capsys.readouterr().out
