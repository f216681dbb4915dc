"""Random groups whose clients differ: strategies, languages, subscriptions, stale routes, lists of
brokers, repeated ids.
"""

from bruteforce import clusters, java, mixed, planned
from bruteforce.clusters import chance, some


def case(random):
    """Groups of which it is known of every client what it divides by, or of which it surely is not."""
    document = clusters.snapshot(random, tame=chance(random, 0.6))
    for group in document["groups"]:
        rule = group.get("strategy_params", {}).get("inner", group["strategy"])
        if "CONSISTENT_HASH" in rule:
            group["strategy_params"] = {"virtual_nodes": java.DEFAULT_NODES} | group.get(
                "strategy_params", {}
            )
        _give_views(random, group, document["topics"])
        if chance(random, 0.15):
            _give_owned(random, document, group)
    return clusters.with_reported(document)


def _give_views(random, group, topics):
    clients = group.get("clients", [])
    kinds = some(random, ("strategies", "go", "subscriptions", "routes", "lists", "repeats"), 0, 3)
    for client in clients:
        if "strategies" in kinds and chance(random, 0.4):
            client["strategy"] = random.choice(("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"))
            if client["strategy"] == "CONSISTENT_HASH":
                client["virtual_nodes"] = random.choice(clusters.NODES)
        if "go" in kinds and chance(random, 0.3):
            client["language"] = random.choice(("GO", "GO", "GO", "CPP", "JAVA"))
        if "subscriptions" in kinds and chance(random, 0.7):
            client["subscriptions"] = [
                name for name in group["subscriptions"] if chance(random, 0.7)
            ]
    if "routes" in kinds and clients:
        for client in some(random, clients, 1):
            client["sees_read_queue_nums"] = clusters._seen(random, topics)
    if "lists" in kinds and clients:
        group["broker_client_ids"] = clusters._lists_of_brokers(random, clients, topics)
    if "repeats" in kinds and clients:
        one = random.choice(clients)
        clients.insert(
            random.randint(0, len(clients)), {name: one[name] for name in one if name != "strategy"}
        )


def _give_owned(random, document, group):
    """What clients report: what they take, or not quite."""
    rooms = planned.rooms_known([unit.main for unit in mixed.units_of(document, [group])])
    states = [mixed.state_of(unit, rooms) for unit in mixed.units_of(document, [group])]
    for client in group.get("clients", []):
        mine = [
            q for state in states for q in state.owners if client["client_id"] in state.owners[q]
        ]
        if mine and chance(random, 0.2):
            mine.pop(random.randrange(len(mine)))
        # What a client that reports no strategy owns beside one that does tells of its strategy,
        # and puts that in doubt.
        is_told = "strategy" in client or not any("strategy" in one for one in group["clients"])
        if mine and chance(random, 0.1) and is_told:
            everything = [queue for state in states for queue in state.owners]
            mine.append(random.choice(everything))
        if chance(random, 0.98):
            client["owned"] = [clusters.plain_queue(queue) for queue in dict.fromkeys(mine)]
