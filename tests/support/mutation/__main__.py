"""Try a sample of machine-made mutants of every room: ``python -m mutation [--room R] [--seed S] [--quick] [--report F]``.

Ends with 1 if one survives that is not on the list of survivors, or if one on the list is killed: the list only shrinks.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from mutation import page, survivors
from mutation.reach import KEPT
from mutation.rooms import BY_NAME, ROOMS
from mutation.tree import Tree
from mutation.trial import ALIVE, Trial

SEED = 1
QUICK = {"transitions": 3, "scenarios": 3}


def options_of():
    parser = argparse.ArgumentParser(prog="mutation", description=__doc__)
    parser.add_argument("--room", action="append", choices=BY_NAME, help="only these")
    parser.add_argument("--sample", type=int, help="mutants of each room, instead of each room's own number")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument(
        "--again", action="store_true", help="only those that survived the run before, and the listed ones"
    )
    parser.add_argument("--only", default="", help="mutants whose name holds this text")
    parser.add_argument("--quick", action="store_true", help=f"a few of {', '.join(QUICK)}")
    parser.add_argument(
        "--report", help="write the page of this run and of kept runs of other rooms into this file, too"
    )
    return parser.parse_args()


def chosen(room, options, kept):
    """Mutants of a room to try."""
    n = options.sample or (QUICK[room.name] if options.quick else room.sample)
    if not options.again:
        return [one for one in room.sampled(options.seed, n) if options.only in one.key]
    wanted = set(survivors.listed()) | {row["key"] for row in kept if row["what"] in ALIVE}
    return [one for one in room.mutants() if one.key in wanted and options.only in one.key]


def tried(room, options, folder):
    """Verdicts on a room's sample, which are kept for the page."""
    path = KEPT / f"verdicts-{room.name}-{options.seed}.json"
    kept = json.loads(path.read_text("utf-8")) if path.exists() else []
    verdicts = []
    with Tree(folder) as tree:
        trial = Trial(room, tree)
        for mutant in chosen(room, options, kept):
            verdicts.append(trial.verdict(mutant))
            print(verdicts[-1], flush=True)
    rows = {row["key"]: row for row in kept if options.again or options.only}
    rows |= {one.mutant.key: page.row_of(one) for one in verdicts}
    if not options.quick:
        path.write_text(json.dumps(list(rows.values()), indent=1), encoding="utf-8")
    return verdicts


def main():
    options = options_of()
    names = options.room or (list(QUICK) if options.quick else [room.name for room in ROOMS])
    started, verdicts = time.monotonic(), []
    with tempfile.TemporaryDirectory() as home:
        for name in names:
            folder = Path(home, name)
            folder.mkdir()
            verdicts += tried(BY_NAME[name], options, folder)
    wrong = survivors.judged(verdicts, survivors.listed())
    alive = sum(one.what in ALIVE for one in verdicts)
    print(f"{len(verdicts)} mutants, {alive} survive, seed {options.seed}, {time.monotonic() - started:.0f} s")
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    if options.report:
        Path(options.report).write_text(page.page(options.seed), encoding="utf-8")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
