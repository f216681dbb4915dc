"""Which tests reach a line: one run of a room's tests, file by file, kept in the cache until a file changes."""

import hashlib
import json

import cache
from checkout import ROOT

KEPT = cache.HOME / "mutation"
TIMEOUT = 600
BUDGET = 20
"""Seconds of tests that one mutant is given, as measured; the cheapest come first."""
NEAREST = {
    "crc32": "tests/strategies/test_golden.",
    "mix": "tests/strategies/test_ordinal.",
    "names": "tests/strategies/test_ordinal.",
    "preferences": "tests/strategies/test_stable.",
    "ragged": "tests/fleet/test_fleet.",
    "rows": ("tests/engine/test_digest.", "tests/fleet/test_fleet."),
    "slots": "tests/strategies/test_ordinal.",
    "weigh": ("tests/strategies/test_weighted.", "tests/engine/test_weigh."),
}
"""Tests of kernels that have no file of tests with their own name."""


def digest(paths):
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(paths))).hexdigest()[:16]


def test_files(room):
    """Files of tests of a room, in the order of its list."""
    found = []
    for name in room.tests:
        path = ROOT / name
        found += sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
    return [path.relative_to(ROOT).as_posix() for path in dict.fromkeys(found)]


def lines_of(mutant, text):
    """The lines of a mutant of Python, and those before it to look at if no test is seen to reach them."""
    if not mutant.edit.scope.split(".")[-1].lstrip("_")[:1].islower():  # of a file or of a class
        return range(1, 1 + text.count("\n")), ()
    last = mutant.line + text.count("\n", mutant.edit.start, mutant.edit.end)
    return range(mutant.line, last + 1), range(mutant.line - 1, max(mutant.line - 12, 0), -1)


class Reach:
    """Tests of a room, the seconds each takes, and the lines each reaches.

    `options` of pytest may leave tests out; `wanted` may name the only lines that matter, by file.
    """

    def __init__(self, room, tree, options=(), wanted=None):
        self.room, self.options, self.wanted, self.path = room, options, wanted, KEPT / f"{room.name}.json"
        kept = json.loads(self.path.read_text("utf-8")) if self.path.exists() else {}
        sources = digest(room.files())
        self.by_file = {}
        for file in test_files(room):
            own = [option for option in options if file in option]
            mark = " ".join([sources, digest([ROOT / file]), *own])
            known = kept.get(file)
            self.by_file[file] = known if known and known["mark"] == mark else self.measured(tree, file, mark)
            KEPT.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(kept | self.by_file), encoding="utf-8")

    def measured(self, tree, file, mark):
        more = {} if self.room.is_compiled else {"include": list(self.room.sources), "wanted": self.wanted}
        answer = tree.run([*self.options, file], TIMEOUT, memory=0, **more)
        failed = set(answer.get("failures", ()))
        if answer["code"] not in (0, 5):  # 5: no test is left
            print(f"{file}: {answer['code']} without a mutant {sorted(failed)}\n{tree.log()[-1500:]}", flush=True)
            mark = ""  # measured again in the next run
        seconds = {test: spent for test, spent in answer.get("tests", {}).items() if test not in failed}
        print(f"{file}: {len(seconds)} tests, {answer['seconds']:.0f} s", flush=True)
        return {"mark": mark, "seconds": seconds, "lines": answer.get("lines", {})}

    def seconds(self, test):
        return self.by_file[test.split("::")[0]]["seconds"].get(test, 1)

    def of_lines(self, file, lines):
        found = set()
        for known in self.by_file.values():
            reached = known["lines"].get(file, {})
            found.update(test for line in lines for test in reached.get(str(line), ()) if test in known["seconds"])
        return found

    def tests(self, mutant, text):
        """Tests that reach a mutant, the cheapest first, and how many are left out as they take too long."""
        if self.room.is_compiled:
            found = {test for known in self.by_file.values() for test in known["seconds"]}
            return self.cut(sorted(found, key=lambda test: (not self.is_near(mutant, test), self.seconds(test))))
        return self.cut(sorted(self.found(mutant, text), key=self.seconds))

    def found(self, mutant, text):
        """Tests that reach the lines of a mutant of Python."""
        lines, before = lines_of(mutant, text)
        found = self.of_lines(mutant.file, lines)
        for line in before:
            found = found or self.of_lines(mutant.file, [line])
        return found

    @staticmethod
    def is_near(mutant, test):
        """Does the file of the test look at the kernel first of all, or the test at this one of several?"""
        kernel = mutant.file.split("/")[-1].split(".")[0].split("_")[0]
        return f"[{kernel}]" in test or test.startswith(NEAREST.get(kernel, f"tests/engine/test_{kernel}."))

    def cut(self, tests):
        spent, kept = 0.0, []
        for test in tests:
            spent += self.seconds(test)
            if spent > BUDGET and kept:
                break
            kept.append(test)
        return kept, len(tests) - len(kept)
