"""The trial of other Pythons: what its checks let pass, and what they do not."""

import copy
import sys

import pytest
from pythons import cpython, page
from pythons.trial import Python, Stopped, Trial

FRAME = "    #0 {} <null> ({}.cpython-313t-x86_64-linux-gnu.so+0x17b1)\n"
REPORT = """==================
WARNING: ThreadSanitizer: data race (pid=7)
  Write of size 4 at 0x7b70 by thread T2:
{}
  Previous write of size 4 at 0x7b70 by thread T1:
{}
  Location is heap block of size 16 at 0x7b70 allocated by thread T1:
{}
SUMMARY: ThreadSanitizer: data race
==================
"""
NUMPY, OURS = FRAME.format("discover", "_multiarray_umath"), FRAME.format("rmq_split", "split")

RIGHT = {
    "label": "3.14", "free": False, "lock": True, "golden": [3, 9, 0], "tests": {"passed": 5, "code": 0},
    "stress": {"answers": 7, "differ": 0}, "races": {"reports": 4, "ours": 0}, "control": {"reports": 1, "ours": 1},
}  # fmt: skip


def test_a_race_is_ours_if_one_of_the_accesses_is(tmp_path):
    (tmp_path / "races.7").write_text(
        REPORT.format(NUMPY, NUMPY, OURS) + REPORT.format(NUMPY, OURS, NUMPY)
    )
    (tmp_path / "races.8").write_text(REPORT.format(FRAME.format("md5_loop", "_md5"), NUMPY, NUMPY))
    reports, ours = cpython.races(tmp_path)
    assert len(reports) == 3
    assert len(ours) == 1
    assert "rmq_split" in ours[0]
    assert not list(tmp_path.iterdir())


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
        ("races", {"reports": 4, "ours": 1}),
        ("control", {"reports": 1, "ours": 0}),
    ],
)
def test_what_is_wrong(key, value):
    assert not page.is_wrong(copy.deepcopy(RIGHT))
    assert page.is_wrong(copy.deepcopy(RIGHT) | {key: value})


def test_what_stopped_is_on_the_page():
    text = page.text_of([{"label": "3.16", "stopped": "venv ended with 1: no such file"}], {})
    assert "| 3.16 | | | **not run** |" in text
    assert "* **3.16**: not run to its end: venv ended with 1: no such file." in text
    assert "Not run: nothing was measured." in text


def test_a_step_that_fails_stops_with_what_it_had_found_and_one_that_hangs_is_ended(tmp_path):
    folder = tmp_path / "trial"
    (folder / "source").mkdir(parents=True)
    (folder / "source/pyproject.toml").touch()
    trial = Trial(Python("3.x", "this environment", sys.executable), folder)
    with pytest.raises(Stopped, match=r"step ended with 3: E: nothing there") as stopped:
        trial.run("step", "sh", "-c", "echo E: nothing there >&2; echo more >&2; exit 3")
    assert stopped.value.found["label"] == "3.x"
    assert (
        trial.run("hang", "sleep", "60", timeout=0.2, may_fail=True)[0]
        == "no end within 0.2 seconds"
    )
