"""Damaged outputs of tools, and outputs that contradict each other: no loss without a word, and no
new error (the judge is tests/support/silent_losses.py).
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

import contradicting_outputs
from contradicting_outputs import contradiction
from damaged_outputs import KINDS, Files, damages, given_cases
from printed_outputs import made_up_cases
from silent_losses import EXEMPTIONS, answer, judged, sampled, silent_contradiction

N_PROCESSES = 2
N_MADE_UP, QUICK_MADE_UP, SEED = 60, 40, 1
QUICK_DAMAGES = 60
N_CONTRADICTIONS, QUICK_CONTRADICTIONS = 500, 8
MOST_EXAMPLES = 3
"""Faults of each kind that are printed; the rest is counted."""


class Wrong(NamedTuple):
    """A fault, and the damage that shows it."""

    kind: str
    size: int  # of the case in characters: the smallest are printed
    text: str


class Outcome(NamedTuple):
    """What the damages of one case come to, by kind of damage."""

    damages: Counter[str]
    explained: Counter[tuple[str, str]]  # by kind and exemption
    wrong: list[Wrong]


def silence(report, is_quick):
    """Damage outputs, let outputs contradict each other, and judge the answers."""
    cases = given_cases() | made_up_cases(QUICK_MADE_UP if is_quick else N_MADE_UP, SEED)
    report.say(f"{len(cases):,} undamaged inputs.")
    outcomes = [_of_sample(cases)] if is_quick else _of_all(cases)
    _report_damages(report, outcomes)
    _report_contradictions(report, QUICK_CONTRADICTIONS if is_quick else N_CONTRADICTIONS)


def _of_sample(cases: dict[str, Files]) -> Outcome:
    outcome = Outcome(Counter(), Counter(), [])
    for kind in KINDS:
        for name, damage in sampled(kind, cases, QUICK_DAMAGES, SEED):
            _judge(outcome, name, cases[name], [damage])
    return outcome


def _of_all(cases: dict[str, Files]) -> Iterator[Outcome]:
    """Yield outcomes of all damages of each case."""
    with ProcessPoolExecutor(N_PROCESSES, get_context("spawn")) as pool:
        yield from pool.map(_of_case, cases, cases.values())


def _of_case(name: str, files: Files) -> Outcome:
    outcome = Outcome(Counter(), Counter(), [])
    for kind in KINDS:
        _judge(outcome, name, files, damages(kind, files))
    return outcome


def _judge(outcome: Outcome, name: str, files: Files, of_case) -> None:
    """Judge damages of a case, and add what they come to."""
    before, size = answer(files), sum(len(file.text) for file in files)
    for damage in of_case:
        outcome.damages[damage.kind] += 1
        verdict = judged(before, damage)
        outcome.explained.update((damage.kind, reason) for reason in verdict.explained)
        if verdict.faults:
            fault = verdict.faults[0]
            text = f"{name}, {damage.where}: {fault.kind}: {fault.text}"
            outcome.wrong.append(Wrong(damage.kind, size, text))


def _report_damages(report, outcomes) -> None:
    total, explained, wrong = Counter(), Counter(), defaultdict(list)
    for outcome in outcomes:
        total += outcome.damages
        explained += outcome.explained
        for found in outcome.wrong:
            wrong[found.kind].append(found)
    report.head(("damage", "inputs", "silent", "explained"))
    for kind in KINDS:
        reasons = [
            f"{name} {explained[kind, name]:,}" for name in EXEMPTIONS if explained[kind, name]
        ]
        report.row(kind, total[kind], len(wrong[kind]), ", ".join(reasons) or "–")
    report.head(("explained", "inputs", "why it cannot be seen"))
    for name, exemption in EXEMPTIONS.items():
        count = sum(count for (_, reason), count in explained.items() if reason == name)
        report.row(name, count, " ".join(exemption.__doc__.split()))
    for kind, found in wrong.items():
        _report_wrong(report, kind, sorted(found, key=lambda fault: (fault.size, fault.text)))


def _report_contradictions(report, count: int) -> None:
    report.head(("contradiction", "inputs", "silent"))
    wrong = defaultdict(list)
    for kind in contradicting_outputs.KINDS:
        for seed in range(count):
            faults = silent_contradiction(contradiction(kind, seed))
            if faults:
                text = f"seed {seed}: {faults[0].kind}: {faults[0].text}"
                wrong[kind].append(Wrong(kind, 0, text))
        report.row(kind, count, len(wrong[kind]))
    for kind, found in wrong.items():
        _report_wrong(report, kind, found)


def _report_wrong(report, kind: str, found: list[Wrong]) -> None:
    for fault in found[:MOST_EXAMPLES]:
        report.fault(f"{kind}: {fault.text}")
    if len(found) > MOST_EXAMPLES:
        report.fault(f"{kind}: {len(found) - MOST_EXAMPLES:,} more like these")
