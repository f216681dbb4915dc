"""The one way to write: whole or not at all, for everybody who looks, writes beside or is killed."""

import errno
import fcntl
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from store_cases import LEFT, fill, names

from rmqalloc.documents.store import (
    LockedError,
    create_file,
    locked,
    replaced_directory,
    replaced_file,
    sweep,
    write_file,
)
from rmqalloc.documents.store import (
    _disk as disk,
)
from rmqalloc.documents.store import (
    _locks as locks,
)
from rmqalloc.documents.store import (
    _staging as staging,
)
from rmqalloc.documents.store import (
    _writing as writing,
)


@pytest.fixture
def no_exchange(monkeypatch):
    monkeypatch.setattr(writing, "exchange", lambda *_: False)


@pytest.fixture
def no_locks(monkeypatch):
    """As on Windows."""
    monkeypatch.setattr(locks, "fcntl", None)


# --- Files ---


@given(content=st.one_of(st.binary(max_size=99), st.text(st.characters(codec="utf-8"), max_size=50)), name=st.text(
    st.characters(blacklist_categories=("Cs",), blacklist_characters="/\0"), min_size=1, max_size=60
).filter(lambda name: name not in (".", "..")))  # fmt: skip
@examples(25)
def test_what_is_written_is_read_whatever_the_name(tmp_path_factory, content, name):
    path = tmp_path_factory.mktemp("any") / name
    for data in (b"earlier", content):
        write_file(path, data)
        assert path.read_bytes() == (data if isinstance(data, bytes) else data.encode())
        assert len(names(path.parent)) == 1
    assert create_file(path, b"later") is False


def test_until_the_end_the_old_file_stands_and_the_new_one_is_nobodys_business(tmp_path):
    path = tmp_path / "plan.json"
    write_file(path, "old")
    path.chmod(0o600)
    with replaced_file(path) as file:
        file.write(b"new")
        file.flush()
        (staged,) = (one for one in tmp_path.iterdir() if one != path)
        assert path.read_text() == "old"
        assert stat.S_IMODE(staged.stat().st_mode) == 0o600, "no more open than what it replaces"
        assert re.fullmatch(r"\.plan\.json\.[0-9a-f]{16}\.new", staged.name)
    assert path.read_text() == "new"
    assert names(tmp_path) == ["plan.json"]


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt, OSError(errno.ENOSPC, "full"), ValueError("other"), SystemExit]
)
@pytest.mark.parametrize("begin", [replaced_file, replaced_directory])
def test_an_error_leaves_everything_as_it_was(tmp_path, error, begin):
    path = tmp_path / "out"
    fill(path, "old") if begin is replaced_directory else write_file(path, "old")
    with pytest.raises(error if isinstance(error, type) else type(error)) as raised, begin(path):
        raise error
    assert names(tmp_path) == ["out"]
    assert (path / "part" if path.is_dir() else path).read_text() == "old"
    if isinstance(error, OSError):
        assert raised.value.filename == str(path), (
            "an error that names nothing names what was to be written"
        )


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_permissions_are_kept_and_new_files_follow_the_umask(tmp_path, mode):
    path, folder = tmp_path / "file", tmp_path / "folder"
    before = os.umask(0o027)
    try:
        write_file(path, "")
        fill(folder)
        assert [stat.S_IMODE(one.stat().st_mode) for one in (path, folder)] == [0o640, 0o750]
        for one in (path, folder):
            one.chmod(mode | 0o700 if one is folder else mode)
        write_file(path, "new")
        fill(folder)
    finally:
        os.umask(before)
    assert [stat.S_IMODE(one.stat().st_mode) for one in (path, folder)] == [mode, mode | 0o700]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_is_kept(tmp_path):
    path = tmp_path / "file"
    write_file(path, "old")
    os.chown(path, 1234, 5678)
    write_file(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 5678)


def test_a_link_stays_a_link_and_what_it_points_to_is_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    link, second = tmp_path / "link", tmp_path / "second"
    link.symlink_to("real/file")
    second.symlink_to(link)
    for text in ("made", "replaced"):
        write_file(second, text)
        assert (tmp_path / "real" / "file").read_text() == text
    assert link.is_symlink() and second.is_symlink()
    assert names(tmp_path / "real") == ["file"]
    link.unlink()
    link.symlink_to("second")
    with pytest.raises(OSError, match="symbolic links"):
        write_file(second, "")


def test_a_device_a_pipe_and_an_open_file_are_written_to_as_they_are(tmp_path):
    write_file(os.devnull, "gone")
    script = """
from rmqalloc.documents.store import write_file
print("a", flush=True)
write_file("/dev/stdout", "b\\n")
print("c")
"""
    command = [sys.executable, "-c", script]
    assert (
        subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
        == "a\nb\nc\n"
    )
    log = tmp_path / "log"
    log.write_text("before\n")
    with log.open("a") as file:
        subprocess.run(command, stdout=file, check=True, cwd=ROOT)
    assert log.read_text() == "before\na\nb\nc\n", (
        "nothing in an open file is overwritten or replaced"
    )
    assert names(tmp_path) == ["log"]


@pytest.mark.parametrize("path", ["folder", "folder/", "absent/", "absent/file", "file/below"])
def test_what_cannot_be_a_file_is_refused_by_its_own_name(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises((IsADirectoryError, FileNotFoundError, NotADirectoryError)) as error:
        write_file(path, "")
    assert error.value.filename == path
    assert names(tmp_path) == ["file", "folder"]


def test_a_file_that_is_read_only_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "golden"
    write_file(path, "precious")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anything
    with pytest.raises(PermissionError) as error:
        write_file(path, "new")
    assert error.value.filename == str(path)
    assert path.read_text() == "precious"


@pytest.mark.parametrize("letter", ["n", "é", "語"])
def test_the_longest_names_can_be_written_and_swept(tmp_path, letter):
    name = letter * (255 // len(letter.encode()))
    write_file(tmp_path / name, "whole")
    fill(tmp_path / f"{name[1:]}d")
    leftover = tmp_path / LEFT.format(staging.stem_of(name), "new")
    leftover.touch()
    sweep(tmp_path / name)
    assert not leftover.exists()
    assert len(names(tmp_path)) == 2


def test_names_cannot_be_guessed_and_links_laid_there_are_not_followed(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    guessed = iter(["0" * 16, "1" * 16])
    monkeypatch.setattr(staging.secrets, "token_hex", lambda _: next(guessed))
    trap = tmp_path / f".plan.{'0' * 16}.new"
    trap.symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "plan", "new")
    assert victim.read_text() == "precious"
    monkeypatch.undo()
    assert len({staging.new_name(victim) for _ in range(100)}) == 100


def test_the_content_is_on_the_disk_before_it_gets_its_name_and_the_name_afterwards(
    tmp_path, monkeypatch
):
    done = []
    replace, fsync = os.replace, os.fsync
    monkeypatch.setattr(os, "replace", lambda old, new: (done.append("rename"), replace(old, new)))
    monkeypatch.setattr(
        os,
        "fsync",
        lambda one: (
            done.append("folder" if stat.S_ISDIR(os.fstat(one).st_mode) else "file"),
            fsync(one),
        ),
    )
    for sync, expected in (
        ("all", ["file", "rename", "folder"]),
        ("content", ["file", "rename"]),
        ("nothing", ["rename"]),
    ):
        write_file(tmp_path / "file", "x", sync=sync)
        assert done == expected
        done.clear()
    fill(tmp_path / "out")
    assert done == ["file", "folder", "folder"]


def test_a_link_that_takes_the_place_of_a_new_file_is_not_followed(tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(__file__)
    monkeypatch.setattr(os, "lstat", os.stat)  # it was a file when it was looked at
    with pytest.raises(OSError, match="symbolic links"):
        disk.sync_tree(tmp_path)


def test_a_folder_that_cannot_be_listed_is_no_obstacle(tmp_path, monkeypatch):
    real = os.open

    def refused(path, flags, *rest, **named):
        if flags & os.O_DIRECTORY and Path(path) == tmp_path:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, flags, *rest, **named)

    monkeypatch.setattr(os, "open", refused)  # root may list anything
    write_file(tmp_path / "file", "x")
    fill(tmp_path / "out")
    fill(tmp_path / "out")
    assert names(tmp_path) == ["file", "out"]


# --- Files that are not there yet ---


def test_only_the_first_creates(tmp_path):
    path = tmp_path / "manifest"
    assert create_file(path, b"first")
    assert not create_file(path, b"second")
    (tmp_path / "dangling").symlink_to("nowhere")
    assert not create_file(tmp_path / "dangling", b"")
    assert path.read_bytes() == b"first"
    assert names(tmp_path) == ["dangling", "manifest"]


@pytest.mark.parametrize("has_move", [True, False])
def test_where_files_have_one_name_only_the_first_creates_too(tmp_path, monkeypatch, has_move):
    def refused(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    if not has_move:
        monkeypatch.setattr(writing, "move", lambda *_: False)
    path = tmp_path / "manifest"
    assert [create_file(path, text) for text in (b"first", b"second")] == [True, False]
    assert path.read_bytes() == b"first"
    assert names(tmp_path) == ["manifest"]


def test_a_link_that_was_asked_for_twice_counts_as_ours(tmp_path, monkeypatch):
    real = os.link

    def twice(old, new):
        real(old, new)
        real(old, new)

    monkeypatch.setattr(os, "link", twice)
    assert create_file(tmp_path / "manifest", b"x")


# --- Leftovers ---


def left_by_a_killed(tmp_path, what):
    """Let a process be killed while it writes."""
    script = f"""
import os
from rmqalloc.documents.store import *
with {what}({str(tmp_path / "out")!r}):
    os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False, cwd=ROOT).returncode == -9


@pytest.mark.parametrize("what", ["replaced_file", "replaced_directory"])
def test_the_next_writer_removes_what_a_killed_one_has_left(tmp_path, what):
    left_by_a_killed(tmp_path, what)
    assert len(names(tmp_path)) == 1
    fill(tmp_path / "out") if what == "replaced_directory" else write_file(tmp_path / "out", "x")
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("begin", [replaced_file, replaced_directory])
def test_what_a_living_writer_has_is_not_swept(tmp_path, begin):
    with begin(tmp_path / "out"):
        before = names(tmp_path)
        sweep(tmp_path / "out")
        assert names(tmp_path) == before
    assert names(tmp_path) == ["out"]


def test_only_names_of_ours_are_swept(tmp_path):
    (tmp_path / "precious").write_text("x")
    others = [
        LEFT.format("other", "new"),
        ".out.123.new",
        ".out.0123456789abcdeg.new",
        ".out.0123456789abcdef.new.bak",
    ]
    for name in others:
        (tmp_path / name).touch()
    (tmp_path / LEFT.format("out", "new")).symlink_to("precious")
    os.mkfifo(tmp_path / LEFT.format("out", "old"))
    before = names(tmp_path)
    sweep(tmp_path / "out")
    assert names(tmp_path) == before


def test_a_directory_that_was_moved_away_by_a_killed_writer_is_put_back(tmp_path):
    old = tmp_path / LEFT.format("out", "old")
    for text in ("lost else", "in the way"):
        old.mkdir()
        (old / "part").write_text(text)
        sweep(tmp_path / "out")
        assert (tmp_path / "out" / "part").read_text() == "lost else", (
            "it goes only where nothing stands"
        )
        assert names(tmp_path) == ["out"]


def test_a_sweeper_that_was_faster_makes_the_writer_take_another_name(tmp_path, monkeypatch):
    real, tried = locks.fcntl.flock, []

    def flock(descriptor, how):
        tried.append(how)
        if len(tried) == 1:
            raise BlockingIOError(errno.EWOULDBLOCK, "held")
        if len(tried) == 2:
            staged = next(one for one in tmp_path.iterdir() if one.suffix == ".new")
            staged.rmdir() if staged.is_dir() else staged.unlink()
        real(descriptor, how)

    monkeypatch.setattr(locks.fcntl, "flock", flock)
    write_file(tmp_path / "file", "x")
    assert len(tried) == 3
    tried.clear()
    fill(tmp_path / "out")
    assert names(tmp_path) == ["file", "out"]


def test_a_leftover_whose_name_is_another_directorys_by_now_is_left_alone(tmp_path, monkeypatch):
    leftover = tmp_path / LEFT.format("out", "new")
    leftover.mkdir()

    def exchanged(_descriptor, _how):
        if leftover.exists():
            leftover.rename(tmp_path / "out")
        leftover.mkdir(exist_ok=True)

    monkeypatch.setattr(locks.fcntl, "flock", exchanged)
    sweep(tmp_path / "out")
    assert leftover.exists()


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EBADF])
def test_a_file_system_without_locks_is_written_to_and_not_swept(tmp_path, monkeypatch, code):
    def refused(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(locks.fcntl, "flock", refused)
    (tmp_path / LEFT.format("out", "new")).mkdir()
    for _ in range(2):
        fill(tmp_path / "out")
        write_file(tmp_path / "file", "x")
    assert names(tmp_path) == [LEFT.format("out", "new"), "file", "out"]


def test_a_system_without_locks_closes_a_file_before_it_renames_it(
    tmp_path, monkeypatch, no_locks, no_exchange
):
    real = os.replace

    def replace(old, new):
        assert os.fspath(old) not in {
            os.path.realpath(f"/proc/self/fd/{one}") for one in os.listdir("/proc/self/fd")
        }
        real(old, new)

    monkeypatch.setattr(os, "replace", replace)
    for _ in range(2):
        write_file(tmp_path / "file", "x")
        fill(tmp_path / "out")
    assert [create_file(tmp_path / "one", b"") for _ in range(2)] == [True, False]
    assert names(tmp_path) == ["file", "one", "out"]


# --- Locks ---


def test_a_lock_is_held_against_everybody_and_ends_with_its_block(tmp_path):
    with (
        locked(tmp_path),
        pytest.raises(LockedError, match=r"more than 0\.05 s") as error,
        locked(tmp_path, 0.05),
    ):
        pytest.fail("it was held")
    assert error.value.filename == str(tmp_path)
    with locked(tmp_path, 0):
        pass
    with pytest.raises(FileNotFoundError), locked(tmp_path / "absent"):
        pass


def test_a_forked_child_does_not_hold_what_its_parent_let_go(tmp_path):
    gate, opened = os.pipe()
    with locked(tmp_path):
        child = os.fork()
        if child == 0:
            os.read(gate, 1)
            os._exit(0)
    try:
        with locked(tmp_path, 0):
            pass
    finally:
        os.write(opened, b"g")
        os.waitpid(child, 0)
        os.close(gate), os.close(opened)


def test_a_lock_is_of_the_kind_that_a_killed_process_lets_go(tmp_path):
    descriptor = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    other = os.open(tmp_path, os.O_RDONLY)
    assert locks.try_lock(other) is False
    os.close(descriptor), os.close(other)
    with locked(tmp_path, 0):
        pass
