"""Fleets and strategies for threads and for children that are forked."""

from rmqalloc import Fleet

RULES = {
    "AVG": {},
    "AVG_BY_CIRCLE": {},
    "CONSISTENT_HASH": {"virtual_nodes": 10},
    "MACHINE_ROOM": {"machine_rooms": {"hz"}},
}


def fleet_of(seed, n_units=400):
    """Units of every size up to 24 queues and 6 clients, none like another fleet's."""

    def unit(u):
        queues = [(f"hz@broker-{q % 3}", q) for q in range(1 + (u * seed) % 24)]
        return (
            f"group-{seed}-{u}",
            f"topic-{u}",
            queues,
            [f"10.0.{seed}.{c}@{u}" for c in range(1 + u % 6)],
        )

    return Fleet.from_groups(map(unit, range(n_units)))
