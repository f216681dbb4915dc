"""200 hostile events of every kind are fed to live plans whose driver is killed twice; no trace of
them may be left.

Right is what a query has that is given the good events alone, cut into the same micro-batches: every
row, and the state that Spark keeps. Each hostile event is a row that says why it is refused, once.
"""

import tempfile
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

from live_events import START, answer, followed, history, write_batches
from live_stream import STRATEGY

from fuzz.streams.hostile_events import N_TOPICS, hostile, kinds_of_rows
from fuzz.streams.runs import files_of_batches, followed_query

N_HOSTILE, N_GOOD, N_BATCHES, SEED = 200, 1_000, 9, 1
KILLS = (2, 5)
"""Micro-batches that are done when the driver is killed, some moments later."""

DAYS_AGO = 2
"""When the good events happened: an event of today that moved the watermark would make all of them late."""

RUNS = ("run", "micro-batches done, and begun", "ended by", "Python workers", "peak of one, MiB")


def streams(report, is_quick):
    """Run both queries and compare; the short form has fewer good events and one kill."""
    n_good, n_batches, kills = (200, 4, KILLS[:1]) if is_quick else (N_GOOD, N_BATCHES, KILLS)
    wrong, good = hostile(N_HOSTILE), good_events(n_good, SEED)
    with tempfile.TemporaryDirectory(prefix="hostile-") as where:
        mixed, alone = Path(where) / "mixed", Path(where) / "alone"
        write_batches(mixed / "events", among(good, wrong, n_batches, Random(SEED)))
        runs, made = followed_query(mixed, kills)
        batches = cut(good, n_batches)
        write_batches(
            alone / "events",
            [[one for n in some for one in batches[n]] for some in files_of_batches(mixed)],
        )
        right_runs, right = followed_query(alone)
    report.head(RUNS)
    for name, some in (("with hostile events", runs), ("good events alone", right_runs)):
        for run in some:
            batches = f"{run.committed}, {run.planned}"
            report.row(name, batches, run.end, run.workers, run.peak >> 20)
    refused, taken = refused_and_taken(made["rows"])
    report.say(f"{len(refused)} rows refuse {len(wrong)} hostile events; {len(taken):,} good rows.")
    for text in differences(made, right, good, wrong):
        report.fault(text)


def good_events(n, seed):
    """Good events of two days ago, some of them with names that only look hostile."""
    start = datetime.now().timestamp() - DAYS_AGO * 86_400
    moved = timedelta(seconds=round(start - START))
    events = history(n, N_TOPICS, seed)
    made = [
        one | {"event_time": (datetime.fromisoformat(one["event_time"]) + moved).isoformat()}
        for one in events
    ]
    names = ("a\nb", "\x1b[31m", '"', "☃", "|", "c" * 65_536, "NaN", "null")
    odd = {"topic": "T0", "kind": "join", "event_time": made[n // 2]["event_time"]}
    made[n // 2 : n // 2] = [
        odd | {"consumer_group": f"T0-{one[:99]}", "client_id": one, "sequence": n + i}
        for i, one in enumerate(names)
    ]
    return made


def cut(events, n):
    """The events in order, in so many batches."""
    size = -(-len(events) // n)
    return [events[number * size : (number + 1) * size] for number in range(n)]


def among(good, wrong, n, random):
    """The batches of the good events, with the others anywhere between them."""
    others = [event for _, event in wrong]
    random.shuffle(others)
    batches = []
    for batch, more in zip(cut(good, n), cut(others, n), strict=True):
        marked = [False] * len(batch) + [True] * len(more)
        random.shuffle(marked)
        one, other = iter(batch), iter(more)
        batches.append([next(other) if is_wrong else next(one) for is_wrong in marked])
    return batches


def refused_and_taken(rows):
    """The rows of events that were refused, and all others."""
    return [row for row in rows if row["version"] is None], [
        row for row in rows if row["version"] is not None
    ]


def differences(made, right, good, wrong):
    """What is left of hostile events besides one row for each of them, as texts."""
    refused, taken = refused_and_taken(made["rows"])
    _, wanted = refused_and_taken(right["rows"])
    faults = []
    if sorted(map(repr, taken)) != sorted(map(repr, wanted)):
        faults.append(
            f"{len(taken)} rows that are not those of the good events alone, which are {len(wanted)}"
        )
    if made["state"] != right["state"]:
        faults.append("a state that is not that of the good events alone")
    if not followed(wanted) == followed(taken) == answer(good, STRATEGY):
        faults.append("owners that are not those of the engine")
    counts, said = Counter(kind for kind, _ in wrong), Counter(kinds_of_rows(refused, wrong))
    faults += [
        f"{kind}: {said[kind]} rows of {counts[kind]} events"
        for kind in counts | said
        if said[kind] != counts[kind]
    ]
    unfit = [
        row
        for row in refused
        if row["err_code"] not in (1, 3, 4) or not row["err_msg"] or "\n" in row["err_msg"]
    ]
    return faults + (
        [f"{len(unfit)} refused rows without a code, or with other than one line of reason"]
        if unfit
        else []
    )
