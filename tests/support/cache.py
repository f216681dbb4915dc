"""What tests share and what is costly to make: made once per content, under a lock, built aside and
renamed into place.

Everything lies below one folder, ``.cache`` of the checkout, which the variable ``RMQALLOC_CACHE``
moves and ``make clean`` removes. An entry is named by what it is and by a digest of what it is made
from, so it never becomes stale: other content has another name. A folder that exists under its
final name is complete, as one rename after its last file gives it that name.
"""

import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from checkout import ROOT

HOME = Path(os.environ.get("RMQALLOC_CACHE") or ROOT / ".cache").absolute()


def digest(parts: Iterable[str | Path]) -> str:
    """Return 16 hex digits for texts and for files; a file counts by its path below the checkout
    and its bytes.
    """
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            found.update(
                f"{os.path.relpath(part, ROOT)}\0".encode()
                + hashlib.sha256(part.read_bytes()).digest()
            )
        else:
            found.update(f"{part}\0".encode())
    return found.hexdigest()[:16]


def sources(*folders: Path, but: str = "target") -> list[Path]:
    """List the files below folders in the order of their names, without Maven's and Cargo's output
    folders.
    """
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return sorted(
        path
        for path in found
        if not any(part.startswith(but) for part in path.relative_to(ROOT).parts)
    )


def folder(
    name: str,
    content: Iterable[str | Path],
    make: Callable[[Path], object],
    is_good: Callable[[Path], bool] = Path.is_dir,
) -> Path:
    """Return the folder of an entry; make it first if it is not there.

    Parameters
    ----------
    name : str
        What it is, in words that fit a file name; it is shown while the entry is made.
    content : iterable of str or Path
        What the entry is made from; an entry of other content is another entry.
    make : callable
        Fills an empty folder, which is renamed afterwards, so nothing inside may hold the folder's
        own path. If it raises, nothing is kept.
    is_good : callable, optional
        Tells of an entry that is there whether it can still be used, for one that refers to files
        elsewhere.
    """
    final = HOME / name / digest(content)
    if is_good(final):
        return final
    with locked(final.with_suffix(".lock")):
        if is_good(final):  # another process has made it while this one waited
            return final
        for left in [
            final,
            *final.parent.glob(f"{final.name}-*"),
        ]:  # unusable, or of a process that was killed meanwhile
            shutil.rmtree(left, ignore_errors=True)
        aside = Path(tempfile.mkdtemp(prefix=f"{final.name}-", dir=final.parent))
        started = time.monotonic()
        say(f"making {name} ...")
        try:
            aside.chmod(0o755)
            make(aside)
            aside.rename(final)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise
        say(f"made {name} in {time.monotonic() - started:.0f} s")
    return final


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file, which the kernel gives back however its holder ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def say(line: str) -> None:
    """Print a line of progress where a person sees it, also from a test whose output is captured."""
    print(line, file=sys.__stderr__, flush=True)
