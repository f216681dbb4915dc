"""``check --watch`` and ``--settle`` at a real cluster: what passes is not told, what lasts is told
once, and when it goes.
"""

import json
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
import tied
from live_consumers import Consumers
from live_proofs import assigned, make_topic, settled, wait_for
from programs import environment

from rmqalloc import strategy
from rmqalloc.cli import _watch as watch
from rmqalloc.cli import main

pytestmark = [pytest.mark.cluster, pytest.mark.java]

GROUP, TOPIC = "guarded", "guarded-orders"
FAULTS = {"unowned-queue", "double-owned-queue", "duplicate-client-id", "actual-unowned"}


class Watching:
    """A watching process, and the findings it has shown: a set of rules for every time it showed
    some.
    """

    def __init__(self, *arguments):
        command = [sys.executable, "-m", "rmqalloc", "check", "--watch", "-o", "json", *arguments]
        self.process = tied.popen(
            command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.shown = []
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self):
        text, decoder = "", json.JSONDecoder()
        for line in self.process.stdout:
            text = (text + line).lstrip()
            try:
                while text:
                    said, end = decoder.raw_decode(text)
                    self.shown.append({one["rule"] for one in said["findings"]})
                    text = text[end:].lstrip()
            except json.JSONDecodeError:
                pass

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(180)
        self._reading.join(180)
        self.process.stdout.close()
        return code


def test_what_lasts_is_shown_once_and_when_it_goes(cluster, java, tally):
    make_topic(cluster, java, TOPIC, 4)
    for member in ("g-1", "g-2"):
        java.join(GROUP, member, [TOPIC], strategy="AVG")
    settled(cluster, [java], GROUP, 2, assigned(strategy("AVG")), tally)
    watching = Watching(
        "-n", cluster.name_server, "-g", GROUP, "--settle", "2s", "--severity", "error"
    )
    try:
        wait_for(lambda: watching.shown == [set()], "the first look shows that nothing is wrong")
        with Consumers(cluster.name_server) as other:
            other.join(GROUP, "g-1", [TOPIC], strategy="AVG")
            wait_for(
                lambda: watching.shown[-1] >= FAULTS - {"actual-unowned"},
                f"faults of a duplicate id: {watching.shown}",
            )
        wait_for(lambda: watching.shown[-1] == set(), f"all is well again: {watching.shown}")
    finally:
        code = watching.interrupt()
    assert code == 130
    assert len(watching.shown) <= 8, "nothing is shown while nothing changes"
    java.leave_all()


def test_a_fault_that_passes_does_not_count(cluster, java, tally, capsys, monkeypatch):
    make_topic(cluster, java, TOPIC, 4)
    java.join(GROUP, "g-1", [TOPIC], strategy="AVG")
    settled(cluster, [java], GROUP, 1, assigned(strategy("AVG")), tally)
    reached = ["check", "-n", cluster.name_server, "-g", GROUP]
    other = Consumers(cluster.name_server)
    other.join(GROUP, "g-1", [TOPIC], strategy="AVG")
    wait_for(lambda: main(reached) == 2, "a duplicate id is a fault")

    def heal(seconds):
        assert seconds == 6
        other.kill()
        settled(cluster, [java], GROUP, 1, assigned(strategy("AVG")), tally)

    monkeypatch.setattr(
        watch, "time", SimpleNamespace(sleep=heal)
    )  # however long it takes the clients
    assert main([*reached, "--settle", "6s"]) == 0, capsys.readouterr().out
    java.leave_all()


def test_only_a_running_cluster_can_be_watched(capsys):
    for option in (["--watch"], ["--settle", "5s"]):
        assert main(["check", "-f", "s.json", *option]) == 64
        assert "give -n HOST:PORT instead of -f" in capsys.readouterr().err
    assert main(["check", "-n", "127.0.0.1:1", "--settle", "soon"]) == 64
    assert "must be a time such as 500ms, 30s or 2m" in capsys.readouterr().err
