"""Changes files of plans and follows each through verify, report, undo and diff; ends with 1 if one
of these raises or accepts.

    python -m followed_plans [--mutations N] [--seed S] [--report PAGE]

What a file of a plan says is changed in one place or in a few, at times as `fuzz.mutations` does
it, and its digest is recomputed, as whoever forges a plan would. Right is an error of rmqalloc,
which says what is wrong, or an answer; wrong are any other exception, and a plan that `verify`
accepts though it is not what its inputs and scenarios come to.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import certified_plans
import plan_mutations
from fuzz import mutations as change

from followed_plans import forgeries
from rmqalloc import Error
from rmqalloc.diffs import diff
from rmqalloc.plans import load_plan, plan_snapshot, undo_plan, verify
from rmqalloc.plans._plan_files import read_plan_file
from rmqalloc.plans._plan_snapshot import planned
from rmqalloc.plans._unit_rows import unit_rows
from rmqalloc.report.html import report
from rmqalloc.snapshot import Client, TopicBroker

QUICK = 700
SEED = 1
COLUMNS = (
    "plan",
    "mutations",
    "not read",
    "rejected",
    "not all recomputed",
    "verified",
    "reports",
    "ways back",
    "wrong",
)
HEAD = """# Plans that were changed, followed

`make evidence`. Something is changed anywhere in each plan's file, and the digest is recomputed. The file then goes through
`verify` (with and without the snapshot), `report`, `plan --undo` and `diff`. Wrong is an exception that is none of rmqalloc's
errors, and a file that `verify` accepts though other tables, ways back, warnings or gates follow from its inputs.
"""


def main():
    parser = argparse.ArgumentParser(prog="followed_plans", description=__doc__.partition("\n")[0])
    parser.add_argument("--mutations", type=int, default=100_000)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} mutations")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--report", help="write the page, too")
    given = parser.parse_args()
    n = QUICK if given.quick else given.mutations
    work, lines, n_wrong = _Work(), [_row(COLUMNS), _row("---" for _ in COLUMNS)], 0
    for name in certified_plans.PLANS:
        mine = n // len(certified_plans.PLANS)
        counts = work.followed(name, mine, Random(f"{given.seed} {name}"))
        n_wrong += counts["wrong"]
        lines.append(_row([name, f"{mine:,}", *(f"{counts[one]:,}" for one in COLUMNS[2:])]))
        print(lines[-1], flush=True)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    lines += [
        "",
        f"Longest: {work.longest:.2f} s for one file. Peak memory of the whole run: {memory:,} MiB.",
    ]
    print(lines[-1])
    section, n_accepted = forgeries.page()
    print(section, n_accepted, "accepted, or not answered in time")
    if given.report:
        Path(given.report).write_text("\n".join([HEAD, *lines]) + "\n" + section, encoding="utf-8")
    return int(n_wrong + n_accepted > 0)


class _Work:
    """Follows files, and keeps the longest time."""

    def __init__(self):
        self.longest = 0.0
        self._path = Path(tempfile.mkdtemp(prefix="followed-")) / "plan.json"
        self._applied = {name: [*_applied(*one[:2])] for name, one in certified_plans.PLANS.items()}

    def followed(self, name, n, random):
        """What became of some changed files of one plan."""
        path, _ = certified_plans.saved(name, self._path.parent)
        document, counts = json.loads(path.read_text()), Counter()
        for number in range(n):
            changed = document
            for _ in range(random.choice((1, 1, 1, 2, 4))):
                changed = (
                    change.changed_data(changed, random)
                    if random.random() < 0.3
                    else _mutated(changed, random)
                )
                if not isinstance(changed, dict) or not changed:
                    changed = document
            path.write_text(
                json.dumps(plan_mutations.rehashed(changed), separators=(",", ":")),
                "utf-8",
                "backslashreplace",
            )
            start = time.process_time()
            try:
                self._follow(name, path, changed, counts)
            except AcceptedError as error:
                self._wrong(name, number, f"accepted: {error}", changed, counts)
            except Exception:
                self._wrong(name, number, traceback.format_exc(), changed, counts)
            self.longest = max(self.longest, time.process_time() - start)
        return counts

    def _wrong(self, name, number, text, changed, counts):
        counts["wrong"] += 1
        kept = self._path.with_name(f"wrong-{name}-{number}.json")
        kept.write_text(json.dumps(plan_mutations.rehashed(changed)), "utf-8", "backslashreplace")
        print(f"{name} {number}: {kept}: {text}", file=sys.stderr)

    def _follow(self, name, path, changed, counts):
        snapshot, *_ = certified_plans.PLANS[name]
        try:
            plan = load_plan(path)
        except Error as error:
            counts["not read"] += 1
            str(error)
            return
        found = [_answer(lambda: verify(path)), _answer(lambda: verify(path, snapshot))]
        for one in found:
            if one is not None and one.is_verified:
                _check_accepted(path)
        first = found[0]
        kind = (
            "rejected"
            if first is None or first.problems
            else "verified"
            if first.is_verified
            else "not all recomputed"
        )
        counts[kind] += 1
        assert all("\n" not in line for one in found if one is not None for line in one.lines())
        report(plan)
        counts["reports"] += 1
        for place, scenario in enumerate(plan.scenarios[:3]):
            applied = self._applied[name][min(place, len(self._applied[name]) - 1)]
            for cluster in (snapshot, applied):
                counts["ways back"] += (
                    _answer(lambda s=scenario, c=cluster: undo_plan(plan, c, s.name)) is not None
                )
                _answer(lambda s=scenario, c=cluster: diff(plan, c, scenario=s.name))


def _applied(snapshot, scenarios):
    """The snapshot as each scenario leaves it; one topic alone, and the same clients in all its
    groups' views.
    """
    made = planned(snapshot, scenarios, ("*",), ("*",), with_shared=True)
    for state, scenario in zip(made.evaluation.states[1:], made.plan.scenarios, strict=True):
        rows = {group: one[0] for (group, _), one in unit_rows(made.read, state, scenario).items()}
        brokers = tuple(
            TopicBroker(b, n, machine_room=r) for b, n, r in next(iter(rows.values())).brokers
        )
        groups = tuple(
            _moved(one, rows[one.name]) if one.name in rows else one for one in snapshot.groups
        )
        yield replace(
            snapshot, topics=(replace(snapshot.topics[0], brokers=brokers),), groups=groups
        )


def _moved(group, row):
    """A group with the clients and the strategy of a row."""
    known = {one.client_id: one for one in group.clients}
    clients = tuple(
        replace(known.get(one, Client(one)), machine_room=room) for one, room in row.clients
    )
    return replace(
        group, clients=clients, strategy=row.method.name, strategy_params=dict(row.method.params)
    )


class AcceptedError(Exception):
    """A plan is verified that does not follow from its inputs."""


def _answer(ask):
    """What is answered, None for an error of rmqalloc."""
    try:
        found = ask()
    except Error as error:
        str(error)
        return None
    str(found)
    return found


def _check_accepted(path):
    """Raise unless a verified file is the plan of its inputs and scenarios, by planning it here."""
    plan = read_plan_file(path).plan
    kept = plan.inputs
    again = plan_snapshot(kept.snapshot, plan.scenarios, kept.groups, kept.topics, kept.with_retry)
    for table in plan.TABLES:
        if getattr(plan, table).to_pylist() != getattr(again, table).to_pylist():
            raise AcceptedError(table)
    said, right = (
        json.dumps([one.undo, one.warnings, one.input_digest], sort_keys=True)
        for one in (plan, again)
    )
    if said != right:
        raise AcceptedError("ways back, warnings or the digest of the inputs")


def _mutated(document, random):
    return plan_mutations.mutated(document, random)[0]


def _row(cells):
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
