"""The page of what was compared: a part for each half, of which a run replaces those that it ran."""

import re
from collections.abc import Iterable
from pathlib import Path

from differential.compared_releases import HALVES
from differential.comparing import Totals
from differential.tolerated import TOLERATED

HEAD = """# The differential: RocketMQ's real classes and the product under the same events

`python -m differential --report build/evidence/differential.md`. Random sequences of events go through the classes of a
release, with the transport stubbed and the clock replaced, and through the product; both are compared after every event.
The broker of 4.9.8 is not on Maven Central: 4.9.7 stands in for it, whose broker differs from it in `AdminBrokerProcessor`
alone.
"""
PARTS = "\n<!-- {} half -->\n"
NOT_COVERED = {
    "client": "a wait for a consume lock takes its time in Java and in the differential's own process queues; in the product "
    "such a wait takes none. Nothing else happens during a wait. The second form of heartbeats is compared for clients of one "
    "group: Java's fingerprint of several (`HeartbeatData:82`) depends on where they are in memory. Clock jumps, instance "
    "names that a client chooses by itself, and tables of process queues in the order of hashes are not compared; static "
    "topics are of 5.x alone.",
    "delayed client": "nobody consumes, so nobody waits for consume locks; requests that are sent one-way do not wait; "
    "heartbeats in lanes of their own (`heartbeats_apart`) have no like in Java. With the second form of "
    "heartbeats nothing is unsubscribed: Java's fingerprint (`HeartbeatData:82`) changes with the order "
    "in which topics came, where their hashes share a bucket. A sequence is cut short where the order in "
    "which two threads go on is not its own: the product has no lock for routes, for which a second "
    "thread of Java's waits up to 3 s, nor monitors of clients, consumers and lock services, and it does "
    "one pass of a client at a time, where Java's `resume` begins one beside that of the service. While a "
    "shutdown waits for a pass, up to 90 s (`ServiceThread.join`), Java's consumer counts as shut down, "
    "as the product's does at once.",
}
"""What a half leaves out."""


def written(path: Path, runs: Iterable[Totals], seed: int, seconds: float) -> None:
    """Write the page, with the parts of other halves as they are."""
    runs = list(runs)
    old = path.read_text(encoding="utf-8") if path.is_file() else ""
    parts = [HEAD]
    for half in HALVES:
        mine = [one for one in runs if one.half == half]
        found = re.search(re.escape(PARTS.format(half)) + r"(.*?)(?=\n<!-- |\Z)", old, re.DOTALL)
        text = part(half, mine, seed, seconds) if mine else found.group(1) if found else ""
        parts.append(PARTS.format(half) + text if text else "")
    path.write_text("".join(parts), encoding="utf-8")


def part(half: str, runs: list[Totals], seed: int, seconds: float) -> str:
    """Totals and tolerated corners of one half."""
    reasons = sorted({reason for one in runs for reason in one.cut})
    titles = [
        "release",
        "sequences",
        "events",
        "differences",
        "tolerated",
        *(["cut short"] if reasons else []),
    ]
    lines = [
        f"## The {half} half",
        "",
        f"| {' | '.join(titles)} |",
        "| --- |" + " ---: |" * (len(titles) - 1),
    ]
    for one in runs:
        counts = [
            one.sequences,
            one.events,
            one.differences,
            one.met.total(),
            *([one.cut.total()] if reasons else []),
        ]
        lines.append(f"| {one.version} | " + " | ".join(f"{count:,}" for count in counts) + " |")
    lines += ["", f"Seeds from {seed}; {seconds:,.0f} s, on a machine that others used.", ""]
    lines += ["Events: " + kinds(runs) + ".", ""]
    if reasons:
        lines += ["| a sequence is cut short where | times |", "| --- | ---: |"]
        lines += [
            f"| {reason} | {sum(one.cut[reason] for one in runs):,} |" for reason in reasons
        ] + [""]
    corners = [one for one in TOLERATED if any(one.may_be_met(half, run.version) for run in runs)]
    if corners:
        lines += ["| tolerated corner | Java | why | met |", "| --- | --- | --- | ---: |"]
    for corner in corners:
        places = "; ".join(f"{version} `{line}`" for version, line in corner.lines.items())
        met = ", ".join(
            f"{one.version}: {one.met[corner.name]:,}"
            for one in runs
            if one.version in corner.lines
        )
        lines.append(f"| {corner.name} | {places} | {corner.why} | {met} |")
    if half in NOT_COVERED:
        lines += ["", "Not covered: " + NOT_COVERED[half]]
    return "\n".join(lines).rstrip() + "\n"


def kinds(runs: list[Totals]) -> str:
    """How often each kind of event happened, in all releases together."""
    names = sorted({name for one in runs for name in one.kinds})
    return ", ".join(f"{name} {sum(one.kinds[name] for one in runs):,}" for name in names)
