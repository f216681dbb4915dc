"""``STICKY``: the fewest moves there could be to an even allocation, the yardstick of all others."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rmqalloc.errors import ArgumentTypeError
from rmqalloc.fleet import Fleet
from rmqalloc.model import java_name, joined, queue_fields
from rmqalloc.strategies._reasons import Queues, Reasons
from rmqalloc.strategies.base import ExclusiveStrategy, Owners
from rmqalloc.strategies.parameters import Parameter

_Key = tuple[str, str, int]


class Sticky(ExclusiveStrategy, name="STICKY"):
    """Queues keep their owners as far as loads that differ by at most 1 allow.

    It reads who owned the queues so far, so clients could divide by it only if all of them knew
    that for certain, which RocketMQ's clients do not. It serves to measure other strategies by.

    Notes
    -----
    Of m queues and n distinct client ids, ``m mod n`` clients have ``m div n + 1`` queues and the others ``m div n``. Those who
    would keep most beyond ``m div n`` get one more, ties in the order of clients. Each client keeps its first queues, in the
    order of the list; every other queue goes to the client with the most room left, ties to the first. The work is Python's,
    queue by queue.

    Examples
    --------
    >>> queues = [("T", "b", i) for i in range(6)]
    >>> so_far = dict(zip(queues, ["a", "a", "b", "b", "c", "c"]))
    >>> Sticky(so_far).assign(queues, ["a", "c"]).owners.tolist()
    [0, 0, 0, 1, 1, 1]
    """

    parameters = (
        Parameter(
            "owners", "owners", "Client id of the present owner of every queue", is_needed=True
        ),
    )

    def __init__(self, owners: Mapping[Any, str]) -> None:
        is_text = isinstance(owners, Mapping) and all(isinstance(o, str) for o in owners.values())
        if not is_text:
            raise ArgumentTypeError(f"owners must map queues to client ids, got {owners!r}")
        self.owners = {_key(queue): joined(client_id) for queue, client_id in owners.items()}

    def get_name(self) -> str:
        """``STICKY``; it has no version, for no client runs it."""
        return "STICKY"

    def _explain(self, queues: Queues, client_ids: Sequence[str], position: int) -> Reasons:
        """Return whether the queue stays, and why not."""
        owners, reasons = self.assign(queues, client_ids).owners, Reasons()
        before, load = (
            self.owners.get(_key(queues[position])),
            int((owners == owners[position]).sum()),
        )
        size, extra = divmod(len(queues), len(set(client_ids)))
        more = f", and {extra} of the clients 1 more" if extra else ""
        reasons.say(
            f"{len(set(client_ids))} clients have {size} of the {len(queues)} queues each{more}",
            size=size,
            extra=extra,
        )
        owner = client_ids[owners[position]] if owners[position] >= 0 else ""
        if before == owner:
            reasons.say(
                f"client {owner} owned the queue and keeps it, with {load} queues in all",
                owner_before=before,
            )
            return reasons
        has = "no client owned the queue"
        if before is not None:
            has = f"client {before}, the previous owner, " + (
                "has its full share" if before in client_ids else "has left"
            )
        reasons.say(
            f"{has}: the queue goes to client {owner}, which had the most room left",
            owner_before=before,
        )
        return reasons

    def _group_owners(self, mq_all: Sequence[Any], cid_all: Sequence[str]) -> Owners:
        return np.array(self._divided([_key(queue) for queue in mq_all], cid_all), np.int32)

    def _owners(self, fleet: Fleet, out: Owners, threads: int = 1) -> None:
        for unit in range(fleet.n_units):
            lo, hi = fleet.queue_offsets[unit : unit + 2]
            out[lo:hi] = self._divided(
                [_key(queue) for queue in fleet.queues_of(unit)], fleet.client_ids_of(unit)
            )

    def _divided(self, queues: Sequence[_Key], client_ids: Sequence[str]) -> list[int]:
        """Return the position of the owner of every queue; what the empty id gets is unowned."""
        first: dict[str, int] = {}
        for place, client_id in enumerate(client_ids):
            first.setdefault(joined(client_id), place)
        had = [self.owners.get(queue) for queue in queues]
        loads = Counter(client_id for client_id in had if client_id in first)
        size, extra = divmod(len(queues), len(first))
        room = dict.fromkeys(first, size)
        most_beyond = sorted(first, key=lambda client_id: -max(loads[client_id] - size, 0))
        for client_id in most_beyond[:extra]:
            room[client_id] += 1
        found: list[str | None] = []
        for before in had:
            stays = before is not None and room.get(before, 0) > 0
            found.append(before if stays else None)
            if before is not None and stays:
                room[before] -= 1
        rest = deque(_roomiest_first(room))
        owners = [rest.popleft() if owner is None else owner for owner in found]
        return [first[owner] if owner else -1 for owner in owners]


def _roomiest_first(room: Mapping[str, int]) -> list[str]:
    """Return each client as often as it has room: always the one with the most left, ties to the
    first.

    Examples
    --------
    >>> _roomiest_first({"a": 1, "b": 3, "c": 2})
    ['b', 'b', 'c', 'a', 'b', 'c']
    """
    levels: list[tuple[int, int, str]] = []
    for place, (client_id, most) in enumerate(room.items()):
        levels += [(-left, place, client_id) for left in range(1, most + 1)]
    return [client_id for _, _, client_id in sorted(levels)]


def _key(queue: Any) -> _Key:
    """Return a queue as Java's strings have it, nulls by their text."""
    topic, broker_name, queue_id = queue_fields(queue)
    return java_name(topic), java_name(broker_name), int(queue_id)
