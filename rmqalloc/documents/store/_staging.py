"""Files and directories that are being written, under names of our own, and what killed writers
leave of them.

Two invariants: whoever makes a name locks it before anything else, and gives it up if somebody else
has locked or removed it. So what a sweeper can lock belongs to no living writer. And a directory
that stood at its place is locked while it is moved away, so no sweeper takes it for a leftover
before that is settled; if its writer is killed while nothing stands there, it bears the suffix
``.old`` and is put back.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from rmqalloc.documents.store._disk import CLOEXEC, FOLDER, NOFOLLOW
from rmqalloc.documents.store._locks import LockedError, has_locks, try_lock

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | CLOEXEC | getattr(os, "O_BINARY", 0)
_MOST_NAMES = 100
_LONGEST_STEM = 100  # bytes: with what is added, far below the longest name of any file system


def sweep(path: str | os.PathLike[str]) -> None:
    """Remove the files that killed writers to ``path`` have left beside it; files of running
    writers stay.

    A directory that a killed writer had moved away from ``path`` is put back if nothing is there
    now.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / ".plan.json.0123456789abcdef.new").touch()
    >>> sweep(folder / "plan.json"), list(folder.iterdir())
    (None, [])
    """
    target = Path(path)
    if not has_locks():
        return
    start = f".{stem_of(target.name)}."
    leftover = re.compile(re.escape(start) + r"[0-9a-f]{16}\.(new|old)")
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if entry.name.startswith(start) and leftover.fullmatch(entry.name):
                _settle(Path(entry.path), target)


def stem_of(name: str) -> str:
    """Return what our names beside it begin with, after a dot: the name itself unless it is long."""
    data = os.fsencode(name)
    return name if len(data) <= _LONGEST_STEM else hashlib.sha256(data).hexdigest()[:32]


def new_name(target: Path, suffix: str = "new") -> Path:
    """Return a name beside the target that cannot be guessed."""
    return target.with_name(f".{stem_of(target.name)}.{secrets.token_hex(8)}.{suffix}")


@contextmanager
def staged_file(target: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """Make a locked file beside the target, with no more permissions than the target has; remove it
    unless it was renamed.
    """
    mode = _mode_of(target, 0o666)
    for _ in range(_MOST_NAMES):
        new = new_name(target)
        try:
            with os.fdopen(os.open(new, _NEW_FILE, mode), "wb") as file:
                if _is_ours(file.fileno(), new):
                    yield new, file
                    return
        finally:
            with suppress(OSError):
                new.unlink()
    raise LockedError(errno.EAGAIN, "another program locks every new file here", os.fspath(target))


@contextmanager
def staged_directory(target: Path) -> Iterator[tuple[Path, int]]:
    """Make a directory as `staged_file` does a file, with its lock's descriptor or -1; remove what
    has its name in the end.
    """
    mode = _mode_of(target, 0o777) | stat.S_IRWXU
    for _ in range(_MOST_NAMES):
        new = new_name(target)
        descriptor = -1
        try:
            new.mkdir(mode)
            if has_locks():
                with suppress(FileNotFoundError):  # swept before it was locked
                    descriptor = os.open(new, FOLDER | NOFOLLOW)
                if descriptor < 0 or not _is_ours(descriptor, new):
                    continue
            yield new, descriptor
            return
        finally:
            remove_tree(new)
            if descriptor >= 0:
                os.close(descriptor)
    raise LockedError(
        errno.EAGAIN, "another program locks every new directory here", os.fspath(target)
    )


def remove_tree(path: Path) -> None:
    """Remove a directory as far as that is possible: the next writer tries again."""
    with suppress(OSError):  # Python's own raises one when it is interrupted
        shutil.rmtree(path, ignore_errors=True)


def _mode_of(target: Path, default: int) -> int:
    """Return permissions to make a file with that replaces the target."""
    with suppress(OSError):
        return stat.S_IMODE(target.stat().st_mode) & 0o777
    return default


def _is_ours(descriptor: int, new: Path) -> bool:
    """Lock what was made; False if a sweeper was faster."""
    if try_lock(descriptor) is False:
        return False
    if not has_locks():
        return True
    try:
        return os.path.samestat(os.fstat(descriptor), new.lstat())
    except FileNotFoundError:
        return False


def _settle(leftover: Path, target: Path) -> None:
    """Remove it, or put it back where nothing stands any more, unless its writer holds it."""
    with suppress(OSError):
        kind = stat.S_IFMT(leftover.lstat().st_mode)
        if kind not in (stat.S_IFREG, stat.S_IFDIR):
            return
        descriptor = os.open(leftover, os.O_RDONLY | NOFOLLOW | CLOEXEC | os.O_NONBLOCK)
        try:
            # A shared lock shows that nobody holds it, and NFS grants one on what is open for
            # reading only.
            is_dead = try_lock(descriptor, shared=True) is True
            if not is_dead or not os.path.samestat(os.fstat(descriptor), leftover.lstat()):
                return  # else it may be what has just taken its place, and the name another directory's
            if leftover.suffix == ".old" and not os.path.lexists(target):
                leftover.rename(target)
            elif kind == stat.S_IFDIR:
                remove_tree(leftover)
            else:
                leftover.unlink()
        finally:
            os.close(descriptor)
