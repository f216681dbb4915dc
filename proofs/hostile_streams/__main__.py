"""Feeds 200 hostile events of every kind to live plans, kills the driver twice; ends with 1 if a
trace of them is left.

    python -m hostile_streams [--quick] [--events N] [--seed S] [--report PAGE]

Right is what a query has that is given the good events alone: every row, and the state that Spark
keeps. Each hostile event is a row that says why it is refused, once.
"""

import argparse
import sys
import tempfile
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

from live_events import START, answer, followed, history, write_batches
from live_stream import STRATEGY

from hostile_streams.hostile_events import N_TOPICS, hostile, kinds_of_rows
from hostile_streams.runs import files_of_batches, followed_query

N_HOSTILE, N_GOOD, N_BATCHES, SEED = 200, 1_000, 9, 1
KILLS = (2, 5)
"""Micro-batches that are done when the driver is killed, some moments later."""

DAYS_AGO = 2
"""When the good events happened: an event of today that moved the watermark would make all of them late."""

HEAD = """# Live plans among hostile events, killed and started again

`python -m hostile_streams --report build/evidence/hostile-streams.md` in proofs/. Good events of {n_topics} topics are read in
{n_batches} micro-batches, with hostile ones between them, which are wrong in one way each and name topics, groups and clients
that are there. The driver is killed by SIGKILL, the JVM with it, and goes on from its checkpoint, and so once more. What it
then has, rows and Spark's state, is compared with what a query has that was given the good events alone, cut into the same
micro-batches, and was never killed. (A kill between Spark's logs of files and of micro-batches joins two files in one.)
"""


def main():
    parser = argparse.ArgumentParser(prog="hostile_streams", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer good events and one kill")
    parser.add_argument("--events", type=int, default=N_HOSTILE, help="hostile ones")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--report", help="write the page, too")
    given = parser.parse_args()
    n_good, n_batches, kills = (200, 4, KILLS[:1]) if given.quick else (N_GOOD, N_BATCHES, KILLS)
    wrong, good = hostile(given.events), good_events(n_good, given.seed)
    with tempfile.TemporaryDirectory(prefix="hostile-") as where:
        mixed, alone = Path(where) / "mixed", Path(where) / "alone"
        write_batches(mixed / "events", among(good, wrong, n_batches, Random(given.seed)))
        runs, made = followed_query(mixed, kills)
        batches = cut(good, n_batches)
        write_batches(
            alone / "events",
            [[one for n in some for one in batches[n]] for some in files_of_batches(mixed)],
        )
        right_runs, right = followed_query(alone)
    faults = differences(made, right, good, wrong)
    text = "\n".join([*figures(runs, right_runs, made, right, faults), *kind_table(made, wrong)])
    print(text)
    if given.report:
        head = HEAD.format(n_topics=N_TOPICS, n_batches=n_batches)
        Path(given.report).write_text(f"{head}\n{text}\n", encoding="utf-8")
    return int(bool(faults))


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


def figures(runs, right_runs, made, right, faults):
    """What was compared, and the memory of workers."""
    refused, taken = refused_and_taken(made["rows"])
    lines = [f"**Faults: {len(faults)}.** " + "; ".join(faults)] if faults else ["**0 faults.**"]
    lines += [
        f"{len(refused)} hostile events, as many rows that refuse them; {len(taken):,} rows of good events and",
        f"{len(made['state']):,} entries of state, one for each bucket, are those of the query without them.",
    ] if not faults else []  # fmt: skip
    lines += [
        "",
        "| run | micro-batches done, and begun | ended by | Python workers | peak of one, MiB |",
        "| --- | ---: | --- | ---: | ---: |",
    ]
    named = [(f"{number}, with hostile events", run) for number, run in enumerate(runs, start=1)]
    for name, run in [*named, *(("good events alone", run) for run in right_runs)]:
        lines.append(
            f"| {name} | {run.committed}, {run.planned} | {run.end} | {run.workers} | {run.peak / (1 << 20):.0f} |"
        )
    return [*lines, ""]


def kind_table(made, wrong):
    """Hostile events by kind, and the rows that refuse them."""
    refused, _ = refused_and_taken(made["rows"])
    counts, said = Counter(kind for kind, _ in wrong), Counter(kinds_of_rows(refused, wrong))
    rows = [f"| {kind} | {n} | {said[kind]} |" for kind, n in counts.items()]
    return ["| hostile | events | refused |", "| --- | ---: | ---: |", *rows]


if __name__ == "__main__":
    sys.exit(main())
