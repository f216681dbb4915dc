"""A directory with one plan: when it is complete, who writes it, and what may be removed. Imports
no pyspark.

::

    OUT/_rmqalloc.json          this directory is ours; the id of the plan
    OUT/_rmqalloc_claim.json    who writes the plan now
    OUT/_temporary/             parts that are being written, by Spark's committer or by workers
    OUT/part-*.parquet          the plan
    OUT/_SUCCESS                it is complete: every part is in its place, and the source has not changed meanwhile
    OUT/_summary.json, .txt     totals and the worst units, after it; remade where they are missing

Goals, in this order: what has ``_SUCCESS`` is one whole plan; nothing that is not ours is removed;
a run that was killed blocks no other. A plan that is replaced loses ``_SUCCESS`` first, so from
then until the new one there is no plan. Whoever writes holds the claim, which is created
exclusively. The claim of a process of this machine that is dead is taken over, and the parts that
it left without ``_SUCCESS`` are removed.
"""

import json
import os
import shutil
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from rmqalloc.documents import DocumentError, json_text, store
from rmqalloc.errors import Error
from rmqalloc.snapshot.directory import MARKER

SUCCESS = "_SUCCESS"
CLAIM = "_rmqalloc_claim.json"
SUMMARY = "_summary.json"
SUMMARY_TEXT = "_summary.txt"

PARTS = "_temporary"
"""Where parts are until all are written; Spark's committer has the same name for it."""

_STAGED = (CLAIM, MARKER, SUCCESS, SUMMARY, SUMMARY_TEXT)
_OURS = (*_STAGED, *(f".{name}.*" for name in _STAGED), "part-*", ".*.crc", PARTS)
_TRIES = 5


class PlanExistsError(Error, FileExistsError):
    """The directory holds something else: the message says what, and what would be right."""


class ClaimedError(Error, RuntimeError):
    """Somebody else writes to the directory; the message says who, and since when."""


class Folder(Protocol):
    """A directory, wherever it is; names are those of what lies in it, and missing is no error."""

    def names(self) -> list[str]:
        """Return the names of all that is in it, hidden ones too."""

    def text(self, name: str) -> str | None:
        """Return the text of a file, None if there is none."""

    def create(self, name: str, text: str) -> bool:
        """Create a file unless it is there; False if it is."""

    def write(self, name: str, text: str) -> None:
        """Create or replace a file."""

    def remove(self, names: Sequence[str]) -> None:
        """Remove files and directories, one after the other."""

    def remove_text(self, name: str, text: str) -> None:
        """Remove a file that has this text still."""


class DiskFolder:
    """A directory on a disk."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    def names(self) -> list[str]:
        """Return the names of all that is in it."""
        try:
            return sorted(os.listdir(self.path))
        except FileNotFoundError:
            return []

    def text(self, name: str) -> str | None:
        """Return the text of a file, None if there is none."""
        try:
            return (self.path / name).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def create(self, name: str, text: str) -> bool:
        """Create a file unless it is there."""
        store.make_folder(self.path)
        return store.create_file(self.path / name, text.encode())

    def write(self, name: str, text: str) -> None:
        """Create or replace a file."""
        store.write_file(self.path / name, text)

    def remove(self, names: Sequence[str]) -> None:
        """Remove files and directories; every one is gone from the disk before the next."""
        for name in names:
            with suppress(FileNotFoundError):
                if (self.path / name).is_dir():
                    shutil.rmtree(self.path / name)
                else:
                    (self.path / name).unlink()
            if name == SUCCESS:
                store.sync_folder(self.path)

    def remove_text(self, name: str, text: str) -> None:
        """Remove a file that has this text still; of two that find it, the second one leaves what
        the first one made.
        """
        with store.locked(self.path):
            if self.text(name) == text:
                self.remove([name])

    def open_parts(self) -> None:
        """Make the place where parts are written."""
        store.make_folder(self.path / PARTS)

    def take_parts(self, names: Sequence[str]) -> None:
        """Give these parts their place, and remove all others."""
        for name in names:
            (self.path / PARTS / name).rename(self.path / name)
        store.sync_folder(self.path)
        self.remove([PARTS])


class Writer(NamedTuple):
    """Who writes: the processes that must all be dead before the claim is free, none if that is not
    known.
    """

    host: str
    pids: tuple[int, ...]

    @classmethod
    def here(cls, *pids: int) -> "Writer":
        """Return a writer of this machine."""
        return cls(socket.gethostname(), pids)


class DirectoryState(NamedTuple):
    """What a directory holds."""

    names: list[str]
    plan_id: (
        str | None
    )  # of the plan that is there, or was begun; "" for one of `rmqalloc bulk`, None if it is no plan

    @classmethod
    def of(cls, folder: Folder) -> "DirectoryState":
        """Look at a directory."""
        names = folder.names()
        marker = _parsed(folder.text(MARKER)) if MARKER in names else {}
        is_plan = marker.get("tool") == "rmqalloc" and marker.get("kind") == "plan"
        return cls(names, str(marker.get("plan", "")) if is_plan else None)

    @property
    def is_complete(self) -> bool:
        """Return whether there is a complete plan."""
        return self.plan_id == "" or (self.plan_id is not None and SUCCESS in self.names)

    def check(self, shown: str, plan_id: str, overwrite: bool) -> None:
        """Refuse a directory in which something would be lost."""
        # Files of a run that was killed before the directory was a plan.
        begun = (CLAIM, f".{CLAIM}.", f".{MARKER}.")
        there = [name for name in self.names if not name.startswith(begun)]
        if there and self.plan_id is None:
            raise PlanExistsError(
                f"{shown} holds no plan, but files such as {there[0]}; give a new or empty directory"
            )
        for name in there:
            if not any(fnmatch(name, pattern) for pattern in _OURS):
                raise PlanExistsError(
                    f"{shown} is a plan, but {name} in it is not of rmqalloc; move that away"
                )
        if self.is_complete and self.plan_id != plan_id and not overwrite:
            other = "a plan of `rmqalloc bulk` without Spark"
            if self.plan_id:
                other = f"another plan, {self.plan_id}"
            raise PlanExistsError(
                f"{shown} holds {other}; give another directory, or --overwrite to replace it"
            )


@contextmanager
def writing(
    folder: Folder, shown: str, plan_id: str, overwrite: bool, writer: Writer
) -> Iterator[bool]:
    """Hold the claim of a directory that may take a plan; yields False, and holds nothing, if this
    plan is complete.

    `clear` comes first in the block.
    """
    if _is_there(folder, shown, plan_id, overwrite):
        yield False
        return
    claim = _claimed(folder, shown, plan_id, writer)
    try:
        # Another run, or the Java of one whose Python was killed, may have completed it meanwhile.
        yield not _is_there(folder, shown, plan_id, overwrite)
    except Exception:
        folder.remove_text(CLAIM, claim)
        raise
    # An interrupt does not reach Spark's commit, so the claim stays until this process and its Java
    # have ended.
    folder.remove_text(CLAIM, claim)


def _is_there(folder: Folder, shown: str, plan_id: str, overwrite: bool) -> bool:
    state = DirectoryState.of(folder)
    state.check(shown, plan_id, overwrite)
    return state.is_complete and state.plan_id == plan_id and not overwrite


def clear(folder: Folder, plan_id: str) -> None:
    """Remove an earlier plan, or what a killed run has left of one, under the claim."""
    folder.remove([SUCCESS])
    folder.write(MARKER, json.dumps({"tool": "rmqalloc", "kind": "plan", "plan": plan_id}) + "\n")
    folder.remove([name for name in folder.names() if name not in (MARKER, CLAIM)])


def _claimed(folder: Folder, shown: str, plan_id: str, writer: Writer) -> str:
    """Create the claim and return its text; ClaimedError if somebody holds it."""
    mine = json.dumps({**writer._asdict(), "since": time.time(), "plan": plan_id}) + "\n"
    theirs = None
    for _ in range(_TRIES):
        if folder.create(CLAIM, mine):
            return mine
        theirs = folder.text(CLAIM)
        if theirs is not None:
            found = _parsed(theirs)
            if not _is_dead(found, writer.host):
                raise ClaimedError(_taken(shown, found))
            folder.remove_text(CLAIM, theirs)
    raise ClaimedError(_taken(shown, _parsed(theirs)))


def _taken(shown: str, claim: dict[str, Any]) -> str:
    since = claim.get("since")
    age = f", for {max(time.time() - since, 0):,.0f} s" if isinstance(since, int | float) else ""
    pids = claim.get("pids")
    who = (
        f"process {pids[0]} on {claim.get('host')}"
        if isinstance(pids, list) and pids
        else f"{claim.get('host')}"
    )
    return (
        f"{shown} is being written by {who}{age}, says {CLAIM} in it. Wait for it; if it is surely dead, remove that file "
        "and run this again"
    )


def _is_dead(claim: dict[str, Any], host: str) -> bool:
    """Return whether all processes of a claim were of this machine and have ended."""
    pids = claim.get("pids")
    known = isinstance(pids, list) and pids and all(isinstance(pid, int) for pid in pids)
    return (
        bool(known)
        and claim.get("host") == host
        and os.name == "posix"
        and not any(map(_is_alive, pids or ()))
    )


def _is_alive(pid: int) -> bool:
    with suppress(
        OSError
    ):  # one that has ended, and that its parent has not asked for, still has its number
        if (
            Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
            in "ZX"
        ):
            return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError, ValueError):
        pass
    return True


def _parsed(text: str | None) -> dict[str, Any]:
    """Return what one of these files holds; nothing if it is damaged."""
    try:
        found = json_text.loads(text or "{}")
    except DocumentError:
        return {}
    return found if isinstance(found, dict) else {}
