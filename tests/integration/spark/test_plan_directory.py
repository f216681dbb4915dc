"""A directory with one plan, without Spark: whole at every step, whoever dies or sleeps there; and
what is never removed.
"""

import json
import os
import signal
import socket
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import ClassVar

import pytest
import tied

from rmqalloc.snapshot.directory import MARKER, replaced_result
from spark_udfs.job._plan_directory import (
    CLAIM,
    PARTS,
    SUCCESS,
    ClaimedError,
    DiskFolder,
    PlanExistsError,
    Writer,
    clear,
    writing,
)

N_PARTS = 3
HERE = Writer.here(os.getpid())


@pytest.fixture(scope="module")
def died():
    """A writer that is dead."""
    process = tied.popen([sys.executable, "-c", ""])
    process.wait()
    return Writer.here(process.pid)


class Killed(BaseException):
    """The writer dies here: nothing that it does afterwards has any effect."""


class Hooked:
    """A folder in memory; something happens before one of its steps, and each change is judged."""

    _all: ClassVar = []  # kept, so that no other gets the id of one: files bear it in their names

    def __init__(self, files, at=0, what=None):
        self._all.append(self)
        self.files, self._at, self._what, self.n_steps, self._is_dead = files, at, what, 0, False

    def _step(self):
        self.n_steps += 1
        try:
            if self.n_steps == self._at:
                self._what()
            if self._is_dead:
                raise Killed
        except Killed:
            self._is_dead = True
            raise

    def _judge(self):
        """What has `SUCCESS` is whole, and the plan that it says it is."""
        if SUCCESS in self.files:
            parts = [text for name, text in self.files.items() if name.startswith("part-")]
            assert parts == [json.loads(self.files[MARKER])["plan"]] * N_PARTS, sorted(self.files)

    def names(self):
        self._step()
        return sorted(self.files)

    def text(self, name):
        self._step()
        return self.files.get(name)

    def create(self, name, text):
        self._step()
        return self.files.setdefault(name, text) is text

    def write(self, name, text):
        self._step()
        self.files[name] = text
        self._judge()

    def remove(self, names):
        for name in names:
            self._step()
            self.files.pop(name, None)
            self._judge()

    def remove_text(self, name, text):
        self._step()
        if self.files.get(name) == text:
            del self.files[name]


def write(folder, plan="new", overwrite=True, writer=HERE):
    """As the job writes, with parts under names of their own; True unless the plan was there."""
    with writing(folder, "out", plan, overwrite, writer) as is_mine:
        if is_mine:
            clear(folder, plan)
            for number in range(N_PARTS):
                folder.write(f"part-{number}-{id(folder)}", plan)
            folder.write(SUCCESS, "")
    return is_mine


def files_before(what):
    files = {}
    if what != "nothing":
        write(folder := Hooked(files), "old")
    if what == "a part":
        folder.remove([SUCCESS, f"part-1-{id(folder)}"])
        files["_temporary"] = "a task's"
    return files


BEFORE = ["nothing", "a part", "a plan"]


def n_steps(before):
    write(folder := Hooked(files_before(before)))
    assert folder.n_steps > N_PARTS
    return folder.n_steps


def assert_written(files, plan="new"):
    assert sorted(name.partition("-")[0] for name in files) == [
        SUCCESS,
        MARKER,
        *["part"] * N_PARTS,
    ]
    assert json.loads(files[MARKER])["plan"] == plan


@pytest.mark.parametrize("before", BEFORE)
def test_killed_at_every_step_and_run_again(before, died):
    def die():
        raise Killed

    assert n_steps(before)
    for at in range(1, n_steps(before) + 1):
        files = files_before(before)
        with pytest.raises(Killed):
            write(Hooked(files, at, die), writer=died)
        is_written = write(Hooked(files), overwrite=before == "a plan")
        if not is_written:  # it was killed with nothing to do but to remove its claim, which the next writer takes over
            del files[CLAIM]
        assert_written(files)


@pytest.mark.parametrize("is_claimed", [False, True], ids=["free", "claimed by the dead"])
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("before", BEFORE[:2])
def test_asleep_at_every_step_while_another_runs(before, overwrite, is_claimed, died):
    claim = {CLAIM: json.dumps(died._asdict())} if is_claimed else {}
    assert n_steps(before)
    for at in range(1, n_steps(before) + 1 + 3 * is_claimed):
        files, wrote = files_before(before) | claim, []

        def run(*how, files=files, wrote=wrote):
            with suppress(ClaimedError):
                wrote.append(write(Hooked(files, *how), overwrite=overwrite))

        run(at, run)
        assert_written(files)
        assert wrote.count(True) == 1 or overwrite


def test_a_complete_plan_is_left_alone():
    files = files_before("a plan")
    before = dict(files)
    assert write(Hooked(files), "old", overwrite=False) is False
    assert files == before
    assert write(Hooked(files), "old", overwrite=True) is True
    assert files.keys() != before.keys(), "written again"


# --- Who holds the claim ---


@contextmanager
def sleeper():
    """The process id of a Python that sleeps until it is killed."""
    process = tied.popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def claimed(path, **claim):
    (path / CLAIM).write_text(
        json.dumps({"host": HERE.host, "plan": "p", "since": time.time() - 90, **claim})
    )


def test_a_living_writer_is_named_with_its_age(tmp_path, died):
    with sleeper() as pid:
        claimed(tmp_path, pids=[died.pids[0], pid])  # its Java works on
        with pytest.raises(
            ClaimedError,
            match=rf"out is being written by .*{HERE.host}, for (9\d|\d{(3,)}) s, says {CLAIM} in it",
        ):
            write(DiskFolder(str(tmp_path)))
        assert os.listdir(tmp_path) == [CLAIM]
    assert write(DiskFolder(str(tmp_path))), "it is dead now"
    assert CLAIM not in os.listdir(tmp_path)


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux tells of the dead whom nobody has reaped"
)
def test_a_writer_that_nobody_has_reaped_is_dead(tmp_path):
    with sleeper() as pid:
        claimed(tmp_path, pids=[pid])
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # it has ended, and stays a zombie
        assert write(DiskFolder(str(tmp_path)))


@pytest.mark.parametrize(
    "claim",
    [
        {"host": "another.example", "pids": [2**22 + 1]},
        {"pids": []},
        {"pids": ["x"]},
        {"pids": None},
    ],
)
def test_whoever_may_live_is_not_taken_for_dead(tmp_path, claim):
    claimed(tmp_path, **claim)
    with pytest.raises(ClaimedError, match="if it is surely dead, remove that file"):
        write(DiskFolder(str(tmp_path)))
    assert os.listdir(tmp_path) == [CLAIM]


def test_a_damaged_claim_is_not_taken_for_none(tmp_path):
    (tmp_path / CLAIM).write_text('{"host": "a')
    with pytest.raises(ClaimedError, match="remove that file"):
        write(DiskFolder(str(tmp_path)))


def test_only_the_claim_that_was_read_is_removed(tmp_path):
    folder = DiskFolder(str(tmp_path))
    folder.create(CLAIM, "of one who was faster")
    folder.remove_text(CLAIM, "of the dead")
    assert folder.text(CLAIM) == "of one who was faster"


def test_one_of_many_takes_the_claim_of_the_dead(tmp_path, died):
    at_work, most, wrote = [], [0], []

    def run(start):
        folder = DiskFolder(str(tmp_path))
        start.wait()
        with suppress(ClaimedError), writing(folder, "out", "p", True, HERE):
            at_work.append(None)
            most[0] = max(most[0], len(at_work))
            time.sleep(0.005)
            at_work.pop()
            wrote.append(None)

    for _ in range(10):
        claimed(tmp_path, pids=list(died.pids))
        start = threading.Barrier(6)
        threads = [threading.Thread(target=run, args=(start,)) for _ in range(6)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    assert most == [1] and len(wrote) >= 10
    assert CLAIM not in os.listdir(tmp_path)


def failing(folder, error, writer):
    with writing(folder, "out", "p", False, writer):
        raise error


def test_an_error_gives_the_claim_back_and_an_interrupt_does_not(tmp_path, died):
    """Spark may be within a commit, which no interrupt reaches, until its process has ended."""
    folder = DiskFolder(str(tmp_path))
    with pytest.raises(OSError, match="no space left"):
        failing(folder, OSError("no space left"), HERE)
    assert not folder.names()
    with pytest.raises(KeyboardInterrupt):
        failing(folder, KeyboardInterrupt(), died)
    assert json.loads(folder.text(CLAIM))["host"] == socket.gethostname()
    assert write(folder, "p", overwrite=False)


def test_names_of_files_half_made_stop_nobody(tmp_path):
    for names in ((MARKER, CLAIM), (SUCCESS, "_summary.json", "_summary.txt")):
        for name in names:
            (tmp_path / f".{name}.0123456789abcdef.new").write_text('{"tool"')
        assert write(DiskFolder(str(tmp_path)))
        assert not list(tmp_path.glob(".*"))


# --- What is never removed ---


def a_plan(path, *, is_complete=True):
    write(DiskFolder(str(path)), "old")
    if not is_complete:
        (path / SUCCESS).unlink()


def foreign(path):
    path.mkdir()
    (path / "thesis.txt").write_text("the only copy")


def foreign_in_plan(path):
    a_plan(path)
    (path / "thesis.txt").write_text("the only copy")


def bulk(path):
    with replaced_result(path, "plan") as new:
        (new / "part-00000.parquet").write_text("")


def fleet(path):
    with replaced_result(path, "fleet") as new:
        (new / "part-00000.parquet").write_text("")


@pytest.mark.parametrize(
    ("make", "said", "unless_overwrite"),
    [
        (
            foreign,
            "holds no plan, but files such as thesis.txt; give a new or empty directory",
            False,
        ),
        (fleet, "holds no plan, but files such as", False),
        (
            foreign_in_plan,
            "is a plan, but thesis.txt in it is not of rmqalloc; move that away",
            False,
        ),
        (
            a_plan,
            "holds another plan, old; give another directory, or --overwrite to replace it",
            True,
        ),
        (bulk, "holds a plan of `rmqalloc bulk` without Spark; give another", True),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_what_is_refused(tmp_path, make, said, unless_overwrite):
    out = tmp_path / "out"
    make(out)
    before = {path.name: path.read_text() for path in out.iterdir()}
    for overwrite in (False, True):
        if overwrite and unless_overwrite:
            assert write(DiskFolder(str(out)), "new", overwrite)
            continue
        with pytest.raises(PlanExistsError, match=said):
            write(DiskFolder(str(out)), "new", overwrite)
        assert {path.name: path.read_text() for path in out.iterdir()} == before


def test_what_a_killed_run_left_of_another_plan_is_replaced(tmp_path):
    a_plan(tmp_path / "out", is_complete=False)
    assert write(DiskFolder(str(tmp_path / "out")), "new", overwrite=False)


def test_a_file_in_the_way_is_named(tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(OSError, match="out"):
        write(DiskFolder(str(tmp_path / "out")))
    assert (tmp_path / "out").read_text() == "mine"


def test_parts_of_tasks_that_do_not_count_are_removed(tmp_path):
    """Such as those of an attempt that failed, or of one too many."""
    folder = DiskFolder(str(tmp_path / "plans"))
    folder.open_parts()
    for name in ("part-00000-a.parquet", "part-00000-b.parquet"):
        (tmp_path / "plans" / PARTS / name).write_text(name)
    folder.take_parts(["part-00000-b.parquet"])
    assert folder.names() == ["part-00000-b.parquet"]
