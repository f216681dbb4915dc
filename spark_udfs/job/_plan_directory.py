"""A directory with one plan: when it is complete, who writes it, and what may be removed. Imports
no pyspark.

::

    OUT/_rmqalloc.json          this directory is ours; the id of the plan
    OUT/_rmqalloc_claim.json    who writes the plan now
    OUT/_temporary-TOKEN/       parts that the run with this token writes, on a disk
    OUT/part-*.parquet          the plan
    OUT/_SUCCESS                the id of the plan, and its parts with their rows: it is complete
    OUT/_summary.json, .txt     totals and the worst units, after it; remade where they are missing

Goals, in this order: what has ``_SUCCESS`` is one whole plan; nothing that is not ours is removed;
a run that was killed blocks no other. A plan that is replaced loses ``_SUCCESS`` first, so from
then until the new one there is no plan.

Whoever writes holds the claim, which is created exclusively. But people remove claims, and some
stores create nothing exclusively, so a run looks whether the claim is its own before it clears the
directory, before ``_SUCCESS`` and after it. On a disk each look and what follows it are one step
for other runs, and parts take their place within such a step. In a store Spark's committer puts
them there at any time: a run that has lost its claim removes what it has put beside the
``_SUCCESS`` of another.
"""

import json
import os
import secrets
import shutil
import socket
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyarrow.parquet as pq

from rmqalloc.documents import DocumentError, json_text, store
from rmqalloc.errors import Error
from rmqalloc.snapshot.directory import MARKER

SUCCESS = "_SUCCESS"
CLAIM = "_rmqalloc_claim.json"
SUMMARY = "_summary.json"
SUMMARY_TEXT = "_summary.txt"

PARTS = "_temporary"
"""What names of places begin with where parts are until all are written; Spark's committer uses it as it is."""

_STAGED = (CLAIM, MARKER, SUCCESS, SUMMARY, SUMMARY_TEXT)
_OURS = (*_STAGED, *(f".{name}.*" for name in _STAGED), "part-*", ".*.crc", f"{PARTS}*")
_TRIES = 5


class PlanExistsError(Error, FileExistsError):
    """The directory holds something else: the message says what, and what would be right."""


class ClaimedError(Error, RuntimeError):
    """Somebody else writes to the directory; the message says who, and since when."""


class IncompleteError(Error, RuntimeError):
    """The directory does not hold exactly the rows of the plan; the message says what differs."""


class Place(Protocol):
    """A directory that may be out of this process's reach."""

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of the directory, given as its first argument, where it can be reached."""


class Folder(Place, Protocol):
    """A directory within reach; names are those of what lies in it, and missing is no error."""

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of the directory."""
        return function(self, *arguments)

    def locked(self) -> AbstractContextManager[None]:
        """Keep other runs out of blocks like this, where the file system has locks."""
        return nullcontext()

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

    def counted(self, stage: str, plan_id: str) -> dict[str, int]:
        """Return the parts of a plan that a run has written, with their rows."""

    def place(self, stage: str, names: Collection[str]) -> None:
        """Move parts to their place unless they were written there."""


class DiskFolder(Folder):
    """A directory on a disk."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    def locked(self) -> AbstractContextManager[None]:
        """Lock the directory; a process that ends holds nothing."""
        return store.locked(self.path)

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

    def open_stage(self, stage: str) -> None:
        """Make the place where workers write parts."""
        store.make_folder(self.path / stage)

    def counted(self, stage: str, plan_id: str) -> dict[str, int]:
        """Return the parts in a run's own place, with their rows."""
        found = (self.path / stage).glob("part-*")
        return {path.name: pq.read_metadata(path).num_rows for path in found}

    def place(self, stage: str, names: Collection[str]) -> None:
        """Move parts to their place, and remove all others."""
        for name in names:
            (self.path / stage / name).rename(self.path / name)
        store.sync_folder(self.path)
        self.remove([stage])


class DirectoryState(NamedTuple):
    """What a directory holds."""

    names: list[str]
    plan_id: (
        str | None
    )  # of the plan that is there, or was begun; "" for one of `rmqalloc bulk`, None if it is no plan
    fault: str  # why the plan is not complete; "" if it is

    @classmethod
    def of(cls, folder: Folder) -> "DirectoryState":
        """Look at a directory."""
        names = folder.names()
        marker = _parsed(folder.text(MARKER)) if MARKER in names else {}
        if marker.get("tool") != "rmqalloc" or marker.get("kind") != "plan":
            return cls(names, None, "it holds no plan")
        plan_id = str(marker.get("plan", ""))
        return cls(names, plan_id, plan_id and _fault(folder, names, plan_id))

    def has(self, shown: str, plan_id: str, overwrite: bool) -> bool:
        """Return whether a plan needs no writing; refuse a directory in which something would be
        lost.
        """
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
                    f"{shown} is a plan, but {name} in it is not a file of rmqalloc; move it away"
                )
        was_complete = SUCCESS in self.names or self.plan_id == ""
        if was_complete and self.plan_id != plan_id and not overwrite:
            other = "a plan of `rmqalloc bulk` without Spark"
            if self.plan_id:
                other = f"another plan, {self.plan_id}"
            damage = f" (not complete: {self.fault})" if self.fault else ""
            raise PlanExistsError(
                f"{shown} holds {other}{damage}; give another directory, or replace it with --overwrite (overwrite=True)"
            )
        return self.plan_id == plan_id and not self.fault and not overwrite


def _fault(folder: Folder, names: list[str], plan_id: str) -> str:
    if SUCCESS not in names:
        return f"there is no {SUCCESS}"
    success = _parsed(folder.text(SUCCESS))
    listed = success.get("parts")
    if not isinstance(listed, dict):
        return f"{SUCCESS} does not list the parts of a plan"
    if success.get("plan") != plan_id:
        return f"{SUCCESS} is of plan {success.get('plan')}, but {MARKER} of {plan_id}"
    return _difference(names, listed)


def _difference(names: Iterable[str], listed: Collection[str]) -> str:
    """Return how the parts that are there differ from those of the plan, "" if they do not."""
    there = _parts(names)
    for name in sorted(there - set(listed)):
        return f"{name} is not one of its {len(listed):,} parts"
    for name in sorted(set(listed) - there):
        return f"its part {name} is missing"
    return ""


def _parts(names: Iterable[str]) -> set[str]:
    return {name for name in names if name.startswith("part-")}


def described(folder: Folder, plan_id: str) -> str:
    """Say which complete plan a directory holds, beside the plan of that id."""
    state = DirectoryState.of(folder)
    if state.plan_id is None or state.fault:
        return "no complete plan"
    which = "the" if state.plan_id == plan_id else "another"
    return f"{which} complete plan {state.plan_id}".rstrip()


def listed(folder: Folder, shown: str, plan_id: str) -> list[str]:
    """Return the names of the parts of a plan; IncompleteError unless it is there and complete."""
    state = DirectoryState.of(folder)
    if state.plan_id != plan_id or state.fault:
        raise IncompleteError(
            f"{shown} does not hold the complete plan {plan_id}: {state.fault or f'it holds {state.plan_id}'}"
        )
    return sorted(_parts(state.names))


@contextmanager
def writing(
    folder: Place, shown: str, plan_id: str, overwrite: bool, writer: dict[str, Any]
) -> Iterator[str]:
    """Hold the claim of a directory that may take a plan; yields it, or "" if this plan is complete.

    `clear` comes first in the block, and `publish` last.
    """
    claim = folder.run(claimed, shown, plan_id, overwrite, writer)
    try:
        yield claim
    except Exception as error:
        if claim and folder.run(given_up, claim) and not isinstance(error, ClaimedError):
            raise ClaimedError(_lost(shown)) from error
        raise
    # An interrupt does not reach Spark's commit, so the claim stays until this process and its Java
    # have ended.
    if claim:
        folder.run(_released, claim)


def claimed(
    folder: Folder, shown: str, plan_id: str, overwrite: bool, writer: dict[str, Any]
) -> str:
    """Claim a directory that may take a plan; return the claim, or "" if this plan is complete."""
    state = DirectoryState.of(folder)
    if state.has(shown, plan_id, overwrite):
        return ""
    damage = state.fault if SUCCESS in state.names else ""
    claim = _created(folder, shown, {**writer, "plan": plan_id, "damage": damage})
    is_there = True
    try:
        # Another run may have completed it meanwhile.
        is_there = DirectoryState.of(folder).has(shown, plan_id, overwrite)
    finally:
        if is_there:
            _released(folder, claim)
    return "" if is_there else claim


def damage_of(claim: str) -> str:
    """Return why a plan with ``_SUCCESS`` that was there is not complete; "" if it was."""
    return str(_parsed(claim)["damage"])


def clear(folder: Folder, shown: str, claim: str) -> None:
    """Remove an earlier plan, or what a killed run has left of one, under the claim."""
    with folder.locked():
        _check_claim(folder, shown, claim)
        folder.remove([SUCCESS])
        marker = {"tool": "rmqalloc", "kind": "plan", "plan": _parsed(claim)["plan"]}
        folder.write(MARKER, json.dumps(marker) + "\n")
        folder.remove([name for name in folder.names() if name not in (MARKER, CLAIM)])


def stage_of(claim: str) -> str:
    """Return where a run writes its parts, if they have another place first."""
    return f"{PARTS}-{_parsed(claim)['token']}"


def publish(
    folder: Folder, shown: str, claim: str, n_rows: int, names: Collection[str] | None = None
) -> None:
    """Complete a plan, given the rows that tasks have reported, and the parts if they are known.

    Raises
    ------
    ClaimedError, IncompleteError
        The claim is not this run's any more, parts are missing, or there are others; there is no
        ``_SUCCESS`` of this run.
    """
    plan_id, stage = _parsed(claim)["plan"], stage_of(claim)
    parts = folder.counted(stage, plan_id)
    if names is not None:
        parts = {name: rows for name, rows in parts.items() if name in names}
    success = json.dumps({"plan": plan_id, "rows": n_rows, "parts": parts}, sort_keys=True) + "\n"
    with folder.locked():
        _check_claim(folder, shown, claim)
        if sum(parts.values()) != n_rows or len(parts) < len(names or ()):
            raise IncompleteError(
                f"{shown}: {len(parts):,} parts hold {sum(parts.values()):,} rows of the plan, but tasks have written "
                f"{n_rows:,}; it is not complete, run this again"
            )
        folder.place(stage, parts)
        _check_parts(folder, shown, parts)
        if not folder.create(SUCCESS, success):
            raise ClaimedError(_lost(shown))
        try:
            _check_claim(folder, shown, claim)
            _check_parts(folder, shown, parts)
        except Error:
            if folder.text(SUCCESS) == success:
                folder.remove([SUCCESS])
            raise


def given_up(folder: Folder, claim: str) -> bool:
    """Remove what a run that has failed has written, and its claim; return whether that was lost."""
    folder.remove([stage_of(claim)])
    if folder.text(CLAIM) == claim:
        _released(folder, claim)
        return False
    # In this order: parts of a run that begins now come after the `_SUCCESS` that is read.
    names = folder.names()
    success = _parsed(folder.text(SUCCESS)).get("parts")
    if isinstance(success, dict):
        folder.remove(sorted(_parts(names) - success.keys()))
    return True


def _released(folder: Folder, claim: str) -> None:
    """Remove a claim that is there still; of two that find it, the second one leaves what the first
    one made.
    """
    with folder.locked():
        if folder.text(CLAIM) == claim:
            folder.remove([CLAIM])


def _check_claim(folder: Folder, shown: str, claim: str) -> None:
    if folder.text(CLAIM) != claim:
        raise ClaimedError(_lost(shown))


def _check_parts(folder: Folder, shown: str, parts: Collection[str]) -> None:
    if difference := _difference(folder.names(), parts):
        raise IncompleteError(
            f"{shown} does not hold exactly the plan of this run: {difference}; it is not complete, run this again"
        )


def _lost(shown: str) -> str:
    return (
        f"{CLAIM} in {shown} is no longer the file that this run created, so another program may write there, and nothing "
        "of this run is complete. Make sure that one run at a time writes there, and run this again"
    )


# --- Who holds the claim ---

_NAMESPACES = ("/proc/self/ns/pid", "/proc/self/ns/time")
"""Within these, numbers of processes and the times of their starts mean the same."""

_ELSEWHERE = {
    "host": "it runs on another machine, so its processes may be alive",
    "boot": "it began before the last start of this machine, or on another machine of the same name",
    "namespaces": "it runs in another PID namespace, as of a container, so its processes may be alive",
}


def writer_here(*pids: int) -> dict[str, Any]:
    """Return who writes: the processes that must all have ended before the claim is free, each with
    the time of its start, and where their numbers hold; "" or none if that is not known.
    """
    boot = spaces = ""
    # A process in a namespace of its own may see the numbers of another one in /proc.
    with suppress(OSError):
        if os.readlink("/proc/self") == str(os.getpid()):
            spaces = " ".join(os.readlink(path) for path in _NAMESPACES if os.path.lexists(path))
            boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    processes = [(pid, _started(pid)) for pid in pids]
    return {
        "host": socket.gethostname(),
        "boot": boot,
        "namespaces": spaces,
        "processes": processes,
    }


def _started(pid: int) -> int | None:
    """Return when a process was started, in ticks; -1 if it has ended, None if it is not seen."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    # A process that has ended, and that its parent has not asked for, still has its number.
    return -1 if fields[0] in "ZX" else int(fields[19])


def _created(folder: Folder, shown: str, claim: dict[str, Any]) -> str:
    """Create the claim and return its text; ClaimedError if somebody holds it."""
    now = datetime.now(UTC).isoformat(" ", "seconds")
    mine = json.dumps({**claim, "token": secrets.token_hex(8), "since": now}) + "\n"
    found: dict[str, Any] = {}
    for _ in range(_TRIES):
        if folder.create(CLAIM, mine):
            return mine
        theirs = folder.text(CLAIM)
        if theirs is not None:
            found = _parsed(theirs)
            if _held(found):
                break
            _released(folder, theirs)
    since = found.get("since", "an unknown time")
    raise ClaimedError(
        f"{shown} is being written by {found.get('host', 'an unknown host')} since {since}, according to {CLAIM} in it; "
        f"{_held(found) or 'other programs write there, too'}. Wait for the writer; if it is surely dead, remove that file "
        "and run this again"
    )


def _held(claim: dict[str, Any]) -> str:
    """Return why a claim is not free, "" if all its processes are known to have ended."""
    here = writer_here()
    if not here["boot"]:
        return "this system does not report whether its processes are alive"
    for what, why in _ELSEWHERE.items():
        if claim.get(what) != here[what]:
            return why
    try:
        processes = [(int(pid), int(started)) for pid, started in claim["processes"]]
    except (KeyError, TypeError, ValueError):
        processes = []
    if not processes:
        return "it does not name the writing processes, so they may be alive"
    alive = [pid for pid, started in processes if not _has_ended(pid, started)]
    return f"its process {alive[0]} is alive" if alive else ""


def _has_ended(pid: int, started: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # somebody else's
        pass
    return _started(pid) not in (None, started)


def _parsed(text: str | None) -> dict[str, Any]:
    """Return what one of these files holds; nothing if it is damaged."""
    try:
        found = json_text.loads(text or "{}")
    except DocumentError:
        return {}
    return found if isinstance(found, dict) else {}
