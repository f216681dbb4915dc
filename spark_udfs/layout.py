"""What stands where under an output directory, and how it gets there; run where the files are. Imports no pyspark.

::

    OUT/_rmqalloc.json                              this directory is ours
    OUT/plan=<id>/bucket=<n>/part-*.parquet         the plan
    OUT/plan=<id>/_quarantine/bucket=<n>/part-*     its bad rows
    OUT/plan=<id>/_summary.json, _summary.txt       totals, and the worst groups first
    OUT/_work/plan=<id>/...                         the same of a plan that is not complete

A bucket is one renamed directory, and so is a plan: what begins with an underscore is not read by Spark and pyarrow, so a
reader of ``OUT`` sees a plan wholly or not at all.
"""

import json
import os
import shutil
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rmqalloc.snapshot.directory import own_directory

KIND = "plans"
"""Kind of the output directory, see `rmqalloc.snapshot.directory`."""

QUARANTINE = "_quarantine"
SUMMARY = "_summary.json"
SUMMARY_TEXT = "_summary.txt"

_WORK = "_work"
_RECORD = "_bucket.json"
_TRY = "_try-"


def plan_name(plan_id: str) -> str:
    """Name of a plan's directory."""
    return f"plan={plan_id}"


def bucket_name(number: int) -> str:
    """Name of a bucket's directory; in the order of names they follow the input."""
    return f"bucket={number:05d}"


def work_directory(out: str, plan_id: str) -> Path:
    """Where a plan stands until it is complete."""
    return Path(out, _WORK, plan_name(plan_id))


def begin(out: str, plan_id: str, force: bool) -> tuple[str | None, dict[str, Any]]:
    """Make the output directory ours, and tell what is done of a plan.

    Parameters
    ----------
    out : str
        Output directory.
    plan_id : str
        Which plan.
    force : bool
        Forget what has been done of it; a complete plan stays until the new one takes its place.

    Returns
    -------
    summary : str or None
        That of the plan if it is complete already.
    done : dict of str to record
        As `done`.

    Raises
    ------
    FileExistsError
        As `rmqalloc.snapshot.directory.own_directory`.
    """
    own_directory(out, KIND)
    work = work_directory(out, plan_id)
    if force:
        shutil.rmtree(work, ignore_errors=True)
    complete = Path(out, plan_name(plan_id), SUMMARY)
    if complete.exists() and not force:
        return complete.read_text(encoding="utf-8"), {}
    work.mkdir(parents=True, exist_ok=True)
    return None, done(os.fspath(work))


def new_try(work: str) -> str:
    """A directory, not made yet, that nobody else writes to: attempts may overlap, even those of a job thought dead."""
    return os.path.join(work, _TRY + uuid.uuid4().hex)


def commit(work: str, tried: str, number: int, record: Mapping[str, Any]) -> None:
    """Let what was tried be the bucket, unless it is there already: then its rows are the same.

    Parameters
    ----------
    work : str
        The plan's `work_directory`.
    tried : str
        As `new_try` named it, the plan's files in ``plan`` and bad rows, if there are any, in ``quarantine``.
    number : int
        Number of the bucket.
    record : mapping
        What `done` shall tell of it.
    """
    new = Path(tried)
    (new / "plan" / _RECORD).write_text(json.dumps(record), encoding="utf-8")
    places = {"quarantine": Path(work, QUARANTINE, bucket_name(number)), "plan": Path(work, bucket_name(number))}
    for part, final in places.items():
        if (new / part).exists():
            final.parent.mkdir(exist_ok=True)
            try:
                (new / part).rename(final)
            except OSError:
                if not final.exists():
                    raise
    shutil.rmtree(new)


def done(work: str) -> dict[str, Any]:
    """Records of the buckets that are complete, by number."""
    found = {path.parent.name: path for path in Path(work).glob(f"bucket=*/{_RECORD}")}
    return {name.partition("=")[2]: json.loads(path.read_text("utf-8")) for name, path in sorted(found.items())}


def publish(out: str, plan_id: str, texts: Mapping[str, str]) -> None:
    """Let the complete plan take its place, and that of an earlier one of the same id.

    Parameters
    ----------
    out, plan_id
        As `begin`.
    texts : mapping of str to str
        Files to put beside the buckets, by name.
    """
    work, final = work_directory(out, plan_id), Path(out, plan_name(plan_id))
    for name, text in texts.items():
        (work / name).write_text(text, encoding="utf-8")
    for tried in work.glob(f"{_TRY}*"):
        shutil.rmtree(tried)
    old = work.with_name(f".{final.name}.{uuid.uuid4().hex}")
    if final.exists():
        final.rename(old)
    work.rename(final)
    shutil.rmtree(old, ignore_errors=True)
    with suppress(OSError):  # other plans may be under way
        work.parent.rmdir()
