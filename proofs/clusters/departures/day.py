"""A day of departures: brokers and the name server killed, a broker and queues taken off the
route, a clock that is set; what the page, metrics, readiness, history and guard say at each moment.
"""

from __future__ import annotations

import contextlib
import io
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from broker_admin import administer
from live_cluster import BROKERS, LiveCluster
from live_consumers import Consumers
from live_proofs import make_topic
from proof import Report

from clusters.departures.watched import FAKED, Shown, Watched, serving
from rmqalloc.cli import main
from rmqalloc.snapshot.live._take import Wanted, take_snapshot

GROUP = TOPIC = "departing"
QUEUES = 4
MEMBERS = ("1", "2", "3")
UNREGISTER_BROKER = 104
REGISTERS_EVERY = 60_000
"""Milliseconds: the longest that a broker takes, so it stays unlisted long enough to be seen."""
STEP = 600
SETTLES_WITHIN = 180.0
COLUMNS = (
    "moment", "page", "metrics", "/readyz", "error of /v1/status", "findings", "guard", "guard --after", "history",
)  # fmt: skip


class Expected(NamedTuple):
    """What is right at a moment; None where anything is."""

    findings: tuple[str, ...] = ()
    never: tuple[str, ...] = ("stranded-backlog", "topic-without-route")
    down: tuple[str, ...] = ()
    departed: tuple[tuple[str, str], ...] = ()
    is_ready: bool | None = True
    guards: tuple[str, ...] = ("yes",)
    has_error: bool | None = False


class Day:
    """A cluster with consumers, and the service that watches it."""

    def __init__(self, report: Report, cluster: LiveCluster, watched: Watched, client: str) -> None:
        self._report, self.cluster, self.watched, self._client = report, cluster, watched, client

    def look(self, moment: str, expected: Expected, n_readings: int = 3) -> None:
        """Write down what everything shows after some readings, and judge it."""
        self.watched.wait_for(n_readings)
        shown = self.watched.shown(self._client)
        shown = shown._replace(after=self._after())
        self._report.row(
            moment, shown.page, shown.metrics, shown.ready, shown.status,
            ", ".join(sorted(shown.findings)), shown.guard, shown.after, shown.history,
        )  # fmt: skip
        for text in wrong(shown, expected):
            self._report.fault(f"{moment}: {text}")

    def _after(self) -> str:
        """Return what ``guard --after`` says, which reads the cluster itself."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(["guard", "-n", self.cluster.name_server, "--after", "-g", GROUP])
        return f"{code} {(out.getvalue() or err.getvalue()).partition(chr(10))[0]}"


def wrong(shown: Shown, expected: Expected) -> list[str]:
    """Return what is not as expected."""
    found = []
    if missing := set(expected.findings) - shown.findings:
        found.append(f"no finding {', '.join(sorted(missing))}")
    if false := shown.findings & set(expected.never):
        found.append(f"a false finding {', '.join(sorted(false))}")
    if shown.down != frozenset(f"broker {name}" for name in expected.down):
        found.append(f"source_up is 0 for {sorted(shown.down)}, not for {expected.down}")
    if shown.departed != frozenset(expected.departed):
        found.append(f"left: {sorted(shown.departed)}, not {sorted(expected.departed)}")
    if expected.is_ready not in (None, shown.ready.startswith("200")):
        found.append(f"/readyz is {shown.ready}")
    if expected.has_error not in (None, shown.status != "None"):
        found.append(f"the error of /v1/status is {shown.status}")
    if expected.guards and not shown.guard.startswith(expected.guards):
        found.append(f"guard says {shown.guard}, not {' or '.join(expected.guards)}")
    return found


def departures(report: Report, _is_quick: bool) -> None:
    """Play the day."""
    with (
        LiveCluster(options=()) as cluster,
        Consumers(cluster.name_server) as java,
        TemporaryDirectory(prefix="departures-") as home,
    ):
        make_topic(cluster, java, TOPIC, QUEUES)
        for member in MEMBERS:
            client = java.join(GROUP, member, [TOPIC], strategy="AVG")
        java.do("send", topic=TOPIC, count=100)
        with serving(cluster.name_server, Path(home)) as watched:
            report.head(COLUMNS)
            day = Day(report, cluster, watched, client)
            play(day, java)


def play(day: Day, java: Consumers) -> None:
    """Do one thing after the other, and look each time."""
    cluster, (_, away) = day.cluster, BROKERS
    settled(day)
    day.look("all is well", Expected())
    address = cluster.brokers[away]
    dead = Expected(("broker-left",), down=(away,), departed=(("broker", "dead"),), guards=())
    cluster.kill_broker(away)
    day.look(f"{away} killed, three readings later", dead)
    time.sleep(45)
    day.look(f"{away} killed, 50 s later", dead)
    cluster.brokers[away] = address
    cluster.start_broker(away, registerNameServerPeriod=REGISTERS_EVERY)
    cluster.wait_for_broker(away)
    settled(day)
    day.look(f"{away} started again", Expected())
    stop_name_server(cluster)
    silent = Expected(("silent-name-server",), is_ready=False, has_error=True, guards=())
    day.look("name server killed, three readings later", silent)
    time.sleep(10)
    day.look("name server killed, 15 s later", silent)
    cluster.start_name_server()
    perhaps = Expected(is_ready=None, has_error=None, guards=())  # it is asked again after a pause
    day.look("name server started again, one reading later", perhaps, 1)
    settled(day)
    day.look("brokers registered again", Expected())
    taken_off(day, away)
    settled(day)
    day.look(f"{away} registered again", Expected())
    java.do("topic", topic=TOPIC, broker=cluster.brokers[away], read=1)
    settled(day)
    fewer = Expected(("queue-left",), never=("broker-left",), departed=(("queue", "removed"),))
    day.look(f"read queues at {away} {QUEUES} → 1", fewer)
    java.do("topic", topic=TOPIC, broker=cluster.brokers[away], read=QUEUES)
    settled(day)
    day.look(f"read queues at {away} 1 → {QUEUES}", Expected())
    for step in (-STEP, STEP, 0):
        day.watched.set_clock(step)
        day.look(f"clock of the service {step:+d} s", Expected())
    if not list(Path("/").glob(FAKED.lstrip("/"))):
        day._report.fault(
            "the clock was not set: libfaketime is missing (apt-get install faketime)"
        )


def taken_off(day: Day, broker: str) -> None:
    """Take a broker that runs off the name server's list, up to its next registration."""
    unregister(day.cluster, broker)
    deadline = time.monotonic() + REGISTERS_EVERY / 1000 + 30
    while broker not in listed(day.cluster) and time.monotonic() < deadline:
        time.sleep(0.2)
    day.watched.wait_for(2)
    unregister(day.cluster, broker)  # soon after it registered: it is unlisted for most of a minute
    since = time.monotonic()
    day.look(f"{broker} taken off the route, it answers", Expected(guards=()), 2)
    time.sleep(max(0.0, 37 - (time.monotonic() - since)))
    gone = Expected(("broker-left",), down=(broker,), departed=(("broker", "unlisted"),), guards=())
    day.look(f"{broker} taken off the route, 40 s later", gone, 2)


def unregister(cluster: LiveCluster, broker: str) -> None:
    """Take a broker off the name server's list."""
    fields = {
        "brokerName": broker, "brokerAddr": cluster.brokers[broker], "clusterName": "live", "brokerId": "0",
    }  # fmt: skip
    administer(cluster.name_server, UNREGISTER_BROKER, fields, None)


def listed(cluster: LiveCluster) -> set[str]:
    """Return the brokers that the name server lists."""
    snapshot = take_snapshot([cluster.name_server], wanted=Wanted(groups=(), topics=()))
    return {broker.broker_name for broker in snapshot.brokers}


def stop_name_server(cluster: LiveCluster) -> None:
    """End the name server at once."""
    process = cluster._processes.pop("namesrv")
    process.kill()
    process.wait()


def settled(day: Day) -> None:
    """Wait until every queue that the name server lists has an owner among the consumers."""

    deadline = time.monotonic() + SETTLES_WITHIN
    while left := not_settled(day.watched):
        if time.monotonic() > deadline:
            raise AssertionError(f"not settled after {SETTLES_WITHIN:g} s: {left}")
        time.sleep(1)
    day.watched.wait_for(2)


def not_settled(watched: Watched) -> str:
    """Return what ``check`` finds or does not know, empty for nothing."""
    found = watched.ask("/v1/check")
    if found.status != 200:
        return found.text
    texts = [
        finding["message"]
        for finding in found.document["findings"]
        if finding["rule"] != "queue-left"
    ]
    texts += [f"{fact['kind']} not known: {fact['reason']}" for fact in found.document["not_known"]]
    return "; ".join(texts)
