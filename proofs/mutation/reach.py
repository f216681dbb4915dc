"""Which tests outside of areas reach a mutant, and in which order they are run.

A file of tests is run once under coverage and again when it changes; an edit of the product changes
little in what it reaches.
"""

import ast
import hashlib
import json
import threading
from pathlib import PurePath

import cache
from areas import AREAS
from checkout import ROOT

KEPT = cache.HOME / "mutation"
TIMEOUT = 600
QUICK = [f"--deselect={start}" for area in AREAS.values() for start in area.seconds]
"""Options of pytest that leave out the tests of areas."""
FOLDERS = {"spark_udfs": "integration/spark", "pyx": "engine"}
"""Folders of tests that have another name than their room."""
OF_KERNELS = ("tests/engine", "tests/strategies", "tests/fleet")
FIRST_OF_KERNELS = (
    *(f"tests/engine/test_{name}.py" for name in ("md5", "ring", "tally", "strings", "weigh")),
    *(
        f"tests/strategies/test_{name}.py"
        for name in ("golden", "ordinal", "stable", "weighted", "bounded")
    ),
    *(f"tests/fleet/test_{name}.py" for name in ("fleet", "fleet_out", "not_utf8")),
)
"""Files of tests that look at kernels closely and quickly."""
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


def files_of(tests):
    return list(dict.fromkeys(test.split("::")[0] for test in tests))


def test_files(*folders):
    """Files of tests below folders, in order; a file stands for itself."""
    found = (
        path
        for name in folders
        for path in [ROOT / name, *sorted((ROOT / name).rglob("test_*.py"))]
    )
    return list(
        dict.fromkeys(path.relative_to(ROOT).as_posix() for path in found if path.suffix == ".py")
    )


def folder_of(file):
    """The folder of tests of a file's room."""
    first, second, *_ = file.split("/")
    return f"tests/{FOLDERS.get(first, second)}"


def lines_of(mutant, tree):
    """The lines of a file of Python that run if a mutant of it does: those of its statement, of a
    header without the body.

    What stands in a class or in the file runs when the file is imported, so any line counts; a
    default, any of its function.
    """
    if not mutant.edit.scope.split(".")[-1].lstrip("_")[:1].islower():
        return range(1, max(node.end_lineno for node in tree.body) + 1)
    around = (node for node in ast.walk(tree) if isinstance(node, ast.stmt))
    around = (node for node in around if node.lineno <= mutant.line <= node.end_lineno)
    inner = max(around, key=lambda node: node.lineno)
    if isinstance(inner, ast.If | ast.For | ast.While | ast.With | ast.AsyncFor | ast.AsyncWith):
        return range(inner.lineno, max(inner.body[0].lineno, inner.lineno + 1))
    return range(inner.lineno, inner.end_lineno + 1)


def distance(file, test):
    """How far a test is from a file of Python: a test file named like the module is nearest, then
    the room's folder.
    """
    module, at = PurePath(file).stem.strip("_"), PurePath(test.split("::")[0])
    name = at.stem.removeprefix("test_")
    return not (module in name or name in module), at.parent.as_posix() != folder_of(file)


class Reach:
    """Tests without servers of some files, the seconds each takes, and the mutants that each
    reaches.

    What is known is kept in a file of the cache, if that is named; `options` of pytest leave tests
    out.
    """

    def __init__(self, workers, mutants, files, name="", options=QUICK):
        self.options = options
        self.path = KEPT / f"reach-{name}.json" if name else None
        self.known = json.loads(self.path.read_text("utf-8")) if name and self.path.exists() else {}
        self.lock = threading.Lock()
        python = {mutant.file: None for mutant in mutants if mutant.file.endswith(".py")}
        trees = {file: ast.parse((ROOT / file).read_text(encoding="utf-8")) for file in python}
        self.lines = {one: lines_of(one, trees[one.file]) for one in mutants if one.file in trees}
        self.wanted = dict.fromkeys(python, ())
        for mutant, lines in self.lines.items():
            self.wanted[mutant.file] = sorted({*self.wanted[mutant.file], *lines})
        workers.map(
            self.measure,
            [file for file in files if self.known.get(file, {}).get("mark") != self.mark(file)],
        )
        self.known = {file: self.known[file] for file in files}
        self.every = {
            test: spent for known in self.known.values() for test, spent in known["seconds"].items()
        }

    def mark(self, file):
        return " ".join(
            [digest([ROOT / file]), *(option for option in self.options if file in option)]
        )

    def measure(self, tree, file):
        """Run the tests of a file, and note what they take and reach; a test that fails without a
        mutant is left out.
        """
        more = {"include": list(self.wanted), "wanted": self.wanted}
        answer = tree.run([*self.options, file], TIMEOUT, memory=0, **more)
        failed, mark = set(answer.get("failures", ())), self.mark(file)
        if answer["code"] not in (0, 5):  # 5: no test is left
            print(
                f"{file}: {answer['code']} without a mutant {sorted(failed)}\n{tree.log()[-1500:]}",
                flush=True,
            )
            mark = ""  # measured again in the next run
        seconds = {
            test: spent for test, spent in answer.get("tests", {}).items() if test not in failed
        }
        numbers, reached = {test: number for number, test in enumerate(seconds)}, {}
        for mutant, lines in self.lines.items():
            tests = answer.get("lines", {}).get(mutant.file, {})
            found = {test for line in lines for test in tests.get(str(line), ())}
            reached[mutant.key] = sorted(numbers[test] for test in found & numbers.keys())
        reached = {key: found for key, found in reached.items() if found}
        print(f"{file}: {len(seconds)} tests, {answer['seconds']:.0f} s", flush=True)
        with self.lock:
            self.known[file] = {"mark": mark, "seconds": seconds, "reached": reached}
            if self.path:
                KEPT.mkdir(parents=True, exist_ok=True)
                self.path.write_text(json.dumps(self.known), encoding="utf-8")

    def seconds(self, test):
        return self.every.get(test, 1)

    def reached(self, mutant):
        """Tests that are seen to reach a mutant of Python."""
        found = set()
        for known in self.known.values():
            tests = list(known["seconds"])
            found.update(tests[number] for number in known["reached"].get(mutant.key, ()))
        return found

    def nearest(self, mutant):
        """Tests of a mutant, nearest first, then the cheapest.

        Where nothing is seen to reach it, as another process runs it or it is new on the list, the
        folder of the room is taken as a whole. A kernel gets the tests of `OF_KERNELS`, its own
        first.
        """
        if mutant.file.startswith("pyx/"):
            found = [test for test in self.every if test.startswith(OF_KERNELS)]
            return sorted(
                found, key=lambda test: (*self.distance_of_kernel(mutant, test), self.seconds(test))
            )
        folder = f"{folder_of(mutant.file)}/"
        found = self.reached(mutant) or [test for test in self.every if test.startswith(folder)]
        return sorted(found, key=lambda test: (*distance(mutant.file, test), self.seconds(test)))

    @staticmethod
    def distance_of_kernel(mutant, test):
        """Does the file of the test look at the kernel first of all, or the test at this one of
        several?
        """
        kernel = mutant.file.split("/")[-1].split(".")[0].split("_")[0]
        is_own = f"[{kernel}]" in test or test.startswith(
            NEAREST.get(kernel, f"tests/engine/test_{kernel}.")
        )
        return not is_own, test.split("::")[0] not in FIRST_OF_KERNELS
