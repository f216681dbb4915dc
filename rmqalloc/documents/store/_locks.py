"""Locks that end with their process, on files and folders."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rmqalloc.documents.store._disk import FOLDER
from rmqalloc.errors import Error

try:
    import fcntl
except ModuleNotFoundError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

LOCK_SECONDS = 30.0
"""Seconds to wait for another writer; what a lock guards takes far less than one."""


class LockedError(Error, OSError):
    """Another writer holds a folder for too long."""


@contextmanager
def locked(folder: str | os.PathLike[str], seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold a folder for one writer at a time; a writer that is killed holds nothing.

    The folder is not held if the system or the file system has no locks, or if the folder cannot be
    read.

    Raises
    ------
    LockedError
        Another writer holds the folder for longer than ``seconds``.
    OSError
        There is no such folder.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with locked(folder):
    ...     try:
    ...         with locked(folder, seconds=0):
    ...             pass
    ...     except LockedError as error:
    ...         print(error.strerror)
    another program has held the lock for more than 0 s
    """
    if not has_locks():
        yield
        return
    try:
        descriptor = os.open(folder, FOLDER)
    except PermissionError:
        yield
        return
    try:
        until = time.monotonic() + seconds
        while try_lock(descriptor) is False:
            if time.monotonic() >= until:
                said = f"another program has held the lock for more than {seconds:g} s"
                raise LockedError(errno.EAGAIN, said, os.fspath(folder))
            time.sleep(0.01)
        yield
    finally:
        unlock(descriptor)
        os.close(descriptor)


def has_locks() -> bool:
    """Return whether the system has locks; a file system may still have none."""
    return fcntl is not None


def try_lock(descriptor: int, shared: bool = False) -> bool | None:
    """Lock without waiting: whether that was possible; None where nothing can be locked."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def unlock(descriptor: int) -> None:
    """Let go of a lock at once: a child that was forked has the descriptor too, so closing it would
    not be enough.
    """
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
