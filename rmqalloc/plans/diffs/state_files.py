"""A snapshot or a plan from a file, whichever it holds."""

from __future__ import annotations

import os
import re

from rmqalloc.documents import STDIN, read_source
from rmqalloc.plans import Plan, load_plan
from rmqalloc.plans.plan_writing import PACKED
from rmqalloc.snapshot import Snapshot, SnapshotError
from rmqalloc.snapshot.files import read_snapshots

_OF_A_PLAN = re.compile(
    rb'"kind"\s*:\s*"Plan"'
)  # no name can hold this: quotes within text are escaped


def read_state(path: str) -> tuple[Snapshot | Plan, tuple[str, ...]]:
    """Read a snapshot of any form, a folder of outputs of tools or a saved plan; ``-`` is standard
    input, for a snapshot alone.
    """
    if os.path.isdir(path):
        return read_snapshots([path])
    if path.endswith(PACKED):
        return load_plan(path), ()
    source = read_source(path, SnapshotError)
    if path != STDIN and _OF_A_PLAN.search(source.data):
        return load_plan(path), ()
    return read_snapshots([source])
