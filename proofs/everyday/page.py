"""The page of the day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from everyday.flat import Flatness, growth
from everyday.judging import Judged
from everyday.looking import Look
from everyday.script import Act

MOST_WRONG = 30

HEAD = """# A day in fast motion

`python -m everyday --report build/evidence/everyday.md`; `--long` reads 7,200 times, as often as two hours have seconds.

A name server and two brokers of RocketMQ 5.5.0, real Java consumers on loopback in five processes ("machines"), three groups
with a strategy each. A seeded script has clients join and leave, ends machines by SIGKILL and freezes them by SIGSTOP, with a
pause of three readings after each act. A reading begins every second; where a client is frozen, it takes longer. The witness is
the script and what the consumers themselves log of their queues, every 50 ms, by the clock of the same machine.

A client of a frozen machine stays on the brokers' lists until they have had no heartbeat of it for 120 s, and they look
every 10 s. So a short freeze is no leave and moves nothing, and nothing may be told of it. In one that lasts, the leave has to
be told between 118 and 130 s after its beginning, and the join after the machine goes on. Who owns the queues of such a group
between these two is known to nobody outside, and is not compared.
"""


def page(
    acts: Sequence[Act],
    judged: Mapping[str, Judged],
    looks: Sequence[Look],
    flatness: Flatness,
    seconds: float,
) -> str:
    """All of it."""
    return "\n".join(
        [
            HEAD,
            *_script(acts),
            *_judged(judged),
            *_readings("Readings of the script", looks),
            *_flat(flatness),
            *_wrong(judged, [*looks, *flatness.looks], flatness),
            f"{seconds:.0f} s in all.",
            "",
        ]
    )


def _script(acts: Sequence[Act]) -> Iterator[str]:
    kinds = Counter(one.kind for one in acts)
    yield (
        f"## Script\n\n{len(acts)} acts: "
        + ", ".join(f"{n} {kind}" for kind, n in kinds.most_common())
        + ".\n"
    )


def _judged(judged: Mapping[str, Judged]) -> Iterator[str]:
    yield "## What was reported\n"
    yield "| told | right | wrong | seconds from last seen before to first seen after: median, longest |"
    yield "| --- | ---: | ---: | --- |"
    for what, one in judged.items():
        widths = f"{median(one.widths):.2f}, {max(one.widths):.2f}" if one.widths else ""
        yield f"| {what} | {one.n_right} | {len(one.wrong)} | {widths} |"
    yield ""


def _readings(title: str, looks: Sequence[Look]) -> Iterator[str]:
    seconds = [one.read_at - one.began_at for one in looks] or [0.0]
    failed = sum(bool(one.failed) for one in looks)
    n_compared, n_differ = (
        sum(one.n_compared for one in looks),
        sum(len(one.differences) for one in looks),
    )
    yield f"## {title}\n"
    yield f"* {len(looks)} readings, {failed} failed; seconds: median {median(seconds):.2f}, longest {max(seconds):.2f}"
    yield f"* requests of a reading: median {median([one.n_requests for one in looks] or [0]):g}"
    yield f"* metrics compared with `groups` and `check` of the same snapshot: {n_compared:,} figures, {n_differ} differ\n"


def _flat(flatness: Flatness) -> Iterator[str]:
    first, warm, last = flatness.samples[0], flatness.warm, flatness.samples[-1]
    yield "## Memory and descriptors\n"
    yield f"{last.n_readings:,} readings, {flatness.n_churned} joins and leaves meanwhile.\n"
    yield "| after readings | RSS, MiB | descriptors |"
    yield "| ---: | ---: | ---: |"
    for one in dict.fromkeys((first, warm, last)):
        yield f"| {one.n_readings:,} | {one.rss_mib:.1f} | {one.n_descriptors} |"
    most = max(one.rss_mib for one in flatness.samples)
    yield f"\nMost: {most:.1f} MiB; the second half grows by {growth(flatness.samples):.1f} MiB in 3,600 readings.\n"


def _wrong(
    judged: Mapping[str, Judged], looks: Sequence[Look], flatness: Flatness
) -> Iterator[str]:
    wrong = [f"{what}: {fault}" for what, one in judged.items() for fault in one.wrong]
    wrong += [f"reading failed: {one.failed}" for one in looks if one.failed]
    wrong += [fault for one in looks for fault in one.differences]
    wrong += flatness.wrong
    yield "## Wrong\n"
    yield from (f"* {fault}" for fault in wrong[:MOST_WRONG])
    yield (
        f"* and {len(wrong) - MOST_WRONG} more"
        if len(wrong) > MOST_WRONG
        else ("" if wrong else "Nothing.")
    )
    yield ""
