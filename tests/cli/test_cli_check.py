"""``rmqalloc check``: what it prints, and the code it leaves with."""

import io
import json
from itertools import count

import pytest
from audited import group, snapshot, topic
from checkout import ROOT
from cli_commands import runner, saved_snapshot

from rmqalloc.evidence import _decide_strategies
from rmqalloc.snapshot.snapshot import SourceError

EXAMPLE = ROOT / "examples" / "snapshots" / "duplicate-id.yaml"
PRINTED = """\
Unread messages: 4 queues of 1 topic, backlog not known
messages  group          topic   reason       queue           detail
       -  order-service  orders  no-owner  4  broker-a:12-15  client id 10.0.0.13@1 is not unique
no-owner: no client takes the queue

Group order-service
! error    unowned-queue: No client takes 4 of 40 queues of orders: client id 10.0.0.13@1 is not
           unique.
           queues: broker-a:12, broker-a:13, broker-a:14, broker-a:15
           advice: Remove the cause; until then no client consumes these queues.
! error    double-owned-queue: Several clients take 4 of 40 queues of orders: client id 10.0.0.13@1
           is not unique.
           queues: broker-a:8, broker-a:9, broker-a:10, broker-a:11
           clients: 10.0.0.13@1
"""


@pytest.fixture
def run(capsys):
    return runner(capsys, "check")


@pytest.fixture
def file(tmp_path):
    """A snapshot in a file of its own."""
    numbers = count()
    return lambda *groups, **parts: saved_snapshot(
        tmp_path / f"{next(numbers)}.json", snapshot(*groups, **parts)
    )


def test_the_example_has_four_unowned_and_four_double_owned_queues(run):
    code, out, err = run("-f", EXAMPLE)
    assert code == 2
    assert out.startswith(PRINTED)
    assert out.endswith("\n3 findings: 3 errors\n")
    assert err == ""


def test_a_clean_snapshot_ends_with_0(run, file):
    assert run("-f", file(group("c1", "c2"))) == (
        0,
        "Every written queue of 1 topic is read.\n\n0 findings (no lags are known)\n",
        "",
    )


def test_a_snapshot_may_come_through_a_pipe(run, file, monkeypatch):
    text = file(group("c1", "c1")).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text), encoding="utf-8"))
    code, out, _ = run("-f", "-", "-o", "sarif")
    assert code == 2
    assert "physicalLocation" not in out and out.startswith('{\n  "')


def test_groups_and_topics_can_be_chosen(run, file):
    routes = (topic(), topic("pay"))
    path = file(
        group("c1", "c1", name="bad"),
        group("c2", name="good", subscriptions=("pay",)),
        topics=routes,
    )
    assert run("-f", path, "-g", "go*")[0] == 0
    assert run("-f", path, "-t", "pay")[0] == 0
    assert run("-f", path, "-g", "b*")[0] == 2
    code, out, err = run("-f", path, "-g", "none*")
    assert (code, out) == (1, "")
    assert "no consumer group matches" in err
    assert "; near it is 'order-service'" in run("-f", EXAMPLE, "-g", "order-servce")[2]


def test_rules_can_be_chosen_and_left_out(run):
    assert [
        f["rule"]
        for f in json.loads(run("-f", EXAMPLE, "-o", "json", "--rule", "unowned-queue")[1])[
            "findings"
        ]
    ] == ["unowned-queue"]
    arguments = [
        part for name in ("unowned-queue", "double-owned-queue") for part in ("--ignore", name)
    ]
    code, out, _ = run("-f", EXAMPLE, *arguments)
    assert (code, out.count("error ")) == (2, 1)
    assert run("-f", EXAMPLE, *arguments, "--ignore", "duplicate-client-id")[0] == 0
    for option in ("--rule", "--ignore"):
        code, out, err = run("-f", EXAMPLE, option, "unowned")
        assert (code, out) == (64, "")
        assert "no rule 'unowned'; there are unowned-queue" in err


def test_what_is_shown_and_what_fails_are_two_things(run, file):
    idle = file(group("c1", "c2", "c3"), topics=(topic(a=2),))
    assert run("-f", idle)[0] == 2
    assert run("-f", idle, "--fail-on", "error")[0] == 0
    code, out, _ = run("-f", idle, "--severity", "error")
    assert (code, out.split("\n\n")[-1]) == (2, "0 findings (no lags are known)\n")
    note = file(group("c1", strategy="CONFIG"))
    assert run("-f", note)[0] == 0
    assert run("-f", note, "--fail-on", "note")[0] == 2


def test_a_partial_snapshot_in_which_nothing_is_found_ends_with_4(run, file):
    lost = (SourceError("broker b", "GET_CONSUMER_CONNECTION_LIST g", "timeout"),)
    clean, bad = file(group("c1"), errors=lost), file(group("c1", "c1"), errors=lost)
    code, out, err = run("-f", clean)
    why = "(broker b: GET_CONSUMER_CONNECTION_LIST g: timeout)"
    facts = f"not known: clients of g {why} not known: subscriptions of g {why}"
    said = f"0 findings as far as is known (no lags are known) {facts}"
    assert (code, " ".join(out.split("\n\n")[-1].split())) == (4, said)
    assert "timeout" not in err
    assert "--allow-unknown clients --allow-unknown subscriptions accepts them" in err
    # Whether its queues are read is not known, and that no option for partial snapshots accepts.
    assert run("-f", clean, "--allow-partial")[0] == 4
    assert run("-f", clean, "--allow-unknown", "clients")[0] == 4
    assert (
        run("-f", clean, "--allow-unknown", "clients", "--allow-unknown", "subscriptions")[0] == 0
    )
    assert run("-f", clean, "--rule", "dry-queue")[0] == 0
    assert run("-f", bad)[0] == 2


def test_missing_lags_alone_never_end_with_4(run, file):
    lost = (SourceError("broker b", "GET_CONSUME_STATS g", "timeout"),)
    code, out, err = run("-f", file(group("c1"), errors=lost))
    why = "broker b: GET_CONSUME_STATS g: timeout"
    assert (code, out.split("\n\n")[-1]) == (0, f"0 findings (lags of g: {why})\n")
    assert "GET_CONSUME_STATS" not in err


def test_what_a_file_says_it_does_not_know_is_never_an_all_clear(run, file):
    unknown = file(group(unknown={"clients": "nobody was asked"}))
    code, out, _ = run("-f", unknown)
    assert code == 4
    assert out.startswith("No queue of 1 topic is known to be unread.")
    assert "not known: clients of g (nobody was asked)" in out
    document = json.loads(run("-f", unknown, "-o", "json")[1])
    assert document["not_known"] == [
        {"kind": "clients", "subject": "g", "reason": "nobody was asked", "is_scope": False},
        {"kind": "lags", "subject": "", "reason": "no lags are known", "is_scope": True},
    ]
    assert run("-f", file(group()))[0] == 0  # no client, and no message known to wait: a note


@pytest.mark.parametrize("output", ["wide", "json", "jsonl", "yaml", "csv", "md", "html", "sarif"])
def test_every_form_names_the_queues(run, output):
    code, out, err = run("-f", EXAMPLE, "-o", output)
    assert (code, err) == (2, "")
    assert "10.0.0.13@1" in out
    assert "unowned" in out


def test_a_page_says_what_it_rests_on(run, file):
    lost = (SourceError("broker b", "GET_CONSUMER_CONNECTION_LIST g", "timeout"),)
    code, page, _ = run("-f", file(group("c1"), errors=lost), "-o", "html")
    assert (
        code == 4
        and ">0 findings as far as is known (no lags are known); not known: clients of g (" in page
    )
    assert (
        "Strategy AVG, stated; 1 request was not answered; the snapshot does not state its time."
        in page
    )
    page = run("-f", EXAMPLE, "-o", "html", "--severity", "error")[1]
    assert "✗ 3 findings of the audit: 3 errors" in page and "order-service" in page


def test_strategies_are_found_out_once_for_all_groups_that_state_the_same(run, file, monkeypatch):
    claims = []
    claim = _decide_strategies._claim
    monkeypatch.setattr(
        _decide_strategies,
        "_claim",
        lambda group, rooms: claims.append(group.name) or claim(group, rooms),
    )
    groups = [
        group("c1", "c2", name=f"g{i}", strategy=name)
        for i, name in enumerate(("AVG", "AVG", "AVG_BY_CIRCLE"))
    ]
    assert run("-f", file(*groups))[0] == 0
    assert claims == ["g0", "g2"]
