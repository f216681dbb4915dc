"""The table of targets: nothing wrong is left out of it, and what it counts is what the programs
print.
"""

from dataclasses import replace
from pathlib import Path

import pytest
import replay_golden
from targets import kept, listed, page, roots, running
from targets.__main__ import attempt
from targets.running import Replayed

ANSWERED = Replayed("s390x, 64 bits, big-endian", ["scalar"], 3049, 31000, 0)
ROW = page.Row(
    "linux s390x", "Debian", "3.14", 21, 21, 12, "glibc 2.17", "qemu-s390x-static", ANSWERED
)


def test_each_target_has_a_name_and_a_triple_of_its_own():
    for seen in (
        [target.name for target in listed.TARGETS],
        [target.zig for target in listed.TARGETS],
    ):
        assert len(set(seen)) == len(seen)
    assert set(listed.QUICK) <= {target.name for target in listed.TARGETS}
    assert {target.system for target in listed.TARGETS} == {"linux", "musl", "macos", "windows"}


def test_what_was_not_run_is_said_to_be_linked_only():
    text = page.table(
        [page.Row("macOS arm64", n_compiled=21, n_sources=21, n_linked=12, abi="macOS 11.0")]
    )
    assert "| linked, not imported | — | — | — | — | — |" in text


def test_faults_and_differences_are_shown():
    text = page.table(
        [replace(ROW, replayed=replace(ANSWERED, differences=2), faults=["scalar: 2 differ"])]
    )
    assert "2 differences, 1 faults" in text
    assert "- linux s390x: scalar: 2 differ" in text


def test_what_replay_golden_prints_is_understood(capsys, monkeypatch):
    monkeypatch.setattr(replay_golden, "wrong_answers", lambda case: ([], 2))
    replay_golden.main()
    found = running.SAID.search(capsys.readouterr().out)
    assert found and found.groups() == ("3049", "6098", "0")


def test_a_row_is_kept_until_a_file_changes_or_if_something_was_wrong(tmp_path, monkeypatch):
    target = listed.TARGETS[0]
    monkeypatch.setattr(kept, "BUILD", tmp_path)
    assert kept.kept(target) is None
    kept.keep(target, ROW)
    assert kept.kept(target) == ROW
    kept.keep(target, replace(ROW, faults=["x"]))
    assert kept.kept(target) is None
    kept.keep(target, ROW)
    monkeypatch.setattr(kept, "digest", lambda: "another")
    assert kept.kept(target) is None


@pytest.mark.parametrize(
    "error", [roots.AptError("no mirror"), SystemExit("no mvn"), FileNotFoundError("apt-get")]
)
def test_a_target_that_cannot_be_tried_is_a_fault(error, monkeypatch):
    def fail(*_):
        raise error

    monkeypatch.setattr("targets.__main__.row", fail)
    made = attempt(listed.TARGETS[0], quick=False, goes_on=False)
    assert made.faults == [f"{type(error).__name__}: {error}"]
    assert "1 faults" in page.table([made])


@pytest.mark.needs("lief")
def test_modules_of_another_machine_are_seen():
    from targets import binaries

    from rmqalloc._engine import md5

    modules = {"md5": Path(md5.__file__)}
    machine = binaries._read(binaries.lief.parse(md5.__file__))[0]
    right = next(
        target
        for target in listed.TARGETS
        if machine in binaries.MACHINES[target.zig.partition("-")[0]]
    )
    wrong = next(
        target
        for target in listed.TARGETS
        if machine not in binaries.MACHINES[target.zig.partition("-")[0]]
    )
    assert binaries.wrong(right, modules) == []
    assert binaries.wrong(wrong, modules) == [f"md5 is of the machine {machine}"]
    assert binaries.wrong(right, {"other": modules["md5"]}) == [
        "other does not export PyInit_other"
    ]
