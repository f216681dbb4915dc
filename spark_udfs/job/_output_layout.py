"""An output directory on a disk, laid out as in `spark_udfs.job._published`; runs where the files are. Imports no pyspark.

In addition there is a plain path, for readers that do not know manifests::

    OUT/_rmqalloc.json                              this directory is ours
    OUT/plan=<id>/bucket=<n>/*.parquet              links to the files that the manifest names
    OUT/plan=<id>/_quarantine/bucket=<n>/*.parquet  likewise the bad rows
    OUT/plan=<id>/_manifest.json, _summary.json, _summary.txt

``plan=<id>`` is built of hard links elsewhere, after the manifest, and renamed into place in one step, also when it replaces an
earlier one, so a reader that lists it sees all of one plan. It follows the manifest, which alone is authoritative.
"""

import errno
import json
import math
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from rmqalloc.snapshot.directory import own_directory
from rmqalloc.store import LockedError, create_file, replaced_directory, sync_folder, sync_tree
from spark_udfs.job import _published as manifests
from spark_udfs.job._published import QUARANTINE, Run, bucket_name, plan_name

KIND = "plans"
"""Kind of the output directory, see `rmqalloc.snapshot.directory`."""

SUMMARY = "_summary.json"
SUMMARY_TEXT = "_summary.txt"
MANIFEST = "_manifest.json"

_CANNOT_LINK = (errno.EXDEV, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS, errno.EPERM, errno.EACCES)

DAY = 86_400.0
"""Seconds that a leftover is kept: someone may still read a plan that has been replaced."""


class LocalFiles:
    """`Storage` on a disk."""

    exclusive = True

    def __init__(self, out: str) -> None:
        self.root = Path(out)

    def texts(self, folder: str) -> dict[str, str]:
        # A text that Spark wrote is a folder with one file in it.
        root = self.root / folder
        if not root.is_dir():
            return {}
        return {path.name: _text(path) for path in sorted(root.iterdir()) if path.name[0] not in "._"}

    def create(self, name: str, text: str) -> bool:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return create_file(path, text.encode())

    def sizes(self, folder: str) -> dict[str, int]:
        found = {}
        for where, _, names in os.walk(self.root / folder):
            for name in names:
                path = Path(where, name)
                with suppress(FileNotFoundError):  # a failed attempt has removed its files
                    if name[0] not in "._":
                        found[path.relative_to(self.root).as_posix()] = path.stat().st_size
        return found


def _text(path: Path) -> str:
    if path.is_dir():
        return "".join(_text(part) for part in sorted(path.iterdir()) if part.name[0] not in "._")
    return path.read_text(encoding="utf-8", errors="replace")


def begin_run(
    out: str, plan_id: str, force: bool, after: float = DAY
) -> tuple[dict[str, Any] | None, Run, dict[int, Any]]:
    """Mark the output directory as ours, and begin a run of a plan."""
    own_directory(out, KIND)
    storage = LocalFiles(out)
    manifest, run = manifests.begin(storage, plan_id, force)
    if manifest is not None:
        sweep_leftovers(out, plan_id, after)
        show_plan(out, plan_id)
        return manifest, run, {}
    Path(out, manifests.data_folder(plan_id)).mkdir(parents=True, exist_ok=True)
    return None, run, manifests.records(storage, run)


class DiskBuckets(NamedTuple):
    """Buckets as workers write them to a disk, see `spark_udfs.job._by_file.Buckets`; ``out`` is the output directory."""

    out: str

    @contextmanager
    def attempt(self, plan_id: str) -> Iterator[str]:
        """Yield the name of a new folder among the plan's data; an error removes it."""
        name = manifests.unique_name()
        folder = Path(self.out, manifests.data_folder(plan_id), name)
        folder.mkdir()
        try:
            (folder / QUARANTINE).mkdir()
            yield name
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def new_file(self, name: str) -> IO[bytes]:
        """Open a new file in the folder of an attempt."""
        path = Path(self.out, name)
        path.parent.mkdir(exist_ok=True)
        return open(path, "xb")

    def commit(self, run: Run, number: int, attempt: str, record: Mapping[str, Any]) -> None:
        """Flush an attempt's files to the disk, and record that its bucket is complete."""
        folder = Path(self.out, manifests.data_folder(run.plan_id), attempt)
        sync_tree(folder)
        sync_folder(folder.parent)
        manifests.keep(LocalFiles(self.out), run, number, attempt, record)


def complete_records(out: str, run: Run) -> dict[int, Any]:
    """Return the records of complete buckets, see `records`."""
    return manifests.records(LocalFiles(out), run)


def publish_and_show(
    out: str, run: Run, n_buckets: int, done: list[dict[str, Any]], summary: Mapping[str, Any], text: str
) -> tuple[bool, dict[str, Any]]:
    """Publish the plan (`publish`), then `show_plan`; ``text`` is the summary for people."""
    won, manifest = manifests.publish(LocalFiles(out), run, n_buckets, done, {**summary, "text": text})
    show_plan(out, run.plan_id)
    return won, manifest


def current_manifest(out: str, plan_id: str) -> dict[str, Any] | None:
    """Return the manifest of a plan, see `current`."""
    return manifests.manifest_in(LocalFiles(out), plan_id)


def plan_ids(out: str) -> list[str]:
    """Return the ids of the complete plans."""
    return manifests.plans_in(LocalFiles(out))


def show_plan(out: str, plan_id: str) -> bool:
    """Let the plain path hold the files of the manifest; False if it cannot, for example without hard links."""
    for _ in range(10):  # if overtaken meanwhile, show the newer plan
        manifest = current_manifest(out, plan_id)
        if manifest is None:
            return False
        if is_shown(out, manifest):
            return True
        try:
            with replaced_directory(Path(out, plan_name(plan_id))) as new:
                _fill(new, Path(out), manifest)
        except (LockedError, NotImplementedError):
            return False
        except FileNotFoundError:  # the plan was replaced, and its files swept
            continue
        except OSError as error:
            if error.errno not in _CANNOT_LINK:
                raise
            return False
    return False


def is_shown(out: str, manifest: Mapping[str, Any]) -> bool:
    """Return True if the plain path holds the files of this manifest."""
    path = Path(out, plan_name(manifest["plan"]), MANIFEST)
    try:
        shown = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(shown["buckets"] == manifest["buckets"])


def _fill(new: Path, out: Path, manifest: Mapping[str, Any]) -> None:
    for record in manifest["buckets"]:
        for part, home in (("files", new), ("quarantine", new / f"_{QUARANTINE}")):
            folder = home / bucket_name(record["bucket"])
            for name, _ in record[part]:
                folder.mkdir(parents=True, exist_ok=True)
                os.link(out / name, folder / Path(name).name)
    summary = dict(manifest["summary"])
    text = summary.pop("text", "")
    (new / SUMMARY).write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (new / SUMMARY_TEXT).write_text(text, encoding="utf-8")
    (new / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")


def sweep_leftovers(out: str, plan_id: str, after: float = DAY) -> list[str]:
    """Remove leftovers of runs of a complete plan, and replaced plans.

    Notes
    -----
    Why no plan can lose a file, however long a process sleeps at any point:

    1. What to remove is listed first, without anything that the manifest names.
    2. Then the same plan is published again, as the next generation. A manifest has a fixed name here and is created only
       if there is none, so only one process succeeds, and only that one removes anything.
    3. A run that began before that writes a manifest of that generation, whose name is taken, or of an older one, which loses.
       A run that begins later writes a later one and names only files of its own, as does every run that begins when there
       is a manifest; these files did not exist when the list was made. So nothing on the list is in a manifest that counts.

    Clocks matter only to readers of a replaced plan, who have ``after`` seconds to finish.
    """
    storage = LocalFiles(out)
    manifest = current_manifest(out, plan_id)
    if manifest is None:
        return []
    before = time.time() - after
    leftovers = _leftovers(Path(out), plan_id, manifest, before)
    if not leftovers or (storage.root / manifests.manifest_path(manifest)).stat().st_mtime > before:
        return []
    run = Run(plan_id, manifest["generation"] + 1, manifests.unique_name(), True)
    won, _ = manifests.publish(storage, run, manifest["n_buckets"], manifest["buckets"], manifest["summary"])
    if not won:
        return []
    names = [path.relative_to(out).as_posix() for path in leftovers]
    remove(out, names)
    return names


def _leftovers(out: Path, plan_id: str, manifest: Mapping[str, Any], before: float) -> list[Path]:
    """Return the folders of attempts that the manifest does not name, and records, all last written before a time."""
    named = {name.split("/")[2] for part in ("files", "quarantine") for name in manifests.files_in(manifest, part)}
    folders = [one for one in (out / manifests.data_folder(plan_id)).glob("*") if one.name not in named]
    written = (out / manifests.RECORDS / plan_name(plan_id)).glob("*/*.json")
    return [path for path in [*sorted(folders), *sorted(written)] if last_written(path) < before]


def names_of_plan(manifest: Mapping[str, Any]) -> list[str]:
    """List what an output directory holds of a complete plan, the manifest first, so that none names a file that is gone."""
    plan, generation = manifest["plan"], manifest["generation"]
    named = (name for part in ("files", "quarantine") for name in manifests.files_in(manifest, part))
    attempts = {"/".join(name.split("/")[:3]) for name in named}
    records = manifests.record_folder(Run(plan, generation, "", False))
    return [manifests.manifest_path(manifest), plan_name(plan), records, *sorted(attempts)]


def remove(out: str, names: Sequence[str]) -> None:
    """Remove files and folders of an output directory, in this order, if they are there."""
    for path in (Path(out, name) for name in names):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def remove_plan(out: str, plan_id: str, after: float) -> None:
    """Remove a plan and all its leftovers, unless anything of it was written in the last ``after`` seconds."""
    name = plan_name(plan_id)
    names = [manifests.manifest_folder(plan_id), name, f"{manifests.RECORDS}/{name}", manifests.data_folder(plan_id)]
    there = [path for name in names if (path := Path(out, name)).exists()]
    if all(last_written(path) < time.time() - after for path in there):
        remove(out, names)


def last_written(path: Path) -> float:
    """Return when a folder or anything in it was last written; infinity if it changes at this moment."""
    try:
        return max(one.stat().st_mtime for one in [path, *path.rglob("*")])
    except FileNotFoundError:
        return math.inf
