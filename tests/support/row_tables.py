"""The table of docs/reference/rows.md: codes of bad rows, with the words of `ErrCode` and a message
of each.

``python tests/support/row_tables.py`` writes it there.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

import pyarrow as pa
from checkout import ROOT
from command_reference import between

from rmqalloc.evaluation import ErrCode, PlanSpec, plan_batch
from rmqalloc.evaluation.assigner import MAX_POINTS
from rmqalloc.evaluation.row_check import MAX_CLIENT_ID_BYTES

PAGE = ROOT / "docs" / "reference" / "rows.md"

_BOUNDS = {
    "`MAX_CLIENT_ID_BYTES`": f"{MAX_CLIENT_ID_BYTES:,} bytes",
    "`MAX_POINTS`": f"{MAX_POINTS:,}",
}
_SCHEMA = pa.schema(
    {
        "consumer_group": pa.string(),
        "topic": pa.string(),
        "brokers": pa.list_(
            pa.struct([("broker_name", pa.string()), ("read_queue_nums", pa.int32())])
        ),
        "client_ids": pa.list_(pa.string()),
        "strategy": pa.string(),
        "virtual_nodes": pa.int32(),
        "broker_rooms": pa.list_(pa.string()),
        "client_rooms": pa.list_(pa.string()),
    }
)
_GOOD = {
    "consumer_group": "billing",
    "topic": "orders",
    "brokers": [("broker-a", 4)],
    "client_ids": ["c1"],
    "broker_rooms": ["hz"],
    "client_rooms": ["hz"],
}
_BAD: dict[ErrCode, dict[str, Any]] = {
    ErrCode.MALFORMED: {"client_ids": None, "client_rooms": []},
    ErrCode.EMPTY: {"client_ids": [], "client_rooms": []},
    ErrCode.DUPLICATE_QUEUE: {
        "brokers": [("broker-a", 4), ("broker-a", 4)],
        "broker_rooms": ["hz", "hz"],
    },
    ErrCode.TOO_LARGE: {"client_ids": ["c" * 70_000]},
    ErrCode.BAD_STRATEGY: {"virtual_nodes": -1},
    ErrCode.REFUSED: {"strategy": "MACHINE_ROOM_NEARBY-AVG", "client_rooms": [None]},
}
"""What makes a good row bad, by code."""


def messages() -> dict[ErrCode, str]:
    """Return the message of a row of each code."""
    rows = pa.RecordBatch.from_pylist([_GOOD | bad for bad in _BAD.values()], _SCHEMA)
    planned = plan_batch(rows, PlanSpec("AVG")).to_pylist()
    return {ErrCode(row["err_code"]): row["err_msg"] for row in planned}


def meanings() -> dict[ErrCode, str]:
    """Return what each code means, from the docstring of `ErrCode`."""
    text = inspect.cleandoc(ErrCode.__doc__ or "")
    for name, bound in _BOUNDS.items():
        text = text.replace(name, bound)
    entries = re.findall(r"^([A-Z_]+)\n((?:    .*\n?)+)", text, re.MULTILINE)
    return {ErrCode[name]: " ".join(means.split()).replace("``", "`") for name, means in entries}


def table() -> str:
    """Return the table as Markdown."""
    lines = ["| `err_code` | name | meaning | an `err_msg` |", "| --- | --- | --- | --- |"]
    shown = messages()
    for code, means in meanings().items():
        message = f"`{shown[code]}`" if code in shown else ""
        lines.append(f"| {code.value} | {code.name} | {means} | {message} |")
    return "\n".join(lines)


def with_table(page: str) -> str:
    """Return a page with the table between its marks."""
    return between(page, "codes", table())


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
