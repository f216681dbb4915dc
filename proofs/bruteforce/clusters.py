"""Random snapshots as plain documents, with what real clusters have and what they should not have."""

from bruteforce import java

BROKERS = ("broker-a", "broker-b", "hz@b1", "sh@b2", "bö-1", "a@b@c", "\U00010400-b", "\ue000-b")
ROOMS = ("hz", "sh", "北京")
TOPICS = ("orders", "payments", "T", "téma", "audit")
NODES = (1, 3, 10, 16, 160)
RETRY = "%RETRY%"
SERVER_SIDE = ("AVG", "AVG_BY_CIRCLE")


def some(random, items, least=0, most=None):
    """So many different items, in any order."""
    most = len(items) if most is None else min(most, len(items))
    return random.sample(list(items), random.randint(min(least, most), most))


def chance(random, share):
    return random.random() < share


def snapshot(random, config=False, served=False, views=False, owned=False, tame=False):
    """A random snapshot.

    Parameters
    ----------
    config, served, views, owned : bool
        Whether groups may use CONFIG, have their queues assigned by brokers, have clients that see
        or run something of their own, and have clients that say what they own.
    tame : bool
        No client id is empty or there twice, and all machine rooms are known or none.
    """
    brokers = some(random, BROKERS, 1, 4)
    rooms = _rooms(random, brokers, tame)
    topics = [_topic(random, name, brokers, rooms) for name in some(random, TOPICS, 1, 3)]
    names = [f"group-{n}" for n in range(random.randint(1, 3))]
    for name in names:
        if chance(random, 0.3):
            topics.append(_retry_topic(random, name, brokers, rooms))
    document = {"apiVersion": "rmqalloc/v1", "kind": "Snapshot", "topics": topics, "groups": []}
    for name in names:
        group = _group(random, name, topics, config, served)
        if not chance(random, 0.06):
            group["clients"] = _clients(random, any(rooms.values()), tame)
        if views:
            _give_views(random, group, topics)
        if chance(random, 0.5):
            group["lags"] = _lags(random, group, topics)
        document["groups"].append(group)
        if group["strategy"] == "CONFIG":
            group["strategy_params"] = {"message_queues": _config(random, group, topics)}
        if owned and chance(random, 0.7):
            _give_owned(random, group, topics)
    return document


def _rooms(random, brokers, tame):
    kind = random.choice(("none", "all", "all", "all" if tame else "some"))
    if kind == "none":
        return {}
    rooms = {name: random.choice(ROOMS) for name in brokers}
    if kind == "some":
        rooms.pop(random.choice(brokers))
    return rooms


def _topic(random, name, brokers, rooms):
    found = []
    for broker in some(random, brokers, 0 if chance(random, 0.05) else 1, 3):
        read = random.choice((1, 2, 3, 4, 4, 5, 7, 8, 12)) if not chance(random, 0.05) else 0
        route = {
            "broker_name": broker,
            "read_queue_nums": read,
            "perm": random.choice((6, 6, 6, 6, 4, 2, 0)),
        }
        write = random.choice((None, read, read, 0, read - 1, read + 2))
        if write is not None:
            route["write_queue_nums"] = max(0, write)
        if rooms.get(broker):
            route["machine_room"] = rooms[broker]
        found.append(route)
    return {"name": name, "brokers": found}


def _retry_topic(random, group, brokers, rooms):
    topic = _topic(random, RETRY + group, brokers, rooms)
    if chance(random, 0.8):
        for broker in topic["brokers"]:
            broker |= {"read_queue_nums": 1, "write_queue_nums": 1, "perm": 6}
    return topic


def _group(random, name, topics, config, served):
    strategy, params = rule(random)
    if config and chance(random, 0.15):
        strategy, params = "CONFIG", {}
    plain = [topic["name"] for topic in topics if not topic["name"].startswith(RETRY)]
    subscriptions = some(random, plain, 1, 3)
    if chance(random, 0.15):
        subscriptions.append("missing")
    if chance(random, 0.6):
        subscriptions.append(RETRY + name)
    group = {"name": name, "strategy": strategy, "subscriptions": subscriptions}
    if strategy.startswith(java.NEARBY) and chance(random, 0.3):
        group["strategy"], inner = java.NEARBY, strategy.removeprefix(f"{java.NEARBY}-")
        params = {"inner": inner, **params}
    if chance(random, 0.05):
        subscriptions.append(subscriptions[0])
    if params:
        group["strategy_params"] = params
    if chance(random, 0.07):
        group["message_model"] = "BROADCASTING"
    if chance(random, 0.1):
        group["is_ordered"] = True
    if served and chance(random, 0.25):
        group["server_assignment"] = random.choice(("PULL", "POP"))
        group["pop_share_queue_num"] = random.choice((-1, 0, 1, 2, 3))
        if chance(random, 0.8):
            group["strategy"] = random.choice(SERVER_SIDE)
            group.pop("strategy_params", None)
    return group


def give_languages(random, document, alike, languages=("GO", "GO", "GO", "JAVA", "CPP")):
    """Some groups are of other languages: of one, or each client of its own."""
    for group in document["groups"]:
        one = random.choice(languages)
        for client in group.get("clients", []) if chance(random, 0.3) else ():
            if alike or chance(random, 0.7):
                client["language"] = one if alike else random.choice(languages)


def rule(random):
    """A strategy that gives every queue one owner, with its parameters."""
    name = random.choice(
        ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "CONSISTENT_HASH", "MACHINE_ROOM", java.NEARBY)
    )
    params = {}
    if name == java.NEARBY:
        name = f"{java.NEARBY}-{random.choice(('AVG', 'AVG_BY_CIRCLE', 'CONSISTENT_HASH'))}"
    if name.endswith("CONSISTENT_HASH") and chance(random, 0.7):
        params["virtual_nodes"] = random.choice(NODES)
    if name == "MACHINE_ROOM":
        params["machine_rooms"] = some(random, (*ROOMS, "a"), 1)
    return name, params


def client_id(random):
    return random.choice(
        (
            f"10.0.0.{random.randint(1, 30)}@{random.choice((7, 77, 1009))}",
            f"10.0.0.{random.randint(1, 30)}@{random.randint(1, 3)}#{random.randint(1, 9)}81944",
            f"c{random.randint(1, 12)}",
            f"né-{random.randint(1, 5)}@1",
            f"\U0001f600{random.randint(1, 5)}",
            f"\ue000{random.randint(1, 5)}@2",
        )
    )


def _clients(random, rooms_known, tame):
    ids = list(
        dict.fromkeys(client_id(random) for _ in range(random.choice((1, 2, 3, 3, 4, 5, 6, 7, 9))))
    )
    if not tame and chance(random, 0.15):
        ids += some(random, ids, 1, 2)
    if not tame and chance(random, 0.04):
        ids.append("")
    random.shuffle(ids)
    room_of = {one: random.choice(ROOMS) for one in ids} if rooms_known else {}
    if room_of and not tame and chance(random, 0.1):
        room_of.pop(random.choice(ids))
    return [
        {"client_id": one} | ({"machine_room": room_of[one]} if one in room_of else {})
        for one in ids
    ]


def as_reported(group):
    """A group without its statement, where all its clients report one other strategy."""
    names = {client.get("strategy") for client in group.get("clients", ())}
    stated = group.get("strategy")
    if stated is None or len(names) != 1 or names & {None, stated}:
        return group
    if group.get("server_assignment") is not None and not group.get("is_ordered"):
        return group
    return {key: group[key] for key in group if key not in ("strategy", "strategy_params")}


def with_reported(document):
    """A document in which groups state the strategy that all their clients report."""
    groups = []
    for group in document["groups"]:
        if as_reported(group) is not group:
            group = group | {"strategy": group["clients"][0]["strategy"], "strategy_params": {}}
        groups.append(group)
    return document | {"groups": groups}


def queues_of(topic):
    """Queues of a topic that consumers see, in Java's order."""
    found = [
        (topic["name"], broker["broker_name"], i)
        for broker in topic["brokers"]
        if broker.get("perm", 6) & 4
        for i in range(broker["read_queue_nums"])
    ]
    return sorted(found, key=java.queue_order)


def dry_queues(topic):
    """Queues that nobody writes to; where the number of write queues is not known, permission alone
    says it.
    """
    for broker in topic["brokers"]:
        perm, read = broker.get("perm", 6), broker["read_queue_nums"]
        written = 0 if not perm & 2 else broker.get("write_queue_nums", read)
        if perm & 4:
            yield from (
                (topic["name"], broker["broker_name"], i) for i in range(min(written, read), read)
            )


def queues_read(group, topics):
    """Queues of all topics of a group."""
    return [
        queue
        for topic in topics
        if topic["name"] in group["subscriptions"]
        for queue in queues_of(topic)
    ]


def plain_queue(queue):
    return dict(zip(("topic", "broker_name", "queue_id"), queue, strict=True))


def _lags(random, group, topics):
    queues = queues_read(group, topics)
    beyond = {
        (topic, broker): n for topic, broker, n in queues
    }  # queues that are written and not, or not yet, read
    queues += [(*route, n + 1) for route, n in beyond.items() if chance(random, 0.3)]
    lags = []
    for queue in some(random, queues) if chance(random, 0.7) else queues:
        end = random.randint(0, 100)
        lags.append(
            {
                "queue": plain_queue(queue),
                "broker_offset": end,
                "consumer_offset": random.randint(-1, end),
            }
        )
    return lags


def _config(random, group, topics):
    """Lists of CONFIG, even ones with faults; by client id or one for all."""
    queues, ids = queues_read(group, topics), [one["client_id"] for one in group.get("clients", [])]
    if not ids or chance(random, 0.15):
        return [list(queue) for queue in some(random, queues)]
    lists = {one: [] for one in dict.fromkeys(ids)}
    for queue in queues:
        for one in some(random, lists, 1, 1) if chance(random, 0.9) else some(random, lists, 0, 2):
            lists[one].append(plain_queue(queue) if chance(random, 0.5) else list(queue))
    if chance(random, 0.2):
        lists[random.choice(ids)].append(["orders", "no-broker", 3])
    if chance(random, 0.1):
        lists.pop(random.choice(ids))
    return lists


def _give_views(random, group, topics):
    """Clients that see, subscribe to or run something of their own, and brokers that list others."""
    clients = group.get("clients", [])
    mixed = chance(random, 0.25)
    for client in clients:
        if mixed and chance(random, 0.4):
            name, params = rule(random)
            client["strategy"] = name if chance(random, 0.9) else "com.acme.Own"
            if "virtual_nodes" in params:
                client["virtual_nodes"] = params["virtual_nodes"]
        elif chance(random, 0.1):
            client["strategy"] = group["strategy"].split("-")[0]
        elif chance(random, 0.05):
            client["virtual_nodes"] = random.choice(NODES)
        if chance(random, 0.03):
            client["language"] = random.choice(("GO", "CPP"))
    if chance(random, 0.25):
        for client in clients:
            if chance(random, 0.8):
                names = [name for name in group["subscriptions"] if chance(random, 0.85)]
                client["subscriptions"] = names + (["extra"] if chance(random, 0.05) else [])
    if chance(random, 0.2):
        for client in some(random, clients, 1):
            client["sees_read_queue_nums"] = _seen(random, topics)
    # A broker hands whole brokers out to clients that it does not list, too; that is no case for an
    # audit.
    if clients and chance(random, 0.15) and group.get("server_assignment") != "POP":
        group["broker_client_ids"] = _lists_of_brokers(random, clients, topics)


def _seen(random, topics):
    seen = {}
    for topic in some(random, topics, 1):
        brokers = {
            one["broker_name"]: one["read_queue_nums"]
            for one in topic["brokers"]
            if one.get("perm", 6) & 4
        }
        for name in list(brokers):
            if chance(random, 0.4):
                brokers[name] = max(0, brokers[name] + random.choice((-2, -1, 1, 3)))
            if chance(random, 0.1):
                del brokers[name]
        seen[topic["name"]] = brokers
    return seen


def _lists_of_brokers(random, clients, topics):
    names = sorted({broker["broker_name"] for topic in topics for broker in topic["brokers"]})
    ids = [one["client_id"] for one in clients]
    return {
        name: some(random, ids, max(0, len(ids) - 1)) + (["c99"] if chance(random, 0.1) else [])
        for name in names
    }


def _give_owned(random, group, topics):
    """What clients say they own: what their strategy gives them, perhaps not quite, perhaps
    another's.
    """
    by_id = {}
    name, params = group["strategy"], group.get("strategy_params", {})
    if chance(random, 0.2):
        name, params = random.choice(SERVER_SIDE), {}
    ids = sorted((one["client_id"] for one in group.get("clients", [])), key=java.utf16)
    rooms = rooms_of(topics, group)
    for topic in topics:
        queues = queues_of(topic)
        if topic["name"] in group["subscriptions"] and queues:
            for one in ids:
                try:
                    mine = java.allocate(java.rule_of(name, params), one, queues, ids, rooms)
                except (java.Refused, java.Unknown):
                    mine = []
                by_id.setdefault(one, []).extend(q for q in mine if q[0] == topic["name"])
    spoilt = chance(random, 0.4)
    everything = queues_read(group, topics)
    for client in group.get("clients", []):
        if chance(random, 0.06):
            continue
        mine = list(by_id.get(client["client_id"], []))
        if spoilt and mine and chance(random, 0.3):
            mine.pop(random.randrange(len(mine)))
        if spoilt and everything and chance(random, 0.2):
            mine.append(random.choice(everything))
        client["owned"] = [plain_queue(queue) for queue in mine]


def rooms_of(topics, group):
    """Machine rooms of brokers, and of the clients of one group."""
    of_broker = {
        one["broker_name"]: one["machine_room"]
        for topic in topics
        for one in topic["brokers"]
        if "machine_room" in one
    }
    clients = {
        one["client_id"]: one["machine_room"]
        for one in group.get("clients", [])
        if "machine_room" in one
    }
    return of_broker, clients


def queue_key(queue):
    return queue["topic"], queue["broker_name"], queue["queue_id"]
