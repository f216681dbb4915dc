"""The program that tries the package in a browser: what of it can be tried without one."""

import hashlib
import json

import pytest
from browser import page
from browser.answers_in_node import all_cases, differences, on_this_machine
from browser.cross import pyconfig
from browser.releases import checked
from checkout import ROOT

NATIVE = """#ifndef Py_PYCONFIG_H
#define SIZEOF_LONG 8
#define HAVE_FORK 1
/* #undef HAVE_NOTHING */
#define _POSIX_C_SOURCE 200809L
/* #undef _LARGE_FILES */
"""


def test_pyconfig_has_the_values_of_the_target_and_the_names_of_the_host():
    written = pyconfig(NATIVE, {"SIZEOF_LONG": 4, "HAVE_FORK": 0, "HAVE_NOTHING": 1}).splitlines()
    assert written == [
        "#define SIZEOF_LONG 4",
        "/* #undef HAVE_FORK */",
        "#define HAVE_NOTHING 1",
        "#define _POSIX_C_SOURCE 200809L",
        "/* #undef _LARGE_FILES */",
    ]


def test_a_copy_with_another_digest_is_refused():
    checked(b"wheel", hashlib.sha256(b"wheel").hexdigest(), "numpy.whl")
    with pytest.raises(
        ValueError,
        match=r"numpy\.whl: the lock file of Pyodide names SHA-256 00, but the copy has ",
    ):
        checked(b"wheel", "00", "numpy.whl")


def test_a_difference_is_named():
    cases = all_cases()[:2]
    assert differences(cases, ["a", "b"], ["a", "b"]) == []
    assert differences(cases, ["a", "b"], ["a", "c"]) == [f"{cases[1][0]}, {cases[1][1]['name']}"]


def test_the_page_answers_plans_and_errors():
    name, scenario = next(case for case in all_cases() if case[0] == "seed.yaml")
    (text,) = on_this_machine([(name, scenario)])
    answer = json.loads(text)
    assert answer["text"].startswith("Group by-average")
    assert answer["html"].startswith("<!DOCTYPE html>")
    (mistake,) = on_this_machine(
        [(name, {"name": "x", "changes": [{"scale_clients": {"to": -1}}]})]
    )
    assert json.loads(mistake).keys() == {"error"}


GOOD = {
    "first": (1, "Planned", "Group order-svc\nPlan:"), "second": (1, "Planned", "Group order-svc\nPlan:"),
    "hostile": (1, "Planned", f"Group {page.HOSTILE}"), "elements": 0, "stolen": "undefined", "sandbox": "",
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
    assert page.faults(GOOD) == []
    assert page.faults(GOOD | seen)


def test_the_page_names_no_other_host_and_its_frame_may_do_nothing():
    files = [ROOT / "docs" / "try.md", *(ROOT / "docs" / "try").iterdir()]
    text = "\n".join(path.read_text() for path in files if path.is_file())
    assert "http://" not in text
    assert "https://" not in text
    assert 'sandbox=""' in text
    assert "innerHTML" not in text
