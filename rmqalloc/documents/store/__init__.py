"""The one way to write: what is written is seen whole or not at all, and what stood there before
stays until then.

In this order of goals: nothing that was whole is ever lost; nobody sees half of anything; two
writers do not disturb each other; nothing is left behind. A file or directory is made beside its
place under a name that cannot be guessed, is brought to the disk, and takes its place in one step.
What a killed writer leaves bears such a name and is locked by nobody: the next writer to the same
place removes it.

All of it holds on Linux; docs/reference/options.md lists what holds elsewhere. Nothing else in this package
opens a file for writing, renames or removes one.
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
