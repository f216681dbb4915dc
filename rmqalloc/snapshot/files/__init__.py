"""Snapshots in files: JSON, YAML, CSV, Parquet, and the text that mqadmin prints."""

from rmqalloc.snapshot.files._read_files import FORMS, read, read_snapshot, read_snapshot_with_warnings, read_snapshots
from rmqalloc.snapshot.files._write_files import WRITTEN, form_to_write, losses, write_snapshot
from rmqalloc.snapshot.plain_data import snapshot_schema

__all__ = [
    "FORMS",
    "WRITTEN",
    "form_to_write",
    "losses",
    "read",
    "read_snapshot",
    "read_snapshot_with_warnings",
    "read_snapshots",
    "snapshot_schema",
    "write_snapshot",
]
