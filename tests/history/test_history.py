"""A history: what lasts is reported with its times, what is not known is stated, whatever happens
to the file.
"""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import fields, replace

import pytest
from tied import popen
from watched_snapshots import TOPIC, Watched, cluster

import rmqalloc
from rmqalloc.audit import Finding
from rmqalloc.errors import ArgumentError
from rmqalloc.history import History, HistoryError, MomentUnknownError, Recorder
from rmqalloc.history._documents import client_texts
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot import SourceError, TopicBroker
from rmqalloc.snapshot.matching import NoMatchError
from rmqalloc.snapshot.snapshot import Broker, Client, Filter, Group, with_fields
from rmqalloc.watching import Change

START, EVERY = 1_795_000_000.0, 30.0
A, B = (
    cluster(("billing", "c1", "c2"), ("pay", "p1")),
    cluster(("billing", "c1", "c3"), ("pay", "p1")),
)
FINDING = Finding("unowned", "error", "billing", TOPIC, (), (), "2 queues", "start")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cluster.history"


def fed(recorder, watched, snapshots, first=0, **how):
    for i, one in enumerate(snapshots, first):
        recorder.record(watched.observe(one, START + EVERY * i, **how))


def told(path, *names, **how):
    rows = History(path).events(**how).events.to_pylist()
    return [tuple(row[name] for name in ("event", *names)) for row in rows]


def of_client(path, **how):
    return [row for row in told(path, "client_id", **how) if row[1]]


def test_what_lasts_is_told_between_two_readings_and_what_does_not_is_not(path):
    with Recorder(path) as recorder:
        fed(recorder, Watched(), [A, A, A, B, B, A, B, B])
    assert sorted(of_client(path)) == [("joined", "c3"), ("left", "c2")]
    rows = History(path).events(["billing"]).events.to_pylist()
    assert len({(row["last_seen_before"], row["first_seen_after"]) for row in rows}) == 1
    moved = [
        (row["queue_id"], row["owners_before"], row["owners_after"])
        for row in rows
        if row["event"] == "moved"
    ]
    assert moved == [(i, ["c2"], ["c3"]) for i in (1, 3, 5, 7)]
    assert (
        told(path, since=START + 3 * EVERY + 1) == []
        and len(told(path, since=START + 3 * EVERY)) == 6
    )


def test_a_moment_has_its_owners_and_one_within_a_change_says_so(path):
    with Recorder(path) as recorder:
        fed(recorder, Watched(), [A, A, A, B, B, B])
    history = History(path)
    queue = MessageQueue(TOPIC, "broker-a", 1)
    assert [history.owners_at("billing", START + at).owners[queue] for at in (0, 60, 90)] == [
        ("c2",),
        ("c2",),
        ("c3",),
    ]
    within = history.owners_at("billing", START + 75)
    assert within.doubt and (within.known_before, within.known_after) == (START + 60, START + 90)
    assert history.owners_at("pay", START + 75).doubt is None
    with pytest.raises(NoMatchError, match="billing"):
        history.owners_at("biling", START + 75)
    assert history.owners_at("billing", START + 130).client_ids == ("c1", "c3")
    for at in (-1, 151, 10_000):
        with pytest.raises(MomentUnknownError):
            history.owners_at("billing", START + at)


def test_every_verb_takes_a_moment_as_it_was(path):
    with Recorder(path) as recorder:
        fed(recorder, Watched(), [A, A, A, B, B, B])
    for at, now in ((45, A), (100, B)):
        then = History(path).snapshot_at(START + at)
        assert not then.errors and str(rmqalloc.show(then)) == str(rmqalloc.show(now))
        assert {g.name: g.clients for g in then.groups} == {g.name: g.clients for g in now.groups}
    doubtful = History(path).snapshot_at(START + 75)
    assert [error.request for error in doubtful.errors] == ["GET_CONSUMER_CONNECTION_LIST billing"]


def test_a_group_that_comes_and_goes(path):
    with Recorder(path) as recorder:
        less = cluster(("pay", "p1"))
        fed(recorder, Watched(), [less, less, A, A, A, less, less, less])
    assert told(path, "consumer_group", groups=["billing"])[0] == ("appeared", "billing")
    assert ("gone",) in told(path) and ("left", "c1") in of_client(path)
    names = [
        [g.name for g in History(path).snapshot_at(START + at).groups] for at in (30, 100, 180)
    ]
    assert names == [["pay"], ["billing", "pay"], ["pay"]]


def test_findings_and_settle_times(path):
    watched = Watched()
    with Recorder(path) as recorder:
        fed(recorder, watched, [A, A])
        raised = (Change(FINDING, None, FINDING, START + 30, START + 60),)
        recorder.record(
            watched.observe(
                A, START + 90, raised=raised, lasting=(FINDING,), settled={"billing": 31.5}
            )
        )
    with Recorder(
        path
    ) as recorder:  # a new observer raises it again, and it is gone at the second reading
        watched = Watched()
        recorder.record(watched.observe(A, START + 120, raised=raised))
        recorder.record(watched.observe(A, START + 150))
    rows = History(path).events(["billing"]).events.to_pylist()
    assert [row["event"] for row in rows] == ["raised", "settled", "gap", "cleared"]
    assert rows[0]["message"] == "2 queues" and rows[1]["seconds"] == 31.5


def test_after_a_restart_findings_of_a_group_are_cleared_only_once_it_was_read(path):
    with Recorder(path) as recorder:
        fed(
            recorder,
            Watched(),
            [A, A, A],
            raised=(Change(FINDING, None, FINDING, START, START),),
            lasting=(FINDING,),
        )
    with Recorder(path) as recorder:
        watched = Watched()
        fed(recorder, watched, [A, A, A], 3, not_read={"billing"})
        assert [event for event, _ in told(path, "rule")] == ["raised", "gap", "gap"]
        fed(
            recorder, watched, [A, A], 6, findings=(FINDING,)
        )  # seen again, and not yet for two readings
        assert [event for event, _ in told(path, "rule")] == ["raised", "gap", "gap"]
    with Recorder(path) as recorder:
        fed(recorder, Watched(), [A, A, A], 8)
    [cleared] = [
        row for row in History(path).events().events.to_pylist() if row["event"] == "cleared"
    ]
    assert cleared["rule"] == "unowned"


def test_a_restart_leaves_a_gap_and_what_changed_in_it_is_told_over_it(path):
    for first, snapshots in ((0, [A, A, A]), (10, [B, B, B])):
        with Recorder(path) as recorder:
            fed(recorder, Watched(), snapshots, first)
    assert sorted(of_client(path)) == [("joined", "c3"), ("left", "c2")]
    rows = History(path).events(["billing"]).events.to_pylist()
    assert {row["event"] for row in rows} == {"gap", "joined", "left", "moved"}
    assert len({(row["last_seen_before"], row["first_seen_after"]) for row in rows}) == 1
    with pytest.raises(MomentUnknownError) as error:
        History(path).owners_at("billing", START + 150)
    assert (error.value.known_before, error.value.known_after) == (START + 60, START + 300)


def test_a_restart_without_a_change_is_a_gap_alone(path):
    for first in (0, 10):
        with Recorder(path) as recorder:
            fed(recorder, Watched(), [A, A, A], first)
    assert told(path) == [("gap",)]


def test_what_went_while_nobody_looked_is_gone(path):
    with Recorder(path) as recorder:
        fed(recorder, Watched(), [A, A, A])
    with Recorder(path) as recorder:
        fed(recorder, Watched(), [cluster(("pay", "p1"))] * 3, 10)
    assert [g.name for g in History(path).snapshot_at(START + 330).groups] == ["pay"]


def test_what_the_first_readings_after_a_restart_lack_is_gone_once_two_whole_ones_lack_it(path):
    left = cluster(("pay", "p1"))
    silent = replace(
        left,
        errors=(SourceError("broker broker-a", "GET_CONSUMER_RUNNING_INFO pay, p1", "silent"),),
    )
    with Recorder(path) as recorder:
        fed(recorder, Watched(), [A, A, A])
    with Recorder(path) as recorder:
        watched = Watched()
        fed(recorder, watched, [left] * 3, 10, is_whole=False)
        found = History(path).owners_at("billing", START + 330)
        assert found.client_ids == ("c1", "c2") and found.doubt.startswith(
            "not every broker listed"
        )
        fed(recorder, watched, [silent] * 3, 13)  # a client that is silent hides no group
    assert [g.name for g in History(path).snapshot_at(START + 420).groups] == ["pay"]


def test_a_group_that_is_not_read_is_not_known(path):
    watched = Watched()
    with Recorder(path) as recorder:
        fed(recorder, watched, [A, A, A])
        fed(recorder, watched, [A, A], 3, not_read={"billing"})
        meanwhile = History(path).owners_at("billing", START + 90)
        assert "could not be read" in meanwhile.doubt and meanwhile.known_before == START + 60
        fed(recorder, watched, [A, A, A], 5)
    found = History(path).owners_at("billing", START + 100)
    assert "could not be read" in found.doubt and (found.known_before, found.known_after) == (
        START + 60,
        START + 150,
    )
    assert History(path).owners_at("pay", START + 100).doubt is None
    assert [error.request for error in History(path).snapshot_at(START + 100).errors] == [
        "GET_CONSUMER_CONNECTION_LIST billing"
    ]
    assert told(path, "consumer_group") == [("gap", "billing")]


def test_a_clock_that_goes_back_makes_no_interval_that_ends_before_it_begins(path):
    watched = Watched()
    with Recorder(path) as recorder:
        fed(recorder, watched, [A, A, A, A])
        for i in range(6):
            recorder.record(watched.observe(B, START + 20 * i + 1))
        assert "clock" not in (recorder.behind or "")
        fed(recorder, watched, [B, B, B], 5)
    rows = History(path).events().events.to_pylist()
    assert all(
        row["last_seen_before"] is None or row["last_seen_before"] <= row["first_seen_after"]
        for row in rows
    )
    assert ("gap",) in told(path) and ("left", "c2") in of_client(path)


def test_readings_far_apart_leave_a_gap(path):
    with Recorder(path, gap_after=60) as recorder:
        watched = Watched()
        fed(recorder, watched, [A, A, A])
        fed(recorder, watched, [A, A, A], 20)
    assert told(path) == [("gap",)]


def test_hostile_names_come_back_as_they_are(path):
    names = ["a\x00b", "'; DROP TABLE states; --", "\x1b[2J", "<b>", "x" * 3000]
    now = cluster(*((name, f"{name}@1") for name in names))
    with Recorder(path) as recorder:
        fed(recorder, Watched(), [now, now, now])
    history = History(path)
    for name in names:
        assert history.owners_at(name, START + 20).client_ids == (f"{name}@1",)
    assert {g.name for g in history.snapshot_at(START + 20).groups} == set(names)
    assert "\x1b" not in str(history.events())


# --- The file ---


def test_one_file_has_one_recorder_and_readers(path):
    with Recorder(path) as recorder:
        fed(recorder, Watched(), [A, A, A])
        with pytest.raises(HistoryError, match="another recorder"):
            Recorder(path)
        assert History(path).owners_at("pay", START).client_ids == ("p1",)
    Recorder(path).close()


def test_files_that_are_no_history_are_refused(tmp_path, path):
    (tmp_path / "text").write_text("orders\n" * 1000)
    sqlite3.connect(tmp_path / "other").executescript("CREATE TABLE t(x)").connection.close()
    with Recorder(path) as recorder:
        fed(recorder, Watched(), [A, A, A])
    newer = tmp_path / "newer"
    newer.write_bytes(path.read_bytes())
    sqlite3.connect(newer).executescript("PRAGMA user_version=9").connection.close()
    for name, said in (
        ("text", "not a history"),
        ("other", "not a history"),
        ("newer", "written by a newer rmqalloc"),
    ):
        for face in (Recorder, History):
            with pytest.raises(HistoryError, match=said):
                face(tmp_path / name)
    with pytest.raises(HistoryError, match="no such file"):
        History(tmp_path / "none")
    with pytest.raises(ArgumentError, match="max_bytes"):
        Recorder(path, max_bytes=5)


def test_a_damaged_file_raises_errors_of_ours_alone(path):
    with Recorder(path) as recorder:
        fed(recorder, Watched(), [A, A, B, B, A, A])
    good, draw = path.read_bytes(), random.Random(7)
    for _ in range(60):
        bad = bytearray(good)
        for _ in range(draw.choice((1, 8, 200))):
            bad[draw.randrange(100, len(bad))] = draw.randrange(256)
        path.write_bytes(bad[: draw.choice((len(bad), len(bad) // 2))])
        try:
            history = History(path)
            history.events()
            history.snapshot_at(START + 40)
        except rmqalloc.Error:
            pass


def test_a_full_disk_keeps_what_was_and_recording_goes_on(path):
    watched, many = Watched(), cluster(*((f"g{i}", f"client-{i}") for i in range(300)))
    with Recorder(path) as recorder:
        fed(recorder, watched, [A, A, A])
        pages = recorder._connection.execute("PRAGMA page_count").fetchone()[0]
        recorder._connection.execute(f"PRAGMA max_page_count={pages}")
        for at in (90, 120):
            with pytest.raises(HistoryError, match="full"):
                recorder.record(watched.observe(many, START + at))
        assert "full" in recorder.behind and len(of_client(path)) == 0
        assert History(path).owners_at("billing", START + 30).client_ids == ("c1", "c2")
        recorder._connection.execute(f"PRAGMA max_page_count={pages * 100}")
        fed(recorder, watched, [many] * 3, 5)
        assert recorder.behind is None
    assert History(path).owners_at("g7", START + 170).client_ids == ("client-7",)
    assert ("left", "c1") in of_client(path) and ("gap",) in told(path)


def test_it_stays_within_its_age(path):
    watched = Watched()
    with Recorder(path, keep=EVERY * 100) as recorder:
        for i in range(400):
            now = cluster(("billing", "c1", f"client-{i // 4}"), ("pay", "p1"))
            at = START + EVERY * i
            raised = (Change(FINDING, None, FINDING, at, at),) if i == 5 else ()
            cleared = (Change(FINDING, FINDING, None, at, at),) if i == 330 else ()
            recorder.record(watched.observe(now, at, raised=raised, cleared=cleared))
        n_texts = recorder._connection.execute("SELECT count(*) FROM texts").fetchone()[0]
    assert n_texts < 60
    history = History(path)
    assert START + EVERY * 270 < history.first_reading < START + EVERY * 320
    findings = [
        (row["event"], row["message"]) for row in history.events().events.to_pylist() if row["rule"]
    ]
    assert findings == [("cleared", "2 queues")], "its text outlives the event that raised it"
    assert history.owners_at("billing", START + EVERY * 350).client_ids == ("c1", "client-87")
    assert history.owners_at("pay", START + EVERY * 350).client_ids == ("p1",)
    with pytest.raises(MomentUnknownError, match="begins"):
        history.owners_at("billing", START + EVERY * 100)


@pytest.mark.thorough
def test_it_stays_within_its_size(path):
    watched, most = Watched(), 1 << 20
    with Recorder(path, max_bytes=most) as recorder:
        for i in range(120):
            groups = [
                (f"g{n}", *(f"{x}{n}-{i // 2}-{hash((i // 2, n, x)):060x}" for x in "ab"))
                for n in range(100)
            ]
            recorder.record(watched.observe(cluster(*groups), START + EVERY * i))
    assert path.stat().st_size <= most
    assert History(path).first_reading > START
    assert History(path).owners_at("g3", START + EVERY * 110).client_ids[0].startswith("a3-55-")


KILLED = """
import sys
from test_history import A, B, EVERY, START, Recorder, Watched
with Recorder(sys.argv[1]) as recorder:
    watched, first = Watched(), int(sys.argv[2])
    for i in range(first, first + 100_000):
        recorder.record(watched.observe((A, B)[i // 3 % 2], START + EVERY * i))
        print(i, flush=True)
"""


@pytest.mark.thorough
def test_a_recorder_that_is_killed_at_any_point_leaves_all_that_it_recorded(path):
    draw, first = random.Random(3), 0
    where = os.pathsep.join([*sys.path, os.path.dirname(__file__)])
    for _ in range(4):
        command = [sys.executable, "-c", KILLED, str(path), str(first)]
        with popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": where}
        ) as run:
            lines = [run.stdout.readline() for _ in range(draw.randrange(1, 60))]
            time.sleep(draw.uniform(0, 0.01))  # it may be anywhere in the next record by then
            run.send_signal(signal.SIGKILL)
            last = int([*lines, *run.stdout][-1])
        assert History(path).last_reading >= START + EVERY * last
        first = (last // 3 + 20) * 3
    history = History(path)
    for i in range(3, last - 5, 5):
        try:
            found = history.owners_at("billing", START + EVERY * i)
        except MomentUnknownError:
            continue
        assert found.doubt or set(found.client_ids) == {"c1", ("c2", "c3")[i // 3 % 2]}, i
    assert told(path).count(("gap",)) == 3


def test_brokers_and_queues_that_are_gone_are_events(path):
    """Of a topic on two brokers one broker goes, and queues on the other."""
    (topic,) = A.topics
    wide = TopicBroker("broker-b", 2)
    before = replace(
        A,
        topics=(replace(topic, brokers=(*topic.brokers, wide)),),
        brokers=(Broker("broker-a", "h:1"), Broker("broker-b", "h:2")),
    )
    less = replace(
        A,
        topics=(replace(topic, brokers=(TopicBroker("broker-a", 7),)),),
        brokers=before.brokers[:1],
    )
    with Recorder(path) as recorder:
        fed(recorder, Watched(), [before, before, less, less, before, before])
    gone = told(path, "topic", "broker_name", "queue_id")
    there = [row for row in gone if row[0] in ("gone", "appeared")]
    parts = [(TOPIC, "broker-a", 7), (TOPIC, "broker-b", 0), (TOPIC, "broker-b", 1)]
    parts.append((None, "broker-b", None))
    assert there == [(event, *part) for event in ("gone", "appeared") for part in parts]
    assert not told(path, groups=["billing"]), "nothing of the group changed"


@pytest.mark.parametrize("field", [field.name for field in fields(Client)])
def test_clients_that_differ_in_a_field_have_documents_of_their_own(field):
    values = {
        "virtual_nodes": 40,
        "subscriptions": (),
        "owned": (),
        "sees_read_queue_nums": {"T": {"b": 1}},
        "filters": {"T": Filter("paid")},
        "start_timestamp": 7,
    }
    plain = Client("c")
    other = with_fields(plain, **{field: values.get(field, "other")})
    texts = [client_texts(Group("g", clients=(client,))) for client in (plain, other)]
    kept = field != "start_timestamp"  # it changes with each start, and decides nothing
    assert (texts[0] != texts[1]) == kept
