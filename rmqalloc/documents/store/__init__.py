"""The one way to write files: a written file is visible completely or not at all, and the previous
file stays until then.

In this order of goals: no complete file is ever lost; no reader sees a partial file; two writers do
not disturb each other; nothing is left behind. A file or directory is made beside its place under a
name that cannot be guessed, is flushed to the disk, and takes its place in one step. A file that a
killed writer leaves has such a name and no lock: the next writer to the same place removes it.

All of it holds on Linux; docs/reference/options.md lists what holds elsewhere. Nothing else in this package
opens a file for writing, renames a file or removes a file.
"""

from rmqalloc.documents.store._disk import make_folder, sync_folder, sync_tree
from rmqalloc.documents.store._locks import LOCK_SECONDS, LockedError, locked
from rmqalloc.documents.store._staging import sweep
from rmqalloc.documents.store._writing import (
    create_file,
    replaced_directory,
    replaced_file,
    write_file,
)

__all__ = [
    "LOCK_SECONDS",
    "LockedError",
    "create_file",
    "locked",
    "make_folder",
    "replaced_directory",
    "replaced_file",
    "sweep",
    "sync_folder",
    "sync_tree",
    "write_file",
]
