"""The one way to write: what is written is seen whole or not at all, and what stood there before stays until then.

In this order of goals: nothing that was whole is ever lost; nobody sees half of anything; two writers do not disturb each
other; nothing is left behind. A file or directory is made under a name that nobody can guess or has laid a link at, is
brought to the disk, and takes its place in one step. What a killed writer leaves bears a name of ours and is locked by nobody:
the next writer to the same place removes it.

All of it holds on Linux. Where the system cannot exchange two directories in one step there is a moment without any; where it
has no file locks, leftovers stay. See docs/writing.md for the table.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO

try:
    import fcntl
except ModuleNotFoundError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["LockedError", "create_file", "locked", "replaced_directory", "replaced_file", "sweep", "write_file"]

LOCK_SECONDS = 30.0
"""Seconds to wait for another writer; what a lock guards takes far less than one."""

_FILE_FLAGS = (
    os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)  # fmt: skip
_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_NOREPLACE, _EXCHANGE = 1, 2
_NOT_OFFERED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)

StrPath = str | os.PathLike[str]


class LockedError(OSError):
    """Another writer holds a place for longer than anybody should."""


def write_file(path: StrPath, content: str | bytes) -> None:
    """Write a file in one step; arguments and errors as `replaced_file`.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "plan.json"
    >>> write_file(path, "{}")
    >>> path.read_text(), [one.name for one in path.parent.iterdir()]
    ('{}', ['plan.json'])
    """
    with replaced_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def replaced_file(path: StrPath) -> Iterator[BinaryIO]:
    """Fill a file that takes the place of ``path`` when the block ends without an error.

    Parameters
    ----------
    path : path
        Where the file shall stand. A link is followed, and what it points to is replaced; a device or a pipe is written to as
        it is. Permissions of a file that is there already are kept.

    Yields
    ------
    binary file
        An error in the block, or when it ends, removes it; ``path`` stays as it was.

    Raises
    ------
    OSError
        It cannot be written; the error names ``path``.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():  # such as /dev/stdout: not ours to replace
        with open(path, "wb") as file:
            yield file
        return
    with _named(path):
        sweep(target)
        new, descriptor = _new_file(target)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            with _named(path):
                file.flush()
                _keep_mode(target, file)
                os.fsync(file.fileno())
                os.replace(new, target)
                _sync_folder(target.parent)
    except OSError as error:
        raise _renamed(error, new, path) from None
    finally:
        new.unlink(missing_ok=True)


def create_file(path: StrPath, content: bytes) -> bool:
    """Write a file that is not there yet, in one step.

    Returns
    -------
    bool
        Whether it was written here; False if somebody else was first, whose file stays as it is.

    Raises
    ------
    OSError
        It cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "manifest.json"
    >>> create_file(path, b"1"), create_file(path, b"2"), path.read_text()
    (True, False, '1')
    """
    target = Path(path)
    with _named(path):
        sweep(target)
        new, descriptor = _new_file(target)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                try:
                    os.link(new, target)
                except FileExistsError:
                    return False
                except OSError as error:
                    if error.errno not in _NOT_OFFERED or not _rename(new, target, _NOREPLACE):
                        raise
            _sync_folder(target.parent)
            return True
        finally:
            new.unlink(missing_ok=True)


@contextmanager
def replaced_directory(path: StrPath) -> Iterator[Path]:
    """Fill a new directory that takes the place of ``path`` when the block ends without an error.

    Parameters
    ----------
    path : path
        Where the directory shall stand; whatever directory is there then is removed with all that it holds.

    Yields
    ------
    Path
        An empty directory beside ``path``. An error in the block removes it; ``path`` stays as it was.

    Raises
    ------
    OSError
        It cannot be written.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    sweep(target)
    new, descriptor = _new_directory(target)
    try:
        yield new
        _sync_tree(new)
        with locked(target.parent):
            _take_place(new, target)
        _sync_folder(target.parent)
    finally:
        os.close(descriptor)
        shutil.rmtree(new, ignore_errors=True)  # what stood there before, if it was exchanged


@contextmanager
def locked(folder: StrPath, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold a folder for one writer at a time; a writer that is killed holds nothing.

    Raises
    ------
    LockedError
        Somebody else holds it for longer than ``seconds``.
    OSError
        There is no such folder.
    """
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, _FOLDER_FLAGS & ~getattr(os, "O_NOFOLLOW", 0))
    try:
        until = time.monotonic() + seconds
        while not _lock(descriptor):
            if time.monotonic() > until:
                raise LockedError(errno.EAGAIN, f"another program has been writing here for {seconds:g} s", str(folder))
            time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)  # which lets go of the lock


def sweep(path: StrPath) -> None:
    """Remove what killed writers to ``path`` have left beside it; what a living one is writing stays."""
    target = Path(path)
    leftover = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}\.new")
    if fcntl is None:
        return
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if leftover.fullmatch(entry.name) and not entry.is_symlink():
                _remove_if_dead(Path(entry.path))


def _remove_if_dead(leftover: Path) -> None:
    """Remove it unless its writer holds it."""
    with suppress(OSError):
        descriptor = os.open(leftover, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | os.O_NONBLOCK)
        try:
            if not _lock(descriptor):
                return
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink()
        finally:
            os.close(descriptor)


def _new_name(target: Path) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(8)}.new")


def _new_file(target: Path) -> tuple[Path, int]:
    """A file of our own beside the target, locked: whoever sweeps sees that it is alive."""
    while True:
        new = _new_name(target)
        descriptor = os.open(new, _FILE_FLAGS, 0o666)
        if _is_ours(descriptor, new):
            return new, descriptor
        os.close(descriptor)


def _new_directory(target: Path) -> tuple[Path, int]:
    """As `_new_file`."""
    while True:
        new = _new_name(target)
        new.mkdir()
        if fcntl is None:
            return new, os.open(os.devnull, os.O_RDONLY)
        with suppress(FileNotFoundError):  # swept before it was locked
            descriptor = os.open(new, _FOLDER_FLAGS)
            if _is_ours(descriptor, new):
                return new, descriptor
            os.close(descriptor)


def _is_ours(descriptor: int, new: Path) -> bool:
    """Lock what was made; False if somebody swept it away before it was locked."""
    _lock(descriptor)
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(new))
    except FileNotFoundError:
        return False


def _lock(descriptor: int) -> bool:
    """Lock without waiting; True if it is ours, False if somebody else has it or nobody can."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _keep_mode(target: Path, file: IO[bytes]) -> None:
    with suppress(OSError, AttributeError):  # not there yet, or not a system that has permissions
        os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))


def _take_place(new: Path, target: Path) -> None:
    """Let the new directory stand at the target; what was there stands at ``new`` afterwards."""
    if not os.path.lexists(target):
        new.rename(target)
    elif not _rename(new, target, _EXCHANGE):
        old = _new_name(target)
        target.rename(old)
        new.rename(target)
        old.rename(new)


def _rename(old: Path, new: Path, flags: int) -> bool:
    """Linux's renameat2; False where it is not offered."""
    import ctypes

    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    at_cwd = -100
    if renameat2(at_cwd, os.fsencode(old), at_cwd, os.fsencode(new), flags) == 0:
        return True
    code = ctypes.get_errno()
    if code in _NOT_OFFERED:
        return False
    raise OSError(code, os.strerror(code), str(new))


def _sync_tree(root: Path) -> None:
    """Bring a directory and all in it to the disk."""
    for folder, _, names in os.walk(root):
        for name in names:
            descriptor = os.open(os.path.join(folder, name), os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        _sync_folder(Path(folder))


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(folder, _FOLDER_FLAGS & ~getattr(os, "O_NOFOLLOW", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _named(path: StrPath) -> Iterator[None]:
    """Errors name the path that was asked for: that of a file of ours would tell nobody anything."""
    try:
        yield
    except OSError as error:
        raise _renamed(error, None, path) from None


def _renamed(error: OSError, new: Path | None, path: StrPath) -> OSError:
    is_ours = new is None or error.filename in (None, os.fspath(new))
    if error.errno is None or not is_ours:
        return error
    return type(error)(error.errno, error.strerror, os.fspath(path))
