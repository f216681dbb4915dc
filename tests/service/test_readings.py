"""Readings that fail, states that are swapped whole, counts that only grow, and a thread that ends."""

import gc
import json
import threading
import time
import weakref
from dataclasses import replace
from datetime import datetime
from types import SimpleNamespace

import pytest
from audited import group, queues, snapshot, topic, with_owned
from served import Given, reading, readings_of, served

from rmqalloc.errors import Error
from rmqalloc.service.readings import Readings, SnapshotFiles
from rmqalloc.service.tallies import GroupTally, Tallies
from rmqalloc.snapshot.data_time import utc_text
from rmqalloc.snapshot.live.rereading import ClosedError
from rmqalloc.snapshot.plain_data import to_document
from rmqalloc.snapshot.snapshot import Broker, SourceError
from rmqalloc.watching import Change, Observer

CLUSTER = snapshot(group("c1", "c2"), topics=(topic(a=3),))


@pytest.mark.thorough
def test_a_reading_that_fails_leaves_the_last_state_and_says_so():
    readings = readings_of(
        reading(CLUSTER), Error("no\r\nanswer"), OSError("refused"), reading(CLUSTER), every=10.0
    )
    state = readings.state
    assert [readings.pause(), readings.read_once(), readings.pause()] == [10.0, False, 20.0]
    assert [readings.read_once(), readings.pause()] == [False, 40.0]
    assert readings.state is state
    assert readings.status == (1, 2, 2, "refused")
    with served(readings) as client:
        status = client.get("/v1/status").json()
        assert (status["n_failed"], status["error"]) == (2, "refused") and client.get(
            "/readyz"
        ).status_code == 200
        assert readings.read_once() and readings.pause() == 10.0
        assert client.get("/v1/status").json()["error"] is None
    assert readings.state is not state


def test_pauses_after_failures_are_bounded_and_never_shorter_than_asked_for():
    readings = readings_of(*[Error("x")] * 30, every=10.0)
    for _ in range(25):
        readings.read_once()
    assert readings.pause() == 300.0
    assert readings_of(Error("x"), every=900.0).pause() == 900.0


def test_before_the_first_reading_and_once_it_is_old_it_is_not_ready():
    with served(readings_of(Error("name server refused"))) as client:
        assert client.get("/healthz").status_code == 200
        for path in ("/readyz", "/v1/groups", "/v1/status"):
            answer = client.get(path)
            assert (
                answer.status_code == 503
                and "name server refused" in answer.text
                and answer.headers["retry-after"]
            )
        assert "rmqalloc_reading_up" in client.get("/metrics").text
    with served(readings_of(reading(CLUSTER, at=time.time() - 91))) as client:
        assert "more than 90 s ago" in client.get("/readyz").json()["detail"]
        assert client.get("/v1/groups").status_code == 200
        assert float(client.get("/v1/groups").headers["rmqalloc-age"]) >= 91


@pytest.mark.thorough
def test_the_thread_reads_outlives_defects_and_ends():
    class Failing(Observer):
        n = 0

        def observe(self, one):
            self.n += 1
            if self.n == 1:
                raise KeyError("a defect")
            return super().observe(one)

    observer = Failing()
    readings = Readings(Given(reading(CLUSTER)), observer, 0.01)
    readings.start()
    deadline = time.monotonic() + 300
    while readings.status.n_read < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    readings.stop(60)
    assert readings.status.n_read >= 2 and readings.status.n_failed == 1
    n = observer.n
    assert not any(one.name == "rmqalloc-reading" for one in threading.enumerate())
    with pytest.raises(ClosedError):
        readings.read_once()
    assert observer.n == n


def test_a_history_that_cannot_be_written_is_no_failure_of_the_reading():
    class Full:
        def record(self, observation):
            raise OSError("disk full")

    readings = readings_of(reading(CLUSTER), keepers=(Full(),))
    assert (
        readings.state is not None
        and readings.status.n_read == 1
        and readings.status.error == "history: disk full"
    )


@pytest.mark.thorough
def test_a_state_that_is_replaced_leaves_no_memory_behind():
    """Python itself looks for cycles too seldom: here never."""
    readings = readings_of(reading(CLUSTER), reading(CLUSTER))
    cycle = type("Cycle", (), {})()
    cycle.itself = readings.state.cycle = cycle
    before = weakref.ref(cycle)
    del cycle
    gc.disable()
    try:
        assert readings.read_once() and before() is None
    finally:
        gc.enable()


def observed(*changes, **more):
    return readings_of(reading(CLUSTER)).state.observation._replace(
        **changes[0] if changes else {}, **more
    )


def test_an_answer_that_many_threads_ask_for_at_once_is_worked_out_once():
    state, calls = readings_of(reading(snapshot(group("c1")))).state, []

    def answer():
        calls.append(None)
        time.sleep(0.05)  # the others ask before there is an answer
        return "the answer"

    def ask():
        together.wait(60)
        found.append(state.once("question", answer))

    found, together = [], threading.Barrier(4)
    threads = [threading.Thread(target=ask) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert (len(calls), found) == (1, ["the answer"] * 4)


@pytest.mark.thorough
def test_counts_only_grow_and_those_of_groups_that_are_gone_go():
    [queue] = queues([1])
    joined, there = Change(("g", "c3"), None, 1, 4.0, 5.0), Change(("g", "c1"), None, 1, None, 5.0)
    twice = Change(("g", "c1"), 1, 2, 4.0, 5.0)
    left = Change(("gone", "c1"), "x", None, 4.0, 5.0)
    moved, first = (
        Change(("g", queue), ("c1",), ("c2",), 4.0, 5.0),
        Change(("g", queue), None, ("c1",), None, 5.0),
    )
    one = Tallies().after(
        observed(members=(there, joined, twice, left), moves=(moved, first), settled={"g": 7.5})
    )
    assert one.groups == {"g": GroupTally(1, 0, 1, 7.5)} and one.total == GroupTally(1, 1, 1)
    two = one.after(observed(members=(left,), moves=(moved,)))
    assert two.groups == {"g": GroupTally(1, 0, 2, 7.5)} and two.total == GroupTally(1, 2, 2)
    partial = one.after(observed(members=(left,), reading=reading(snapshot(), is_whole=False)))
    assert set(partial.groups) == {"g", "gone"}
    assert [event.kind for event in two.events] == ["joined", "left", "moved", "left", "moved"]
    assert two.events[2].to_dict() == {
        "kind": "moved", **queue._asdict(), "before": ["c1"], "after": ["c2"], "last_seen_before": 4.0, "first_seen_after": 5.0,
    }  # fmt: skip


def written(path, cluster, fetched_at):
    """Write a snapshot with a time, and read it as `serve -f` does."""
    path.write_text(json.dumps(to_document(replace(cluster, fetched_at=fetched_at))))
    return SnapshotFiles([str(path)])


OLD, NOW, LATER = "2020-01-01T00:00:00Z", "now", "2999-01-01T00:00:00Z"
REASONS = {
    NOW: None,
    OLD: "of 2020-01-01T00:00:00Z, more than 90 s ago",
    LATER: "of 2999-01-01T00:00:00Z, in the future",
    None: "the data have no time",
}


@pytest.mark.parametrize("fetched_at", REASONS)
def test_every_age_of_a_file_is_from_the_time_that_it_states(tmp_path, fetched_at):
    stated = utc_text(time.time()) if fetched_at == NOW else fetched_at
    cluster = snapshot(with_owned(group("c1", "c2"), [topic(a=3)]), topics=(topic(a=3),))
    kept = []
    readings = Readings(
        written(tmp_path / "s.json", cluster, stated),
        Observer(),
        keepers=(SimpleNamespace(record=kept.append),),
    )
    assert readings.read_once()
    why = REASONS[fetched_at]
    with served(readings) as client:
        ready, status = client.get("/readyz"), client.get("/v1/status")
        guard, listed = client.get("/v1/guard?stop=c1"), client.get("/v1/groups")
        metrics = client.get("/metrics").text
    for answer in (guard, listed, status):
        assert (why or "") in answer.headers.get("rmqalloc-not-current", "")
        assert ("rmqalloc-not-current" in answer.headers) == bool(why)
    assert (ready.status_code, guard.status_code) == ((503, 503) if why else (200, 200))
    assert (guard.json()["verdict"], status.json()["is_ready"]) == (
        ("unknown", False) if why else ("yes", True)
    )
    assert (why or "") in guard.json()["reason"]
    assert (why or "ready") in ready.text
    assert (why or "") in (status.json()["why_not_ready"] or "")
    assert f'rmqalloc_ready{{cluster="c"}} {float(not why)}' in metrics
    has_age = fetched_at in (OLD, NOW)
    assert (status.json()["age"] is not None) == has_age == ("reading_age_seconds{" in metrics)
    assert (listed.headers["rmqalloc-age"] != "unknown") == has_age
    if has_age:
        at = datetime.fromisoformat(stated).timestamp()
        age = time.time() - at
        ages = [status.json()["age"], float(listed.headers["rmqalloc-age"])]
        assert all(age - 60 <= found <= age + 0.1 for found in ages)
        assert [observation.reading.read_at for observation in kept] == [at], (
            "the history has the data's time"
        )
    else:
        assert kept == [], "a history has no place for it"
        assert status.json()["error"] == f"history: {status.json()['why_not_ready']}"


def test_a_guard_of_old_data_grants_nothing_and_knows_no_absence(tmp_path):
    cluster = snapshot(with_owned(group("c1", "c2"), [topic(a=3)]), topics=(topic(a=3),))
    readings = Readings(written(tmp_path / "s.json", cluster, OLD), Observer())
    readings.read_once()
    with served(readings) as client:
        assert client.get("/v1/guard?stop=c1").json()["verdict"] == "unknown"
        assert len(client.service._leases) == 0
        new = client.get("/v1/guard?stop=c3")
    assert new.status_code == 503 and "no client matches 'c3'" in new.json()["detail"]


def test_a_file_that_has_not_changed_is_no_second_reading(tmp_path):
    kept = []
    files = written(tmp_path / "s.json", CLUSTER, OLD)
    readings = Readings(files, Observer(), keepers=(SimpleNamespace(record=kept.append),))
    assert [readings.read_once() for _ in range(3)] == [True] * 3
    assert len(kept) == 1 and readings.state.observation.lasting == ()
    written(tmp_path / "s.json", CLUSTER, "2020-01-01T00:00:30Z")
    assert readings.read_once() and len(kept) == 2


def lost(source, request):
    return SourceError(source, request, "timed out")


NO_NAME_SERVER = lost("name server", "GET_BROKER_CLUSTER_INFO")


def test_without_a_name_server_it_is_not_ready_and_says_so():
    broker = Broker("a", "10.0.0.1:10911")
    carried = replace(CLUSTER, errors=(NO_NAME_SERVER,), brokers=(broker,))
    with served(readings_of(reading(carried, is_whole=False))) as client:
        ready, status = client.get("/readyz"), client.get("/v1/status").json()
        groups, metrics = client.get("/v1/groups"), client.get("/metrics").text
    assert ready.status_code == 503 and "name server: timed out" in ready.json()["detail"]
    assert (status["error"], status["is_ready"]) == ("name server: timed out", False)
    assert 'rmqalloc_ready{cluster="c"} 0.0' in metrics
    assert groups.headers["rmqalloc-not-current"] == "name server: timed out"


def test_words_of_a_server_are_ascii_in_headers():
    named = replace(NO_NAME_SERVER, message="\u8d85\u65f6")
    carried = replace(CLUSTER, errors=(named,), brokers=(Broker("a", "10.0.0.1:10911"),))
    with served(readings_of(reading(carried, is_whole=False))) as client:
        header = client.get("/v1/groups").headers["rmqalloc-not-current"]
    assert header == "name server: \\u8d85\\u65f6"


def test_a_reading_that_no_server_answered_is_a_reading_that_failed():
    silent = Broker("a", "10.0.0.1:10911", is_silent=True)
    errors = (NO_NAME_SERVER, lost("broker a", "GET_CONSUMER_CONNECTION_LIST g"))
    carried = reading(replace(CLUSTER, errors=errors, brokers=(silent,)), is_whole=False)
    readings = readings_of(reading(CLUSTER, at=time.time() - 60), carried)
    state = readings.state
    assert not readings.read_once() and readings.state is state
    assert readings.status.error == "no server answers: name server: timed out"
    assert readings.state.age >= 60


@pytest.mark.thorough
def test_a_file_is_read_again_and_an_error_in_it_is_a_reading_that_failed(tmp_path):
    path = tmp_path / "s.json"
    path.write_text(json.dumps(to_document(CLUSTER)))
    readings = Readings(SnapshotFiles([str(path)]), Observer())
    assert readings.read_once()
    path.write_text(
        json.dumps(to_document(snapshot(group("c1"), group("c2", name="h"), topics=(topic(a=3),))))
    )
    assert readings.read_once() and readings.state.observation.groups.groups.num_rows == 2
    path.write_text("{")
    assert not readings.read_once() and "s.json:1" in readings.status.error


def test_what_left_between_readings_of_a_file_is_reported(tmp_path):
    path, brokers = tmp_path / "cluster.json", (Broker("a", "h:1"), Broker("b", "h:2"))
    source, found = SnapshotFiles([str(path)]), []
    for there in (brokers, brokers[:1], brokers):
        path.write_text(json.dumps(to_document(replace(CLUSTER, brokers=there))), encoding="utf-8")
        found.append([left.name for left in source.read().snapshot.departed])
    assert found == [[], ["b"], []]
