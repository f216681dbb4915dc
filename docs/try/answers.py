"""What the page "Try it" answers, in the browser's own Python: a snapshot and changes in, a plan as text and a report out."""

import json
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import rmqalloc
from rmqalloc.report.html import report

MOST_BYTES = 4 << 20
"""A page that plans more than a pasted text would stall for long."""


def answers(snapshot: str, changes: str) -> str:
    """Plan the changes, and write down the answer or the error as JSON: the page puts either out as text."""
    try:
        return json.dumps(planned(snapshot, changes))
    except (rmqalloc.Error, OSError, ValueError) as error:
        return json.dumps({"error": str(error)})


def planned(snapshot: str, changes: str) -> dict[str, str]:
    """The plan as ``text``, as it is on a terminal, and as ``html``, the report, which loads nothing."""
    if len(snapshot) > MOST_BYTES:
        raise ValueError(
            f"the page takes snapshots of up to {MOST_BYTES:,} characters, got {len(snapshot):,}"
        )
    with TemporaryDirectory() as folder, chdir(folder):
        Path("snapshot").write_text(snapshot, encoding="utf-8")  # its form is told by its content
        cluster = rmqalloc.read("snapshot")
    plan = rmqalloc.plan(cluster, json.loads(changes))
    return {"text": str(plan), "html": report(plan, rmqalloc.check(cluster))}
