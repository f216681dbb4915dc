"""The judges of the platforms program: what they let pass, and what they do not."""

import zipfile
from pathlib import Path

import pytest
from checkout import ROOT
from platforms.browser import visit
from platforms.pythons import pythons
from platforms.release import builds, installs
from platforms.targets import listed, roots, targets

GOOD = {
    "first": (1, "Planned", "Group order-svc\nPlan:"), "second": (1, "Planned", "Group order-svc\nPlan:"),
    "hostile": (1, "Planned", f"Group {visit.HOSTILE}"), "elements": 0, "stolen": "undefined", "sandbox": "",
    "mistake": (1, "it is no snapshot", ""), "elsewhere": [],
}  # fmt: skip


@pytest.mark.parametrize(
    "seen",
    [
        {"first": (1, "", "")}, {"hostile": (1, "", "<img>")}, {"elements": 1}, {"stolen": "number"},
        {"sandbox": "allow-scripts"}, {"mistake": (1, "Planned", "")}, {"elsewhere": ["http://x/"]},
    ],
)  # fmt: skip
def test_faults_of_a_visit_are_found(seen):
    assert visit.faults(GOOD) == []
    assert visit.faults(GOOD | seen)


def test_the_page_names_no_other_host_and_its_frame_may_do_nothing():
    files = [ROOT / "docs" / "try.md", *(ROOT / "docs" / "try").iterdir()]
    text = "\n".join(path.read_text() for path in files if path.is_file())
    assert "http://" not in text
    assert "https://" not in text
    assert 'sandbox=""' in text
    assert "innerHTML" not in text


RIGHT = {
    "label": "3.14",
    "free": False,
    "lock": True,
    "golden": [3, 9, 0],
    "tests": {"passed": 5, "code": 0},
    "stress": {"answers": 7, "differ": 0},
}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("stopped", "wheel ended with 1"),
        ("golden", [3, 9, 1]),
        ("golden", [0, 0, "ended with -6"]),
        ("tests", {"passed": 5, "failed": 1, "code": 1}),
        ("stress", {"answers": 7, "differ": 1}),
        ("stress", {"ended with": -6}),
        ("free", True),
    ],
)
def test_what_is_wrong_with_a_python(key, value):
    assert not pythons.is_wrong(RIGHT)
    assert pythons.is_wrong(RIGHT | {key: value})


def wheel(path: Path, text: str) -> Path:
    """A file that is packed like a wheel."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("rmqalloc/__init__.py"), text)
        archive.writestr(zipfile.ZipInfo("rmqalloc/text.py"), "same")
    return path


def test_two_builds_that_differ_are_seen_and_the_member_is_named(tmp_path):
    one, same, other = (
        wheel(tmp_path / f"{name}.whl", name[:1]) for name in ("one", "ones", "two")
    )
    assert [check.held for check in builds.same_bytes([one], [same])] == [True]
    (check,) = builds.same_bytes([one], [other])
    assert check.held is False and check.said.endswith("members that differ: rmqalloc/__init__.py")


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("Apache-2.0", True),
        ("BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0", True),
        ("Apache Software License; BSD License", True),
        ("GPL-3.0-or-later OR MIT", True),
        ("GNU General Public License v3 (GPLv3)", False),
        ("UNKNOWN", False),
        ("MIT AND LGPL-2.1", False),
    ],
)
def test_every_part_of_a_licence_must_be_allowed(text, may):
    assert installs.allowed(text) is may


@pytest.mark.parametrize(
    "error", [roots.AptError("no mirror"), SystemExit("no mvn"), FileNotFoundError("apt-get")]
)
def test_a_target_that_cannot_be_tried_is_a_fault(error, monkeypatch):
    def fail(*_):
        raise error

    monkeypatch.setattr(targets, "row", fail)
    made = targets.attempt(listed.TARGETS[0], quick=False)
    assert made.faults == [f"{type(error).__name__}: {error}"]


@pytest.mark.needs("lief")
def test_modules_of_another_machine_are_seen():
    from platforms.targets import binaries

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
