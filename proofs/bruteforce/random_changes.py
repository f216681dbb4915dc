"""Random scenarios, of every kind of change, as plain data."""

from bruteforce import clusters
from bruteforce.clusters import RETRY, ROOMS, chance, some

NEW_BROKERS = ("broker-0", "broker-z", "hz@new", "\ue000-new")


def scenarios(random, document, most=3):
    return [_scenario(random, document, number) for number in range(random.randint(1, most))]


def _scenario(random, document, number):
    kinds = [_remove, _add, _scale, _strategy, _nodes, _queues, _remove_broker, _add_broker]
    if rooms_known(document):
        kinds.append(_lose)
    made = {"name": f"scenario {number}"}
    made["changes"] = [
        random.choice(kinds)(random, document) for _ in range(random.choice((1, 1, 1, 2, 3)))
    ]
    if chance(random, 0.15):
        made["groups"] = random.choice(("group-0", "group-[12]", ["*-1", "group-2"], "*"))
    if chance(random, 0.15):
        made["topics"] = random.choice(("orders", "[!%]*", f"{RETRY}*", ["T", "pay*"]))
    return made


def rooms_known(document):
    """Whether every group that can be planned has machine rooms of brokers or clients to look at."""
    brokers = [broker for topic in document["topics"] for broker in topic["brokers"]]
    return bool(brokers) and all("machine_room" in one for one in brokers)


def ids_of(document):
    return [
        client["client_id"] for group in document["groups"] for client in group.get("clients", [])
    ]


def _brokers_of(document):
    return sorted(
        {broker["broker_name"] for topic in document["topics"] for broker in topic["brokers"]}
    )


def _remove(random, document):
    ids = [one for one in ids_of(document) if one]
    how = random.choice(("ids", "count", "pattern", "room" if rooms_known(document) else "ids"))
    if how == "ids" and ids:
        return {"remove_clients": {"ids": some(random, sorted(set(ids)), 1, 3)}}
    if how == "pattern":
        return {
            "remove_clients": {
                "pattern": random.choice(("10.0.0.1*", "c[1-6]", "*@1", ["né*", "*7"]))
            }
        }
    if how == "room":
        return {"remove_clients": {"machine_room": random.choice(ROOMS)}}
    which = random.choice(("last", "first", "spread"))
    return {"remove_clients": {"count": random.choice((1, 1, 2, 3, 9)), "which": which}}


def _add(random, document):
    room = (
        {"machine_room": random.choice(ROOMS)}
        if rooms_known(document) and chance(random, 0.8)
        else {}
    )
    if chance(random, 0.5):
        name = {"name": "c{n}"} if chance(random, 0.3) else {}
        return {"add_clients": {"count": random.randint(1, 4), **name, **room}}
    # Where rooms count, an id that is there already would stand in two of them.
    taken = set(ids_of(document)) if clusters_have_rooms(document) else set()
    ids = dict.fromkeys(clusters.client_id(random) for _ in range(random.randint(1, 3)))
    return {"add_clients": {"ids": [one for one in ids if one not in taken] or ["new@1"], **room}}


def clusters_have_rooms(document):
    """Whether any machine room is known."""
    entries = [broker for topic in document["topics"] for broker in topic["brokers"]]
    entries += [client for group in document["groups"] for client in group.get("clients", [])]
    return any("machine_room" in one for one in entries)


def _scale(random, document):
    room = (
        {"machine_room": random.choice(ROOMS)}
        if rooms_known(document) and chance(random, 0.8)
        else {}
    )
    return {"scale_clients": {"to": random.choice((0, 1, 2, 3, 4, 5, 8, 12)), **room}}


def _strategy(random, document):
    name, params = clusters.rule(random)
    while name.startswith("MACHINE_ROOM_NEARBY") and not rooms_known(document):
        name, params = clusters.rule(random)
    return {"set_strategy": {"strategy": name, **({"params": params} if params else {})}}


def _nodes(random, document):
    return {"set_virtual_nodes": {"virtual_nodes": random.choice((0, 1, 4, 10, 50))}}


def _queues(random, document):
    change = {"read_queue_nums": random.choice((1, 2, 3, 4, 8, 10))}
    if chance(random, 0.4):
        change["brokers"] = random.choice(("broker-a", "*@*", ["broker-?", "hz@b1"]))
    if chance(random, 0.4):
        change["topics"] = random.choice(
            ("orders", "T*", f"{RETRY}*", [f"{RETRY}group-0", "payments"])
        )
    return {"set_queues": change}


def _remove_broker(random, document):
    names = _brokers_of(document)
    pattern = random.choice(("*a*", "hz@*", *names)) if names else "*"
    return {"remove_broker": {"brokers": pattern}}


def _add_broker(random, document):
    room = {"machine_room": random.choice(ROOMS)} if rooms_known(document) else {}
    readable = [
        broker["broker_name"]
        for topic in document["topics"]
        for broker in topic["brokers"]
        if broker["perm"] & 4
    ]
    hidden = {
        broker["broker_name"]
        for topic in document["topics"]
        for broker in topic["brokers"]
        if not broker["perm"] & 4
    }
    names = [*NEW_BROKERS, *(sorted(set(readable) - hidden))]
    change = {
        "broker_name": random.choice(names),
        "read_queue_nums": random.choice((1, 2, 4, 8)),
        **room,
    }
    return {"add_broker": change}


def _lose(random, document):
    return {
        "lose_machine_room": {
            "machine_room": random.choice(ROOMS),
            "what": random.choice(("both", "clients", "brokers")),
        }
    }
