"""``MACHINE_ROOM_NEARBY-<inner>``: queues stay in a room that has a client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from rmqalloc.errors import ArgumentError, ArgumentTypeError, RoomsUnknownError
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.checked_columns import replaced
from rmqalloc.fleet.columns import Index, Offsets, Strings, among, distinct_strings
from rmqalloc.fleet.groups import check_client_ids
from rmqalloc.model import (
    Assignment,
    MessageQueue,
    Queue,
    SharedAssignment,
    java_text,
    queue_fields,
    queue_text,
)
from rmqalloc.strategies._over import OverParts
from rmqalloc.strategies._reasons import Queues, Reasons
from rmqalloc.strategies._unit_parts import UnitParts, split_by_room
from rmqalloc.strategies.base import (
    DecidedBy,
    ExclusiveStrategy,
    Inner,
    SharingStrategy,
    Strategy,
    as_of_now,
    check_lists,
    in_order,
    position_of,
)
from rmqalloc.strategies.ordering import utf16
from rmqalloc.strategies.parameters import Parameter

BrokerRoom = Callable[[Any], str | None] | Mapping[str, str]
ClientRoom = Callable[[str], str | None] | Mapping[str, str]
Places = dict[str, list[int]]
IN_ROOMS: DecidedBy = "positions in rooms"


class RoomPlaces(NamedTuple):
    """Places of the queues and of the clients of every room, in the order of the group's lists."""

    queues: Places
    clients: Places

    def of_queue(self, position: int) -> str | None:
        """Return the room of a queue; None where no client has an id."""
        return next((room for room, mine in self.queues.items() if position in mine), None)

    def without_clients(self) -> list[str]:
        """Return the rooms that have queues alone."""
        return [room for room in self.queues if room not in self.clients]


class MachineRoomNearby(OverParts[Inner], name="MACHINE_ROOM_NEARBY"):
    """An inner strategy splits the queues of every room among the clients of the room, or among all
    clients if the room has none.

    Parameters
    ----------
    inner : Strategy
        Splits each room.
    broker_room : callable or mapping, optional
        Room of a queue: called with the queue, or looked up by broker name. In a fleet it is called
        once per distinct broker, with one queue of it. Without it, a fleet must have the column
        ``broker_rooms``.
    client_room : callable or mapping, optional
        Room of a client id. In a fleet it is called once per distinct id. Without it, a fleet must
        have ``client_rooms``.

    Raises
    ------
    TypeError
        ``inner`` is null or not a strategy with owners.

    Notes
    -----
    ``AllocateMachineRoomNearby``. A single missing room fails the whole group. Each room without
    clients is split from the first client on, so the first clients take the extra queue of every
    such room.

    Examples
    --------
    >>> from rmqalloc import strategy
    >>> room = lambda name: name[:2]
    >>> s = strategy("MACHINE_ROOM_NEARBY", inner=strategy("AVG"), broker_room=lambda q: q[1][:2], client_room=room)
    >>> s.assign([("t", "hz-a", 0), ("t", "hz-a", 1), ("t", "sh-a", 0)], ["hz-1", "sh-1"]).owners.tolist()
    [0, 0, 1]
    """

    reads_rooms = True
    names_inner = True
    parameters = (
        Parameter("inner", "strategy", "Strategy that splits each room", is_needed=True),
        Parameter("broker_room", "resolver", "Machine room of a queue's broker"),
        Parameter("client_room", "resolver", "Machine room of a client id"),
    )

    def __init__(
        self,
        inner: Inner,
        broker_room: BrokerRoom | None = None,
        client_room: ClientRoom | None = None,
    ) -> None:
        if inner is None:
            raise ArgumentTypeError("allocateMessageQueueStrategy is null: give an inner strategy")
        if not isinstance(inner, Strategy):
            raise ArgumentTypeError(f"inner must be a strategy, got {inner!r}")
        for name, resolver in (("broker_room", broker_room), ("client_room", client_room)):
            if (
                resolver is not None
                and not callable(resolver)
                and not isinstance(resolver, Mapping)
            ):
                raise ArgumentTypeError(f"{name} must be a callable or a mapping, got {resolver!r}")
        super().__init__(inner)
        self.broker_room, self.client_room = broker_room, client_room
        # Ids give every queue an owner of its own room, so only the queues of a client that leaves
        # move here, too.
        within: dict[DecidedBy, DecidedBy] = {
            "counts": IN_ROOMS,
            "positions": IN_ROOMS,
            "ids": "ids",
        }
        if self._has_hook_of(MachineRoomNearby):
            self.decided_by = within.get(inner.decided_by, "anything")

    def _over(self, inner: Any) -> Strategy:
        return type(self)(inner, self.broker_room, self.client_room)

    def with_rooms(
        self, broker_room: Mapping[str, str] | None, client_room: Mapping[str, str] | None
    ) -> Strategy:
        """Return the same strategy with the machine rooms of brokers and clients by name."""
        inner: Any = self.inner.with_rooms(broker_room, client_room)
        return type(self)(inner, broker_room, client_room)

    def by_room(self, fleet: Fleet) -> tuple[UnitParts, Strategy]:
        """Return a fleet as units of one machine room each, and the inner strategy."""
        return split_by_room(self._prepared(fleet)), self.inner

    def _explain(self, queues: Queues, client_ids: Sequence[str], position: int) -> Reasons:
        """Return the queue's machine room, and there the reasons of the inner strategy."""
        rooms = self._rooms(queues, client_ids)
        room = rooms.of_queue(position)
        if room is None:
            return Reasons(["no client has an id, so no client takes part in a machine room"])
        mine, members = rooms.queues[room], client_ids
        if room in rooms.clients:
            members = [client_ids[i] for i in rooms.clients[room]]
            among = f"{len(members)} of the {len(client_ids)} clients are in this machine room and divide"
        else:
            among = f"no client is in this machine room, so all {len(client_ids)} clients divide"
        inner = self.inner.explain([queues[i] for i in mine], members, mine.index(position))
        text = f"broker {queues[position].broker_name} is in machine room {room}; {among} its {len(mine)} queues"
        facts = {"machine_room": room, "n_room_queues": len(mine), "n_room_clients": len(members)}
        return Reasons([text, *inner.steps], {**facts, "inner": inner.facts})

    def get_name(self) -> str:
        """Return Java's ``getName()`` text: ``MACHINE_ROOM_NEARBY-`` and the inner strategy's name."""
        return f"MACHINE_ROOM_NEARBY-{self.inner.get_name()}"

    @overload
    def allocate(
        self: MachineRoomNearby[ExclusiveStrategy],
        consumer_group: str,
        current_cid: str,
        mq_all: Sequence[Queue],
        cid_all: Sequence[str],
    ) -> list[Queue]: ...
    @overload
    def allocate(
        self, consumer_group: str, current_cid: str, mq_all: Sequence[Any], cid_all: Sequence[str]
    ) -> list[Any]: ...
    def allocate(
        self, consumer_group: str, current_cid: str, mq_all: Sequence[Any], cid_all: Sequence[str]
    ) -> list[Any]:
        """Return queues of one client: its own room's first, then rooms without clients by name;
        see `Strategy.allocate`.
        """
        mq_all, cid_all = as_of_now(mq_all), as_of_now(cid_all)
        position = position_of(current_cid, mq_all, cid_all)
        if position < 0:
            return []
        rooms = self._rooms(mq_all, cid_all)
        own = next(room for room, places in rooms.clients.items() if position in places)
        orphans = sorted(rooms.without_clients(), key=utf16)
        everyone = list(range(len(cid_all)))
        result: list[Any] = []
        for room in [own, *orphans] if own in rooms.queues else orphans:
            clients = [cid_all[i] for i in rooms.clients.get(room, everyone)]
            queues = [mq_all[i] for i in rooms.queues[room]]
            part = self.inner.allocate(consumer_group, current_cid, queues, clients)
            if part is None:
                raise ArgumentTypeError(
                    f"the inner strategy {self.inner.get_name()} answered null for machine room {room!r}"
                )
            result += part
        return result

    @overload
    def assign(
        self: MachineRoomNearby[ExclusiveStrategy],
        mq_all: Sequence[Queue],
        cid_all: Sequence[str],
        sort: bool = False,
    ) -> Assignment[Queue]: ...
    @overload
    def assign(
        self: MachineRoomNearby[SharingStrategy],
        mq_all: Sequence[Any],
        cid_all: Sequence[str],
        sort: bool = False,
    ) -> SharedAssignment[Any]: ...
    @overload
    def assign(
        self, mq_all: Sequence[Any], cid_all: Sequence[str], sort: bool = False
    ) -> Assignment[Any] | SharedAssignment[Any]: ...
    def assign(
        self, mq_all: Sequence[Any], cid_all: Sequence[str], sort: bool = False
    ) -> Assignment[Any] | SharedAssignment[Any]:
        """Return owners of all queues of one group; what each client gets where the inner strategy
        shares queues (CONFIG).
        """
        mq_all, cid_all = in_order(mq_all, cid_all, sort)
        check_lists(mq_all, cid_all)
        check_client_ids(cid_all)
        rooms = self._rooms(mq_all, cid_all)
        if self.is_shared:
            return SharedAssignment.by_client(self, mq_all, cid_all)
        owners = np.full(len(mq_all), -1, np.int32)
        everyone = list(range(len(cid_all)))
        for room, places in rooms.queues.items():
            members = rooms.clients.get(room, everyone)
            part = self.inner.assign([mq_all[i] for i in places], [cid_all[i] for i in members])
            assert isinstance(part, Assignment)
            owners[places] = np.append(members, -1)[part.owners]
        return Assignment(owners, mq_all, cid_all)

    def _rooms(self, mq_all: Sequence[Any], cid_all: Sequence[str]) -> RoomPlaces:
        """Find the room of every queue, and then of every client.

        No places where no client has an id: one without is refused before it asks for any room.
        """
        if self.broker_room is None or self.client_room is None:
            raise RoomsUnknownError("machineRoomResolver is null: give broker_room and client_room")
        if not any(cid_all):
            return RoomPlaces({}, {})
        rooms = RoomPlaces({}, {})
        for i, queue in enumerate(mq_all):
            room = _ask_broker(self.broker_room, queue)
            if not room:
                raise ArgumentError(_no_queue_room(*queue_fields(queue)))
            rooms.queues.setdefault(room, []).append(i)
        for i, client_id in enumerate(cid_all):
            room = _ask_client(self.client_room, client_id)
            if not room:
                raise ArgumentError(_no_client_room(client_id))
            rooms.clients.setdefault(room, []).append(i)
        return rooms

    def _parts(self, fleet: Fleet) -> UnitParts:
        return split_by_room(fleet)

    def _find_missing(self, fleet: Fleet, reasons: dict[int, str]) -> None:
        """Add units of which a broker or a client has no machine room, unless no client has an id
        and so none asks for one.
        """
        queues, clients = fleet.queue_lists, fleet.client_lists
        assert queues.route_room is not None
        assert clients.slot_room is not None
        for unit, place in _first_missing(
            queues.route_room[queues.queue_route], queues.offsets, fleet.unit_queue_list
        ):
            if not _asks(fleet, unit):
                continue
            route = queues.queue_route[place]
            topic, broker_name = (
                fleet.topics[queues.route_topic[route]],
                fleet.brokers[queues.route_broker[route]],
            )
            reasons.setdefault(
                unit, _no_queue_room(topic, broker_name, int(queues.queue_ids[place]))
            )
        for unit, place in _first_missing(
            clients.slot_room, clients.offsets, fleet.unit_client_list
        ):
            if _asks(fleet, unit):
                reasons.setdefault(unit, _no_client_room(clients.client_ids[place]))

    def _find_errors(self, fleet: Fleet, reasons: dict[int, str]) -> None:
        self._find_missing(fleet, reasons)
        super()._find_errors(fleet, reasons)

    def _prepared(self, fleet: Fleet) -> Fleet:
        """Return the fleet with the rooms of its routes and slots as this strategy sees them."""
        numbers = {name: i for i, name in enumerate(fleet.rooms.to_list())}
        route_room, slot_room = fleet.queue_lists.route_room, fleet.client_lists.slot_room
        if self.broker_room is not None:
            route_room = _route_rooms(fleet, self.broker_room, numbers)
        if self.client_room is not None:
            slot_room = _slot_rooms(fleet.client_lists.client_ids, self.client_room, numbers)
        if route_room is None or slot_room is None:
            missing = "broker_room" if route_room is None else "client_room"
            raise RoomsUnknownError(
                f"machineRoomResolver is null: give {missing}, or bring the column {missing}s in the fleet"
            )
        return replaced(
            fleet,
            queue_lists=replaced(fleet.queue_lists, route_room=route_room),
            client_lists=replaced(fleet.client_lists, slot_room=slot_room),
            rooms=Strings.from_list(list(numbers)),
        )


def _asks(fleet: Fleet, unit: int) -> bool:
    """Return False if a unit has clients and none an id: one without is refused before it asks for
    any room.
    """
    lists, at = fleet.client_lists, fleet.unit_client_list[unit]
    mine = slice(lists.offsets[at], lists.offsets[at + 1])
    return lists.offsets[at] == lists.offsets[at + 1] or not lists.empty_id[mine].all()


def _first_missing(room: Index, list_offsets: Offsets, unit_list: Index) -> list[tuple[int, int]]:
    """Return units whose list has an element without a room, each with the place of the first one."""
    places = np.flatnonzero(room < 0)
    lists, at = np.unique(
        np.searchsorted(list_offsets, places, side="right") - 1, return_index=True
    )
    first = dict(zip(lists.tolist(), places[at].tolist(), strict=True))
    units = np.flatnonzero(among(unit_list, first)).tolist()
    return [(unit, first[int(unit_list[unit])]) for unit in units]


def _route_rooms(fleet: Fleet, broker_room: BrokerRoom, numbers: dict[str, int]) -> Index:
    """Return the room of every route, asked once per distinct broker."""
    lists = fleet.queue_lists
    rooms = np.full(max(len(fleet.brokers), 1), -1, np.int32)
    brokers, routes = np.unique(lists.route_broker, return_index=True)
    for broker, route in zip(brokers.tolist(), routes.tolist(), strict=True):
        start = int(lists.route_offsets[route])
        queue_id = int(lists.queue_ids[start]) if start < lists.route_offsets[route + 1] else 0
        queue = MessageQueue(
            fleet.topics[lists.route_topic[route]], fleet.brokers[broker], queue_id
        )
        rooms[broker] = _number(_ask_broker(broker_room, queue), numbers)
    return rooms[lists.route_broker]


def _slot_rooms(client_ids: Strings, client_room: ClientRoom, numbers: dict[str, int]) -> Index:
    """Return the room of every client slot, asked once per distinct id."""
    codes, names = distinct_strings(client_ids)
    rooms = [_number(_ask_client(client_room, name), numbers) for name in names.to_list()]
    return np.array(rooms, np.int32)[codes]


def _number(room: str | None, numbers: dict[str, int]) -> int:
    return numbers.setdefault(room, len(numbers)) if room else -1


def _ask_broker(resolver: BrokerRoom, queue: Any) -> str | None:
    return (
        resolver.get(str(queue_fields(queue)[1]))
        if isinstance(resolver, Mapping)
        else resolver(queue)
    )


def _ask_client(resolver: ClientRoom, client_id: str) -> str | None:
    return resolver.get(client_id) if isinstance(resolver, Mapping) else resolver(client_id)


def _no_queue_room(topic: str | None, broker_name: str | None, queue_id: int) -> str:
    return f"Machine room is null for mq {queue_text(topic, broker_name, queue_id)}"


def _no_client_room(client_id: str | None) -> str:
    return f"Machine room is null for consumer id {java_text(client_id)}"
