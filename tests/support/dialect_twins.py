"""What clients of every language compute under a strategy's name, by the slow twins: every client
is asked alone.
"""

import go_reference
import reference

SET = {
    "ring": ("CONSISTENT_HASH", {"virtual_nodes": 20}),
    "rooms": ("MACHINE_ROOM", {"machine_rooms": ["hz"]}),
    "circle": ("AVG_BY_CIRCLE", {}),
    "nearby": ("MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE", {}),
    "average": ("AVG", {}),
}
"""Strategies with their parameters."""


def twin(key, language):
    """The slow twin of what a client of a language computes; of one that is not known it is Java's."""
    if language in ("CPP", "PYTHON"):
        return go_reference.CppAvg()
    java = {
        "ring": reference.ConsistentHash(20),
        "rooms": reference.MachineRoom({"hz"}),
        "circle": reference.AvgByCircle(),
        "average": reference.Avg(),
    }
    go = {
        "ring": go_reference.GoConsistentHash(20),
        "rooms": go_reference.GoMachineRoom({"hz"}),
        "circle": go_reference.GoAvgByCircle(),
        "nearby": go_reference.GoAvg(),
        "average": go_reference.GoAvg(),
    }
    return (go if language == "GO" else java)[key]


def taken(key, topic, language_of):
    """Who takes each queue of a topic, given the clients with their languages."""
    queues, ids = list(topic.queues()), sorted(language_of)
    takers = {queue: [] for queue in queues}
    for one in ids:
        for queue in twin(key, language_of[one]).allocate("g", one, queues, ids):
            takers[queue].append(one)
    return takers
