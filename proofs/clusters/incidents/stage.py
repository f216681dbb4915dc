"""A cluster and its clients, and what ``rmqalloc check`` says of it, asked again until it is right."""

from __future__ import annotations

import contextlib
import io
import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from live_cases import wait_until
from live_cluster import LiveCluster
from live_consumers import Consumers
from live_proofs import make_topic, wait_for

from clusters.incidents.judging import Right, Said, false, missing
from rmqalloc import MessageQueue
from rmqalloc.cli import main
from rmqalloc.cli._exit_codes import INTERRUPTED
from rmqalloc.snapshot.snapshot import Snapshot

CLEAN_WITHIN = 120.0
PAUSE = 0.5
QUEUES = 4
"""Of a topic, at each of two brokers."""
CLEAN = Right("0 findings", 0)


@dataclass
class Played:
    """An incident as it was played.

    Attributes
    ----------
    incident : str
    right : Right
    said : Said
        The last answer.
    seconds : float
        From the incident until the right answer, or until it was given up.
    wrong : list of str
        What was false, or not said in time.
    n_answers : int
    notes : list of str
        What else was seen.
    before : dict of str to float
        What was said before the right answer, in short, and after how many seconds first.
    """

    incident: str
    right: Right
    said: Said
    seconds: float
    wrong: list[str]
    n_answers: int
    notes: list[str] = field(default_factory=list)
    before: dict[str, float] = field(default_factory=dict)


@dataclass
class Stage:
    """A cluster, and a Java process with consumers and an administrator's tools.

    Attributes
    ----------
    played : list of Played
    """

    cluster: LiveCluster
    java: Consumers
    played: list[Played] = field(default_factory=list)

    def topic(self, name: str) -> None:
        """Make a topic of `QUEUES` queues at both brokers."""
        make_topic(self.cluster, self.java, name, QUEUES)

    def join(
        self,
        group: str,
        topic: str,
        *members: str,
        process: Consumers | None = None,
        **told: object,
    ) -> None:
        """Start consumers, in a process of their own if there is one."""
        for member in members:
            (process or self.java).join(group, f"{group}-{member}", [topic], strategy="AVG", **told)

    def leave(self, group: str) -> None:
        """Shut the consumers of a group down that the shared process has."""
        for name in self.java.do("show"):
            if name.startswith(f"{group}/"):
                self.java.do("leave", name=name)

    def check(self, group: str, *options: str) -> Said:
        """What ``check`` says of a group: as JSON, and as people read it."""
        asked = ["check", "-n", self.cluster.name_server, "-g", group, *options]
        code, out, err = run_cli(*asked, "-o", "json")
        document, at = json.loads(out) if out.strip() else {}, time.monotonic()
        code_of_text, text, more = run_cli(*asked)
        return Said(code, document, text + more + ("" if document else err), code_of_text, at)

    def until(
        self,
        incident: str,
        group: str,
        right: Right,
        since: float,
        within: float,
        also: Callable[[Said], list[str]] = lambda _said: [],
        at_least: float = 0.0,
    ) -> Played:
        """Ask until the answer is right, and note all that is false until then.

        Parameters
        ----------
        incident, group : str
        right : Right
        since : float
            When it happened, by the monotonic clock.
        within : float
            Seconds that it may take.
        also : callable
            What else is false at a moment.
        at_least : float
            Seconds to go on asking, where what is right at first need not stay so.
        """
        wrong, before = dict[str, None](), dict[str, float]()
        n, right_since = 0, None
        while True:
            said = self.check(group)
            n += 1
            seconds = said.at - since
            wrong |= dict.fromkeys([*false(right, said), *also(said)])
            lacks = missing(right, said)
            right_since = None if lacks else right_since if right_since is not None else seconds
            if (not lacks and seconds >= at_least) or seconds > within:
                break
            if lacks:
                before.setdefault(said.brief, seconds)
            time.sleep(PAUSE)
        seconds = seconds if right_since is None else right_since
        played = Played(incident, right, said, seconds, [*wrong, *lacks], n, before=before)
        self.played.append(played)
        print(
            f"{incident}: {'right' if not played.wrong else played.wrong} after {seconds:.1f} s",
            flush=True,
        )
        return played

    def wait_until_consumed(self, group: str, topic: str) -> None:
        """Wait until a group has committed all that was sent to a topic."""

        def is_consumed(snapshot: Snapshot) -> bool:
            lags = [lag for lag in snapshot.groups[0].lags if lag.queue.topic == topic]
            return len(lags) == 2 * QUEUES and all(
                lag.consumer_offset >= lag.broker_offset > 0 for lag in lags
            )

        wait_until(self.cluster, (group,), is_consumed, "all is committed", lag=True)

    def wait_until_clean(self, group: str, n_queues: int, *processes: Consumers) -> None:
        """Wait until the consumers of a group own all queues and ``check`` finds nothing."""

        def is_owned() -> bool:
            return unowned(group, n_queues, *(processes or (self.java,))) <= 0

        wait_for(is_owned, f"{group} owns {n_queues} queues")
        deadline = time.monotonic() + CLEAN_WITHIN
        while lacks := missing(CLEAN, said := self.check(group)):
            assert time.monotonic() < deadline, (group, lacks, said.text)
            time.sleep(PAUSE)


def run_cli(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a verb."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(arguments))
    if code == INTERRUPTED:  # the verb takes Ctrl-C for itself
        raise KeyboardInterrupt
    return int(code), out.getvalue(), err.getvalue()


def unowned(group: str, n_queues: int, *processes: Consumers) -> int:
    """Queues that no consumer of a group owns, as the consumers say themselves."""
    return n_queues - len(owners(group, *processes))


def double_owned(group: str, *processes: Consumers) -> int:
    """Queues that several consumers of a group own, as they say themselves."""
    return sum(n > 1 for n in owners(group, *processes).values())


def owners(group: str, *processes: Consumers) -> Counter[MessageQueue]:
    """How many consumers own each queue."""
    return Counter(
        queue for one in processes for some in one.owns(group).values() for queue in some
    )


def owned(process: Consumers, group: str, topic: str) -> int:
    """Queues of a topic that the consumers of a process own, as they say themselves."""
    return sum(queue.topic == topic for some in process.owns(group).values() for queue in some)
