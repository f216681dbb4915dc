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
from mutation.trial import ALIVE, Trial, Verdict

SEED = 1
QUICK, QUICK_SAMPLE = "transitions", 6


def options_of():
    parser = argparse.ArgumentParser(prog="mutation", description=__doc__)
    parser.add_argument("--room", action="append", choices=BY_NAME, help="only these")
    parser.add_argument("--sample", type=int, help="mutants of each room, instead of each room's own number")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument(
        "--again", action="store_true", help="only those that survived the run before, and the listed ones"
    )
    parser.add_argument("--afresh", action="store_true", help="try those again, too, that were killed in a run before")
    parser.add_argument("--only", default="", help="mutants whose name holds this text")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SAMPLE} of {QUICK}, by its own tests")
    parser.add_argument(
        "--report", help="write the page of this run and of kept runs of other rooms into this file, too"
    )
    return parser.parse_args()


def sample_of(room, options):
    return options.sample or (QUICK_SAMPLE if options.quick else room.sample)


def chosen(room, options, kept):
    """Mutants of a room to try."""
    n = sample_of(room, options)
    if not options.again:
        return [
            one for one in room.sampled(options.seed, n * 20 if room.reached_alone else n) if options.only in one.key
        ]
    wanted = set(survivors.listed()) | {row["key"] for row in kept if row["what"] in ALIVE}
    return [one for one in room.mutants() if one.key in wanted and options.only in one.key]


def tried(room, options, folder):
    """Verdicts on a room's sample, which are kept for the page."""
    path = KEPT / f"verdicts-{room.name}-{options.seed}.json"
    kept = json.loads(path.read_text("utf-8")) if path.exists() else []
    rows, verdicts = {row["key"]: row for row in kept}, []
    with Tree(folder) as tree:
        trial = Trial(room, tree)
        for mutant in chosen(room, options, kept):
            if room.reached_alone and (len(verdicts) == sample_of(room, options) or not trial.is_reached(mutant)):
                continue
            row = {} if options.afresh else rows.get(mutant.key, {})
            is_known = page.is_killed_still(row, mutant)
            verdicts.append(Verdict(mutant, row["what"], row["by"], 0.0) if is_known else trial.verdict(mutant))
            print(verdicts[-1], flush=True)
            rows[mutant.key] = row if is_known else page.row_of(verdicts[-1])
            path.write_text(json.dumps(list(rows.values()), indent=1), encoding="utf-8")
    return verdicts


def main():
    options = options_of()
    rooms = [room for room in ROOMS if not options.room or room.name in options.room]
    if options.quick:
        rooms = [BY_NAME[QUICK]._replace(tests=BY_NAME[QUICK].tests[:1])]
    started, verdicts = time.monotonic(), []
    with tempfile.TemporaryDirectory() as home:
        for room in rooms:
            folder = Path(home, room.name)
            folder.mkdir()
            verdicts += tried(room, options, folder)
    wrong = survivors.judged(verdicts, survivors.listed())
    alive = sum(one.what in ALIVE for one in verdicts)
    print(f"{len(verdicts)} mutants, {alive} survive, seed {options.seed}, {time.monotonic() - started:.0f} s")
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    if options.report:
        Path(options.report).write_text(page.page(options.seed), encoding="utf-8")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
