"""The rule on missing machine rooms: a single one stops the rebalance of the whole group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rmqalloc.audit._audited_group import AuditedGroup
from rmqalloc.audit._signs import Sign
from rmqalloc.audit.finding import COMPUTED, Fault, rule
from rmqalloc.evidence.views.unit_views import Ids, Queues
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.snapshot import Topic
from rmqalloc.text import counted


@rule(
    "missing-machine-room",
    title="Client or broker without a machine room",
    description=(
        "MACHINE_ROOM_NEARBY fails if the machine room of a client of the group or of a broker of the topic is missing: no "
        "client takes or releases a queue. Reported only if some machine rooms are known."
    ),
    help="Give every client and every broker a machine room.",
    severity="error",
    signs=Sign.ROOMS,
    needs=COMPUTED,
)
def missing_machine_room(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield clients and brokers without a machine room, if a client or a broker has one."""
    nearby = [
        method for method in audited.methods if method.asks_for_rooms and method.problem is None
    ]
    if not nearby or audited.is_served or audited.why_unknown("clients"):
        return
    client_rooms = _by_name(nearby[0].params.get("client_room")) or {
        client.client_id: client.machine_room for client in audited.clients if client.machine_room
    }
    broker_rooms = _by_name(nearby[0].params.get("broker_room"))
    rooms = {
        unit: broker_rooms or _rooms_of(audited.routes[unit.topic])
        for unit in audited.units
        if broker_rooms or audited.has_route(unit.topic)
    }
    if not client_rooms and not any(rooms.values()):
        return
    roomless = audited.ids(
        slot for slot, client_id in enumerate(audited.client_ids) if not client_rooms.get(client_id)
    )
    if roomless and rooms:
        what = f"{counted(len(roomless), 'client has', 'clients have')} no machine room ({named(roomless)})"
        yield _fault(what, len(nearby), clients=roomless)
    for unit, of_broker in rooms.items():
        brokers = sorted(
            {queue.broker_name for queue in unit.queues if not of_broker.get(queue.broker_name)}
        )
        if brokers:
            have = counted(
                len(brokers), f"broker of {unit.topic} has", f"brokers of {unit.topic} have"
            )
            queues = tuple(queue for queue in unit.queues if queue.broker_name in brokers)
            what = f"{have} no machine room ({named(brokers)})"
            yield _fault(what, len(nearby), topic=unit.topic, queues=queues)


def _fault(
    what: str, n_nearby: int, topic: str | None = None, queues: Queues = (), clients: Ids = ()
) -> Fault:
    return Fault(
        f"{what}: if the clients' resolver does not know the missing rooms either, MACHINE_ROOM_NEARBY fails for "
        f"{counted(n_nearby, 'client')}, with or without a room. All clients keep their queues, queues of clients that "
        "leave stay unowned, and new clients get no queue.",
        "Give every client and every broker of the topics a machine room, in the resolver and in the snapshot.",
        topic=topic,
        queues=queues,
        clients=clients,
    )


def _rooms_of(route: Topic) -> dict[str, str]:
    return {
        broker.broker_name: broker.machine_room for broker in route.brokers if broker.machine_room
    }


def _by_name(given: object) -> dict[str, str]:
    """Return rooms by name among the parameters of the strategy."""
    if not isinstance(given, Mapping):
        return {}
    return {str(name): str(room) for name, room in given.items() if room}
