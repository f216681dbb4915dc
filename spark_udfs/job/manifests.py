"""Which plans an output directory holds: a manifest names every file of a plan, is written last, and is read by everyone.

Nothing is renamed, so it is the same on a disk and in an object store::

    OUT/_data/plan=<id>/<attempt>/bucket=<n>/*.parquet               rows, under names that no other attempt has
    OUT/_data/plan=<id>/<attempt>/quarantine/bucket=<n>/*.parquet    bad rows
    OUT/_records/plan=<id>/<generation>/bucket=<n>.<run>.<attempt>.json   a bucket is done: its files, sizes, totals
    OUT/_manifests/plan=<id>/<generation>-<...>.json                 the plan is complete: all its files

Goals, in this order. A plan is seen whole or not at all: its manifest is one object, written when all buckets have records and
all their files are there. A complete plan stays: a manifest is never written where one of the same or a later generation is
listed, and no run deletes what it or another run has finished. Equal runs agree on one manifest: of the highest generation,
and among those the first by name.

Why that needs no conditional write: between listing and writing a run may sleep as long as it likes. What it then writes is
either of an older generation, and loses; or of the same, and then both manifests are whole, both plans have the same input, and
nobody deletes the files of either (see `spark_udfs.job.output_layout.sweep` for leftovers, which takes the next
generation first). Where a
store creates a file only if there is none, the name is fixed for a generation, so that one manifest of it can be at all.

A manifest that is not whole JSON is still being written: it is not there. Imports no pyspark.
"""

import json
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from rmqalloc.errors import Error
from rmqalloc.version import __version__

DATA, RECORDS, MANIFESTS = "_data", "_records", "_manifests"
QUARANTINE = "quarantine"

_FORMAT = 1
_ONLY = "0"  # sorts before every time


class PublishError(Error, RuntimeError):
    """A plan cannot be published: the message says what is missing."""


class PlanNotFoundError(Error, LookupError):
    """There is no complete plan of that name; the message says which there are."""


class Storage(Protocol):
    """Where files are, by names below the output directory.

    Attributes
    ----------
    exclusive : bool
        Whether `create` refuses a name that is taken, whoever else writes at the time.
    """

    exclusive: bool

    def texts(self, folder: str) -> dict[str, str]:
        """Texts of the files in a folder by their names, none if there is no such folder."""

    def create(self, name: str, text: str) -> bool:
        """Write a text that is not there yet; False if it is."""

    def sizes(self, folder: str) -> dict[str, int]:
        """Bytes of all files below a folder by their names."""


class Run(NamedTuple):
    """One run of a job.

    Attributes
    ----------
    plan_id : str
    generation : int
        That of the manifest which the run will write.
    name : str
        No other run has it.
    alone : bool
        Whether it uses its own records only.
    """

    plan_id: str
    generation: int
    name: str
    alone: bool


def plan_name(plan_id: str) -> str:
    """Name of a plan's folders."""
    return f"plan={plan_id}"


def bucket_name(number: int) -> str:
    """Name of a bucket's folder; in the order of names they follow the input."""
    return f"bucket={number:05d}"


def data_folder(plan_id: str) -> str:
    """Folder of everything that was ever written for a plan."""
    return f"{DATA}/{plan_name(plan_id)}"


def manifest_folder(plan_id: str) -> str:
    """Folder of a plan's manifests."""
    return f"{MANIFESTS}/{plan_name(plan_id)}"


def record_folder(run: Run) -> str:
    """Folder of the records of a generation."""
    return f"{RECORDS}/{plan_name(run.plan_id)}/{run.generation:08d}"


def new_name() -> str:
    """A name that nobody else has: attempts may overlap, even those of a job thought dead."""
    return secrets.token_hex(8)


def current(texts: Mapping[str, str]) -> dict[str, Any] | None:
    """The manifest that counts among those of one plan, None if there is none.

    Parameters
    ----------
    texts : mapping of str to str
        Texts of the manifests by name.

    Returns
    -------
    dict, optional
        The manifest; ``name`` is that of its file.

    Raises
    ------
    PublishError
        A later release wrote it.

    Examples
    --------
    >>> first = {f"00000001-{name}.json": f'{{"format": 1, "generation": 1, "run": "{name}"}}' for name in "ba"}
    >>> forced = {"00000002-c.json": '{"format": 1, "generation": 2, "run": "c"}'}
    >>> current(first)["run"], current(first | forced)["run"], current({"00000001-0.json": '{"format": 1, "gen'})
    ('a', 'c', None)
    """
    whole = [one for one in (_parsed(name, text) for name, text in texts.items()) if one is not None]
    found = min(whole, key=lambda one: (-one["generation"], one["name"]), default=None)
    if found is not None and found["format"] != _FORMAT:
        raise PublishError(
            f"manifest {found['name']} is of format {found['format']}, which a later release of rmqalloc reads"
        )
    return found


def _parsed(name: str, text: str) -> dict[str, Any] | None:
    try:
        data = json.loads(text)
    except ValueError:
        return None
    return {**data, "name": name} if isinstance(data, dict) and {"format", "generation"} <= data.keys() else None


def begin(storage: Storage, plan_id: str, force: bool) -> tuple[dict[str, Any] | None, Run]:
    """Look whether a plan is complete.

    Returns
    -------
    manifest : dict, optional
        The plan's, if it is complete and shall not be made anew.
    run : Run
        What the functions below want.
    """
    found = current(storage.texts(manifest_folder(plan_id)))
    run = Run(plan_id, 1 + (0 if found is None else found["generation"]), new_name(), force)
    return (None if force else found), run


def keep(storage: Storage, run: Run, number: int, attempt: str, record: Mapping[str, Any]) -> None:
    """Say that a bucket is done.

    Parameters
    ----------
    storage, run
        As `begin`.
    number : int
        Number of the bucket.
    attempt : str
        What wrote it, see `new_name`.
    record : mapping
        ``files`` and ``quarantine``, pairs of name and bytes, and whatever else shall be known of it.
    """
    name = f"{record_folder(run)}/{bucket_name(number)}.{run.name}.{attempt}.json"
    if not storage.create(name, json.dumps({"bucket": number, **record})):
        raise PublishError(f"{name} is there already; no two attempts have a name in common")


def records(storage: Storage, run: Run) -> dict[int, dict[str, Any]]:
    """Records of the buckets that are done, and whose files are all there."""
    texts = storage.texts(record_folder(run))
    found: dict[int, dict[str, Any]] = {}
    sizes = storage.sizes(data_folder(run.plan_id)) if texts else {}
    for name in sorted(texts):
        record = _record(texts[name])
        mine = not run.alone or name.split(".")[1:2] == [run.name]
        if record is not None and mine and not missing(record, sizes):
            found.setdefault(record["bucket"], record)
    return dict(sorted(found.items()))


def _record(text: str) -> dict[str, Any] | None:
    try:
        data = json.loads(text)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


def parts_of(sizes: Mapping[str, int]) -> dict[str, list[tuple[str, int]]]:
    """Files of an attempt as a record has them: those of the plan, and those of the quarantine."""
    named = sorted(sizes.items())
    bad = [f"/{QUARANTINE}/" in name for name, _ in named]
    return {
        "files": [one for one, is_bad in zip(named, bad, strict=True) if not is_bad],
        "quarantine": [one for one, is_bad in zip(named, bad, strict=True) if is_bad],
    }


def missing(record: Mapping[str, Any], sizes: Mapping[str, int]) -> list[str]:
    """Files of a record that are not there as it names them."""
    return [name for name, n_bytes in [*record["files"], *record["quarantine"]] if sizes.get(name) != n_bytes]


def publish(
    storage: Storage, run: Run, n_buckets: int, done: Iterable[Mapping[str, Any]], told: Mapping[str, Any]
) -> tuple[bool, dict[str, Any]]:
    """Let a plan be complete, unless another run was first.

    Parameters
    ----------
    storage, run
        As `begin`.
    n_buckets : int
        How many buckets the plan has.
    done : iterable of mapping
        A record for each of them.
    told : mapping
        The summary.

    Returns
    -------
    won : bool
        Whether it is this run's manifest that counts.
    manifest : dict
        The one that counts.

    Raises
    ------
    PublishError
        A bucket or a file is missing; nothing is published.
    """
    buckets = _all(done, n_buckets)
    sizes = storage.sizes(data_folder(run.plan_id))
    gone = [name for record in buckets for name in missing(record, sizes)]
    if gone:
        raise PublishError(f"{len(gone)} files of the plan are gone or cut off, such as {gone[0]}; run the job again")
    folder = manifest_folder(run.plan_id)
    found = current(storage.texts(folder))
    if found is not None and found["generation"] >= run.generation:
        return False, found
    text = json.dumps(manifest_of(run, buckets, told))
    if not (storage.exclusive and storage.create(f"{folder}/{run.generation:08d}-{_ONLY}.json", text)):
        found = current(storage.texts(folder)) if storage.exclusive else None
        if found is not None and found["generation"] >= run.generation:
            return False, found
        # No conditional write here; or one that was cut off has taken the name, and would keep it for ever.
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        storage.create(f"{folder}/{run.generation:08d}-{now}-{run.name}.json", text)
    found = current(storage.texts(folder))
    if found is None:
        raise PublishError(
            f"the manifest was written to {folder} and is not there; whether the plan is complete is not known"
        )
    return found["run"] == run.name, found


def manifest_of(run: Run, buckets: Sequence[Mapping[str, Any]], told: Mapping[str, Any]) -> dict[str, Any]:
    """What a manifest holds."""
    return {
        "format": _FORMAT,
        "rmqalloc": __version__,
        "plan": run.plan_id,
        "generation": run.generation,
        "run": run.name,
        "published": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "n_buckets": len(buckets),
        "buckets": [dict(record) for record in buckets],
        "summary": dict(told),
    }


def _all(done: Iterable[Mapping[str, Any]], n_buckets: int) -> list[Mapping[str, Any]]:
    """Records in the order of their buckets, each there once."""
    buckets = sorted(done, key=lambda record: int(record["bucket"]))
    numbers = [record["bucket"] for record in buckets]
    if numbers != list(range(n_buckets)):
        lost = sorted(set(range(n_buckets)) - set(numbers))
        which = f"bucket {lost[0]} has no record" if lost else f"the records are of {numbers[-1] + 1} or come twice"
        raise PublishError(
            f"the plan has {n_buckets} buckets, and {len(set(numbers))} are done: {which}; run the job again"
        )
    return buckets


def files_in(manifest: Mapping[str, Any], part: str = "files") -> list[str]:
    """Names of a plan's files in the order of its buckets; ``part`` is ``files`` or ``quarantine``."""
    return [name for record in manifest["buckets"] for name, _ in record[part]]


def chosen(ids: Iterable[str], plan_id: str | None, where: str) -> str:
    """The plan that is meant: the one given, or the only one.

    Raises
    ------
    PlanNotFoundError
        There is no such plan, or more than one and none was given.
    """
    found = sorted(ids)
    if plan_id is None and len(found) == 1:
        return found[0]
    if plan_id in found:
        return str(plan_id)
    there = f"it holds {', '.join(found)}" if found else "it holds none"
    wanted = f"no complete plan {plan_id}" if plan_id is not None else "no single plan" if found else "no complete plan"
    raise PlanNotFoundError(f"{where} holds {wanted}; {there}")


def path_of(manifest: Mapping[str, Any]) -> str:
    """Name of a manifest's file below the output directory."""
    return f"{manifest_folder(manifest['plan'])}/{manifest['name']}"
