"""Collect all tests twice and compare them: ``python -m collected_twice`` ends with 1 where they
differ.

Workers of xdist, lists of tests and whoever repeats a failure need the same ids in the same order,
with the same values of parameters. The second collection is later than the first, of a copy in
another folder, and has another seed of hashes, time zone, home and temporary folder; it lists
folders backwards, the first one forwards. What differs depends on one of these.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import fields, is_dataclass
from functools import partial, reduce
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory

from checkout import ROOT, copy_checkout

COLLECTED, BACKWARDS = "COLLECTED_INTO", "COLLECTED_BACKWARDS"
"""Variables of a process that collects: the file that it writes, and whether it lists folders backwards (1) or not (0)."""
OPTIONS = (
    "--collect-only",
    "-qq",
    "--part",
    "all",
    "-p",
    "no:cacheprovider",
    "-p",
    "collected_twice",
)
ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
MOST_SHOWN = 5


# --- A plugin of pytest, in the process that collects ---


class Listing:
    """Entries of a folder in the order of their names, or backwards, in place of `os.scandir`: no
    file system decides.
    """

    listdir, scandir, is_backwards = os.listdir, os.scandir, os.environ.get(BACKWARDS) == "1"

    def __init__(self, *path):
        with Listing.scandir(*path) as entries:
            self.left = iter(
                sorted(entries, key=lambda entry: entry.name, reverse=self.is_backwards)
            )

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.left)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.left = iter(())

    @staticmethod
    def names(*path):
        return sorted(Listing.listdir(*path), reverse=Listing.is_backwards)


if BACKWARDS in os.environ:
    os.scandir, os.listdir = Listing, Listing.names


def text_of(value, depth=8):
    """Write a value alike in every process: sets in order, objects by what they hold and without
    their addresses.

    >>> text_of([{"b", "a"}, object()])
    "list[{'a', 'b'}, <object object>]"
    """
    inner = partial(text_of, depth=depth - 1)
    text = ADDRESS.sub("", repr(value))
    if not depth or isinstance(value, type):
        return text
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(inner, value)))}}}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}[{', '.join(map(inner, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{inner(key)}: {inner(held)}' for key, held in value.items())}}}"
    if is_dataclass(value):
        return f"{type(value).__name__}{inner([getattr(value, field.name) for field in fields(value)])}"
    return text + inner(vars(value)) if " object>" in text and hasattr(value, "__dict__") else text


def pytest_collection_finish(session):
    """Write the id of each test, and its parameters without the folders of the environment and of
    the checkout.
    """
    tests = [
        (item.nodeid, text_of(getattr(item, "callspec", None) and item.callspec.params))
        for item in session.items
    ]
    with open(os.environ[COLLECTED], "w", encoding="ascii") as file:
        here = [
            (sys.prefix, "ENVIRONMENT"),
            (str(ROOT), "CHECKOUT"),
        ]  # an environment may lie in the checkout
        json.dump(
            [
                (test, reduce(lambda text, names: text.replace(*names), here, text))
                for test, text in tests
            ],
            file,
        )


# --- The comparison ---


def collected(checkout, file, **more):
    """Return id and parameters of each test of a checkout, as a process with `more` variables
    collects them.
    """
    variables = {**os.environ, COLLECTED: str(file), "PYTEST_ADDOPTS": "", **more}
    places = [checkout / "tests" / "support"]
    if variables.get("RMQALLOC_WHEEL_OF"):
        variables["RMQALLOC_WHEEL_OF"] = str(checkout)
    else:
        places.insert(0, checkout)
    variables["PYTHONPATH"] = os.pathsep.join(map(str, places))
    command = [sys.executable, "-m", "pytest", *OPTIONS]
    done = subprocess.run(
        command, cwd=checkout, env=variables, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(
            f"the tests of {checkout} cannot be collected:\n{done.stdout.rpartition('= ERRORS =')[2]}{done.stderr}"
        )
    return json.loads(file.read_text("ascii"))


def differences(first, second):
    """Return a text for each test that differs between two collections, which are lists of ids and
    parameters.

    >>> differences([("a", "1"), ("b", "2")], [("a", "1"), ("c", "2")])
    ['test 1 of the order: b, then c']
    >>> differences([("a", "seed 7")], [("a", "seed 8")])
    ["a: other parameters: 'seed 7', then 'seed 8'"]
    """
    found = []
    pairs = zip_longest(first, second, fillvalue=("none", ""))
    for place, ((test, text), (test_then, text_then)) in enumerate(pairs):
        if test != test_then:
            found.append(f"test {place} of the order: {test}, then {test_then}")
        elif text != text_then:
            differ = (
                at
                for at, (letter, then) in enumerate(zip_longest(text, text_then))
                if letter != then
            )
            shown = slice(max(0, (at := next(differ)) - 40), at + 40)
            found.append(f"{test}: other parameters: {text[shown]!a}, then {text_then[shown]!a}")
    return found


def main():
    """Collect twice and print what differs."""
    with TemporaryDirectory(prefix="rmqalloc-collected-") as name:
        folder, copy = Path(name), Path(name) / "elsewhere"
        copy_checkout(copy)
        for module in (ROOT / "rmqalloc" / "_engine").glob("*.so"):  # compiled in place
            shutil.copy(module, copy / "rmqalloc" / "_engine")
        here = {"PYTHONHASHSEED": "0", "TZ": "UTC", BACKWARDS: "0"}
        there = {
            "PYTHONHASHSEED": "1",
            "TZ": "Asia/Kathmandu",
            BACKWARDS: "1",
            "HOME": name,
            "TMPDIR": name,
        }
        first = collected(ROOT, folder / "first.json", **here)
        second = collected(copy, folder / "second.json", **there)
    found = differences(first, second)
    print(*found[:MOST_SHOWN], sep="\n", end="\n" if found else "")
    print(f"{len(first)} tests collected twice: {len(found)} differ in id, order or parameters")
    return int(bool(found) or not first)


if __name__ == "__main__":
    sys.exit(main())
