"""Write plans to files, atomically and with a hash at the end; equal plans give equal bytes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, BinaryIO, Protocol

from rmqalloc.documents import (
    DocumentError,
    json_text,
    read_budget,
)

PACKED = ".gz"
_EFFORT = 4  # of 9: an eighth larger than with all, in a quarter of the time


class PlanError(DocumentError):
    """A file is not a plan, or was changed after it was written."""


class Written(Protocol):
    """What is written: a `rmqalloc.plans.Plan`."""

    def text(self) -> Iterator[str]:
        """Return the document, piece by piece, but for its hash and the last brace."""


def write_plan(plan: Written, path: str | os.PathLike[str]) -> str:
    """Write a plan as JSON, compressed if the name ends in ``.gz``, atomically; equal plans give
    equal bytes.

    Examples
    --------
    >>> import tempfile
    >>> from rmqalloc.plans import load_plan, plan_snapshot
    >>> from rmqalloc.snapshot.files import read
    >>> plan, path = plan_snapshot(read("example:seed"), []), tempfile.mkdtemp() + "/plan.json.gz"
    >>> write_plan(plan, path) == plan.digest == load_plan(path).digest
    True
    """
    import hashlib

    from rmqalloc.documents.store import replaced_file

    hashed = hashlib.sha256()
    n_bytes = made = 0
    with replaced_file(path) as plain, _packed(plain, path) as file:
        for text in plan.text():
            piece = text.encode()
            hashed.update(piece)
            file.write(piece)
            n_bytes, made = n_bytes + len(piece), made + read_budget.made_of_json(text)
        end = f',"digest":"{hashed.hexdigest()}"}}\n'
        file.write(end.encode())
        _check_readable(n_bytes + len(end), made + read_budget.made_of_json(end), path)
    return hashed.hexdigest()


def _check_readable(n_bytes: int, made: int, path: str | os.PathLike[str]) -> None:
    """Raise unless a plan of that many bytes, unpacked, whose data take that much memory, is read."""
    if n_bytes > read_budget.MAX_BYTES:
        raise PlanError(
            f"{path} would have more than {read_budget.MAX_BYTES >> 20} MiB unpacked; plan fewer groups at once"
        )
    try:
        json_text.check_made(made)
    except DocumentError as error:
        raise PlanError(f"{path} {error.what}") from None


def _packed(file: BinaryIO, path: str | os.PathLike[str]) -> AbstractContextManager[Any]:
    """Return the file itself, or what packs into it."""
    import gzip

    return (
        gzip.GzipFile("", "wb", _EFFORT, file, 0)
        if str(path).endswith(PACKED)
        else nullcontext(file)
    )


def canonical(data: Any) -> str:
    """Return the one JSON text of plain data, whatever the order of its keys.

    Examples
    --------
    >>> canonical({"b": [1, None], "a": "x"})
    '{"a":"x","b":[1,null]}'
    """
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def plain_text(data: Any) -> str:
    """Return JSON text of plain data whose keys stay in their order.

    Examples
    --------
    >>> plain_text({"b": 1, "a": 0.0})
    '{"b":1,"a":0.0}'
    """
    return json.dumps(data, separators=(",", ":"))
