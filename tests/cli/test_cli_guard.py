"""``rmqalloc guard``: answers as exit codes, text and a document."""

import json
import time
from dataclasses import replace

import pytest
from audited import group, snapshot, topic, with_owned

from rmqalloc.cli import main
from rmqalloc.snapshot.data_time import utc_text
from rmqalloc.snapshot.live import fetching, rereading
from rmqalloc.snapshot.plain_data import to_document

IDS = ("10.0.0.1@7", "10.0.0.2@7")
SETTLED = snapshot(with_owned(group(*IDS), [topic()]))
NOW = 1_800_000_000.0
AT = utc_text(NOW)
[_GROUP] = SETTLED.groups
MOVING = snapshot(
    replace(_GROUP, clients=(_GROUP.clients[0], replace(_GROUP.clients[1], owned=())))
)


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Run the verb on a snapshot as a file, by default of now; its exit code and what it printed."""
    monkeypatch.setattr("rmqalloc.cli._guard_command.time.time", lambda: NOW)

    def run(cluster, *arguments, fetched_at=AT):
        dated = replace(cluster, fetched_at=fetched_at)
        (tmp_path / "s.json").write_text(json.dumps(to_document(dated)))
        code = main(["guard", "-f", str(tmp_path / "s.json"), *arguments])
        return code, capsys.readouterr()

    return run


@pytest.mark.parametrize(
    ("cluster", "target", "code", "text"),
    [
        (SETTLED, "10.0.0.1", 0, "yes: 10.0.0.1@7 may stop: 4 queues of g get new owners\n"),
        pytest.param(
            MOVING,
            IDS[0],
            3,
            "no: the previous change of g has not settled: 4 queues of orders have no owner\n",
            id="not settled",
        ),
        (
            snapshot(group(*IDS)),
            IDS[0],
            4,
            "unknown: g: the queues that its clients own are not known\n",
        ),
    ],
)
def test_each_answer_has_a_code_and_a_line(run, cluster, target, code, text):
    found, printed = run(cluster, "-c", target)
    assert (found, printed.out) == (code, text)


@pytest.mark.parametrize(
    ("fetched_at", "why"),
    [
        (None, "the data have no time (fetched_at"),
        ("2020-01-01T00:00:00Z", "the data are of 2020-01-01T00:00:00Z, more than 90 s ago"),
        (utc_text(NOW - 91), "more than 90 s ago"),
        (utc_text(NOW + 1), "in the future"),
    ],
)
@pytest.mark.parametrize("more", [(), ("--after", "-g", "g")])
def test_a_file_that_is_not_of_now_answers_unknown_and_says_why(run, fetched_at, why, more):
    code, printed = run(SETTLED, "-c", IDS[0], *more, fetched_at=fetched_at)
    assert code == 4
    assert printed.out.startswith("unknown: ") and why in printed.out
    said = "no: 10.0.0.1@7 is a client of g still" if more else "yes: 10.0.0.1@7 may stop"
    assert f"; the answer from these data is {said}" in printed.out


def test_the_document(run):
    code, printed = run(SETTLED, "-g", "g", "-c", IDS[0], "-o", "json")
    document = json.loads(printed.out)
    assert (code, document["kind"], document["verdict"], document["clients"]) == (
        0,
        "GuardAnswer",
        "yes",
        [IDS[0]],
    )


def test_no_client_matches(run):
    code, printed = run(SETTLED, "-c", "10.0.0.3@7")
    assert (code, printed.out) == (1, "")
    assert "no client matches '10.0.0.3@7'; near it are" in printed.err


def test_after_the_stop_of_a_file_it_looks_once(run):
    assert run(SETTLED, "-g", "g", "--after", "-c", "10.0.0.3@7")[0] == 0
    assert run(SETTLED, "-g", "g", "--after")[1].out == "yes: all queues of g have owners\n"
    assert run(MOVING, "-g", "g", "--after")[0] == 3
    assert (
        run(SETTLED, "-g", "g", "--after", "-c", IDS[0])[1].out
        == "no: 10.0.0.1@7 is a client of g still\n"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-c", "a", "--wait", "3s"], "give -n HOST:PORT"),
        (["-c", "a", "--after"], "give -g GROUP"),
        (["-c", "a", "--every", "soon"], "soon"),
        ([], "Missing option '--client'"),
    ],
)
def test_wrong_usage_is_said(run, arguments, said):
    code, printed = run(SETTLED, *arguments)
    assert code == 64
    assert said in printed.err


def reading_of(found):
    """A reading that gives a snapshot, all of it read now."""
    began = time.time()
    ages = {
        one.name: rereading.GroupAges(
            began, None, {client.client_id: began for client in one.clients}
        )
        for one in found.groups
    }
    return rereading.ClusterReading(found, began, time.time(), ages, frozenset(), True, {})


@pytest.fixture
def live(monkeypatch):
    """A running cluster, of which every look gives the next snapshot; the last one stays."""

    def live(*found):
        left = list(found)

        def fetch(*_given, **how):
            assert how["lag"] is False
            return left.pop(0) if len(left) > 1 else left[0]

        monkeypatch.setattr("rmqalloc.fetch", fetch)
        monkeypatch.setattr(fetching, "fetch", fetch)
        monkeypatch.setattr(rereading.Rereader, "read", lambda _self: reading_of(fetch(lag=False)))
        return lambda *more: main(
            ["guard", "-n", "127.0.0.1:1", "-g", "g", "-c", IDS[0], "--every", "1ms", *more]
        )

    return live


@pytest.mark.thorough
def test_of_a_running_cluster_it_looks_once_or_waits(live, capsys):
    assert live(SETTLED)() == 0
    assert live(MOVING)() == 3
    assert live(MOVING, MOVING, SETTLED)("--wait", "60s") == 0
    assert live(MOVING)("--wait", "10ms") == 3
    alone = snapshot(with_owned(group(IDS[1]), [topic()]))
    assert live(SETTLED, SETTLED, alone)("--after") == 0
    assert capsys.readouterr().out.count("\n") == 5


def test_while_it_waits_the_notes_are_those_of_the_reading_that_answers(live, capsys):
    note = "4 queues have reported owners that differ from the computed owners: g"
    assert live(MOVING, MOVING, SETTLED)("--wait", "60s") == 0
    assert note not in capsys.readouterr().err
    assert live(MOVING)("--wait", "1ms") == 3
    assert note in capsys.readouterr().err
