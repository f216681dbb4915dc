"""The page of a search, and scripts as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import yaml

from chaos.findings import FINDINGS
from chaos.rules import RULES
from chaos.schedules import Data
from chaos.searching import Failure, Kind, Totals, finding_of

HEAD = """# Chaos search

`python -m chaos --report FILE`. Random schedules of faults over a simulated group: clients join, leave, crash, vanish, freeze,
pause and are cut off; brokers stop and crash; notices are switched off, queues come and go. Each schedule is judged on what was
recorded (who worked on which queue when, what was consumed from which offset, what brokers stored and answered) by loops that
know nothing of the engine, and a script that breaks an invariant is made small. `rmqalloc simulate FILE` plays it.
"""


def page(totals: Totals, small: Mapping[Kind, Failure], seconds: float) -> str:
    """Return all of it."""
    return "\n".join(
        [
            HEAD,
            *_figures(totals),
            *_findings(totals, small),
            *_failed(totals, small),
            f"{seconds:.0f} s in all.",
            "",
        ]
    )


def script_text(data: Data) -> str:
    """Return a script as YAML."""
    return str(yaml.safe_dump(_plain(data), sort_keys=False, default_flow_style=None, width=130))


def _plain(data: Data) -> Data:
    """Return the script without what is so by default."""
    group = {name: value for name, value in data["groups"][0].items() if value not in (False, "0s")}
    return data | {"groups": [group]}


def _figures(totals: Totals) -> Iterator[str]:
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in totals.faults.most_common())
    yield f"{totals.n_schedules:,} schedules, {totals.n_events:,} events in {totals.hours:,.0f} virtual hours: {kinds}.\n"
    yield "| release | concurrent | ordered |\n| --- | ---: | ---: |"
    for profile in sorted({profile for profile, _ in totals.profiles}):
        yield f"| {profile} | {totals.profiles[profile, False]:,} | {totals.profiles[profile, True]:,} |"
    yield "\n| invariant | schedules that break it | of these without a known cause |\n| --- | ---: | ---: |"
    for rule, says in RULES.items():
        n_all = sum(n for kind, n in totals.seen.items() if kind.rule == rule)
        yield f"| {rule}: {says} | {n_all:,} | {totals.seen[Kind(rule, None)]:,} |"
    for is_ordered, name in ((False, "concurrent"), (True, "ordered")):
        longest = totals.longest_settling.get(is_ordered, 0) / 1_000
        yield f"\nLongest time from the last fault to exactly one owner of every queue, {name}: {longest:.1f} s."
    yield ""


def _findings(totals: Totals, small: Mapping[Kind, Failure]) -> Iterator[str]:
    yield "## Findings\n\n| finding | whose | breaks | schedules | events | why |\n| --- | --- | --- | ---: | ---: | --- |"
    for finding in FINDINGS:
        kinds = sorted(kind for kind in totals.seen if kind.finding == finding.name)
        for kind in kinds:
            n_events = len(small[kind].data["events"]) if kind in small else ""
            row = (
                finding.name,
                finding.whose,
                kind.rule,
                f"{totals.seen[kind]:,}",
                str(n_events),
                finding.reason,
            )
            yield "| " + " | ".join(row) + " |"
        if not kinds:
            yield f"| {finding.name} | {finding.whose} | {', '.join(finding.rules)} | 0 |  | {finding.reason} |"
    yield ""
    for kind, failure in small.items():
        if (known := finding_of(kind)) is not None:
            yield f"### {known.name}: {kind.rule}\n\n{_told(failure)}"


def _failed(totals: Totals, small: Mapping[Kind, Failure]) -> Iterator[str]:
    yield "## Failures\n"
    if not totals.failed:
        yield "None.\n"
    for kind in totals.failed:
        yield f"### {kind.rule}, in {totals.seen[kind]:,} schedules\n\n{_told(small.get(kind, totals.first[kind][0]))}"


def _told(failure: Failure) -> str:
    one = failure.violation
    queue = f"{one.queue.topic} {one.queue.broker_name} {one.queue.queue_id}"
    return f"{queue}, {one.since} to {one.until} ms: {one.says}\n\n```yaml\n{script_text(failure.data)}```\n"
