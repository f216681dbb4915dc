"""Snapshots with all their sources, and the same with one less: random ones, files of mqadmin,
recordings of real clusters.
"""

from random import Random

import removed_sources
from bruteforce import reached
from checkout import DATA

from rmqalloc.snapshot.files import read_snapshots
from rmqalloc.snapshot.plain_data import SnapshotError, from_document
from silence.recorded import Recording

CASES = [DATA / "cases" / "mqadmin", DATA / "cases" / "mqadmin-right"]
RECORDINGS = DATA / "recordings"


def random_ones(n, seed):
    """Random snapshots; of each every list, lag, owner, route and broker is left out."""
    for number in range(n):
        whole = from_document(reached.case(Random(seed * 1_000_000_007 + number)))
        yield f"seed {seed}, number {number}", whole, removed_sources.without_one(whole)


def mqadmin_files():
    """Outputs of mqadmin that lie together, as they are read; of each set every file is left out."""
    folders = [folder for cases in CASES for folder in sorted(cases.iterdir()) if folder.is_dir()]
    for folder in [*folders, DATA / "mqadmin"]:
        files = sorted(
            str(path) for path in folder.rglob("*") if path.is_file() and path.name != "RIGHT.txt"
        )
        files = [one for one in files if "formats" not in one and not one.endswith("owns.json")]
        whole = _read(files)
        if whole is not None:
            yield folder.name, whole, _without_one_file(files, whole)


def _without_one_file(files, whole):
    for path in files:
        less = _read([one for one in files if one != path])
        if less is not None:
            yield f"a file of {whole.source}", less
    yield from removed_sources.without_one(whole)


def _read(paths):
    """The snapshot of files, None if they are refused; a refusal is no answer at all."""
    try:
        return read_snapshots(paths)[0] if paths else None
    except SnapshotError:
        return None


def recordings():
    """Readings of real clusters; of each every answer, and all answers of each broker, are lost."""
    for path in sorted(RECORDINGS.glob("*.json.gz")):
        recording = Recording.load(path)
        whole = recording.taken()
        yield path.name, whole, recording.without_one()
        yield f"{path.name}, once read", whole, removed_sources.without_one(whole)
