"""The writers of the product: how each is run, and what a reader sees of what it wrote."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from checkout import ROOT

from rmqalloc import MessageQueue
from rmqalloc.cli._app import run
from rmqalloc.documents import store
from rmqalloc.documents.store import _writing
from rmqalloc.rebalance._offset_file import merge_offsets, read_offsets

EXAMPLES = ROOT / "examples"
NONE = "none"


class Writer(NamedTuple):
    """One way in which the product writes.

    Attributes
    ----------
    name : str
    write : callable
        Writes to a path, given the folder of inputs and whether it is the new content; returns an
        exit code.
    target : str
        Path of what is written, below the folder that a trial has.
    begins_with : bool
        Whether something stands there before.
    may_vanish : bool
        Whether nothing may stand there for a moment, until the next writer comes.
    is_verb : bool
        Whether it is a verb, which takes longer and says on standard error what went wrong.
    """

    name: str
    write: Callable[[Path, Path, bool], int]
    target: str
    begins_with: bool = True
    may_vanish: bool = False
    is_verb: bool = True


def make_inputs(folder):
    """Files that the writers read."""
    for number, name in enumerate(("old", "new")):
        fleet = ["generate", "--units", "60", "--files", "1", "--seed", str(number)]
        assert run([*fleet, "--out", str(folder / f"fleet-{name}")]) == 0
        plan = ["plan", "-f", str(EXAMPLES / "snapshots" / "seed.yaml"), "--scale", str(number + 3)]
        assert run([*plan, "--out", str(folder / f"plan-{name}.json")]) == 0
        snapshot = EXAMPLES / "snapshots" / ("48-pods.yaml" if number else "seed.yaml")
        assert run(["convert", str(snapshot), "--out", str(folder / f"s-{name}.json")]) == 0


def _verb(*words):
    """A verb of the command line; {out}, {in} and {new} stand for paths and for what tells new from
    old.
    """

    def write(target, inputs, is_new):
        marks = {
            "out": target,
            "in": inputs,
            "version": "new" if is_new else "old",
            "n": 4 if is_new else 3,
        }
        return run([word.format(**marks, examples=EXAMPLES) for word in words])

    return write


def _offsets(target, inputs, is_new):
    merge_offsets(target, {MessageQueue("t", "b", i): 1000 + is_new for i in range(9)})
    return 0


def _created(target, inputs, is_new):
    store.create_file(target, b"new" * 3000)
    return 0


def _without_exchange(write):
    def wrapped(*arguments):
        before = _writing.exchange
        _writing.exchange = lambda *_: False
        try:
            return write(*arguments)
        finally:
            _writing.exchange = before

    return wrapped


def _file(target, inputs, is_new):
    store.write_file(target, ("new" if is_new else "old") * 9000)
    return 0


def _directory(target, inputs, is_new):
    with store.replaced_directory(target) as new:
        for number in range(2):
            (new / f"part-{number}").write_bytes((b"new" if is_new else b"old") * 9000)
    return 0


_PLAN = ("plan", "-f", "{examples}/snapshots/seed.yaml", "--scale", "{n}", "--out", "{out}")
_BULK = _verb("bulk", "-f", "{in}/fleet-{version}", "--out", "{out}", "--threads", "1")
_CONVERT = _verb("convert", "{in}/s-{version}.json", "--out", "{out}")

_GENERATE = ("generate", "--units", "60", "--files", "1", "--seed", "{n}")

WRITERS = [
    Writer("plan --out p.json", _verb(*_PLAN), "p.json"),
    Writer("plan --out p.json.gz", _verb(*_PLAN), "p.json.gz"),
    Writer("convert --out s.json", _CONVERT, "s.json"),
    Writer("convert --out s.parquet", _CONVERT, "s.parquet"),
    Writer("report --out r.html", _verb("report", "{in}/plan-{version}.json", "--out", "{out}"), "r.html"),
    Writer("recommend --out c.json", _verb("recommend", "-f", "{in}/s-{version}.json", "--out", "{out}"), "c.json"),
    Writer("bulk --out owners", _BULK, "owners"),
    Writer("generate --out fleet", _verb(*_GENERATE, "--out", "{out}"), "fleet"),
    Writer("offsets of a consumer", _offsets, "client/group/offsets.json", is_verb=False),
    Writer("store.create_file", _created, "manifest.json", begins_with=False, is_verb=False),
    Writer("store.write_file", _file, "file", is_verb=False),
    Writer("store.replaced_directory", _directory, "directory", is_verb=False),
    Writer("store.replaced_directory, nothing there before", _directory, "directory", begins_with=False, is_verb=False),
    Writer("store.replaced_directory, no exchange", _without_exchange(_directory), "directory", may_vanish=True, is_verb=False),
]  # fmt: skip


def seen(writer, target):
    """What a reader sees: a digest of all of it, or that nothing is there."""
    if writer.write is _offsets:
        return repr(sorted(read_offsets(target).items())) if read_offsets(target) else NONE
    if not target.exists():
        return NONE
    digest = hashlib.sha256()
    for path in (
        [target]
        if target.is_file()
        else sorted(path for path in target.rglob("*") if path.is_file())
    ):
        digest.update(f"{path.relative_to(target)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def leftovers(folder):
    """What lies there under names of our own."""
    return sorted(path.name for path in folder.rglob(".*") if path.suffix in (".new", ".old"))
