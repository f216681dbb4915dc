"""What is asked of the system: bringing things to the disk, and renames that Python does not have."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

NOT_OFFERED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM)
"""What a file system or system says to a call that it does not offer; EPERM is said by some and by sandboxes."""

CLOEXEC = getattr(os, "O_CLOEXEC", 0)
NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | CLOEXEC

_NOREPLACE, _EXCHANGE = 1, 2  # of Linux's renameat2
_AT_CWD = -100


def make_folder(path: str | os.PathLike[str]) -> None:
    """Make a folder with all above it, each on the disk, unless it is there.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a" / "b"
    >>> make_folder(path), make_folder(path), path.is_dir()
    (None, None, True)
    """
    folder = Path(path)
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        if folder == folder.parent:
            break
        folder = folder.parent
    for one in reversed(missing):
        one.mkdir(exist_ok=True)
        try:
            sync_folder(one.parent)
        except OSError as error:
            raise OSError(error.errno, error.strerror, os.fspath(one)) from None


def exchange(one: Path, other: Path) -> bool:
    """Let two files or directories change places in one step; False where that is not offered."""
    return _renameat2(one, other, _EXCHANGE)


def move(old: Path, new: Path) -> bool:
    """Rename unless something bears the new name (FileExistsError); False where that is not
    offered.
    """
    return _renameat2(old, new, _NOREPLACE)


def _renameat2(old: Path, new: Path, flags: int) -> bool:
    import ctypes

    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    if renameat2(_AT_CWD, os.fsencode(old), _AT_CWD, os.fsencode(new), flags) == 0:
        return True
    code = ctypes.get_errno()
    if code in NOT_OFFERED:
        return False
    raise OSError(code, os.strerror(code), os.fspath(old))


def sync_tree(root: Path) -> None:
    """Bring a directory and all in it to the disk."""
    if os.name != "posix":
        return
    for folder, _, names in os.walk(root, onerror=_reraise):
        for name in names:
            path = os.path.join(folder, name)
            if stat.S_ISREG(os.lstat(path).st_mode):
                _sync(os.open(path, os.O_RDONLY | NOFOLLOW | CLOEXEC))
        sync_folder(Path(folder))


def _reraise(error: OSError) -> None:
    raise error


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk; where it cannot be read, or be synced, that is left
    to the system.
    """
    if os.name != "posix":
        return
    try:
        _sync(os.open(folder, FOLDER))
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EBADF, *NOT_OFFERED):
            raise


def sync_names(folder: Path) -> None:
    """Do as `sync_folder` for content that is already in place, and say so in an error."""
    try:
        sync_folder(folder)
    except OSError as error:
        said = f"{error.strerror}; the new content is written, but may be lost if power fails"
        raise OSError(error.errno, said) from None


def _sync(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def keep_rights(new: int | Path, there: os.stat_result) -> None:
    """Give what is new the permissions of what it replaces, and its owner and group, each where we
    may.

    It was made with no more permissions than that, so nothing is opened to anybody if we may not.
    """
    for owner in (there.st_uid, -1):
        with suppress(OSError, AttributeError):
            os.chown(new, owner, there.st_gid)
            break
    with suppress(OSError, TypeError):  # TypeError: a system that changes no open files
        os.chmod(new, stat.S_IMODE(there.st_mode))
