"""Take every source of knowledge from many snapshots: ``python -m silence [--quick] [--snapshots N]
[--report FILE]``.

Ends with 1 if an error is new without a source, or if a fault becomes an all-clear that names
nothing that is not known.
"""

import argparse
import sys
import time
from collections import Counter
from itertools import takewhile
from pathlib import Path

import removed_sources

from rmqalloc.audit import check_snapshot
from silence import sources

QUICK = 60
SEED = 36

HEAD = """# Silence is not an answer

`make evidence`. Of each snapshot every source of knowledge is taken away, one at a time, as a reader leaves the snapshot that
does not get that answer, and the audit is made again. Wrong is an error about a queue, topic, client or group that the audit
does not find with the source, and a fault of which nothing is said any more though nothing is named that is not known.
"""
KIND_WORDS = {"a", "at", "broker", "client", "clients", "file", "group", "guessed", "lags", "of", "owners", "route",
              "subscriptions"}  # fmt: skip
COLUMNS = (
    "snapshots",
    "number",
    "sources taken away",
    "errors that are new",
    "all-clears",
    "exit 4",
    "CPU seconds",
)


def main():
    parser = argparse.ArgumentParser(prog="silence", description=__doc__)
    parser.add_argument("--snapshots", type=int, default=5000, help="random ones")
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"{QUICK} random snapshots, and all recordings and files",
    )
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--report", help="write the page, too")
    given = parser.parse_args()
    n = QUICK if given.quick else given.snapshots
    kinds = {
        "random": sources.random_ones(n, given.seed),
        "outputs of mqadmin": sources.mqadmin_files(),
        "readings of real clusters": sources.recordings(),
    }
    lines = [row(COLUMNS), row("---" for _ in COLUMNS)]
    n_wrong, by_kind = 0, Counter()
    for name, snapshots in kinds.items():
        figures = tallied(name, snapshots, by_kind)
        n_wrong += figures[2] + figures[3]
        lines.append(row((name, *(f"{one:,}" for one in figures))))
        print(lines[-1], flush=True)
    lines += ["", row(("taken away", "times")), row(("---", "---"))]
    lines += [row((kind, f"{times:,}")) for kind, times in sorted(by_kind.items())]
    if given.report:
        Path(given.report).write_text("\n".join([HEAD, *lines]) + "\n", encoding="utf-8")
    return int(n_wrong > 0)


def tallied(name, snapshots, by_kind):
    """Figures of one row; what is wrong is printed."""
    start, counts = time.process_time(), Counter()
    for which, whole, others in snapshots:
        before = check_snapshot(whole)
        counts["snapshots"] += 1
        for what, less in others:
            after = check_snapshot(less)
            counts["sources"] += 1
            counts["exit 4"] += bool(after.missing and not after.at_least("warning"))
            by_kind[kind_of(what)] += 1
            if why := removed_sources.wrong(before, after):
                counts["new" if why.startswith("an error") else "clear"] += 1
                print(f"{name}: {which}: without {what}: {why}", file=sys.stderr)
    if not counts["sources"]:
        raise SystemExit(f"{name}: there is nothing to take away")
    seconds = round(time.process_time() - start)
    return (
        counts["snapshots"],
        counts["sources"],
        counts["new"],
        counts["clear"],
        counts["exit 4"],
        seconds,
    )


def kind_of(what):
    """What was taken away, without the names of topics, groups and brokers."""
    return what if what.isupper() else " ".join(takewhile(KIND_WORDS.__contains__, what.split()))


def row(cells):
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
