"""Random snapshots in which reported, computed and unknown meet: few clients and queues, and all that
makes clients differ or hides something.
"""

from itertools import chain

from bruteforce import java
from bruteforce.clusters import RETRY, chance, plain_queue, some
from bruteforce.states import States

BROKERS = ("a", "b", "c")
TOPICS = ("T", "U", "V")
IDS = ("c1", "c2", "c3", "10.0.0.1@7", "10.0.0.1@77")
STRATEGIES = ("AVG", "AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")
NODES = (1, 10)


def case(random):
    """A random snapshot of one group or two."""
    topics = [_topic(random, name) for name in some(random, TOPICS, 1, 3)]
    names = ["g", "h"] if chance(random, 0.15) else ["g"]
    for name in names:
        if chance(random, 0.25):
            topics.append(_topic(random, RETRY + name, most=1))
    document = {"apiVersion": "rmqalloc/v2", "kind": "Snapshot", "topics": topics, "groups": []}
    for name in names:
        group = _group(random, name, topics)
        document["groups"].append(group)
        KINDS[random.choice(list(KINDS))](random, group, topics)
        if chance(random, 0.3):
            KINDS[random.choice(list(KINDS))](random, group, topics)
        _settle_params(group)
        if chance(random, 0.65):
            _reports(random, document, group)
        if chance(random, 0.2):
            _hides(random, group)
    if chance(random, 0.15):
        _brokers(random, document)
    if chance(random, 0.06):
        random.choice(topics)["unknown"] = {"routes": "the name server did not answer"}
    return {"snapshot": document}


def _topic(random, name, most=4):
    brokers = [
        {"broker_name": broker, "read_queue_nums": random.randint(1, most)}
        for broker in some(random, BROKERS, 1, 2)
    ]
    if chance(random, 0.08):
        random.choice(brokers)["perm"] = random.choice((2, 4))
    return {"name": name, "brokers": brokers}


def _group(random, name, topics):
    plain = [topic["name"] for topic in topics if not topic["name"].startswith(RETRY)]
    strategy = random.choice(STRATEGIES)
    clients = [{"client_id": client_id} for client_id in some(random, IDS, 1, 5)]
    return {
        "name": name,
        "subscriptions": some(random, plain, 1, 3),
        "strategy": strategy,
        "strategy_source": "given",
        "clients": clients,
    }


def _settle_params(group):
    """Numbers of virtual nodes are stated wherever they count."""
    if group.get("strategy") == "CONSISTENT_HASH":
        group["strategy_params"] = {"virtual_nodes": 10}
    for client in group["clients"]:
        if client.get("strategy") == "CONSISTENT_HASH":
            client.setdefault("virtual_nodes", 10)


# --- What is particular about a group ---


def _plain(random, group, topics):
    pass


def _strategies(random, group, topics):
    for client in group["clients"]:
        if chance(random, 0.5):
            client["strategy"] = random.choice(STRATEGIES)


def _other_strategy(random, group, topics):
    """All clients report one strategy, be it the group's or not."""
    strategy = random.choice(STRATEGIES)
    for client in group["clients"]:
        client["strategy"] = strategy


def _nodes(random, group, topics):
    group["strategy"] = "CONSISTENT_HASH"
    for client in group["clients"]:
        if chance(random, 0.7):
            client["strategy"], client["virtual_nodes"] = "CONSISTENT_HASH", random.choice(NODES)


def _languages(random, group, topics):
    for client in group["clients"]:
        client["language"] = random.choice(("GO", "JAVA"))


def _routes(random, group, topics):
    for client in some(random, group["clients"], 1):
        topic = random.choice(topics)
        client["sees_read_queue_nums"] = {
            topic["name"]: {
                broker["broker_name"]: max(
                    0, broker["read_queue_nums"] + random.choice((-2, -1, 1))
                )
                for broker in topic["brokers"]
            }
        }


def _subscriptions(random, group, topics):
    names = [topic["name"] for topic in topics if not topic["name"].startswith(RETRY)]
    for client in group["clients"]:
        if chance(random, 0.7):
            client["subscriptions"] = some(random, names)


def _lists(random, group, topics):
    ids = [client["client_id"] for client in group["clients"]]
    names = sorted({broker["broker_name"] for topic in topics for broker in topic["brokers"]})
    group["broker_client_ids"] = {
        name: some(random, ids, max(0, len(ids) - 1)) + (["c9"] if chance(random, 0.1) else [])
        for name in names
    }


def _repeats(random, group, topics):
    if group["clients"]:
        group["clients"].append(dict(random.choice(group["clients"])))


def _pop(random, group, topics):
    group["server_assignment"] = "POP"
    group["pop_share_queue_num"] = random.choice((-1, 0, 1, 2))
    if chance(random, 0.7) and "AVG" not in group["strategy"]:
        group["strategy"] = "AVG"


def _pull(random, group, topics):
    group["server_assignment"] = "PULL"
    if chance(random, 0.8) and "AVG" not in group["strategy"]:
        group["strategy"] = "AVG"


def _broadcasting(random, group, topics):
    group["message_model"] = "BROADCASTING"
    if chance(random, 0.4):
        _routes(random, group, topics)


def _proxy(random, group, topics):
    group["is_shared"] = True
    if chance(random, 0.3):
        group["lite_topic"] = group["subscriptions"][0]


def _ordered(random, group, topics):
    group["is_ordered"] = True


def _paused(random, group, topics):
    group["paused_brokers"] = some(random, BROKERS, 1, 2)


def _empty(random, group, topics):
    group["clients"] = []


def _doubt(random, group, topics):
    if chance(random, 0.5):
        group["strategy_source"] = "assumed"
        group["strategy_doubt"] = "nothing shows it"
    else:
        for client in group["clients"]:
            client["strategy"] = random.choice(STRATEGIES)
        group["strategy_doubt"] = "nothing shows it"


def _refused(random, group, topics):
    """A strategy that cannot be computed."""
    if chance(random, 0.5):
        group["strategy"] = "CONFIG"
    else:
        group["strategy"] = "CONSISTENT_HASH"
        group["server_assignment"] = random.choice(("PULL", "POP"))


KINDS = {
    "plain": _plain,
    "strategies": _strategies,
    "one other strategy": _other_strategy,
    "nodes": _nodes,
    "languages": _languages,
    "routes": _routes,
    "subscriptions": _subscriptions,
    "lists": _lists,
    "repeats": _repeats,
    "pop": _pop,
    "pull": _pull,
    "broadcasting": _broadcasting,
    "proxy": _proxy,
    "ordered": _ordered,
    "paused": _paused,
    "empty": _empty,
    "doubt": _doubt,
    "refused": _refused,
}


# --- What clients report, and what is hidden ---


def _reports(random, document, group):
    """Clients report what they take, or not quite."""
    states = States(document, group)
    if states.is_shared:
        return
    spoilt, silent = chance(random, 0.4), chance(random, 0.25)
    for client, taken in zip(group["clients"], states.clients, strict=False):
        mine = [
            queue
            for topic, views in taken.takes.items()
            for queue in sorted(
                (views or [set()])[0] & set(states.topics[topic]), key=java.queue_order
            )
        ]
        if topics_reported(random, mine):
            mine = [queue for queue in mine if not queue[0].startswith(RETRY)]
        if spoilt and mine and chance(random, 0.4):
            mine.pop(random.randrange(len(mine)))
        if spoilt and states.rows and chance(random, 0.3):
            mine.append(random.choice(list(states.rows)))
        if not (silent and chance(random, 0.5)):
            client["owned"] = [plain_queue(queue) for queue in dict.fromkeys(mine)]


def topics_reported(random, queues):
    """Whether clients leave out what they own of the retry topic."""
    return any(queue[0].startswith(RETRY) for queue in queues) and chance(random, 0.3)


def _hides(random, group):
    kind = random.choice(("clients", "subscriptions", "owners", "brokers"))
    group["unknown"] = {kind: "a broker did not answer"}


def _brokers(random, document):
    brokers = chain.from_iterable(topic["brokers"] for topic in document["topics"])
    names = sorted({broker["broker_name"] for broker in brokers})
    document["brokers"] = []
    for name in names:
        broker = {"broker_name": name, "address": "h:1", "role": "MASTER"}
        if chance(random, 0.3):
            broker["is_silent"] = True
        elif chance(random, 0.3):
            broker["role"] = random.choice(("SLAVE", "ACTING_MASTER"))
        document["brokers"].append(broker)
