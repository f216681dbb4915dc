"""What tests share is made once, whoever asks first, and an entry is whole or not there."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import cache
import pytest
import tied
from checkout import SUPPORT

MAKER = """
import sys, time
from pathlib import Path
import cache

def make(folder):
    (folder / "one").write_text("1")
    Path(sys.argv[1], "begun").touch()
    with open(Path(sys.argv[1], "makers"), "a") as file:
        file.write("x")
    time.sleep(float(sys.argv[2]))
    (folder / "two").write_text("2")

print(cache.folder("thing", ["content"], make))
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "HOME", tmp_path / "cache")
    return tmp_path / "cache"


def start(tmp_path, seconds):
    variables = {
        **os.environ,
        "RMQALLOC_CACHE": str(tmp_path / "cache"),
        "PYTHONPATH": str(SUPPORT),
    }
    command = [sys.executable, "-c", MAKER, str(tmp_path), str(seconds)]
    return tied.popen(
        command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_four_at_once_make_it_once(tmp_path):
    processes = [start(tmp_path, 0.5) for _ in range(4)]
    said = [process.communicate(timeout=60) for process in processes]
    [folder] = {out.strip() for out, _ in said}
    assert sorted(path.name for path in Path(folder).iterdir()) == ["one", "two"]
    assert (tmp_path / "makers").read_text() == "x"
    assert sum("made thing in" in err for _, err in said) == 1, "the one that makes it says so"


def test_a_maker_that_is_killed_leaves_no_entry_and_the_next_one_makes_it(tmp_path, home):
    process = start(tmp_path, 60)
    while not (tmp_path / "begun").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    [left] = [path for path in (home / "thing").iterdir() if path.is_dir()]
    folder = cache.folder("thing", ["content"], lambda folder: (folder / "three").touch())
    assert [path.name for path in folder.iterdir()] == ["three"]
    assert not left.exists(), "the half of it is removed"


def test_a_maker_that_fails_keeps_nothing(home):
    def fail(folder):
        (folder / "half").touch()
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        cache.folder("thing", ["content"], fail)
    assert [path for path in (home / "thing").iterdir() if path.is_dir()] == []


def test_other_content_is_another_entry_and_the_same_content_is_not_made_twice(tmp_path):
    source = tmp_path / "source"
    made = []

    def entry(text):
        source.write_text(text)
        return cache.folder("thing", ["flag", source], lambda folder: made.append(text))

    first, second = entry("a"), entry("b")
    assert first != second
    assert (entry("a"), made) == (first, ["a", "b"])
    os.utime(source, (0, 0))
    assert entry("a") == first, "times of files do not count"


def test_an_entry_that_cannot_be_used_is_made_again():
    made = []

    def entry(is_good):
        return cache.folder("thing", ["content"], lambda folder: made.append(1), is_good)

    entry(Path.is_dir)
    entry(lambda folder: False)
    assert made == [1, 1]
