"""Directories that are replaced as a whole, and the verbs that write through the store."""

import errno
import gzip
import multiprocessing
import os
from pathlib import Path

import pytest
from checkout import ROOT
from programs import python
from store_cases import LEFT, fill, names

from rmqalloc.cli import main
from rmqalloc.documents import store
from rmqalloc.documents.store import (
    _disk as disk,
)
from rmqalloc.documents.store import (
    _staging as staging,
)
from rmqalloc.documents.store import (
    _writing as writing,
)
from rmqalloc.documents.store import (
    locked,
    replaced_directory,
    write_file,
)

SEED = str(ROOT / "examples" / "snapshots" / "seed.yaml")


@pytest.fixture
def no_exchange(monkeypatch):
    monkeypatch.setattr(writing, "exchange", lambda *_: False)


# --- Directories ---


def test_a_directory_is_never_away_while_it_is_replaced(tmp_path, monkeypatch):
    real, looks = disk._renameat2, []

    def looked(*arguments):
        done = real(*arguments)
        looks.append((tmp_path / "out" / "part").exists())
        return done

    monkeypatch.setattr(disk, "_renameat2", looked)
    for text in ("one", "two"):
        fill(tmp_path / "out", text)
    assert looks == [True]
    assert names(tmp_path) == ["out"]


def test_without_exchange_it_is_replaced_in_steps(tmp_path, no_exchange):
    for text in ("one", "two"):
        fill(tmp_path / "out", text)
        assert (tmp_path / "out" / "part").read_text() == text
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("error", [OSError(errno.EIO, "bad"), KeyboardInterrupt()])
def test_without_exchange_what_was_moved_away_is_put_back(
    tmp_path, monkeypatch, no_exchange, error
):
    fill(tmp_path / "out", "old")
    real = Path.rename

    def failing(self, target):
        if self.suffix == ".new":
            raise error
        return real(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(type(error)):
        fill(tmp_path / "out")
    assert (tmp_path / "out" / "part").read_text() == "old"
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("way", ["exchange", "steps"])
def test_what_came_before_it_was_replaced_is_seen_by_the_check_and_kept(tmp_path, monkeypatch, way):
    if way == "steps":
        monkeypatch.setattr(writing, "exchange", lambda *_: False)
    fill(tmp_path / "out", "old")
    standing = []

    def check(one):
        standing.append(one)
        if (one / "thesis").exists():
            raise FileExistsError("a thesis is there")
        (one / "thesis").write_text("the only copy")  # somebody is fast

    with pytest.raises(FileExistsError, match="thesis"):
        fill(tmp_path / "out", check=check)
    assert standing[0] == tmp_path / "out" != standing[1]
    assert {path.name: path.read_text() for path in (tmp_path / "out").iterdir()} == {
        "part": "old",
        "thesis": "the only copy",
    }
    assert names(tmp_path) == ["out"]


def test_what_is_no_directory_or_a_mount_is_refused_before_the_work(tmp_path, monkeypatch):
    write_file(tmp_path / "file", "x")
    fill(tmp_path / "mount")
    monkeypatch.setattr(os.path, "ismount", lambda path: Path(path).name == "mount")
    for name, said in (
        ("file", "Not a directory"),
        ("mount", "a mount point cannot be replaced; give a directory inside of it"),
    ):
        with pytest.raises(OSError, match=said) as error, replaced_directory(tmp_path / name):
            pytest.fail("the work began")
        assert error.value.filename == str(tmp_path / name)


def test_another_writer_may_go_on_while_the_old_directory_is_removed(tmp_path, monkeypatch):
    fill(tmp_path / "out", "one")
    real, nested = staging.remove_tree, []

    def slow(path):
        if not nested and (path / "part").exists():
            nested.append(path)
            fill(tmp_path / "out", "three")
        real(path)

    monkeypatch.setattr(staging, "remove_tree", slow)
    monkeypatch.setattr(writing, "locked", lambda folder: locked(folder, 0.2))
    fill(tmp_path / "out", "two")
    assert nested
    assert (tmp_path / "out" / "part").read_text() == "three"
    assert names(tmp_path) == ["out"]


def test_folders_above_are_made_and_reach_the_disk(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(disk, "sync_folder", synced.append)
    store.make_folder(tmp_path / "a" / "b")
    assert synced == [tmp_path, tmp_path / "a"]
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        store.make_folder(tmp_path / "file")


def write_in_turns(path, letter, rounds):
    for _ in range(rounds):
        fill(path, letter * 5000)


def test_two_writers_and_a_reader_do_not_disturb_each_other(tmp_path):
    path, looks = tmp_path / "out", 0
    fill(path, "a" * 5000)
    writers = [
        multiprocessing.get_context("fork").Process(target=write_in_turns, args=(path, one, 30))
        for one in "ab"
    ]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers) or not looks:
        assert (path / "part").stat().st_size == 5000
        looks += 1
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert names(tmp_path) == ["out"]


# --- Verbs ---


ON_A_FULL_DISK = """
import resource, sys
from rmqalloc.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (256, 256))  # no file may become longer
sys.exit(main(sys.argv[1:]))
"""
"""In a process of its own: the limit would hold for what the run of the tests writes, too."""


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize(
    ("verb", "suffix"),
    [
        (["plan", "-f", SEED, "--scale", "3", "--out"], ".json"),
        (["plan", "-f", SEED, "--scale", "3", "--out"], ".json.gz"),
        (["convert", SEED, "--out"], ".json"),
        (["recommend", "-f", SEED, "--out"], ".json"),
        (["report", "{plan}", "--out"], ".html"),
    ],
)
def test_a_full_disk_costs_nothing_that_was_there(tmp_path, verb, suffix):
    plan, out = tmp_path / "plan.json", tmp_path / f"out{suffix}"
    main(["plan", "-f", SEED, "--scale", "3", "--out", str(plan)])
    verb = [word.format(plan=plan) for word in verb]
    out.write_bytes(
        gzip.compress(b"the earlier good one") if suffix.endswith("gz") else b"the earlier good one"
    )
    before = out.read_bytes()
    done = python("-B", "-c", ON_A_FULL_DISK, *verb, out)
    assert (done.returncode, f"rmqalloc: {out}: File too large" in done.stderr) == (1, True), (
        done.stderr
    )
    assert out.read_bytes() == before
    assert names(tmp_path) == [out.name, "plan.json"]


def test_bulk_runs_again_under_the_pid_of_one_that_was_killed(tmp_path, monkeypatch):
    main(["generate", "--units", "20", "--files", "1", "--out", str(tmp_path / "fleet")])
    monkeypatch.setattr(os, "getpid", lambda: 1)  # as in every container
    (tmp_path / LEFT.format("owners", "new")).mkdir()
    for _ in range(2):
        assert main(["bulk", "-f", str(tmp_path / "fleet"), "--out", str(tmp_path / "owners")]) == 0
    assert names(tmp_path) == ["fleet", "owners"]
