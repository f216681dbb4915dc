"""Which plans an output directory holds: a manifest names every file of a plan, is written last, and is read by all.

Nothing is renamed, so it is the same on a disk and in an object store::

    OUT/_data/plan=<id>/<attempt>/bucket=<n>/*.parquet               rows, under names that no other attempt has
    OUT/_data/plan=<id>/<attempt>/quarantine/bucket=<n>/*.parquet    bad rows
    OUT/_records/plan=<id>/<generation>/bucket=<n>.<run>.<attempt>.json   a bucket is complete: its files, sizes, totals
    OUT/_manifests/plan=<id>/<generation>-<...>.json                 the plan is complete: all its files

Goals, in this order. A plan is seen whole or not at all: its manifest is one object, written when all buckets have records and
all their files exist. A complete plan stays: no manifest is written if one of the same or a later generation is listed, and no
run deletes what it or another run has completed. Concurrent runs agree on one manifest: of the highest generation, and among
those the first by name.

Why that needs no conditional write: between listing and writing a run may sleep for any time. What it then writes is either of
an older generation, and loses; or of the same, and then both manifests are whole, both plans have the same input, and nobody
deletes the files of either (`sweep_leftovers` takes the next generation first). Where a store
can create a file exclusively, the name is fixed for a generation, so there is only one manifest of it.

A manifest that is not whole JSON is still being written and does not count. Imports no pyspark.
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

WORST = "worst"
"""Of a record: the worst units of its bucket, which a manifest has in its summary."""

_FORMAT = 1
_ONLY = "0"  # sorts before every time


class PublishError(Error, RuntimeError):
    """A plan cannot be published: the message says what is missing."""


class PlanNotFoundError(Error, LookupError):
    """There is no complete plan of that name; the message says which there are."""


class Readable(Protocol):
    """Files by their names below the output directory."""

    def texts(self, folder: str) -> dict[str, str]:
        """Return the texts of the files in a folder by name, none if there is no such folder."""

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the bytes of all files below a folder by name."""


class Storage(Readable, Protocol):
    """An output directory that can be written to."""

    exclusive: bool
    """Whether `create` refuses a name that is taken, even if written concurrently."""

    def create(self, name: str, text: str) -> bool:
        """Write a new file; return False if it exists."""


class Run(NamedTuple):
    """One run of a job."""

    plan_id: str
    generation: int  # generation of the manifest that the run will write
    name: str  # unique to the run
    alone: bool  # whether it uses only its own records


def plan_name(plan_id: str) -> str:
    """Name of a plan's folders."""
    return f"plan={plan_id}"


def bucket_name(number: int) -> str:
    """Name of a bucket's folder; the order of names is that of the input."""
    return f"bucket={number:05d}"


def data_folder(plan_id: str) -> str:
    """Return the folder of all data of a plan."""
    return f"{DATA}/{plan_name(plan_id)}"


def manifest_folder(plan_id: str) -> str:
    """Return the folder of a plan's manifests."""
    return f"{MANIFESTS}/{plan_name(plan_id)}"


def record_folder(run: Run) -> str:
    """Return the folder of the records of a generation."""
    return f"{RECORDS}/{plan_name(run.plan_id)}/{run.generation:08d}"


def unique_name() -> str:
    """Return a unique name: attempts may overlap, even with those of a job that was thought dead."""
    return secrets.token_hex(8)


def current(texts: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the manifest of a plan that counts, None if there is none.

    Examples
    --------
    >>> first = {f"00000001-{name}.json": f'{{"format": 1, "generation": 1, "run": "{name}"}}' for name in "ba"}
    >>> forced = {"00000002-c.json": '{"format": 1, "generation": 2, "run": "c"}'}
    >>> current(first)["run"], current(first | forced)["run"], current({"00000001-0.json": '{"format": 1, "gen'})
    ('a', 'c', None)
    """
    read = {name: data for name, text in texts.items() if (data := _parsed(text)) is not None}
    whole = [{**data, "name": name} for name, data in read.items() if {"format", "generation"} <= data.keys()]
    found = min(whole, key=lambda one: (-one["generation"], one["name"]), default=None)
    if found is not None and found["format"] != _FORMAT:
        raise PublishError(
            f"manifest {found['name']} is of format {found['format']}, which a later release of rmqalloc reads"
        )
    return found


def manifest_in(storage: Readable, plan_id: str) -> dict[str, Any] | None:
    """Return the manifest of a plan, None unless it is complete."""
    return current(storage.texts(manifest_folder(plan_id)))


def plans_in(storage: Readable) -> list[str]:
    """Return the ids of the complete plans."""
    ids = {name.split("/")[1].partition("=")[2] for name in storage.sizes(MANIFESTS)}
    return [one for one in sorted(ids) if manifest_in(storage, one) is not None]


def _parsed(text: str) -> dict[str, Any] | None:
    """Parse a JSON object; None if the text is not whole."""
    try:
        data = json.loads(text)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


def begin(storage: Storage, plan_id: str, force: bool) -> tuple[dict[str, Any] | None, Run]:
    """Begin a run of a plan."""
    found = manifest_in(storage, plan_id)
    run = Run(plan_id, 1 + (0 if found is None else found["generation"]), unique_name(), force)
    return (None if force else found), run


def keep(storage: Storage, run: Run, number: int, attempt: str, record: Mapping[str, Any]) -> None:
    """Record that a bucket is complete: it has the files in the folder of this attempt."""
    parts: dict[str, list[tuple[str, int]]] = {"files": [], QUARANTINE: []}
    for one in sorted(storage.sizes(f"{data_folder(run.plan_id)}/{attempt}").items()):
        parts[QUARANTINE if f"/{QUARANTINE}/" in one[0] else "files"].append(one)
    name = f"{record_folder(run)}/{bucket_name(number)}.{run.name}.{attempt}.json"
    if not storage.create(name, json.dumps({"bucket": number, **parts, **record})):
        raise PublishError(f"{name} is there already; no two attempts have a name in common")


def records(storage: Storage, run: Run) -> dict[int, dict[str, Any]]:
    """Return the records of the complete buckets whose files all exist."""
    texts = storage.texts(record_folder(run))
    found: dict[int, dict[str, Any]] = {}
    sizes = storage.sizes(data_folder(run.plan_id)) if texts else {}
    for name in sorted(texts):
        record = _parsed(texts[name])
        mine = not run.alone or name.split(".")[1:2] == [run.name]
        if record is not None and mine and not missing(record, sizes):
            found.setdefault(record["bucket"], record)
    return dict(sorted(found.items()))


def missing(record: Mapping[str, Any], sizes: Mapping[str, int]) -> list[str]:
    """Return the files of a record that are missing or have another size."""
    return [name for name, n_bytes in [*record["files"], *record["quarantine"]] if sizes.get(name) != n_bytes]


def publish(
    storage: Storage, run: Run, n_buckets: int, done: Iterable[Mapping[str, Any]], summary: Mapping[str, Any]
) -> tuple[bool, dict[str, Any]]:
    """Write the manifest of a plan, unless another run was first."""
    buckets = _all(done, n_buckets)
    sizes = storage.sizes(data_folder(run.plan_id))
    gone = [name for record in buckets for name in missing(record, sizes)]
    if gone:
        raise PublishError(f"{len(gone)} files of the plan are gone or cut off, such as {gone[0]}; run the job again")
    folder = manifest_folder(run.plan_id)
    found = current(storage.texts(folder))
    if found is not None and found["generation"] >= run.generation:
        return False, found
    text = json.dumps(manifest_data(run, buckets, summary))
    if not (storage.exclusive and storage.create(f"{folder}/{run.generation:08d}-{_ONLY}.json", text)):
        found = current(storage.texts(folder)) if storage.exclusive else None
        if found is not None and found["generation"] >= run.generation:
            return False, found
        # No exclusive creation here; or a truncated manifest has taken the fixed name for good.
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        storage.create(f"{folder}/{run.generation:08d}-{now}-{run.name}.json", text)
    found = current(storage.texts(folder))
    if found is None:
        raise PublishError(
            f"the manifest was written to {folder} and is not there; whether the plan is complete is not known"
        )
    return found["run"] == run.name, found


def manifest_data(run: Run, buckets: Sequence[Mapping[str, Any]], summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a manifest."""
    return {
        "format": _FORMAT,
        "rmqalloc": __version__,
        "plan": run.plan_id,
        "generation": run.generation,
        "run": run.name,
        "published": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "n_buckets": len(buckets),
        "buckets": [{name: one for name, one in record.items() if name != WORST} for record in buckets],
        "summary": dict(summary),
    }


def _all(done: Iterable[Mapping[str, Any]], n_buckets: int) -> list[Mapping[str, Any]]:
    """Order records by their buckets, exactly one for each."""
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
    """Return the names of a plan's files in the order of its buckets; ``part`` is ``files`` or ``quarantine``."""
    return [name for record in manifest["buckets"] for name, _ in record[part]]


def choose_plan(ids: Iterable[str], plan_id: str | None, where: str) -> str:
    """Return the requested plan, or the only one."""
    found = sorted(ids)
    if plan_id is None and len(found) == 1:
        return found[0]
    if plan_id in found:
        return str(plan_id)
    there = f"it holds {', '.join(found)}" if found else "it holds none"
    wanted = f"no complete plan {plan_id}" if plan_id is not None else "no single plan" if found else "no complete plan"
    raise PlanNotFoundError(f"{where} holds {wanted}; {there}")


def manifest_path(manifest: Mapping[str, Any]) -> str:
    """Name of a manifest's file below the output directory."""
    return f"{manifest_folder(manifest['plan'])}/{manifest['name']}"
