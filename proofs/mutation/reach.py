"""Which tests reach a line: one run of a room's tests, file by file, kept in `build/` until a file changes."""

import hashlib
import json

from checkout import ROOT

KEPT = ROOT / "build" / "mutation"
TIMEOUT = 240
BUDGET = 20
"""Seconds of tests that one mutant is given, as measured; the cheapest come first."""
NEAREST = {
    "crc32": "tests/strategies/test_golden.",
    "mix": "tests/strategies/test_ordinal.",
    "names": "tests/strategies/test_ordinal.",
    "preferences": "tests/strategies/test_stable.",
    "ragged": "tests/fleet/test_fleet.",
    "rows": "tests/fleet/test_fleet.",
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


class Reach:
    """Tests of a room, the seconds each takes, and the lines each reaches."""

    def __init__(self, room, tree):
        self.room, self.path = room, KEPT / f"{room.name}.json"
        kept = json.loads(self.path.read_text("utf-8")) if self.path.exists() else {}
        sources = digest(room.files())
        self.by_file = {}
        for file in test_files(room):
            mark = f"{sources} {digest([ROOT / file])}"
            known = kept.get(file)
            self.by_file[file] = known if known and known["mark"] == mark else self.measured(tree, file, mark)
            KEPT.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(kept | self.by_file), encoding="utf-8")

    def measured(self, tree, file, mark):
        more = {} if self.room.is_compiled else {"include": list(self.room.sources)}
        answer = tree.run([file], TIMEOUT, **more)
        if answer["code"] not in (0, 5):  # 5: no test is left
            print(f"{file}: {answer['code']} without a mutant {answer.get('failed')}\n{tree.log()[-1500:]}", flush=True)
            return {"mark": "", "seconds": {}, "lines": {}}
        print(f"{file}: {len(answer['tests'])} tests, {answer['seconds']:.0f} s", flush=True)
        return {"mark": mark, "seconds": answer["tests"], "lines": answer.get("lines", {})}

    def seconds(self, test):
        return self.by_file[test.split("::")[0]]["seconds"].get(test, 1)

    def of_lines(self, file, lines):
        found = set()
        for known in self.by_file.values():
            reached = known["lines"].get(file, {})
            found.update(test for line in lines for test in reached.get(str(line), ()))
        return found

    def tests(self, mutant, text):
        """Tests that reach a mutant, the cheapest first, and how many are left out as they take too long."""
        last = mutant.line + text.count("\n", mutant.edit.start, mutant.edit.end)
        if self.room.is_compiled:
            found = {test for known in self.by_file.values() for test in known["seconds"]}
            return self.cut(sorted(found, key=lambda test: (not self.is_near(mutant, test), self.seconds(test))))
        if not mutant.edit.scope.split(".")[-1].lstrip("_")[:1].islower():  # of a file or of a class
            found = self.of_lines(mutant.file, range(1, 1 + text.count("\n")))
        else:
            found = self.of_lines(mutant.file, range(mutant.line, last + 1))
            for line in range(mutant.line - 1, max(mutant.line - 12, 0), -1):
                found = found or self.of_lines(mutant.file, [line])
        return self.cut(sorted(found, key=self.seconds))

    @staticmethod
    def is_near(mutant, test):
        """Does the file of the test look at the kernel first of all?"""
        kernel = mutant.file.split("/")[-1].split(".")[0].split("_")[0]
        return test.startswith(NEAREST.get(kernel, f"tests/engine/test_{kernel}."))

    def cut(self, tests):
        spent, kept = 0.0, []
        for test in tests:
            spent += self.seconds(test)
            if spent > BUDGET and kept:
                break
            kept.append(test)
        return kept, len(tests) - len(kept)
