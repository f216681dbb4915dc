"""The verb ``verify``: a plan's file through the checker, with the snapshot read again where one is given."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rmqalloc.certificate._again import inputs_again
from rmqalloc.certificate._checker import MIN_KEY_BYTES, Verdict, verdict
from rmqalloc.documents import DocumentError, parse, read_source
from rmqalloc.snapshot._plain_data import to_document
from rmqalloc.snapshot._snapshot import Snapshot
from rmqalloc.snapshot.files import read


class VerificationError(DocumentError):
    """A file of a plan cannot be read at all, or one of a key is none."""


@dataclass(frozen=True)
class Verification:
    """What `verify` found.

    Attributes
    ----------
    problems : tuple of str
        Why the plan is rejected.
    proved, not_proved : tuple of str
        What was proved, and what could not be; both are empty for a plan that is rejected.
    """

    problems: tuple[str, ...]
    proved: tuple[str, ...]
    not_proved: tuple[str, ...]

    @property
    def is_verified(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def lines(self) -> Iterator[str]:
        """All of it as text."""
        yield "rejected" if self.problems else "verified"
        for what, lines in (("problem", self.problems), ("proved", self.proved), ("not proved", self.not_proved)):
            yield from (f"{what}: {line}" for line in lines)

    def __str__(self) -> str:
        return "\n".join(self.lines())


def verify(
    path: str | os.PathLike[str],
    snapshot: Snapshot | str | os.PathLike[str] | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> Verification:
    """Prove a saved plan: recompute all that it says from its inputs, by a checker that shares no code with planning.

    Parameters
    ----------
    path : path
        What ``plan --out`` or `rmqalloc.plans.save_plan` wrote.
    snapshot : Snapshot or path, optional
        What the plan was made from. With it the inputs are compared, too.
    key_file : path, optional
        Key of the plan's signature.

    Raises
    ------
    OSError
        A file cannot be read.
    VerificationError
        The plan's file is no text of that size, or the key is too short.
    rmqalloc.snapshot.SnapshotError
        The snapshot cannot be read.

    Examples
    --------
    >>> import rmqalloc, tempfile
    >>> path = tempfile.mkdtemp() + "/plan.json"
    >>> rmqalloc.plan(rmqalloc.read("example:seed"), [{"name": "6", "changes": [{"scale_clients": {"to": 6}}]}]).save(path)
    >>> rmqalloc.verify(path).is_verified, rmqalloc.verify(path, snapshot="example:seed").not_proved
    (True, ('toolVersion and warnings, which follow from nothing; a signature covers them',))
    """
    source = read_source(path, VerificationError, packed=str(path).endswith(".gz"))
    key = None if key_file is None else read_key(key_file)
    if snapshot is None:
        return _verification(verdict(source.text(), key))
    taken = snapshot if isinstance(snapshot, Snapshot) else read(str(snapshot))
    found = verdict(source.text(), key, to_document(taken))
    if not found.problems:
        found.problems.extend(_read_otherwise(parse(source, "json").data, taken))
        found.proved.append(
            "views: what every client divides is what is read from the snapshot again (by rmqalloc's own reading)"
        )
    return _verification(found)


def _verification(found: Verdict) -> Verification:
    problems, proved, not_proved = map(tuple, found)
    return Verification(problems, *((), ()) if problems else (proved, not_proved))


def read_key(path: str | os.PathLike[str]) -> bytes:
    """The key in a file, without white space around it.

    Raises
    ------
    OSError
        The file cannot be read.
    VerificationError
        The key is too short.
    """
    key = Path(path).read_bytes().strip()
    if len(key) < MIN_KEY_BYTES:
        raise VerificationError(
            f"{path} holds a key of {len(key)} bytes; at least {MIN_KEY_BYTES} are needed, such as `openssl rand -hex 32` gives"
        )
    return key


def _read_otherwise(data: Mapping[str, Any], snapshot: Snapshot) -> Iterator[str]:
    """Inputs that are read otherwise from the snapshot."""
    given = data["inputs"]
    made = inputs_again(given, data["scenarios"], snapshot)
    if made["topics"] != given["topics"]:
        yield "topics are read otherwise from the snapshot"
    mine = {one["name"]: one for one in made["groups"]}
    for one in given["groups"]:
        if mine.get(one["name"]) != {name: value for name, value in one.items() if name != "lags"}:
            yield f"group {one['name']} is read otherwise from the snapshot: its topics, clients, strategies or views"
    yield from _other_lags(data["tables"]["queues"], snapshot)


def _other_lags(queues: Mapping[str, Any], snapshot: Snapshot) -> Iterator[str]:
    """Queues whose lag is another in the snapshot."""
    lags = {(group.name, *lag.queue): lag.messages for group in snapshot.groups for lag in group.lags}
    texts = (
        [queues[name]["words"][row] for row in queues[name]["rows"]]
        for name in ("consumer_group", "topic", "broker_name")
    )
    for *queue, lag in zip(*texts, queues["queue_id"], queues["lag"], strict=True):
        if lags.get(tuple(queue)) != lag:
            yield f"the lag of {queue[0]} on queue {queue[3]} of {queue[2]}, topic {queue[1]}, is another in the snapshot"
            return
