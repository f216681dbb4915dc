"""What a simulation leaves behind: figures, files and pictures, the same for the same script and
seed.
"""

import json
import re

import pyarrow as pa
import pytest
import yaml
from programs import python

from rmqalloc.cli import main
from rmqalloc.simulation import Script, simulate
from rmqalloc.text import printable

SHOWN = 81
"""Columns of a timeline that a line of 100 has room for beside these names of queues."""

HOSTILE = "<b>&\"'\x1b[2J\u202e\n"


def script(**more):
    return {
        "name": "try",
        "duration": "200s",
        "brokers": ["broker-a", "broker-b"],
        "topics": [{"name": "orders", "read_queue_nums": 6}],
        "groups": [
            {"name": "g", "topics": "orders", "clients": 4, "start_every": "3s"},
            {
                "name": "h",
                "topics": "orders",
                "clients": ["x", "y"],
                "ordered": True,
                "listener_time": "900ms",
            },
        ],
        "events": [
            {"at": "60s", "restart": {"group": "g", "batch": 2, "every": "20s"}},
            {"at": "110s", "crash": {"clients": "x"}},
            {"at": "130s", "freeze": {"clients": "y", "lasts": "20s"}},
        ],
        **more,
    }


@pytest.fixture(scope="module")
def result():
    return simulate(Script.of(script()))


@pytest.fixture
def path(tmp_path):
    (tmp_path / "try.yaml").write_text(yaml.safe_dump(script()))
    return tmp_path / "try.yaml"


def test_every_event_has_a_row_and_the_rows_add_up(result):
    assert [event.event.split()[0] for event in result.events] == [
        "start",
        "restart",
        "crash",
        "freeze",
    ]
    assert [event.at for event in result.events] == [0, 60_000, 110_000, 130_000]
    assert sum(event.moved for event in result.events) == sum(
        group.moved for group in result.groups
    )
    assert sum(event.gap for event in result.events) == sum(group.gap for group in result.groups)
    assert sum(event.requests for event in result.events) == sum(result.requests.values())
    assert max(event.longest_double for event in result.events) == max(
        group.longest_double for group in result.groups
    )
    assert [event.unowned for event in result.events] == [0, 0, 6, 0], (
        "the locks of x outlive it by a minute"
    )
    assert all(event.double_owned == 0 for event in result.events)
    assert [(group.n_queues, group.n_processes) for group in result.groups] == [(12, 8), (12, 2)]


def test_the_time_to_settle_counts_from_the_last_step(result):
    """A rolling restart ends with its last start, a freeze with the thaw."""
    assert 0 < result.events[1].settled_after < 3_000
    freeze = [{"at": "60s", "freeze": {"clients": "g-0", "lasts": "25s"}}]
    groups = [{"name": "g", "topics": "orders", "clients": 2}]
    frozen = simulate(Script.of(script(events=freeze, groups=groups))).events[1]
    assert (frozen.settled_after, frozen.gap, frozen.longest_gap) == (0, 6 * 25_000, 25_000)


def test_figures_and_intervals_are_saved_as_json_and_are_arrow_tables(result, tmp_path):
    result.save(tmp_path / "out.json")
    assert (
        json.loads((tmp_path / "out.json").read_text())
        == json.loads(result.to_json())
        == result.to_dict()
    )
    assert pa.table(result).to_pylist() == [event._asdict() for event in result.events]
    rows = result.intervals.to_pylist()
    for ownership in result.ownerships:
        mine = [row for row in rows if row["consumer_group"] == ownership.consumer_group]
        assert len(mine) == ownership.intervals.queue.size
        assert sum(row["end"] - row["start"] for row in mine) == ownership.intervals.total()
        assert {row["client_id"] for row in mine} == set(ownership.client_ids)
        assert [row["start"] for row in mine] == sorted(row["start"] for row in mine)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [3, 4])
def test_equal_scripts_and_seeds_give_equal_bytes_in_any_process(path, seed):
    """Whatever the hashes of strings are; and another seed gives another run."""
    outputs = []
    for hash_seed in ("1", "2"):
        flags = ["--seed", seed, "-o", "json"]
        done = python("-m", "rmqalloc", "simulate", path, *flags, PYTHONHASHSEED=hash_seed)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    assert simulate(Script.of(script()), seed=seed + 10).to_json() != outputs[0].strip()


def test_seed_and_profile_can_be_given_from_outside(result):
    other = simulate(Script.of(script()), seed=5, profile="4.9")
    assert (other.seed, other.profile) == (5, "4.9")
    assert (result.seed, result.profile) == (0, "5.5")
    with pytest.raises(ValueError, match=r"no profile '3\.2'; known are 5\.5, 5\.3, 4\.9"):
        simulate(Script.of(script()), profile="3.2")


# --- Pictures ---


def timelines(result):
    """The timelines of a result as blocks of text."""
    return str(result).split("\n\n")[3:]


def test_the_text_shows_who_when(result):
    first, second = timelines(result)
    lines = first.splitlines()
    assert lines[0].startswith("g: one column is 2.47 s")
    assert len(lines) >= 14
    assert {len(line) for line in lines[1:13]} == {len("orders broker-a 0  ") + SHOWN}
    assert "a g-0@1, b g-1@1" in lines[13]
    frozen = [line[-SHOWN:][int(135 / 200 * SHOWN)] for line in second.splitlines()[1:13]]
    assert frozen == ["."] * 12


def test_only_some_queues_of_many_are_shown():
    topics = [{"name": "orders", "read_queue_nums": 36}]
    groups = [{"name": "g", "topics": "orders", "clients": 2}]
    [shown] = timelines(simulate(Script.of(script(topics=topics, groups=groups, events=[]))))
    lines = shown.splitlines()
    assert lines[0].startswith("g (24 of 72 queues): ")
    assert [line.split()[2] for line in lines[1:4]] == ["0", "3", "6"]


def test_double_ownership_and_short_gaps_have_marks():
    events = [{"at": "20s", "join": {"group": "g", "clients": "twin", "client_id": "g-1@1"}}]
    groups = [{"name": "g", "topics": "orders", "clients": 2}]
    shown = str(simulate(Script.of(script(groups=groups, events=events))))
    assert "#" * 40 in shown
    assert any("," in line[-SHOWN:] for line in shown.splitlines() if line.startswith("orders "))


def test_names_in_the_timeline_are_made_harmless():
    data = script(name=HOSTILE, events=[{"at": "60s", "crash": {"clients": HOSTILE}}])
    data["groups"] = [{"name": HOSTILE, "topics": HOSTILE, "clients": [HOSTILE, "x"]}]
    data["topics"] = [{"name": HOSTILE, "read_queue_nums": 2}]
    hostile = simulate(Script.of(data))
    shown = str(hostile)
    assert printable(HOSTILE)[:12] in shown
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", shown)


# --- The command ---


def test_the_command_prints_figures_and_timeline(path, capsys, result):
    assert main(["simulate", str(path)]) == 0
    out, err = capsys.readouterr()
    head, events, groups, *timelines = out.strip().split("\n\n")
    assert head == "try: RocketMQ 5.5, seed 0, 200 s"
    assert [line[:5].strip() for line in events.splitlines() if line[:5].strip()] == [
        "at",
        "0 s",
        "60 s",
        "110 s",
        "130 s",
    ]
    assert [line.split()[0] for line in groups.splitlines()] == ["group", "g", "h"]
    assert [one.splitlines()[0] for one in timelines] == [
        f"{name}: one column is 2.47 s, . unowned, , briefly unowned, # double-owned"
        for name in "gh"
    ]
    assert {len(line) for one in timelines for line in one.splitlines()[1:13]} == {100}
    assert err == ""


def test_the_command_prints_json(path, capsys, result):
    assert main(["simulate", str(path), "-o", "json"]) == 0
    assert capsys.readouterr().out == result.to_json() + "\n"


def test_the_command_prints_no_more_than_forty_events(path, tmp_path, capsys):
    events = [{"at": f"{60 + i}s", "notices": {"enabled": True}} for i in range(45)]
    path.write_text(yaml.safe_dump(script(events=events)))
    assert main(["simulate", str(path), "--profile", "4.9"]) == 0
    out = capsys.readouterr().out
    shown, _, _ = out.partition("... and 6 more events")
    assert shown != out and shown.count("notices enabled=true") == 39, "and the start"
    assert "RocketMQ 4.9" in out


def test_the_command_refuses_a_bad_script_in_one_line(path, capsys):
    path.write_text(yaml.safe_dump(script(duration="soon")))
    assert main(["simulate", str(path)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"rmqalloc: {path}:4:11: duration must be a time such as 500ms")
    assert err.count("\n") == 1
