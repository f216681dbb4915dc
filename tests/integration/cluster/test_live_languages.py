"""Java and Go consumers in one group, which go from AVG to CONSISTENT_HASH one by one: their rings
differ.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections import Counter
from typing import Self

import go_driver
import pytest
import tied
from live_consumers import Consumers
from live_proofs import allocated, expected, make_topic, wait_for

from rmqalloc import rollout, sort_client_ids, strategy
from rmqalloc.snapshot.live._take import Wanted, take_snapshot
from rmqalloc.snapshot.snapshot import Snapshot

ENDS_WITHIN = 180
"""Seconds to the end of a process that leaves its group first."""


class GoConsumer:
    """A push consumer of client-go, from its start until it is left.

    Parameters
    ----------
    name_server, group, topic : str
    instance : str
        Its client id ends with it.
    strategy : {"AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"}
        client-go's own; ten virtual nodes.
    """

    def __init__(
        self, name_server: str, group: str, topic: str, instance: str, strategy: str
    ) -> None:
        program = [str(go_driver.built("member")), name_server, group, topic, instance, strategy]
        self._process = tied.popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != b"ready\n":
            self.leave()
            raise AssertionError(f"the consumer of client-go did not start: {instance}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Shut it down in good order; a second time does nothing."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        try:
            self._process.wait(ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(ENDS_WITHIN)


pytestmark = [pytest.mark.cluster, pytest.mark.java, pytest.mark.needs("go")]

GROUP, TOPIC, N_QUEUES = "two-languages", "in-two-languages", 16
OLD, NEW = "AVG", "CONSISTENT_HASH"
GO = ("go-1", "go-2", "java-3-by-go")
"""Instance names in between those of the Java clients, so that they take turns."""
JAVA = ("go-1-by-java", "java-1", "java-2")


@pytest.fixture(scope="session", autouse=True)
def go():
    """The consumer of client-go, built before a cluster is started."""
    go_driver.built("member")


class Mixed:
    """The group: each member has the strategy that it was started with."""

    def __init__(self, cluster, java: Consumers, stack: contextlib.ExitStack) -> None:
        self._cluster, self._java, self._stack = cluster, java, stack
        self._go: dict[str, GoConsumer] = {}
        self.strategies: dict[str, str] = {}

    def start(self, member: str, name: str) -> None:
        self.strategies[member] = name
        if member in JAVA:
            self._java.join(GROUP, member, [TOPIC], strategy=name)
        else:
            started = GoConsumer(self._cluster.name_server, GROUP, TOPIC, member, name)
            self._go[member] = self._stack.enter_context(started)

    def stop(self, member: str) -> None:
        if member in JAVA:
            self._java.leave(GROUP, member)
        else:
            self._go.pop(member).leave()

    def rule_of(self, client_id: str):
        member = client_id.partition("@")[2]
        return strategy(self.strategies[member], dialect="java" if member in JAVA else "go")

    def settled(self) -> Snapshot:
        """The snapshot in which every client says it owns what its own rule gives it."""
        found: list[Snapshot] = []

        def is_settled() -> bool:
            found[:] = [
                take_snapshot([self._cluster.name_server], wanted=Wanted((GROUP,), lag=False))
            ]
            if (
                found[0].errors
                or len(found[0].groups) != 1
                or len(found[0].groups[0].clients) != len(self.strategies)
            ):
                return False
            [group] = found[0].groups
            says = expected(found[0], group, allocated(self.rule_of))
            return all(
                list(client.owned or ()) == says[client.client_id] for client in group.clients
            )

        wait_for(is_settled, f"every client of {GROUP} owns what its own rule gives it")
        return found[0]


def unowned_and_double(snapshot: Snapshot) -> tuple[int, int]:
    """Queues of the topic that no client reports, and those that several do."""
    [group] = snapshot.groups
    n_owners = Counter(queue for client in group.clients for queue in client.owned or ())
    queues = [*snapshot.topic(TOPIC).queues()]
    return sum(n_owners[queue] == 0 for queue in queues), sum(
        n_owners[queue] > 1 for queue in queues
    )


def test_every_step_of_a_migration_leaves_open_what_was_predicted(cluster, java, tally):
    make_topic(cluster, java, TOPIC, N_QUEUES)
    with contextlib.ExitStack() as stack:
        group = Mixed(cluster, java, stack)
        for member in (*JAVA, *GO):
            group.start(member, OLD)
        snapshot = group.settled()
        assert {
            one.client_id.partition("@")[2]: one.language for one in snapshot.groups[0].clients
        } == {
            **dict.fromkeys(JAVA, "JAVA"),
            **dict.fromkeys(GO, "GO"),
        }
        steps = rollout.strategy(
            snapshot, NEW, [GROUP], topics=[TOPIC], order="sorted"
        ).steps.to_pylist()
        found = [unowned_and_double(snapshot)]
        for client_id in sort_client_ids(snapshot.groups[0].client_ids):
            member = client_id.partition("@")[2]
            group.stop(member)
            group.start(member, NEW)
            found.append(unowned_and_double(group.settled()))
        for member in JAVA:
            group.stop(member)
    assert found == [(step["unowned"], step["double_owned"]) for step in steps]
    assert found[-1] != (
        0,
        0,
    )  # the rings of the two languages differ, so the migration must not end there
    tally.add(
        "steps of a migration of Java and Go clients that leave open what was predicted", len(found)
    )
