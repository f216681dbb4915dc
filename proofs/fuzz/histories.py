"""Damaged histories, read by every face: each ends in an answer or a `HistoryError`, within 256 MiB
and in bounded time.
"""

import contextlib
import io
import multiprocessing
import os
import resource
import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from random import Random
from typing import NamedTuple

from watched_snapshots import Watched, cluster

from fuzz import damaged_histories as damage
from fuzz.running import TookTooLong
from rmqalloc.cli import main
from rmqalloc.history import History, HistoryError, Recorder
from rmqalloc.snapshot.matching import NoMatchError

FILES, QUICK_FILES, FILES_AT_ONCE, SEED = 20_000, 160, 500, 1
MOST_MEMORY = 256 << 20
"""Bytes by which the memory of a process may rise while it reads damaged files."""
MOST_SECONDS = 20
"""Seconds of the processor for a file and a face; one that takes longer is a traceback."""
A_DEFECT = 70
MOMENTS = (damage.START + 80, damage.START + 400)
COLUMNS = (
    "damage",
    "files",
    "answered by all faces",
    "refused by a face",
    "tracebacks",
    "slowest",
    "memory risen by",
)


class Outcome(NamedTuple):
    """The outcome of files of one kind of damage."""

    files: Counter[str]
    tracebacks: dict[tuple[str, int], str]  # once for each place that they come from
    worst_seconds: float
    worst_memory: int  # by how much the high-water mark of resident memory rose


def histories(report, is_quick):
    """Damage histories, and read each by all faces."""
    report.head(COLUMNS)
    for kind in damage.KINDS:
        n_files = (QUICK_FILES if is_quick else FILES) // len(damage.KINDS)
        parts = _parts(kind, n_files)
        outcomes = [run(*parts[0])] if is_quick else _alone(parts)
        outcome = _together(outcomes)
        report.row(kind, n_files, *cells(outcome))
        for text in outcome.tracebacks.values():
            report.fault(text)
        if outcome.worst_memory > MOST_MEMORY:
            report.fault(f"{kind}: memory rose by {outcome.worst_memory >> 20:,} MiB")


def cells(outcome):
    """A row of the table without its head."""
    seconds, memory = f"{outcome.worst_seconds:.2f} s", f"{outcome.worst_memory / 2**20:,.0f} MiB"
    counts = [outcome.files[name] for name in ("answered", "refused", "traceback")]
    return *counts, seconds, memory


def _parts(kind, n_files):
    n_parts = max(1, n_files // FILES_AT_ONCE)
    return [(kind, n_files // n_parts, SEED + part) for part in range(n_parts)]


def _alone(parts):
    """Run each part in a process of its own; one that dies counts as one traceback."""
    for part in parts:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            try:
                yield pool.submit(run, *part).result()
            except BrokenProcessPool as error:
                yield Outcome(Counter(traceback=1), {(str(part), 0): f"{part}: {error}"}, 0.0, 0)


def _together(outcomes):
    total = Outcome(Counter(), {}, 0.0, 0)
    for outcome in outcomes:
        total = Outcome(
            total.files + outcome.files,
            outcome.tracebacks | total.tracebacks,
            max(total.worst_seconds, outcome.worst_seconds),
            max(total.worst_memory, outcome.worst_memory),
        )
    return total


def run(kind, n_files, seed):
    """Damage and read files of one kind, in bounded address space."""
    random, seeds = Random(f"{kind} {seed}"), damage.seeds()
    home = Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    path, work = home / "damaged.history", home / "work"
    files, tracebacks, worst = Counter(), {}, 0.0
    try:
        for data in seeds:
            assert read(path, data, tracebacks)[0] == "answered", tracebacks
        with _bounded():
            before = _high_water()
            for number in range(n_files):
                data = damage.damaged(kind, random.choice(seeds), random, work)
                name, seconds = read(path, data, tracebacks, f"{kind} {seed}, number {number}")
                files[name] += 1
                worst = max(worst, seconds)
    finally:
        shutil.rmtree(home)
    return Outcome(files, tracebacks, worst, _high_water() - before)


@contextlib.contextmanager
def _bounded():
    """Let the address space grow by no more than `MOST_MEMORY`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MOST_MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _high_water():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def read(path, data, tracebacks, called=""):
    """Give a file to every face; return the outcome, and the seconds of the slowest."""
    found, worst = set(), 0.0
    for name, face in FACES.items():
        for suffix in ("-wal", "-shm", "-journal", ".lock"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        path.write_bytes(data)
        started = time.process_time()
        found.add(_ending(face, path, tracebacks, f"{called}, {name}"))
        worst = max(worst, time.process_time() - started)
    return next(name for name in ("traceback", "refused", "answered") if name in found), worst


def _ending(face, path, tracebacks, called):
    """What one face makes of one file."""

    def alarm(_number, _frame):
        raise TookTooLong(f"more than {MOST_SECONDS} s")

    before = signal.signal(signal.SIGPROF, alarm)
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    try:
        face(path)
        return "answered"
    except NoMatchError:
        return "answered"
    except HistoryError as error:
        str(error)
        return "refused"
    except (Exception, TookTooLong) as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = "".join(traceback.format_exception(error, limit=-6))
        tracebacks.setdefault((where.filename, where.lineno), f"{called}: {said}")
        return "traceback"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


# --- Faces ---


def _readings(path):
    history = History(path)
    assert history.first_reading is None or history.first_reading >= 0
    assert history.last_reading is None or history.last_reading >= 0


def _owners(path):
    for moment in MOMENTS:
        History(path).owners_at("billing", moment)


def _snapshot(path):
    for moment in MOMENTS:
        History(path).snapshot_at(moment)


def _events(path):
    History(path).events()


def _recorder(path):
    watched = Watched()
    with Recorder(path) as recorder:
        for i in range(2):
            now = cluster(("billing", "c1", "new"), ("pay", "p9"))
            recorder.record(watched.observe(now, damage.LAST + 1000 + 30 * i))


def _command(path):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["history", "-f", str(path)])
    if code == A_DEFECT:
        raise CommandFailed(err.getvalue()[-2000:])
    if code:
        raise HistoryError(err.getvalue())


class CommandFailed(Exception):
    """The command ended as it does for a defect."""


FACES = {
    "readings": _readings,
    "owners_at": _owners,
    "snapshot_at": _snapshot,
    "events": _events,
    "command": _command,
    "recorder": _recorder,
}
