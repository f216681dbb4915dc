"""``MACHINE_ROOM``: queues of some rooms only, the room being the broker name's prefix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc._engine import split
from rmqalloc.errors import ArgumentTypeError
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import offsets_of
from rmqalloc.model import queue_fields
from rmqalloc.strategies._reasons import Queues, Reasons
from rmqalloc.strategies.base import ExclusiveStrategy, Owners
from rmqalloc.strategies.owner_vectors import rename_holders
from rmqalloc.strategies.parameters import Parameter

NULL_ROOMS = "machine_rooms is null: give the set of machine rooms whose queues are consumed"


class MachineRoom(ExclusiveStrategy, name="MACHINE_ROOM"):
    """Even blocks of the queues whose broker name is ``room@name`` with a room of the set; all
    other queues are unowned.

    The queues left over after equal blocks are at the end of the list and go to one client each,
    from the first client on.

    Parameters
    ----------
    machine_rooms : iterable of str, or None
        Java's ``consumeridcs``. ``None`` (unset) is an error if a broker name has a room.

    Raises
    ------
    TypeError
        ``machine_rooms`` is a plain string or holds something else than strings.

    Notes
    -----
    ``AllocateMessageQueueByMachineRoom``.

    Examples
    --------
    >>> s = MachineRoom({"hz"})
    >>> s.assign([("t", "hz@a", 0), ("t", "hz@a", 1), ("t", "hz@a", 2), ("t", "sh@b", 0)], ["x", "y"]).owners.tolist()
    [0, 1, 0, -1]
    """

    decided_by = "positions"
    reads_topic = False
    parameters = (
        Parameter(
            "machine_rooms",
            "names",
            "Machine rooms to take queues from",
            is_needed=True,
            metavar="ROOM",
        ),
    )

    def __init__(self, machine_rooms: Iterable[str] | None = None) -> None:
        if isinstance(machine_rooms, str):
            raise ArgumentTypeError(
                f"machine_rooms must be a set of names, got the string {machine_rooms!r}"
            )
        try:
            self.machine_rooms = None if machine_rooms is None else frozenset(machine_rooms)
        except TypeError:
            raise ArgumentTypeError(
                f"machine_rooms must be a set of names, got {machine_rooms!r}"
            ) from None
        if not all(isinstance(room, str) for room in self.machine_rooms or ()):
            raise ArgumentTypeError(f"machine_rooms must hold strings, got {machine_rooms!r}")

    def get_name(self) -> str:
        """Return Java's ``getName()`` text: ``MACHINE_ROOM``."""
        return "MACHINE_ROOM"

    def _explain(self, queues: Queues, client_ids: Sequence[str], position: int) -> Reasons:
        """Return equal blocks of the rooms' queues, the rest from the tail."""
        reasons, rooms, broker = (
            Reasons(),
            ", ".join(sorted(self.machine_rooms or ())),
            queues[position].broker_name,
        )
        room = self._room_of(broker)
        if not self._keeps(broker):
            where = "names no machine room" if room is None else f"is in machine room {room}"
            reasons.say(
                f"broker {broker} {where}, and only queues of {rooms} are consumed",
                machine_room=room,
            )
            return reasons
        kept = [i for i, queue in enumerate(queues) if self._keeps(queue.broker_name)]
        at, size = kept.index(position), len(kept) // len(client_ids)
        text = (
            f"of {len(queues)} queues {len(kept)} are in the machine rooms {rooms}, and this queue is number {at} of these "
            f"(from 0)"
        )
        reasons.say(text, machine_room=room, n_kept=len(kept), kept_place=at)
        if at < size * len(client_ids):
            client = at // size
            text = f"each client takes {size} of these: {at} ÷ {size} = {client}, client {client_ids[client]}"
        else:
            client = at - size * len(client_ids)
            text = (
                f"each client takes {size} of these, and the queues from number {size * len(client_ids)} on go to one client "
                f"each: {at} − {size * len(client_ids)} = {client}, client {client_ids[client]}"
            )
        reasons.say(text, client_place=client)
        reasons.check_id(client_ids, client)
        return reasons

    def _group_owners(self, mq_all: Sequence[Any], cid_all: Sequence[str]) -> Owners:
        for i, queue in enumerate(mq_all):
            broker_name = queue_fields(queue)[1]
            if broker_name is None:
                raise ArgumentTypeError(
                    f"the broker_name of queue {i} is null, so it has no machine room: {queue!r}"
                )
            if self._room_of(broker_name) is not None and self.machine_rooms is None:
                raise ArgumentTypeError(NULL_ROOMS)
        return super()._group_owners(mq_all, cid_all)

    def _room_of(self, broker_name: str) -> str | None:
        return room_of(broker_name)

    def _keeps(self, broker_name: str) -> bool:
        room = self._room_of(broker_name)
        return room is not None and self.machine_rooms is not None and room in self.machine_rooms

    def _owners(self, fleet: Fleet, out: Owners, threads: int = 1) -> None:
        kept = of_queues(fleet, [self._keeps(name) for name in fleet.brokers.to_list()])
        counts = np.diff(np.r_[0, np.cumsum(kept)][fleet.queue_offsets])
        owners = np.empty(int(counts.sum()), np.int32)
        if owners.size:
            split.tail_remainder(offsets_of(counts), fleet.n_clients, owners)
        out.fill(-1)
        out[kept] = owners
        rename_holders(fleet, out, sole=True)

    def _find_errors(self, fleet: Fleet, reasons: dict[int, str]) -> None:
        if self.machine_rooms is not None:
            return
        wrong = of_queues(fleet, [room_of(name) is not None for name in fleet.brokers.to_list()])
        for unit in np.flatnonzero(
            np.diff(np.r_[0, np.cumsum(wrong)][fleet.queue_offsets])
        ).tolist():
            reasons.setdefault(unit, NULL_ROOMS)


def room_of(broker_name: str) -> str | None:
    """Return the machine room of a broker named ``room@name``; None for any other number of parts.

    Trailing empty parts do not count, as in Java's ``String.split``.

    Examples
    --------
    >>> [room_of(name) for name in ("hz@a", "hz@a@", "@a", "hz@", "hz@a@b", "a")]
    ['hz', 'hz', '', None, None, None]
    """
    parts = broker_name.split("@")
    while parts and not parts[-1]:
        parts.pop()
    return parts[0] if len(parts) == 2 else None


def of_queues(fleet: Fleet, of_broker: list[bool]) -> NDArray[np.bool_]:
    """Return what holds of a broker, for every queue of every unit."""
    lists = fleet.queue_lists
    return np.array(of_broker, bool)[lists.route_broker][lists.queue_route][fleet.queue_places()]
