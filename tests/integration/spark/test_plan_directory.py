"""A directory with one plan, without Spark: whole at every step, whoever dies, sleeps or loses the
claim there; and what is never removed.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, nullcontext, suppress
from typing import ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tied

from rmqalloc.snapshot.directory import MARKER, replaced_result
from spark_udfs.job._plan_directory import (
    CLAIM,
    SUCCESS,
    ClaimedError,
    DirectoryState,
    DiskFolder,
    Folder,
    IncompleteError,
    PlanExistsError,
    clear,
    listed,
    publish,
    stage_of,
    writer_here,
    writing,
)

N_PARTS = 3
HERE = writer_here(os.getpid())


@contextmanager
def sleeper():
    """The process id of a Python that sleeps until it is killed."""
    process = tied.popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def died():
    """A writer that is dead."""
    with sleeper() as pid:
        return writer_here(pid)


class Killed(BaseException):
    """The writer dies here: nothing that it does afterwards has any effect."""


class Steps:
    """Something happens before one of the steps of a run."""

    def __init__(self, at=0, what=None):
        self._at, self._what, self.n_steps, self._is_dead = at, what, 0, False

    def step(self):
        self.n_steps += 1
        try:
            if self.n_steps == self._at:
                self._what()
            if self._is_dead:
                raise Killed
        except Killed:
            self._is_dead = True
            raise


class Hooked(Folder):
    """A store in memory, without locks: parts are in their place as soon as they are written. Each
    change is judged.
    """

    _all: ClassVar = []  # kept, so that no other gets the id of one: parts bear it in their names

    def __init__(self, files, at=0, what=None):
        self._all.append(self)
        self.files, self._steps = files, Steps(at, what)

    @property
    def n_steps(self):
        return self._steps.n_steps

    def _judge(self):
        """What is complete is whole, and the plan that it says it is."""
        state = DirectoryState.of(Still(self.files))
        if not state.fault:
            parts = [text for name, text in self.files.items() if name.startswith("part-")]
            assert parts == [state.plan_id] * N_PARTS, sorted(self.files)

    def locked(self):
        return nullcontext()

    def names(self):
        self._steps.step()
        return sorted(self.files)

    def text(self, name):
        self._steps.step()
        return self.files.get(name)

    def create(self, name, text):
        self._steps.step()
        is_new = self.files.setdefault(name, text) is text
        self._judge()
        return is_new

    def write(self, name, text):
        self._steps.step()
        self.files[name] = text
        self._judge()

    def remove(self, names):
        for name in names:
            self._steps.step()
            self.files.pop(name, None)
            self._judge()

    def counted(self, _stage, plan_id):
        self._steps.step()
        parts = {name: text for name, text in self.files.items() if name.startswith("part-")}
        return {name: int(text == plan_id) for name, text in parts.items()}

    def place(self, stage, names):
        self._steps.step()

    def add_part(self, _claim, number, plan):
        self.write(f"part-{number}-{id(self)}", plan)


class Still(Hooked):
    """The same to look at."""

    def _judge(self):
        pass


class HookedDisk(DiskFolder):
    """A disk; something happens before one of the steps that are not within a lock, and there each
    time what readers find is judged.
    """

    def __init__(self, path, at=0, what=None):
        super().__init__(str(path))
        self._steps, self._is_locked = Steps(at, what), False

    @property
    def n_steps(self):
        return self._steps.n_steps

    @contextmanager
    def locked(self):
        self._step()
        with super().locked():
            self._is_locked = True
            try:
                yield
            finally:
                self._is_locked = False
        self._step()

    def _step(self):
        if not self._is_locked:
            self._steps.step()
            if (self.path / SUCCESS).exists():
                plans = [plan_of(path) for path in self.path.glob("part-*")]
                assert len(plans) == N_PARTS and len(set(plans)) == 1, plans

    def names(self):
        self._step()
        return super().names()

    def text(self, name):
        self._step()
        return super().text(name)

    def create(self, name, text):
        self._step()
        return super().create(name, text)

    def remove(self, names):
        self._step()
        super().remove(names)

    def counted(self, stage, plan_id):
        self._step()
        return super().counted(stage, plan_id)

    def place(self, stage, names):
        self._step()
        super().place(stage, names)

    def add_part(self, claim, number, plan):
        self._step()
        write_part(self, claim, number, plan)


def write_part(folder, claim, number, plan):
    """A part of one row in the place of a run, as Spark writes it."""
    stage = folder.path / stage_of(claim)
    stage.mkdir(exist_ok=True)
    pq.write_table(pa.table({"plan_id": [plan]}), stage / f"part-{number}-{stage.name[-16:]}")


def plan_of(path):
    [plan] = pq.read_table(path)["plan_id"].to_pylist()
    return plan


def write(folder, plan="new", overwrite=True, writer=HERE, n_rows=N_PARTS):
    """As the job writes, with parts under names of their own; True unless the plan was there."""
    with writing(folder, "out", plan, overwrite, writer) as claim:
        if claim:
            clear(folder, "out", claim)
            for number in range(N_PARTS):
                getattr(folder, "add_part", lambda *part: write_part(folder, *part))(
                    claim, number, plan
                )
            publish(folder, "out", claim, n_rows)
    return bool(claim)


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
    claim = {CLAIM: json.dumps({**died, "token": "t"})} if is_claimed else {}
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


def claimed(path, **claim):
    """A claim like that of a process here, but for what is given."""
    text = json.dumps({**HERE, "plan": "p", "since": "2026-01-02", "token": "t", **claim})
    (path / CLAIM).write_text(text)


@pytest.mark.parametrize("since", ["2026-01-02", "9999-12-31", 4e9, None])
def test_a_living_writer_is_named_with_its_time_which_decides_nothing(tmp_path, died, since):
    with sleeper() as pid:
        processes = [*died["processes"], *writer_here(pid)["processes"]]  # its Java works on
        claimed(tmp_path, processes=processes, since=since)
        with pytest.raises(
            ClaimedError,
            match=rf"by {HERE['host']} since {since}, according to {CLAIM} in it; its process {pid} is alive",
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
        claimed(tmp_path, processes=writer_here(pid)["processes"])
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # it has ended, and stays a zombie
        assert write(DiskFolder(str(tmp_path)))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells when a process was started")
def test_a_number_that_another_process_has_now_is_of_the_dead(tmp_path):
    [(pid, started)] = HERE["processes"]
    claimed(tmp_path, processes=[[pid, started - 1]])
    assert write(DiskFolder(str(tmp_path)))


NAMES_NONE = "does not name the writing processes"


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        ({"host": "another.example"}, "on another machine"),
        ({"boot": "another"}, "before the last start of this machine"),
        ({"namespaces": "pid:[1]"}, "in another PID namespace"),
        ({"processes": []}, NAMES_NONE),
        ({"processes": ["x"]}, NAMES_NONE),
        ({"processes": [[1, None]]}, NAMES_NONE),
        ({"processes": None}, NAMES_NONE),
        ({"processes": [[2**70, 1]]}, "is alive"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no writer is known to be dead")
def test_whoever_may_live_is_not_taken_for_dead(tmp_path, died, claim, why):
    claimed(tmp_path, **{"processes": died["processes"], **claim})
    with pytest.raises(ClaimedError, match=f"{why}.* if it is surely dead, remove that file"):
        write(DiskFolder(str(tmp_path)))
    assert os.listdir(tmp_path) == [CLAIM]


def test_a_system_that_does_not_tell_processes_apart_takes_none_for_dead(
    tmp_path, died, monkeypatch
):
    claimed(tmp_path, processes=died["processes"])
    monkeypatch.setattr(os, "readlink", lambda _path: "0")  # /proc is of another namespace
    assert writer_here()["boot"] == ""
    with pytest.raises(ClaimedError, match="does not report whether its processes are alive"):
        write(DiskFolder(str(tmp_path)))


TRY = """
import os, sys
from spark_udfs.job._plan_directory import DiskFolder, writer_here, writing
try:
    with writing(DiskFolder(sys.argv[1]), "out", "theirs", False, writer_here(os.getpid())):
        os._exit(0)  # killed, as far as its claim is concerned
except RuntimeError as error:
    print(error)
"""


def elsewhere(path):
    """What a writer in another PID namespace of this machine says."""
    unshare = ["unshare", "--pid", "--fork", "--mount-proc"]
    if not shutil.which("unshare") or subprocess.run([*unshare, "true"], check=False).returncode:
        pytest.skip("unshare is not there, or not allowed")
    command = [*unshare, sys.executable, "-c", TRY, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("is_alive", [True, False])
def test_no_writer_of_another_namespace_is_taken_for_dead(tmp_path, is_alive):
    if is_alive:
        with writing(DiskFolder(str(tmp_path)), "out", "p", False, HERE) as claim:
            assert "it runs in another PID namespace" in elsewhere(tmp_path)
            assert (tmp_path / CLAIM).read_text() == claim
    else:
        assert elsewhere(tmp_path) == ""
        with pytest.raises(ClaimedError, match="it runs in another PID namespace"):
            write(DiskFolder(str(tmp_path)))


def test_a_damaged_claim_is_not_taken_for_none(tmp_path):
    (tmp_path / CLAIM).write_text('{"host": "a')
    with pytest.raises(ClaimedError, match="remove that file"):
        write(DiskFolder(str(tmp_path)))


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
        claimed(tmp_path, processes=died["processes"])
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
    assert json.loads(folder.text(CLAIM))["host"] == HERE["host"]
    assert write(folder, "p", overwrite=False)


def test_an_error_after_the_claim_was_lost_names_that(tmp_path):
    """Such as that of a task, whose file somebody else has removed."""

    class Unclaimed(DiskFolder):
        def counted(self, stage, plan_id):
            self.remove([CLAIM])
            raise FileNotFoundError("part-0")

    with pytest.raises(ClaimedError, match="is no longer the file") as raised:
        write(Unclaimed(str(tmp_path)))
    assert str(raised.value.__cause__) == "part-0"


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
            "is a plan, but thesis.txt in it is not a file of rmqalloc; move it away",
            False,
        ),
        (
            a_plan,
            "holds another plan, old; give another directory, or replace it with --overwrite",
            True,
        ),
        (bulk, "holds a plan of `rmqalloc bulk` without Spark; give another", True),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_what_is_refused(tmp_path, make, said, unless_overwrite):
    out = tmp_path / "out"
    make(out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    for overwrite in (False, True):
        if overwrite and unless_overwrite:
            assert write(DiskFolder(str(out)), "new", overwrite)
            continue
        with pytest.raises(PlanExistsError, match=said):
            write(DiskFolder(str(out)), "new", overwrite)
        assert {path.name: path.read_bytes() for path in out.iterdir()} == before


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
    with writing(folder, "out", "p", False, HERE) as claim:
        for number in range(3):
            write_part(folder, claim, number, "p")
        counts = sorted(name.name for name in (folder.path / stage_of(claim)).iterdir())[1:]
        publish(folder, "out", claim, 2, counts)
    assert folder.names() == sorted([*counts, SUCCESS])


# --- Who has lost the claim, and what is not the plan ---


@pytest.mark.parametrize(
    ("is_disk", "before"),
    [(False, "nothing"), (False, "a plan"), (True, "a plan")],
    ids=["store", "store with a plan", "disk"],
)
def test_a_claim_removed_by_hand_at_every_step(tmp_path, before, is_disk):
    """What is there in the end is one of the two plans, whole; in a store it may be none."""
    at = n_steps = 1
    while at <= n_steps:
        files, wrote, path = files_before(before), [], tmp_path / f"{at}"
        if is_disk and before == "a plan":
            a_plan(path)

        def remade(files=files, path=path):
            return HookedDisk(path) if is_disk else Hooked(files)

        def other(files=files, wrote=wrote, path=path, remade=remade):
            files.pop(CLAIM, None)
            (path / CLAIM).unlink(missing_ok=True)
            with suppress(ClaimedError, IncompleteError):
                write(remade(), "other")
                wrote.append("other")

        first = HookedDisk(path, at, other) if is_disk else Hooked(files, at, other)
        try:
            write(first, "new")
            wrote.append("new")
        except (ClaimedError, IncompleteError):
            assert wrote == ["other"] or not is_disk
        state = DirectoryState.of(DiskFolder(str(path)) if is_disk else Still(files))
        is_there = state.plan_id in wrote and not state.fault
        # In a store, a run may lose its claim between the look at it and what it does then.
        is_none = state.fault == "there is no _SUCCESS" and not is_disk
        assert is_there or is_none, (at, wrote, state)
        at, n_steps = at + 1, max(n_steps, first.n_steps)
    assert n_steps > N_PARTS


@pytest.mark.parametrize("is_taken", [False, True])
def test_a_claim_removed_by_hand_ends_its_run(tmp_path, is_taken):
    class Unclaimed(DiskFolder):
        def counted(self, stage, plan_id):
            self.remove([CLAIM])
            if is_taken:
                claimed(tmp_path)
            return super().counted(stage, plan_id)

    with pytest.raises(ClaimedError, match="is no longer the file that this run created"):
        write(Unclaimed(str(tmp_path)))
    assert sorted(os.listdir(tmp_path)) == [MARKER, CLAIM][: 1 + is_taken], "its parts are gone"


@pytest.mark.parametrize("n_rows", [N_PARTS - 1, N_PARTS + 1])
def test_rows_that_do_not_agree_with_the_tasks_are_no_plan(tmp_path, n_rows):
    with pytest.raises(
        IncompleteError, match=f"3 parts hold 3 rows of the plan, but tasks have written {n_rows}"
    ):
        write(DiskFolder(str(tmp_path)), n_rows=n_rows)
    assert sorted(os.listdir(tmp_path)) == [MARKER]


def foreign_part(path):
    (path / "part-foreign").write_text("x")


def one_less(path):
    next(path.glob("part-2*")).unlink()


def of_another_plan(path):
    success = json.loads((path / SUCCESS).read_text())
    (path / SUCCESS).write_text(json.dumps({**success, "plan": "other"}))


SPOILED = pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (foreign_part, "part-foreign is not one of its 3 parts"),
        (one_less, r"its part part-2-\w+ is missing"),
        (lambda path: (path / SUCCESS).write_text(""), "_SUCCESS does not list the parts"),
        (lambda path: (path / SUCCESS).write_text("{"), "_SUCCESS does not list the parts"),
        (of_another_plan, "_SUCCESS is of plan other, but _rmqalloc.json of old"),
        (lambda path: (path / SUCCESS).unlink(), "there is no _SUCCESS"),
    ],
    ids=["a part too many", "a part less", "empty", "damaged", "another plan", "none"],
)


@SPOILED
def test_what_is_not_exactly_the_plan_is_not_complete(tmp_path, spoil, said):
    a_plan(tmp_path)
    folder = DiskFolder(str(tmp_path))
    assert len(listed(folder, "out", "old")) == N_PARTS
    with pytest.raises(
        IncompleteError, match="out does not hold the complete plan p: it holds old"
    ):
        listed(folder, "out", "p")
    spoil(tmp_path)
    with pytest.raises(IncompleteError, match=f"out does not hold the complete plan old: {said}"):
        listed(folder, "out", "old")
    if SUCCESS in folder.names():
        with pytest.raises(PlanExistsError, match=rf"another plan, old \(not complete: {said}"):
            write(folder, "new", overwrite=False)
    assert write(folder, "old", overwrite=False), "it is planned again"
    assert len(listed(folder, "out", "old")) == N_PARTS


@pytest.mark.parametrize("spoil", [foreign_part, one_less, lambda path: (path / CLAIM).unlink()])
def test_what_comes_or_goes_while_success_is_written_withdraws_it(tmp_path, spoil):
    class Raced(DiskFolder):
        def create(self, name, text):
            is_new = super().create(name, text)
            if name == SUCCESS:
                spoil(self.path)
            return is_new

    said = r"not one of its 3 parts|is missing|no longer the file"
    with pytest.raises((ClaimedError, IncompleteError), match=said):
        write(Raced(str(tmp_path)))
    assert SUCCESS not in os.listdir(tmp_path)


def test_a_foreign_part_before_success(tmp_path):
    class Raced(DiskFolder):
        def counted(self, stage, plan_id):
            foreign_part(self.path)
            return super().counted(stage, plan_id)

        def create(self, name, text):
            assert name != SUCCESS, "not for a moment"
            return super().create(name, text)

    with pytest.raises(IncompleteError, match="part-foreign is not one of its 3 parts"):
        write(Raced(str(tmp_path)))
    assert SUCCESS not in os.listdir(tmp_path)


def test_the_end_of_a_run_leaves_the_claim_of_another(tmp_path):
    folder = DiskFolder(str(tmp_path))
    with writing(folder, "d", "p", False, HERE):
        folder.write(CLAIM, "the claim of another run")
    assert folder.text(CLAIM) == "the claim of another run"
