"""The page of evidence."""

from areas import AREAS
from mutation import survivors
from mutation.page import line

from strength import stages
from strength.drawn import LIST, SEED
from strength.verdicts import BY_ALL, BY_NONE, NO_PROGRAM, counts, not_run

HEAD = """# Strength of the quick tier

`make strength`, or `python -m strength` (`proofs/strength/`). How many faults do the tests of `make test` miss that those of
`make test-all` detect? `proofs/strength/mutants.tsv` is a fixed list of {listed} machine-made mutants, drawn with seed {seed}
from all rooms in proportion to their possible mutants, two at least ([mutation.md](mutation.md) says what a mutant is).

1. The quick tests without servers that reach its line are run on each mutant, nearest first, to the first failure or to
   {limit} s of tests. A kernel is not traced; it gets the tests of `engine`, `strategies` and `fleet`.
2. All survivors are put into one copy of the tree, for those of these tests that had no time, and for the quick tests with a
   Spark session or a real RocketMQ.
3. The same for the areas that `make test-all` adds.

A test that fails in 2 or 3 is run without a mutant and then on each survivor alone. A mutant whose tests do not end counts as
killed. Tests of the lists of mutants, which fail with any change of the code they name, do not count.

The goal: at most 5 % of the mutants that are killed are lost to the quick tier, none in `plans`, `strategies`, `rebalance` and
`pyx`. When the tier was new it lost two: an explanation of Go's machine rooms, and `split` beyond its last unit, which only a
sanitizer sees. Their tests belong to it now. Three more of the list were killed by nothing and have tests since.
"""


def cell(text):
    return f"`{text}`".replace("|", "\\|")


def table(rooms, verdicts):
    names = list(dict.fromkeys(rooms.values()))
    yield line(("room", "tried", "killed by quick", "only by all", "by none"))
    yield line(["---"] * 5)
    for name in sorted(names):
        numbers = counts(row for key, row in verdicts.items() if rooms[key] == name)
        yield line((name, sum(numbers), *numbers))
    numbers = counts(verdicts.values())
    yield line(("all", sum(numbers), *numbers))


def page(rooms, verdicts, gone):
    listed = survivors.listed(LIST)
    quick, lost, none = counts(verdicts.values())
    lines = [HEAD.format(listed=len(listed), seed=SEED, limit=stages.LIMIT)]
    lines += [f"**{quick} are killed by the quick tier, {lost} only by other tests, {none} by none;**"]
    lines += [f"{100 * lost / max(quick + lost, 1):.1f} % of those killed are lost to the quick tier.", ""]
    lines += [*table(rooms, verdicts), ""]
    untried = sorted(listed.keys() - verdicts.keys() - set(gone))
    no_program = [key for key, row in verdicts.items() if row.what == NO_PROGRAM]
    lines += [f"{len(untried)} of the list were not tried.", ""] if untried else []
    for what, keys in (("no longer in the code", gone), ("not compiled", no_program)):
        lines += [f"{len(keys)} {what}: {', '.join(map(cell, keys))}.", ""] if keys else []
    lacking = [
        f"{part} ({sum(AREAS[part].seconds.values())} s)" if part in AREAS else part for part in not_run(verdicts)
    ]
    lines += [f"Not run on every survivor: {', '.join(lacking)}.", ""] if lacking else []
    lines += ["## Lost to the quick tier", ""]
    lost = [(key, row) for key, row in verdicts.items() if row.what == BY_ALL]
    lines += ["| mutant | change | killed by |", "| --- | --- | --- |"] if lost else ["None.", ""]
    lines += [line([cell(key), cell(listed[key].change), cell(row.by)]) for key, row in lost]
    lines += ["", "## Killed by none", ""] if lost else ["## Killed by none", ""]
    lines += ["| mutant | change | |", "| --- | --- | --- |"]
    for key, row in verdicts.items():
        if row.what == BY_NONE:
            note = listed[key].state or "not looked into"
            lines.append(line([cell(key), cell(listed[key].change), note]))
    return "\n".join(lines) + "\n"
