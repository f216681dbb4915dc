"""What is tried with a mutant: the nearest tests on it alone, then, on all survivors at once, what
takes minutes.

All survivors are put into one copy of the tree for that. If the tests pass, they kill none of them.
If one fails, it is run without a mutant, and, unless it fails then, too, on each survivor alone.
"""

import areas

from mutation.reach import QUICK, files_of
from mutation.tree import mutated

KILLED, BY_TIME, SURVIVES, NO_PROGRAM = "killed", "killed by time", "survives", "not compiled"
LIMIT, FIRST = 60, 5
"""Seconds of tests for a mutant, and of those that are run first: most mutants do not survive them."""
PATIENCE = 6
"""A run counts as hanging after so many times its seconds, as other work may share the processors."""
FARTHER, SERVERS = "farther away", "servers"
"""Parts of `make test` that are run on all survivors at once; the other such parts are areas."""
SERVERS_SECONDS = 300
OF_THE_LISTS = "tests/proofs/test_mutation.py::"
"""Tests that look for places of mutants in the code: they fail with any mutant of the lists, whatever it does."""


def judgement(answer):
    """What the tests say, and the first that failed: any end but a good one is a kill."""
    if answer["code"] == "timeout":
        return BY_TIME, ""
    if answer["code"] in (0, 5):  # 5: no test was run
        return SURVIVES, ""
    return KILLED, next(iter(answer.get("failures", ())), str(answer["signal"] or "import"))


def slices(tests, seconds, limit=LIMIT):
    """The nearest tests, the others up to the limit, and those beyond it."""
    spent, found = 0.0, ([], [], [])
    for test in tests:
        found[0 if spent < FIRST else 1 if spent < limit else 2].append(test)
        spent += seconds(test)
    return found


def alone(tree, mutant, reach, limit=LIMIT):
    """What the nearest tests say of a mutant, and the test that failed."""
    what, by = SURVIVES, ""
    with mutated(tree, [mutant]) as is_program:
        if not is_program:
            return NO_PROGRAM, ""
        for tests in slices(reach.nearest(mutant), reach.seconds, limit)[:2]:
            if what == SURVIVES and tests:
                needed = sum(map(reach.seconds, tests))
                bounds = {"timeout": int(60 + PATIENCE * needed), "cpu": int(20 + 2 * needed)}
                if mutant.file.startswith("pyx/"):
                    bounds["memory"] = (
                        0  # no kernel allocates, and some of their tests compile with sanitizers
                    )
                what, by = judgement(tree.run(["-x", *files_of(tests)], tests=tests, **bounds))
    return what, by


def by_test(tree, mutant, test, seconds):
    """What one test says of a mutant: the test that killed it before."""
    with mutated(tree, [mutant]) as is_program:
        if not is_program:
            return NO_PROGRAM, ""
        timeout = int(60 + PATIENCE * seconds)
        return judgement(
            tree.run(["-x", *files_of([test])], timeout, marks="", tests=[test], memory=0)
        )


def passing(workers, tests):
    """Those tests that are there and pass without a mutant, and the seconds that each takes."""

    def run(tree, files):
        chosen = [test for test in tests if files_of([test])[0] in files]
        answer = tree.run(files, 3600, marks="", tests=chosen, memory=0)
        return {
            test: spent
            for test, spent in answer.get("tests", {}).items()
            if test not in answer.get("failures", ())
        }

    files = files_of(tests)
    found = workers.map(
        run, [files[number :: workers.n] for number in range(min(workers.n, len(files)))]
    )
    return {test: spent for part in found for test, spent in part.items()}


def parts_of(rows, reach, is_all, budget):
    """What is run on all survivors at once: seconds, arguments of pytest, and which tests."""
    alive = rows.alive(FARTHER)
    farther = sorted(
        {test for mutant in alive for test in slices(reach().nearest(mutant), reach().seconds)[2]}
    )
    if farther:
        yield FARTHER, sum(map(reach().seconds, farther)), files_of(farther), {"tests": farther}
    if not is_all:
        return
    yield SERVERS, SERVERS_SECONDS, [*QUICK, "tests"], {"marks": "servers"}
    for name in order_of(areas.AREAS, [mutant.file for mutant in rows.alive("")]):
        starts = areas.AREAS[name].seconds
        seconds = sum(starts.values())
        if seconds <= budget:
            budget -= seconds
            yield name, seconds, files_of(starts), {"marks": "", "starts": list(starts)}


def order_of(table, files):
    """Names of areas: those that say that one of the files touches them come first, then the cheap
    ones.
    """

    def costs(name):
        seconds = sum(table[name].seconds.values())
        return not any(file.startswith(table[name].touched_by) for file in files), seconds

    return sorted(table, key=costs)


def together(workers, mutants, arguments, seconds, **chosen):
    """Which of some mutants are killed by tests that are too costly to run on each: what became of
    it, and by which test.

    `arguments` and `chosen` are for `Tree.run`, `seconds` is what the tests take.
    """
    timeout = int(120 + PATIENCE * seconds)
    with workers.tree() as tree:
        with mutated(tree, mutants):
            answer = tree.run(arguments, timeout, memory=0, **chosen)
        if judgement(answer)[0] == SURVIVES:
            return {}
        if answer.get("failures"):
            suspects = [test for test in answer["failures"] if not test.startswith(OF_THE_LISTS)]
            good = (
                tree.run(files_of(suspects), timeout, tests=suspects, marks="", memory=0)
                if suspects
                else {}
            )
            broken = [test for test in suspects if test in good.get("failures", suspects)]
            suspects = [test for test in suspects if test not in broken]
            print(
                f"    {len(suspects)} fail with mutants alone, {len(broken)} without, too: {broken}",
                flush=True,
            )
            if not suspects:
                return {}
            arguments, chosen = files_of(suspects), {"tests": suspects, "marks": ""}

    def judged(tree, mutant):
        with mutated(tree, [mutant]):
            return judgement(tree.run(["-x", *arguments], timeout, memory=0, **chosen))

    found = zip(mutants, workers.map(judged, mutants), strict=True)
    return {mutant.key: (what, by) for mutant, (what, by) in found if what != SURVIVES}
