"""What is tried with a mutant: the nearest quick tests on it alone, then, on all survivors at once, all others.

These take minutes, so all survivors are put into one copy of the tree. If the tests pass, they
kill none of them. If one fails, it is run without a mutant, and, unless it fails then, too, on each survivor alone.
"""

from mutation.trial import NO_PROGRAM, SURVIVED, judgement, mutated

from strength.nearest import NO_SERVERS

LIMIT, FIRST = 60, 5
"""Seconds of tests for a mutant, and of those that are run first: most mutants do not survive them."""
PATIENCE = 6
"""A run counts as hanging after so many times its seconds, as other work may share the processors."""
OF_THE_LISTS = ("tests/proofs/test_strength.py::", "tests/proofs/test_mutation.py::")
"""Tests that look for places of mutants in the code: they fail with any mutant of their lists, whatever it does."""


def slices(tests, seconds):
    """The nearest tests, the others up to the limit, and those beyond it."""
    spent, found = 0.0, ([], [], [])
    for test in tests:
        found[0 if spent < FIRST else 1 if spent < LIMIT else 2].append(test)
        spent += seconds(test)
    return found


def alone(tree, kernels, mutant, reach):
    """What the nearest quick tests say of a mutant, and the test that failed."""
    first, more, _ = slices(reach.nearest(mutant), reach.seconds)
    what, by = SURVIVED, ""
    with mutated(tree, kernels, [mutant]) as is_program:
        if not is_program:
            return NO_PROGRAM, ""
        for tests in (first, more):
            if what == SURVIVED and tests:
                needed = sum(map(reach.seconds, tests))
                bounds = {"timeout": int(60 + PATIENCE * needed), "cpu": int(20 + 2 * needed)}
                if mutant.file.startswith("pyx/"):
                    bounds["memory"] = 0  # no kernel allocates, and some of their tests compile with sanitizers
                what, by = judgement(tree.run(["-x", *files_of(tests)], marks=NO_SERVERS, tests=tests, **bounds))
    return what, by


def together(tree, kernels, mutants, arguments, seconds, **chosen):
    """Which of some mutants are killed by tests that are too costly to run on each: its name, and the test that failed.

    `arguments` and `chosen` are for `Tree.run`, `seconds` is what the tests take.
    """
    timeout = int(120 + PATIENCE * seconds)
    with mutated(tree, kernels, mutants):
        answer = tree.run(arguments, timeout, memory=0, **chosen)
    if judgement(answer)[0] == SURVIVED:
        return {}
    suspects = answer.get("failures") or None
    if suspects:
        suspects = [test for test in suspects if not test.startswith(OF_THE_LISTS)]
        if not suspects:
            return {}
        good = tree.run(files_of(suspects), timeout, tests=suspects, marks="", memory=0).get("failures", suspects)
        suspects = [test for test in suspects if test not in good]
        print(f"    {len(suspects)} fail with mutants alone, {len(good)} without, too: {good}", flush=True)
        if not suspects:
            return {}
        arguments, chosen = files_of(suspects), {"tests": suspects, "marks": ""}
    killed = {}
    for mutant in mutants:
        with mutated(tree, kernels, [mutant]):
            what, by = judgement(tree.run(["-x", *arguments], timeout, memory=0, **chosen))
        if what != SURVIVED:
            killed[mutant.key] = by or what
    return killed


def files_of(tests):
    return list(dict.fromkeys(test.split("::")[0] for test in tests))


def order_of(areas, files):
    """Names of areas: those that say that one of the files touches them come first, then the cheap ones."""
    return sorted(
        areas,
        key=lambda name: (
            not any(file.startswith(areas[name].touched_by) for file in files),
            sum(areas[name].seconds.values()),
        ),
    )
