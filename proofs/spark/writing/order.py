"""Whether what takes its place is on the disk by then, read from the calls of a run in their order."""

import os
import re

OURS = re.compile(r"\.[0-9a-f]{16}\.(new|old)$")
STAGED = re.compile(r"\.[0-9a-f]{16}\.(new|old)(/|$)")
WRITES = ("write", "pwrite", "pwrite64", "ftruncate", "ftruncate64")
SYNCS = ("fsync", "fdatasync")
NOT_BROUGHT = (".bak",)  # what is written with sync="nothing"
NAMES_NOT_BROUGHT = ("offsets.json",)  # with sync="content"


def unsynced(calls, home):
    """What is wrong: files that get their name before they are on the disk, and names that do not
    get there.

    A call is its name, its path and perhaps a second path; ``home`` is the folder whose files
    count.
    """
    calls = _by_last_names(calls)
    for at, (name, new, target) in enumerate(calls):
        is_ours = target.startswith(home) and OURS.search(new) and not STAGED.search(target)
        if (
            not (name.startswith("rename") or name == "link")
            or not is_ours
            or target.endswith(NOT_BROUGHT)
        ):
            continue
        for path, written in _last(calls[:at], WRITES, new).items():
            if _last(calls[:at], SYNCS, path).get(path, -1) < written:
                yield f"{target}: {path} was renamed before it was on the disk"
        if not target.endswith(NAMES_NOT_BROUGHT) and os.path.dirname(target) not in _last(
            calls[at:], SYNCS, home
        ):
            yield f"{target}: its name was not brought to the disk"


def _by_last_names(calls):
    """Calls as if files that get another name while their directory is filled had borne it from the
    beginning.
    """
    names = {
        one: other
        for name, one, other in calls
        if name == "rename" and STAGED.search(other) and not OURS.search(other)
    }
    return [(name, names.get(path, path), other) for name, path, other in calls]


def _last(calls, names, root):
    """Where each path at or below a root is last in such a call."""
    below = (root, root + "/")
    return {
        path: at
        for at, (name, path, _) in enumerate(calls)
        if name in names and (path == root or path.startswith(below[1]))
    }
