"""``check --watch``: groups that do not exist yet, what is raised and cleared, and the line that
says how things stand.
"""

import io
import json
import sys
import time
from types import SimpleNamespace

import click
import pytest
from loopback import Loopback

from rmqalloc.audit import Finding
from rmqalloc.cli import _snapshot_input as snapshot_input
from rmqalloc.cli import _watch as watch
from rmqalloc.cli import main
from rmqalloc.model import MessageQueue
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.snapshot.matching import NoMatchError


def finding(rule, topic="T"):
    return Finding(
        rule,
        "error",
        "g",
        topic,
        (MessageQueue(topic, "b", 0),),
        (),
        f"{rule} of {topic}\x1b[2J",
        "Mend it.",
    )


A, B = finding("unowned-queue"), finding("double-owned-queue")


class Looks:
    """Looks that find what a list says: findings, or an error; a frozenset before them is what the
    look lacks.
    """

    cluster = "10.0.0.1:9876\x1b[2J"

    def __init__(self, *looks):
        self._looks, self._lacks = list(looks), frozenset()
        self.shown = []

    def look(self):
        if not self._looks:
            raise KeyboardInterrupt
        found = self._looks.pop(0)
        if isinstance(found, Exception):
            raise found
        self._lacks, *found = (
            found if found and isinstance(found[0], frozenset) else (frozenset(), *found)
        )
        return tuple(found)

    def lacks(self):
        return self._lacks

    def grave(self, findings):
        return tuple(findings)

    def show(self, findings):
        self.shown.append([one.rule for one in findings])


def watched(*looks):
    """What is shown, and what is said on standard error, without its times."""
    looking = Looks(*looks)
    with pytest.raises(KeyboardInterrupt):
        watch.watch(looking, 0)
    return looking.shown


def said(capsys):
    lines = capsys.readouterr().err.splitlines()
    assert all(
        line[19:].startswith("  10.0.0.1:9876\\x1b[2J  ") and line.isprintable() for line in lines
    ), lines
    assert all(time.strptime(line[:19], "%Y-%m-%d %H:%M:%S") for line in lines)
    return [line.partition("[2J  ")[2] for line in lines]


def test_what_lasts_is_raised_and_what_goes_is_cleared(capsys):
    assert watched([A], [A], [A], [A, B], [A, B], [A, B], [A], [A]) == [
        ["unowned-queue"],
        [A.rule, B.rule],
        [A.rule],
    ]
    assert said(capsys) == [
        "1 finding at first, looked at again",
        "raised   error unowned-queue g T: unowned-queue of T\\x1b[2J",
        "1 lasting finding",
        "raised   error double-owned-queue g T: double-owned-queue of T\\x1b[2J",
        "2 lasting findings",
        "cleared  error double-owned-queue g T: double-owned-queue of T\\x1b[2J",
        "1 lasting finding",
    ]


@pytest.mark.thorough
def test_what_passes_is_not_told(capsys):
    assert watched([A], [], [B], [], [A], []) == [[]]
    assert not [line for line in said(capsys) if line.startswith(("raised", "cleared"))]


@pytest.mark.thorough
def test_what_is_not_seen_is_not_cleared(capsys):
    """A look that lacks what the one before had may not find a fault that is still there."""
    lacks = frozenset({("broker a", "GET_CONSUMER_CONNECTION_LIST g")})
    assert watched([A], [A], [lacks], [lacks], [A], [lacks], []) == [[A.rule], []]
    lines = said(capsys)
    assert [line.split()[0] for line in lines if "finding" not in line] == ["raised", "cleared"]
    assert "1 lasting finding, 1 request without an answer" in lines
    assert watched([lacks, A], [lacks, A], [lacks], [lacks]) == [[A.rule], []], (
        "what is always missing is no reason"
    )


@pytest.mark.thorough
def test_a_group_that_is_not_there_yet_is_waited_for(capsys):
    missing = NoMatchError("no consumer group matches 'g'")
    assert watched(missing, missing, [A], [A], missing, [A], []) == [[A.rule], []]
    lines = said(capsys)
    assert lines.count("no consumer group matches 'g'; looked for again") == 2, (
        "once at the start, once in between"
    )
    assert [line.split()[0] for line in lines if line.startswith(("raised", "cleared"))] == [
        "raised",
        "cleared",
    ]


@pytest.mark.thorough
def test_a_cluster_that_cannot_be_reached_is_an_error_at_the_first_look_alone(capsys):
    with pytest.raises(click.ClickException, match="gone"):
        watch.watch(Looks(click.ClickException("gone")), 0)
    assert watched([], click.ClickException("gone"), [], []) == [[]]
    assert "gone; looked for again" in said(capsys)


@pytest.mark.thorough
def test_a_terminal_has_one_line_that_changes(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    watched([A], [A], [A], [])
    text = terminal.getvalue()
    assert text.count("\n") == 2, "raised and cleared are the only lines that stay"
    assert text.count("1 lasting finding") == 2 and text.count("\r\x1b[K") >= 5
    assert text.endswith("\r\x1b[K")


@pytest.mark.thorough
def test_the_command_waits_for_a_group_and_tells_nothing_twice(capsys, monkeypatch):
    looks = []
    monkeypatch.setattr(watch, "time", SimpleNamespace(sleep=looks.append, strftime=time.strftime))
    groups = {}
    with Loopback(groups=groups) as servers:
        usual = servers.answer

        def answer(name, request):
            if request.code == ReadCode.GET_BROKER_CLUSTER_INFO:
                if len(looks) == 2:
                    groups["late"] = ["c-0", "c-0"]
                if len(looks) == 5:
                    groups["late"] = ["c-0", "c-1"]
            return usual(name, request)

        servers.answer = answer
        original = snapshot_input.live_snapshot

        def at_most_eight(*arguments):
            if len(looks) == 8:
                raise KeyboardInterrupt
            return original(*arguments)

        monkeypatch.setattr(snapshot_input, "live_snapshot", at_most_eight)
        code = main(
            [
                "check",
                "-n",
                servers.name_server,
                "-g",
                "late",
                "--watch",
                "--rule",
                "duplicate-client-id",
                "-o",
                "json",
            ]
        )
    shown = capsys.readouterr()
    assert code == 130 and set(looks) == {20.0}
    assert "no consumer group matches 'late'; the snapshot has 0; looked for again" in shown.err
    assert shown.err.count("raised   error duplicate-client-id late") == 1
    assert shown.err.count("cleared  error duplicate-client-id late") == 1
    assert shown.err.count("answers in") == 1, (
        "how the reading went is told of the first that succeeded"
    )
    decoder, text, rules = json.JSONDecoder(), shown.out.strip(), []
    while text:
        found, end = decoder.raw_decode(text)
        rules.append([one["rule"] for one in found["findings"]])
        text = text[end:].strip()
    assert rules == [["duplicate-client-id"], []]
