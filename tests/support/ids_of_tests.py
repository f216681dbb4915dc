"""Refuse ids of tests that the next run may not find again, or that nobody can read.

Workers of xdist collect apart from each other and must find the same ids in the same order. Lists
keep ids, too, such as those of the tests that kill mutants. ``python -m collected_twice`` finds
what no id shows, such as the order of a set.
"""

import re
import tempfile
from collections import defaultdict
from os.path import expanduser

import pytest
from checkout import ROOT

LONGEST = 80
BYTES, TEXT = "<bytes>", "<a long text>"
FAULTS = {
    f"has more than {LONGEST} characters": rf".{{{LONGEST + 1}}}|{TEXT}",
    "is not printable ASCII": r"[^ -~]",
    "is made of bytes": rf"""{BYTES}|(?<![\w'"])b(['"]).*\1""",
    "shows a function or an object, not its name": r"<lambda>|<.* object| at 0x|\barray\(\[",
}
PLACES = {
    "checkout": str(ROOT),
    "temporary folder": tempfile.gettempdir(),
    "home folder": expanduser("~"),
}


def faults(part, places=PLACES):
    """Return what is wrong with the part of an id in brackets."""
    paths = {
        name: re.escape(path) for name, path in places.items() if len(path) > 1
    }  # a home may be "/"
    held = {
        f"holds the path of the {name}": rf"(?<![\w.-]){path}(?![\w.-])"
        for name, path in paths.items()
    }
    return [
        fault
        for fault, pattern in {**FAULTS, **held}.items()
        if re.search(pattern, part, re.DOTALL)
    ]


def pytest_make_parametrize_id(val):
    """Mark what pytest would write as escaped bytes, and texts that some releases of pytest write
    and others do not.
    """
    if isinstance(val, (bytes, bytearray)):
        return BYTES
    return TEXT if isinstance(val, str) and len(val) > LONGEST else None


@pytest.hookimpl(tryfirst=True)  # before tests are chosen
def pytest_collection_modifyitems(session, items):
    """Fail the collection of each file that holds refused tests; no test runs then, in workers of
    xdist neither.
    """
    refused = defaultdict(list)
    for item in items:
        for fault in faults(item.callspec.id) if hasattr(item, "callspec") else ():
            refused[item.nodeid.partition("::")[0]].append(
                f"{item.nodeid}: the part in brackets {fault}"
            )
    for file, tests in refused.items():
        text = "\n".join(
            [
                *tests,
                "give ids=[...] or pytest.param(..., id=...): short text, the same in every run",
            ]
        )
        session.config.hook.pytest_collectreport(
            report=pytest.CollectReport(file, "failed", text, [])
        )
    if refused:
        items.clear()
