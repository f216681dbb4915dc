"""Each alert of ``deploy/`` fires in an incident and clears after it, and each panel has data.

A real cluster is read by the service as often as ``deploy/`` says, and a real Prometheus evaluates
the rules. The long form takes its durations as they are; the short form divides them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import NamedTuple

import yaml
from checkout import ROOT
from live_cluster import LiveCluster
from live_consumers import Consumers
from proof import Report

from clusters.alerts.plays import ACTS, Expected, Play, Scene
from clusters.alerts.prometheus import RULES, Prometheus, Span
from clusters.alerts.served import LABEL, Served
from clusters.incidents.stage import QUEUES, Stage

DASHBOARD = ROOT / "deploy" / "grafana" / "dashboard.json"
READS_EVERY = 30.0
FASTER = 10
"""How much faster time goes in the short form."""
QUIET = 120.0
"""Seconds before the first incident."""
FIRES_WITHIN = CLEARS_WITHIN = 1200.0
MORE = 240.0
"""Seconds that do not get shorter: a broker takes silent clients off its list after two minutes."""
PAUSE = 1.0
CROWDED, MORE_THAN_QUEUES = "crowded", 2 * QUEUES + 3
"""A group that has idle clients all the time, and so many clients."""
COLUMNS = (
    "alert",
    "incident",
    "seconds until pending",
    "seconds until it fires",
    "seconds from mending until cleared",
)


class Shown(NamedTuple):
    """An incident as it was played, in seconds of the Unix clock."""

    play: Play
    began: float
    ended: float


class Recorded(NamedTuple):
    """When the record of the alerts ends, and the seconds between two evaluations."""

    end: float
    step: float


def alerts(report: Report, is_quick: bool) -> None:
    """Play incidents and judge the alerts and panels by what Prometheus has recorded."""
    pace = FASTER if is_quick else 1
    with ExitStack() as stack:
        cluster = stack.enter_context(LiveCluster(options=()))
        java = stack.enter_context(Consumers(cluster.name_server))
        served = stack.enter_context(Served(cluster.name_server, READS_EVERY / pace))
        prometheus = stack.enter_context(Prometheus(served.address, pace))
        began = time.time()
        stage = Stage(cluster, java)
        stage.topic(CROWDED)
        stage.join(CROWDED, CROWDED, *map(str, range(MORE_THAN_QUEUES)))
        shown = _played(Scene(stage, served, pace), prometheus)
        end = time.time()
        report.say(f"Every duration of the rules is divided by {pace}.")
        judged(report, shown, prometheus.spans(began, end), Recorded(end, prometheus.step))
        panels_judged(report, prometheus, began, end)


def _played(scene: Scene, prometheus: Prometheus) -> list[Shown]:
    """Play all acts, and wait until everything has cleared."""
    time.sleep(QUIET / scene.pace)
    shown = []
    for act in ACTS:
        shown += _act(scene, prometheus, act)
    deadline = time.monotonic() + CLEARS_WITHIN / scene.pace + MORE
    while prometheus.firing() and time.monotonic() < deadline:
        time.sleep(PAUSE)
    time.sleep(2 * prometheus.step)
    return shown


def _act(scene: Scene, prometheus: Prometheus, act: Sequence[Play]) -> Iterator[Shown]:
    """Play the incidents of one act at a time; an incident ends also if its alerts do not fire in time."""
    with ExitStack() as stack:
        running = []
        for play in act:
            own = stack.enter_context(ExitStack())
            own.enter_context(play.run(scene))
            running.append((play, own, time.time()))
            print(f"  {play.incident}", flush=True)
        deadline = time.monotonic() + FIRES_WITHIN / scene.pace + MORE
        while running:
            time.sleep(PAUSE)
            firing, is_late = prometheus.firing(), time.monotonic() > deadline
            for play, own, began in [*running]:
                if is_late or _fires(play, firing):
                    running.remove((play, own, began))
                    ended = time.time()
                    own.close()
                    print(f"  over: {play.incident}", flush=True)
                    yield Shown(play, began, ended)


def _fires(play: Play, firing: Sequence[Mapping[str, str]]) -> bool:
    return all(
        any(expected.is_of(labels["alertname"], labels) for labels in firing)
        for expected in play.expected
    )


def judged(
    report: Report, shown: Iterable[Shown], spans: Sequence[Span], recorded: Recorded
) -> None:
    """Report when each alert fired and cleared; one that did not, or that nothing explains, is a
    fault.
    """
    report.head(COLUMNS)
    explained: list[Span] = []
    for play_shown in shown:
        for expected in play_shown.play.expected:
            found = [span for span in spans if _is_due(span, expected, play_shown)]
            explained += found
            _report_alert(report, play_shown, expected, found, recorded)
    for name in sorted(_alerts() - {span.alert for span in explained if span.state == "firing"}):
        report.fault(f"{name} never fired in an incident")
    for span in spans:
        if span.state == "firing" and span not in explained:
            report.fault(f"{_named(span)} fired without an incident of its own")


def _report_alert(
    report: Report, shown: Shown, expected: Expected, spans: Sequence[Span], recorded: Recorded
) -> None:
    firing = [span for span in spans if span.state == "firing"]
    pending = [span.begin for span in spans if span.state == "pending"]
    if not firing:
        report.fault(f"{expected.alert} did not fire: {shown.play.incident}")
        return
    cleared = max(span.end for span in firing) + recorded.step
    if cleared >= recorded.end:
        report.fault(f"{expected.alert} did not clear: {shown.play.incident}")
        return
    seconds = (
        min(pending, default=firing[0].begin) - shown.began,
        firing[0].begin - shown.began,
        cleared - shown.ended,
    )
    labels = ", ".join(expected.labels.values())
    report.row(
        f"{expected.alert} {labels}".strip(),
        shown.play.incident,
        *(f"{number:.0f}" for number in seconds),
    )


def _is_due(span: Span, expected: Expected, shown: Shown) -> bool:
    return span.end >= shown.began and expected.is_of(span.alert, span.labels)


def _named(span: Span) -> str:
    labels = ", ".join(f"{key} {value}" for key, value in sorted(span.labels.items()))
    return f"{span.alert} ({labels}) from {span.begin:.0f} to {span.end:.0f}"


def _alerts() -> set[str]:
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return {rule["alert"] for group in groups for rule in group["rules"]}


def panels_judged(report: Report, prometheus: Prometheus, begin: float, end: float) -> None:
    """Report what each query of the dashboard has in the whole time; one that is empty, or always
    0, is a fault.
    """
    report.head(("panel", "query", "series", "greatest value"))
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    for panel in panels:
        for target in panel["targets"]:
            series = prometheus.series(filled(target["expr"]), begin, end)
            values = [float(value) for row in series for _, value in row["values"]]
            name = f"{panel['title']} {target['refId']}"
            report.row(name, target["expr"], len(series), f"{max(values, default=0.0):g}")
            if not any(values):
                report.fault(f"the panel {name} has no data, or 0 alone")


def filled(query: str) -> str:
    """Return a query of the dashboard with its variables: this cluster, and all groups."""
    return query.replace("$cluster", LABEL).replace("$consumer_group", ".*")
