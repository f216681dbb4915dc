"""``rmqalloc check``: what is wrong with who owns what in a snapshot."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import field, replace
from math import inf
from typing import TYPE_CHECKING

import click

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli._choices import Choice, seconds
from rmqalloc.cli._closing_notes import note_facts
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._inputs import Inputs
from rmqalloc.cli._left_out import weak_code
from rmqalloc.cli._options import OUTPUTS, option
from rmqalloc.cli._sink import print_notes, remember
from rmqalloc.cli._snapshot_input import snapshot_of, snapshot_options
from rmqalloc.dataclass import dataclass
from rmqalloc.documents import STDIN
from rmqalloc.text import did_you_mean

if TYPE_CHECKING:
    from rmqalloc.audit import Finding, Findings
    from rmqalloc.audit.reach import Reach
    from rmqalloc.audit.rules_planned import Planned
    from rmqalloc.evidence import Evidence, Known
    from rmqalloc.snapshot.files.given_sources import GivenSource
    from rmqalloc.snapshot.files.group_lines import Place
    from rmqalloc.snapshot.snapshot import ReadSource, Snapshot
    from rmqalloc.snapshot.unknown import NotKnown

SEVERITIES = ("error", "warning", "note")
KINDS = ("clients", "subscriptions", "owners", "lags", "routes", "brokers")


@click.command(cls=Verb)
@snapshot_options
@click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="ID",
    help="Check only this rule; repeatable.",
)
@click.option("--ignore", multiple=True, metavar="ID", help="Skip this rule; repeatable.")
@click.option(
    "--severity",
    type=Choice(SEVERITIES),
    default="note",
    show_default=True,
    help="Show findings of this severity or higher.",
)
@click.option(
    "--allow-unknown",
    "allowed",
    multiple=True,
    type=Choice(KINDS),
    help="Exit with 0 if facts of this kind are unknown; repeatable.",
)
@click.option(
    "--fail-on",
    type=Choice(SEVERITIES),
    default="warning",
    show_default=True,
    help="Exit with 2 if a finding has this severity or higher.",
)
@click.option(
    "--plan", metavar="FILE", help="Compare the owners of this saved plan with the current owners."
)
@option("scenario-name")
@click.option(
    "--settle",
    callback=seconds,
    metavar="TIME",
    help="Read a running cluster again after this time, such as 20s, and report only what is "
    "still wrong.",
)
@option(
    "show",
    more=": findings, unread messages, or which client reads which queue. Default as text: "
    "findings and unread messages",
    type=Choice(("findings", "unread", "reach")),
)
@option("output", type=Choice((*OUTPUTS, "sarif")), default="table", show_default=True)
def check(
    inputs: Inputs,
    rules: tuple[str, ...],
    ignore: tuple[str, ...],
    severity: str,
    allowed: tuple[str, ...],
    fail_on: str,
    plan: str | None,
    scenario_name: str | None,
    settle: float | None,
    show: str | None,
    output: str,
) -> int:
    """Find unread messages, queues without an owner or with several owners, and the causes.

    \b
    rmqalloc check -f snapshot.yaml -g 'order-*' -o sarif
    rmqalloc check -n 10.0.0.1:9876 --settle 20s --plan plan.json
    """
    from rmqalloc.audit import Findings

    if inputs.live is None and settle is not None:
        raise click.UsageError(
            "--settle reads a running cluster twice: give -n HOST:PORT instead of -f"
        )
    if show is not None and output == "sarif":
        raise click.UsageError(
            "--show selects a table and -o sarif contains only findings: give only one of them"
        )
    looking = _Looking(
        inputs,
        _chosen(rules, ignore),
        _planned(plan, scenario_name),
        severity,
        output,
        show,
        not rules,
        settle is not None,
    )
    findings: Sequence[Finding] = looking.look()
    if findings and settle:
        from rmqalloc.watching import lasting

        time.sleep(settle)
        findings = lasting(findings, looking.look())
    looking.show(findings)
    return (
        exit_codes.DIFFERENCE
        if Findings(findings).at_least(fail_on)
        else looking.lacking_code(allowed)
    )


@dataclass
class _Looking:
    """Snapshots as they are checked and shown, the last of them kept; with rules chosen, nothing
    but what these find.
    """

    inputs: Inputs
    rules: list[str]
    planned: Planned | None
    severity: str
    output: str
    show_table: str | None
    is_whole: bool
    is_settled: bool = False
    last: Known | None = None
    reach: Reach | None = None
    evidence: Evidence | None = None
    not_known: tuple[NotKnown, ...] = ()
    _looked: Reach | None = None
    _first_seen: dict[tuple[str, str], float] = field(default_factory=dict)

    def look(self) -> Findings:
        """Return what is wrong now; looks after the first report nothing else."""
        import rmqalloc

        if self._has_places and not self.inputs.sources:
            self.inputs = replace(self.inputs, sources=_read(self.inputs.files))
        self.last = known = snapshot_of(self.inputs)
        if self.inputs.live is not None:
            self.inputs = replace(self.inputs, live=replace(self.inputs.live, is_quiet=True))
        seen_for = self._seen_for(known.given) if self.is_settled else None
        found = rmqalloc.check(
            known, self.inputs.groups, self.inputs.topics, self.rules, self.planned, seen_for
        )
        self._keep(found.who_reads)
        self.evidence, self.not_known = found.evidence, found.not_known
        return found

    def _seen_for(self, snapshot: Snapshot) -> dict[tuple[str, str], float]:
        """Return seconds that clients have been there, by earlier looks.

        One that does not say when it started, and was there before ``--settle``, is settled: that
        time was given for it.
        """
        now, before = time.monotonic(), self._first_seen
        self._first_seen = {}
        seconds = {}
        for group in snapshot.groups:
            for client in group.clients:
                key = group.name, client.client_id
                self._first_seen[key] = before.get(key, now)
                if key in before:
                    is_settled = client.start_timestamp is None
                    seconds[key] = inf if is_settled else now - before[key]
        return seconds

    def _keep(self, reach: Reach | None) -> None:
        """Keep who reads what, of which only what lasts counts as unread."""
        before, self._looked = self._looked, reach
        self.reach = reach if before is None or reach is None else reach.lasting(before)

    def grave(self, findings: Iterable[Finding]) -> Findings:
        """Return findings that are grave enough, with who reads what."""
        from rmqalloc.audit import Findings

        is_wanted = self.is_whole or self.show_table in ("unread", "reach")
        reach = self.reach if is_wanted else None
        found = Findings(findings, reach, self.evidence, self.not_known, self.sources)
        return found.at_least(self.severity)

    @property
    def sources(self) -> tuple[ReadSource, ...]:
        """What the last snapshot was read from."""
        return () if self.last is None else self.last.given.sources

    def show(self, findings: Sequence[Finding]) -> None:
        """Print findings that are grave enough."""
        from rmqalloc.report.sarif_log import write_findings

        file, places = self._file(), self._places()
        write_findings(self.grave(findings), self.output, sys.stdout, file, places, self.show_table)
        sys.stdout.flush()
        is_text = self.output in ("table", "wide") and self.show_table is None
        if not is_text:
            note_facts(self.missing)
            return
        shown = self.grave(findings)
        remember([shown.summary()])
        remember(f"{fact.subject} {fact.reason}" for fact in self.missing)
        remember(f"{finding.consumer_group} {finding.message}" for finding in shown)
        if shown.who_reads is not None:
            remember(f"{row.consumer_group} {row.detail}" for row in shown.who_reads.unknown)

    @property
    def missing(self) -> list[NotKnown]:
        """Facts that are not known and decide something."""
        return [fact for fact in self.not_known if not fact.is_scope]

    def _file(self) -> str:
        """Return the file of what is in no file in particular: of several the first."""
        paths = [given.source.path for given in self.inputs.sources] or self.inputs.files
        return next((path for path in paths if path != STDIN), STDIN)

    def _places(self) -> dict[str, Place] | None:
        """Return where the groups stand in the files, if the output shows places."""
        if not self.inputs.sources:
            return None
        from rmqalloc.snapshot.files.group_lines import group_places

        return group_places(self.inputs.sources)

    @property
    def _has_places(self) -> bool:
        """Whether the output shows places in a file, and there is one."""
        is_file = self.inputs.live is None and self.inputs.moment is None
        return self.output == "sarif" and is_file and self.inputs.files != (STDIN,)

    def lacking_code(self, allowed: Collection[str]) -> int:
        """Return the exit code for what the groups of the last snapshot rest on, and for what is
        not known of them.

        With ``--allow-partial`` all may be missing, but for what decides whether a queue is read.
        """
        missing = [fact for fact in self.missing if fact.kind not in allowed]
        if self.inputs.allow_partial and not (self.reach and self.reach.unknown):
            missing = []
        if missing:
            kinds = dict.fromkeys(fact.kind for fact in missing)
            flags = " ".join(f"--allow-unknown {kind}" for kind in kinds)
            print_notes([f"exit code 4: facts are unknown; {flags} accepts them"])
        too_weak = weak_code(self.last, self.inputs) if self.last is not None else 0
        return too_weak or (exit_codes.PARTIAL if missing else 0)


def _read(paths: tuple[str, ...]) -> tuple[GivenSource, ...]:
    """Return what files hold, read once for what they state and for where they state it."""
    from rmqalloc.snapshot.files.given_sources import given_sources

    return given_sources(paths)


def _chosen(rules: tuple[str, ...], ignore: tuple[str, ...]) -> list[str]:
    """Return rules to follow."""
    from rmqalloc.audit import RULES

    for name in (*rules, *ignore):
        if name not in RULES:
            raise click.UsageError(
                f"there is no rule {name!r}; there are {', '.join(RULES)}{did_you_mean(name, RULES)}"
            )
    return [name for name in rules or RULES if name not in ignore]


def _planned(plan: str | None, scenario: str | None) -> Planned | None:
    """Return what the plan of the options comes to."""
    if plan is None:
        if scenario is not None:
            raise click.UsageError(
                "--scenario-name selects a scenario of a plan: give --plan FILE as well"
            )
        return None
    from rmqalloc.audit import owners_after
    from rmqalloc.plans import load_plan

    return owners_after(load_plan(plan), scenario)
