"""Snapshots in files: JSON, YAML, CSV, Parquet, and outputs of tools."""

from typing import TYPE_CHECKING

from rmqalloc.lazy import imported_on_use
from rmqalloc.snapshot.files._file_forms import FORMS
from rmqalloc.snapshot.files._read_files import (
    read,
    read_logs,
    read_snapshot,
    read_snapshot_with_warnings,
    read_snapshots,
)
from rmqalloc.snapshot.plain_data import snapshot_schema

if TYPE_CHECKING:
    from rmqalloc.snapshot.files._write_files import WRITTEN, form_to_write, losses, write_snapshot

__all__ = [
    "FORMS",
    "WRITTEN",
    "form_to_write",
    "losses",
    "read",
    "read_logs",
    "read_snapshot",
    "read_snapshot_with_warnings",
    "read_snapshots",
    "snapshot_schema",
    "write_snapshot",
]

_NAMES = {"_write_files": ("WRITTEN", "form_to_write", "losses", "write_snapshot")}
__getattr__ = imported_on_use(__name__, _NAMES)
