"""Search for fault schedules that break a group, and for readings that a history tells wrongly:
``python -m chaos [--quick] [--schedules N] [--histories N] [--seed S] [--report FILE]``.

Random schedules of faults over a simulated group are judged on what was recorded by loops that know
nothing of the engine. An invariant that is broken without a known cause is a fault; its smallest
script is printed, and ``rmqalloc simulate`` plays it. Random readings are recorded into a history,
which is judged at every moment by loops over the readings.
"""

from __future__ import annotations

import sys

import yaml
from proof import Report, options

from chaos.findings import FINDINGS
from chaos.histories import histories
from chaos.rules import RULES
from chaos.schedules import Data
from chaos.searching import Failure, Kind, Totals, search, smallest

QUICK, LONG = 400, 20_000


def main() -> int:
    """Search, and make small what was found."""
    parser = options("chaos", __doc__)
    parser.add_argument("--schedules", type=int, metavar="N", help=f"{LONG}, or {QUICK} if quick")
    parser.add_argument("--histories", type=int, metavar="N", help="likewise")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the first of both")
    given = parser.parse_args()
    report = Report("Chaos search")
    usual = QUICK if given.quick else LONG
    n_schedules = usual if given.schedules is None else given.schedules
    n_histories = usual if given.histories is None else given.histories
    if n_schedules or not n_histories:
        reported(report, search(range(given.seed, given.seed + n_schedules)))
    if n_histories:
        histories(report, range(given.seed, given.seed + n_histories))
    return report.end(given.report)


def reported(report: Report, totals: Totals) -> None:
    """Report what was met; no schedule proves nothing."""
    report.say(f"{totals.n_events:,} events in {totals.hours:,.0f} virtual hours.")
    columns = ("invariant", "schedules that break it", "of these without a known cause")
    report.head(columns)
    for rule, says in RULES.items():
        n_all = sum(n for kind, n in totals.seen.items() if kind.rule == rule)
        report.row(f"{rule}: {says}", n_all, totals.seen[Kind(rule, None)])
    report.head(("known cause", "whose", "schedules", "why"))
    for finding in FINDINGS:
        n = sum(n for kind, n in totals.seen.items() if kind.finding == finding.name)
        report.row(finding.name, finding.whose, n, finding.reason)
    for kind in totals.failed:
        report.fault(told(kind, smallest(kind, totals.first[kind])))
    if not totals.n_schedules:
        report.fault("no schedule was played")


def told(kind: Kind, failure: Failure) -> str:
    """A violation and the script that shows it."""
    one = failure.violation
    queue = f"{one.queue.topic} {one.queue.broker_name} {one.queue.queue_id}"
    text = f"{kind.rule}: {queue}, {one.since} to {one.until} ms: {one.says}"
    return f"{text}\n\n```yaml\n{script_text(failure.data)}```\n"


def script_text(data: Data) -> str:
    """Return a script as YAML, without what is so by default."""
    group = {name: value for name, value in data["groups"][0].items() if value not in (False, "0s")}
    plain = data | {"groups": [group]}
    return str(yaml.safe_dump(plain, sort_keys=False, default_flow_style=None, width=130))


if __name__ == "__main__":
    sys.exit(main())
