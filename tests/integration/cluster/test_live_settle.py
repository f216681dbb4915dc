"""``check --settle`` at a real cluster: what passes does not count."""

import time
from types import SimpleNamespace

import pytest
from live_consumers import Consumers
from live_proofs import assigned, make_topic, settled, wait_for

from rmqalloc import strategy
from rmqalloc.cli import _check_command as checking
from rmqalloc.cli import main

pytestmark = [pytest.mark.cluster, pytest.mark.java]

GROUP, TOPIC = "guarded", "guarded-orders"


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

    # however long it takes the clients
    monkeypatch.setattr(checking, "time", SimpleNamespace(sleep=heal, monotonic=time.monotonic))
    assert main([*reached, "--settle", "6s"]) == 0, capsys.readouterr().out
    java.leave_all()


def test_only_a_running_cluster_can_settle(capsys):
    assert main(["check", "-f", "s.json", "--settle", "5s"]) == 64
    assert "give -n HOST:PORT instead of -f" in capsys.readouterr().err
    assert main(["check", "-n", "127.0.0.1:1", "--settle", "soon"]) == 64
    assert "must be a time such as 500ms, 30s or 2m" in capsys.readouterr().err
