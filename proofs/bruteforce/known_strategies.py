"""How the strategy of every group is known: from what is written down, what clients report, and
what they own.
"""

from collections import Counter
from fractions import Fraction

from bruteforce import clusters, java
from rmqalloc.evidence import with_strategies
from rmqalloc.snapshot.plain_data import from_document

NODES = (10, 16, 20, 32, 50, 64, 100, 128, 160, 200, 256, 500, 512, 1000)
RING = "CONSISTENT_HASH"
TRIED = [("AVG", None), ("AVG_BY_CIRCLE", None), *((RING, n) for n in NODES)]


def case(random):
    """Groups that own what some strategy gives them, or nearly, and say little of it or something
    else.
    """
    document = clusters.snapshot(random, tame=True)
    for topic in document["topics"]:
        for broker in topic["brokers"]:
            broker.pop("machine_room", None)
    for group in document["groups"]:
        group.pop("strategy_params", None)
        group["strategy"], nodes = random.choice(TRIED)
        for client in group.get("clients", ()):
            client.pop("machine_room", None)
            client.pop("virtual_nodes", None)
            client.pop("strategy", None)
        _own(random, group, document["topics"], (group["strategy"], nodes))
        _say(random, group, nodes)
    return {"snapshot": document}


def _own(random, group, topics, real):
    """Clients own what the real strategy gives them; some do not answer, and now and then a queue
    is elsewhere.
    """
    ids = [client["client_id"] for client in group.get("clients", ())]
    owned = {one: [] for one in ids}
    if random.random() < 0.2 or not ids:
        return
    for topic in _read(group, topics):
        for queue, owner in _owners(real, topic, ids).items():
            owner = random.choice(ids) if random.random() < 0.005 else owner
            if owner in owned:
                owned[owner].append(queue)
    for client in group.get("clients", ()):
        if random.random() < 0.9:
            client["owned"] = [
                clusters.plain_queue(queue) for queue in owned.pop(client["client_id"], ())
            ]


def _say(random, group, nodes):
    """What is written down, and what clients report."""
    real, other = group["strategy"], random.choice(("AVG", "AVG_BY_CIRCLE", RING))
    told = random.random()
    for client in group.get("clients", ()):
        if told < 0.5 and random.random() < 0.95:
            client["strategy"] = other if random.random() < 0.04 else real
        if real == RING and random.random() < 0.9 and told < 0.2:
            client["virtual_nodes"] = 20 if random.random() < 0.05 else nodes
        if random.random() < 0.03:
            client["language"] = "GO"
    written = random.random()
    if written < 0.6:
        del group["strategy"]
    elif written < 0.7:
        group["strategy"] = other
    if group.get("strategy") == RING and random.random() < 0.5:
        group["strategy_params"] = {"virtual_nodes": nodes or 160}


def _read(group, topics):
    return [
        topic
        for topic in topics
        if topic["name"] in group["subscriptions"] and clusters.queues_of(topic)
    ]


def _owners(rule, topic, ids):
    name, nodes = rule
    params = {} if nodes is None else {"virtual_nodes": nodes}
    queues = sorted(clusters.queues_of(topic), key=java.queue_order)
    try:
        return java.owners(java.rule_of(name, params), queues, sorted(ids, key=java.utf16))
    except java.Refused:
        return dict.fromkeys(queues)


class Evidence:
    """Queues that just one client id of a group says it owns, and how many of them a strategy gives
    to it.

    Of several the one counts whose strategy is not stated.
    """

    def __init__(self, group, topics):
        self._topics = topics
        self._ids = [client["client_id"] for client in group.get("clients", ())]
        holders = {}
        for client in group.get("clients", ()):
            for queue in client.get("owned") or ():
                holders.setdefault(clusters.queue_key(queue), set()).add(client["client_id"])
        stated = {
            client["client_id"]
            for client in group.get("clients", ())
            if client.get("strategy") is not None
        }
        holders = {queue: ids - stated or ids for queue, ids in holders.items()}
        there = {queue for topic in topics for queue in clusters.queues_of(topic)}
        self.known = {
            queue: next(iter(one))
            for queue, one in holders.items()
            if len(one) == 1 and queue in there
        }

    def is_no_chance(self, n_tried):
        """Whether fewer than 1 in 100 groups whose queues lie anyhow would be explained by one of
        so many strategies.
        """
        return Fraction(n_tried, len(set(self._ids)) ** len(self.known)) < Fraction(1, 100)

    def explained(self, rule):
        n = 0
        for topic in self._topics:
            if any(queue[0] == topic["name"] for queue in self.known):
                n += sum(
                    self.known.get(queue) == one
                    for queue, one in _owners(rule, topic, self._ids).items()
                    if one
                )
        return n


def expected(group, topics):
    """Strategy, virtual nodes, source, share explained, and whether there is a doubt."""
    group = clusters.as_reported(group)
    clients, found = group.get("clients", ()), Evidence(group, topics)
    written = group.get("strategy")
    reported = Counter(one["strategy"] for one in clients if "strategy" in one)
    if written is None and not reported:
        return _nothing_said(found)
    if written is not None:
        name, source, doubt = written, "given", any(one != written for one in reported)
        if (
            clients
            and all(one.get("strategy") == written for one in clients)
            and "strategy_params" not in group
        ):
            source = "reported"
    else:
        name, source = min(reported, key=lambda one: (-reported[one], one)), "reported"
        doubt = len(reported) > 1
    languages = {one.get("language") for one in clients}
    doubt = doubt or (
        name == RING and "GO" in languages and len(languages) > 1
    )  # of Go alone it is a ring of its own
    nodes = group.get("strategy_params", {}).get("virtual_nodes") if name == RING else None
    told = (
        {one["virtual_nodes"] for one in clients if "virtual_nodes" in one}
        if name == RING
        else set()
    )
    if len(told) > 1 or (source == "given" and told and told != {nodes or 10}):
        doubt = True
    elif told:
        [nodes] = told
    is_open = name == RING and nodes is None
    if not found.known:
        silent = source == "reported" and (sum(reported.values()) < len(clients) or is_open)
        return name, nodes, source, None, doubt or silent
    return _held_against(found, name, nodes, source, doubt, is_open)


def _held_against(found, name, nodes, source, doubt, is_open):
    n = len(found.known)
    counts = {
        rule: found.explained(rule)
        for rule in ([(RING, k) for k in NODES] if is_open else [(name, nodes)])
    }
    full = [rule for rule, count in counts.items() if count == n]
    if full and (not is_open or (source == "given" and full[0][1] == 10)):
        return *full[0], source, 1.0, doubt
    if len(full) == 1 and (
        found.is_no_chance(len(counts)) or (source == "reported" and full[0][1] == 10)
    ):
        return *full[0], "fitted", 1.0, doubt
    if not full or source == "given":
        return name, nodes, source, next(iter(counts.values())) / n, True
    return *full[0], source, 1.0, True


def _nothing_said(found):
    n = len(found.known)
    if not n:
        return "AVG", None, "assumed", None, True
    counts = {rule: found.explained(rule) for rule in TRIED}
    full = [rule for rule, count in counts.items() if count == n]
    if len(full) == 1 and found.is_no_chance(len(counts)):
        return *full[0], "fitted", 1.0, False
    return *(full[0] if full else TRIED[0]), "assumed", 1.0 if full else counts[TRIED[0]] / n, True


def compare(case, tally):
    """How the strategy of every group is known."""
    document = case["snapshot"]
    groups = {group.name: group for group in with_strategies(from_document(document)).groups}
    for plain in document["groups"]:
        group = groups[plain["name"]]
        if (
            plain.get("message_model", "CLUSTERING") != "CLUSTERING"
            or plain.get("server_assignment") == "POP"
        ):
            tally.same("strategies source", group.name, None, group.strategy_source)
            continue
        want = expected(plain, _read(plain, document["topics"]))
        got = (
            group.strategy,
            group.strategy_params.get("virtual_nodes"),
            group.strategy_source,
            group.strategy_explains,
            group.strategy_doubt is not None,
        )
        for what, one, other in zip(
            ("name", "nodes", "source", "explains", "doubt"), want, got, strict=True
        ):
            tally.same(f"strategies {what}", group.name, one, other)
