"""Files and directories that take their place when they are complete."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Literal

from rmqalloc.documents.store._disk import (
    CLOEXEC,
    NOT_OFFERED,
    exchange,
    keep_rights,
    make_folder,
    move,
    sync_names,
    sync_tree,
)
from rmqalloc.documents.store._locks import LockedError, has_locks, locked, unlock
from rmqalloc.documents.store._staging import (
    new_name,
    remove_tree,
    staged_directory,
    staged_file,
    stem_of,
    sweep,
)

StrPath = str | os.PathLike[str]
Synced = Literal["all", "content", "nothing"]

_OPEN_FILES = ("/proc/", "/dev/fd/")
_MOST_LINKS = 40


def write_file(path: StrPath, content: str | bytes, *, sync: Synced = "all") -> None:
    """Write a file in one step, text as UTF-8; arguments and errors as `replaced_file`.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "plan.json"
    >>> write_file(path, "{}")
    >>> path.read_text(), [one.name for one in path.parent.iterdir()]
    ('{}', ['plan.json'])
    """
    data = content.encode() if isinstance(content, str) else content
    with replaced_file(path, sync=sync) as file:
        file.write(data)


@contextmanager
def replaced_file(path: StrPath, *, sync: Synced = "all") -> Iterator[BinaryIO]:
    """Fill a file that takes the place of ``path`` when the block ends without an error.

    Parameters
    ----------
    path : path
        The file to write. A link is followed, and its target is replaced. A device, a pipe or an
        open file such as ``/dev/stdout`` is written to as it is. Permissions and, where allowed,
        owner and group of an existing file are kept; a read-only file is refused.
    sync : str
        What is on the disk when this returns: ``all``; ``content``, after which a loss of power may
        bring back the complete earlier file; or ``nothing``, after which it may leave an empty
        file.

    Yields
    ------
    binary file
        An error in the block, or when it ends, removes it; ``path`` stays as it was.

    Raises
    ------
    OSError
        It cannot be written; the error names ``path``.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "plan.json"
    >>> with replaced_file(path) as file:
    ...     _ = file.write(b"{}")
    ...     path.exists()
    False
    >>> path.exists()
    True
    """
    with _named(path):
        target = _followed(path)
        if _is_written_in_place(target):
            with os.fdopen(_opened(target), "wb") as file:
                yield file
            return
        _check_writable(target)
        sweep(target)
        with staged_file(target) as (new, file):
            yield file
            _complete(file, target, sync)
            os.replace(new, target)
        if sync == "all":
            sync_names(target.parent)


def create_file(path: StrPath, content: bytes) -> bool:
    """Write a file that does not exist yet, in one step.

    Returns
    -------
    bool
        Whether this call wrote the file; False if another writer was first, whose file stays as it
        is.

    Raises
    ------
    OSError
        The file cannot be written; the error names ``path``.

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
        with staged_file(target) as (new, file):
            file.write(content)
            _complete(file, None, "all")
            if not _is_linked(new, target):
                return False
        sync_names(target.parent)
    return True


@contextmanager
def replaced_directory(
    path: StrPath, check: Callable[[Path], object] | None = None
) -> Iterator[Path]:
    """Fill a new directory that takes the place of ``path`` when the block ends without an error.

    Parameters
    ----------
    path : path
        Where the directory shall stand; whatever directory is there then is removed with all that
        it holds. Its permissions are kept.
    check : callable, optional
        Called with where the earlier directory is: before it is replaced, and again when it is out
        of everybody's way. An error of it leaves everything as it was.

    Yields
    ------
    Path
        An empty directory beside ``path``. An error in the block removes it; ``path`` stays as it
        was.

    Raises
    ------
    OSError
        It cannot be written; the error names ``path``.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "out"
    >>> with replaced_directory(path) as new:
    ...     _ = (new / "part-0").write_text("")
    >>> [one.name for one in path.iterdir()], [one.name for one in path.parent.iterdir()]
    (['part-0'], ['out'])
    """
    with _named(path):
        target = Path(os.path.realpath(path))
        make_folder(target.parent)
        sweep(target)
        _check_replaceable(target)
        with staged_directory(target) as (new, descriptor):
            yield new
            sync_tree(new)
            with locked(target.parent):
                _take_place(new, target, check or (lambda _: None))
                unlock(
                    descriptor
                )  # it stands at the target now, where the next writer will lock it
            sync_names(target.parent)


# --- Where a path leads ---


def _followed(path: StrPath) -> Path:
    """Return where a path leads; for a link to an open file that link, for its file may have lost
    its name or be longer.
    """
    at = os.fspath(path)
    if at.endswith(os.sep):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), at)
    for _ in range(_MOST_LINKS):
        at = os.path.join(os.path.realpath(os.path.dirname(at)), os.path.basename(at))
        if at.startswith(_OPEN_FILES) or not os.path.islink(at):
            return Path(at)
        at = os.path.join(os.path.dirname(at), os.readlink(at))
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))


def _is_written_in_place(target: Path) -> bool:
    """Return whether it is a device, a pipe or an open file; a directory counts too, and opening it
    says what is wrong.
    """
    there = _stat(target)
    return os.fspath(target).startswith(_OPEN_FILES) or (
        there is not None and not stat.S_ISREG(there.st_mode)
    )


def _opened(target: Path) -> int:
    """Return a descriptor to write to; our own open files go on where they are, so that nothing in
    them is overwritten.
    """
    if os.fspath(target.parent) in (f"/proc/{os.getpid()}/fd", "/dev/fd") and target.name.isdigit():
        return os.dup(int(target.name))
    return os.open(target, os.O_WRONLY | CLOEXEC)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _check_writable(target: Path) -> None:
    """Refuse a read-only file, although only its folder has to be writable."""
    if os.path.lexists(target) and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(target))


def _check_replaceable(target: Path) -> None:
    """Say before anything is computed that a directory cannot be replaced."""
    if not os.path.lexists(target):
        return
    if not target.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), os.fspath(target))
    if os.path.ismount(target):
        raise OSError(
            errno.EBUSY,
            "a mount point cannot be replaced; give a directory inside of it",
            os.fspath(target),
        )
    _check_writable(target)


# --- Taking a place ---


def _complete(file: BinaryIO, target: Path | None, sync: Synced) -> None:
    """Bring a file to the disk, with the rights of what it replaces."""
    file.flush()
    there = None if target is None else _stat(target)
    if there is not None:
        keep_rights(file.fileno(), there)
    if sync != "nothing":
        os.fsync(file.fileno())
    if not has_locks():
        file.close()  # Windows renames no open file; elsewhere it stays locked until it has its name


def _is_linked(new: Path, target: Path) -> bool:
    """Give a file its name, unless something has it."""
    try:
        os.link(new, target)
    except FileExistsError:
        with suppress(OSError):  # on NFS a request may come twice: then it is ours
            return os.path.samestat(new.lstat(), target.lstat())
        return False
    except OSError as error:
        if error.errno not in NOT_OFFERED:
            raise
        return _is_moved(new, target)
    return True


def _is_moved(new: Path, target: Path) -> bool:
    """Do as `_is_linked`, where a file has one name only."""
    try:
        if move(new, target):
            return True
    except FileExistsError:
        return False
    with locked(target.parent):
        if os.path.lexists(target):
            return False
        new.rename(target)
        return True


def _take_place(new: Path, target: Path, check: Callable[[Path], object]) -> None:
    """Let the new directory stand at the target; what was there stands at ``new`` afterwards."""
    if not os.path.lexists(target):
        try:
            new.rename(target)
            return
        except OSError as error:
            if error.errno not in (
                errno.ENOTEMPTY,
                errno.EEXIST,
            ):  # one that came meanwhile, where nothing is locked
                raise
    keep_rights(new, target.stat())
    with locked(target):
        check(target)
        if not exchange(new, target):
            _swap(new, target, check)
            return
        try:
            check(new)
        except BaseException:
            exchange(new, target)
            raise


def _swap(new: Path, target: Path, check: Callable[[Path], object]) -> None:
    """Exchange in three steps; between the first two nothing stands at the target."""
    old = new_name(target, "old")
    try:
        target.rename(old)
        check(old)
        new.rename(target)
    except BaseException:
        if not os.path.lexists(target):
            old.rename(target)
        raise
    try:
        old.rename(new)
    except OSError:
        remove_tree(old)


# --- Errors ---


@contextmanager
def _named(path: StrPath) -> Iterator[None]:
    """Name the path that was asked for in errors, not the staged file, whose name would mean
    nothing to the caller.
    """
    try:
        yield
    except LockedError:
        raise
    except OSError as error:
        if error.errno is None:
            raise
        raise _renamed(error, os.fspath(path)) from None


def _renamed(error: OSError, path: str) -> OSError:
    real = os.path.realpath(path)
    places = {os.path.split(path), os.path.split(real)}
    ours = re.compile(
        "|".join(
            rf"{re.escape(os.path.join(folder, ''))}\.{re.escape(stem_of(name))}\.[0-9a-f]{{16}}\.(?:new|old)"
            for folder, name in sorted(places, reverse=True)
        )
    )
    name = path
    if isinstance(error.filename, str | bytes | os.PathLike):
        name = ours.sub(lambda _: path, os.fsdecode(error.filename))
    return OSError(
        error.errno, ours.sub(lambda _: path, str(error.strerror)), path if name == real else name
    )
