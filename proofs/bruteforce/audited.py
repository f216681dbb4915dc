"""What an audit of a snapshot should find: every client computes alone, from what it itself goes
by.
"""

from collections import Counter
from itertools import product
from typing import NamedTuple

from bruteforce import java
from bruteforce.clusters import RETRY, SERVER_SIDE, dry_queues, queue_key, queues_of

LMQ = "%LMQ%"


class Slot(NamedTuple):
    """A client of a group: its document, and per topic the sets of queues that it may take, by the
    broker it asks.
    """

    client: dict
    rule: dict | None
    takes: dict

    @property
    def client_id(self):
        return self.client["client_id"]


class Audited:
    """One group of a document.

    Attributes
    ----------
    topics : dict of str to list of queues
        What the group or any of its clients reads.
    slots : list of Slot
    unknown : set of str
        Topics of which nobody can tell what some client takes.
    """

    def __init__(self, document, group):
        self.document, self.group = document, group
        self.routes = {topic["name"]: topic for topic in document["topics"]}
        clients = _clients(group)
        self.names = sorted(
            {
                *group["subscriptions"],
                *(name for one in clients for name in one.get("subscriptions", [])),
            }
        )
        self.clustering = group.get("message_model", "CLUSTERING") == "CLUSTERING"
        assigned = (
            group.get("server_assignment")
            if self.clustering and not group.get("is_ordered")
            else None
        )
        self.served, self.pops = assigned is not None, assigned == "POP"
        self.topics = {}
        if self.clustering and clients:
            read = {
                name: queues_of(self.routes[name]) for name in self.names if name in self.routes
            }
            self.topics = {name: queues for name, queues in read.items() if queues}
        self.unknown = set()
        self.slots = [self._slot(client) for client in clients]
        failed = {error["request"] for error in document.get("errors", [])}
        self.is_open = f"GET_CONSUMER_CONNECTION_LIST {group['name']}" in failed
        if self.is_open:  # there may be clients that no answer shows
            self.unknown = set(self.topics)

    def is_pop(self, topic):
        return self.pops and not topic.startswith(RETRY)

    def is_config(self, topic):
        return any(
            slot.rule and slot.rule["name"] == "CONFIG" and topic in slot.takes
            for slot in self.slots
        )

    def _slot(self, client):
        try:
            rule = rule_of(self.group, client, self.served)
        except java.Unknown:
            rule = None
        takes = {}
        for topic in self.topics:
            if _subscribes(client, topic):
                try:
                    takes[topic] = [
                        self._taken(client, rule, topic, ids) for ids in self._lists(topic)
                    ]
                except (java.Unknown, java.Refused):
                    self.unknown.add(topic)
        return Slot(client, rule, takes)

    def _lists(self, topic):
        """Client lists that a broker of the topic may answer with."""
        by_broker = self.group.get("broker_client_ids") or {}
        asked = [
            one["broker_name"]
            for one in self.routes[topic]["brokers"]
            if one["broker_name"] in by_broker
        ]
        lists = [by_broker[name] for name in asked or by_broker]
        return lists or [[one["client_id"] for one in self.group["clients"]]]

    def _taken(self, client, rule, topic, ids):
        if rule is None:
            raise java.Unknown("strategy")
        ids, queues = sorted(ids, key=java.utf16), self.topics[topic]
        seen = client.get("sees_read_queue_nums", {}).get(topic)
        if seen is not None and not self.served:
            pairs = [(topic, name, i) for name, n in seen.items() for i in range(n)]
            queues = sorted(pairs, key=java.queue_order)
        one = client["client_id"]
        if not queues or not ids:
            return set()
        self._check_rooms(rule, queues, ids)
        if self.is_pop(topic):
            try:
                return set(
                    java.popped(rule, one, queues, ids, self.group.get("pop_share_queue_num", 0))
                )
            except java.Refused:
                return set()  # the broker answers nothing
        if not one and rule["name"] != "CONFIG":
            return set()  # Java refuses an empty id
        found = (
            java.allocate(rule, one, queues, ids, rooms_of(self.document, self.group))
            if one in ids
            else []
        )
        return {queue for queue in found if queue[0] == topic}

    def _check_rooms(self, rule, queues, ids):
        """Rooms that are missing leave nothing to say, also of a client that the list does not
        have.
        """
        if rule["name"] in (java.NEARBY, "MACHINE_ROOM"):
            java.owners(
                rule,
                queues,
                [one for one in ids if one] or ["nobody"],
                rooms_of(self.document, self.group),
            )

    # --- Takers ---

    def takers(self, topic):
        """Slots that take each queue surely, and those that take it perhaps."""
        surely, perhaps = ({queue: [] for queue in self.topics[topic]} for _ in range(2))
        for slot in self.slots:
            options = slot.takes.get(topic, [])
            for queue in surely:
                if any(queue in taken for taken in options):
                    perhaps[queue].append(slot)
                    if all(queue in taken for taken in options):
                        surely[queue].append(slot)
        return surely, perhaps

    def worst(self, topic):
        """Fewest and most takers of every queue over all choices of a broker by every client, if
        these are few.
        """
        options = [slot.takes[topic] for slot in self.slots if topic in slot.takes]
        counts = [Counter(q for taken in choice for q in taken) for choice in product(*options)]
        return {
            q: (min(one[q] for one in counts), max(one[q] for one in counts))
            for q in self.topics[topic]
        }


def _clients(group):
    """The group's clients, and those that only single brokers list."""
    clients = list(group.get("clients", []))
    listed = Counter(one["client_id"] for one in clients)
    for ids in (group.get("broker_client_ids") or {}).values():
        more = Counter(ids) - listed
        clients += [{"client_id": one} for one in more.elements()]
        listed += more
    return clients


def _subscribes(client, topic):
    return (
        "subscriptions" not in client or topic in client["subscriptions"] or topic.startswith(RETRY)
    )


def rooms_of(document, group):
    """Rooms of all brokers, and of the clients of this group."""
    brokers = [one for topic in document["topics"] for one in topic["brokers"]]
    return (
        {one["broker_name"]: one["machine_room"] for one in brokers if one.get("machine_room")},
        {
            one["client_id"]: one["machine_room"]
            for one in group.get("clients", [])
            if one.get("machine_room")
        },
    )


def rule_of(group, client, served):
    """What a client divides by."""
    name, params = group.get("strategy", "AVG"), dict(group.get("strategy_params", {}))
    if name == java.NEARBY and "inner" in params:
        name = f"{name}-{params.pop('inner')}"
    own = client.get("strategy")
    if (
        own is not None
        and own != name
        and not (own == java.NEARBY and name.startswith(f"{java.NEARBY}-"))
    ):
        name, params = own, {}
    language = client.get("language")
    if language == "GO" and not served and name.startswith(java.NEARBY):
        name, params = "AVG", {}  # which Go's calls
    if language == "CPP" and not served and own is not None and own != "AVG":
        raise java.Unknown(f"C++ has no {own}")
    if "CONSISTENT_HASH" in name and "virtual_nodes" in client:
        params["virtual_nodes"] = client["virtual_nodes"]
    if served and name not in SERVER_SIDE:
        raise java.Unknown(f"brokers do not support {name}")
    if language == "CPP" and not served:
        return {"name": "AVG"}
    if (name == java.NEARBY and "inner" not in params) or (
        name == "CONFIG" and not params.get("message_queues")
    ):
        raise java.Unknown(f"{name} lacks what it needs")
    rule = java.rule_of(name, {} if served else params)
    if rule["name"] not in (*java.RULES, "CONFIG"):
        raise java.Unknown(name)
    return rule if served else java.spoken(rule, language)


# --- Findings ---


def findings(document, rules):
    """What every rule should find, as (rule, group, topic, queues), with the clients where they are
    the point.
    """
    for group in document["groups"]:
        audited = Audited(document, group)
        for rule in rules:
            for topic, queues, *clients in RULES[rule](audited):
                key = rule, group["name"], topic, tuple(sorted(queues, key=java.queue_order))
                yield (*key, *(tuple(sorted(set(some), key=java.utf16)) for some in clients))


def _known(audited):
    return [name for name in audited.topics if name not in audited.unknown]


def _unowned(audited, topic):
    return [queue for queue, slots in audited.takers(topic)[1].items() if not slots]


def _doubled(audited, topic):
    surely = audited.takers(topic)[0]
    return (
        []
        if audited.is_pop(topic)
        else [queue for queue, slots in surely.items() if len(slots) > 1]
    )


def unowned_queue(audited):
    yield from _in_fact(audited, _unowned, "is_unowned", is_config=False)


def config_hole(audited):
    yield from _in_fact(audited, _unowned, "is_unowned", is_config=True)


def double_owned_queue(audited):
    yield from _in_fact(audited, _doubled, "is_double_owned", is_config=False)


def config_overlap(audited):
    yield from _in_fact(audited, _doubled, "is_double_owned", is_config=True)


def _in_fact(audited, found_in, what, is_config):
    """Queues that are unowned or double-owned by computation, and not otherwise by report."""
    states = states_of(audited)
    for topic in _known(audited):
        found = found_in(audited, topic) if audited.is_config(topic) == is_config else ()
        queues = [queue for queue in found if states.rows[queue].may_be(what)]
        if queues:
            yield topic, queues


def states_of(audited):
    from bruteforce.states import States  # which is made of what is here

    return States(audited.document, audited.group)


def config_unknown_queue(audited):
    there = {queue for queues in audited.topics.values() for queue in queues}
    listed = set()
    for slot in audited.slots if audited.clustering else ():
        if slot.rule and slot.rule["name"] == "CONFIG":
            listed.update(java.allocate(slot.rule, slot.client_id, [], []))
    if missing := listed - there:
        topics = {queue[0] for queue in missing}
        yield topics.pop() if len(topics) == 1 else None, missing


def duplicate_client_id(audited):
    counts = Counter(slot.client_id for slot in audited.slots)
    repeated = [one for one, n in counts.items() if n > 1]
    if repeated and audited.clustering:
        yield None, [], repeated


def _ordinary(audited):
    """Topics but for retry topics; none if any of them is unknown."""
    topics = [name for name in audited.topics if not name.startswith(RETRY)]
    return [] if audited.unknown.intersection(topics) else topics


def idle_client(audited):
    topics = [topic for topic in audited.topics if not topic.startswith(RETRY)]
    states = states_of(audited)
    rows = {queue: row for queue, row in states.rows.items() if queue[0] in topics}
    computed = any(row.owners and not row.is_reported for row in rows.values())
    is_guess = computed and _is_doubted(audited)
    if not topics or is_guess or any(map(states.is_unknown, topics)):
        return
    busy = {client_id for row in rows.values() for client_id in row.owners}
    idle = []
    for slot in audited.slots:
        taken = {queue for topic in topics for some in slot.takes.get(topic, []) for queue in some}
        if slot.client_id not in busy or not (states.reporting or taken & rows.keys()):
            idle.append(slot.client_id)
    if idle:
        yield None, [], idle


def _is_doubted(audited):
    """Whether some clients report another strategy, whose parameters are not known; or one that
    brokers do not have, where they assign.
    """
    clients, stated = audited.group.get("clients", ()), audited.group.get("strategy", "AVG")
    served = "server_assignment" in audited.group and not audited.group.get("is_ordered")
    if served and any(client.get("strategy", "AVG") not in SERVER_SIDE for client in clients):
        return True
    if served and stated != "AVG" and any(client.get("language") == "CPP" for client in clients):
        return True
    if len({client.get("strategy") for client in clients}) == 1:
        return False
    same = (None, stated, java.NEARBY if stated.startswith(java.NEARBY) else stated)
    others = [client for client in clients if client.get("strategy") not in same]
    ring, rooms = "CONSISTENT_HASH", (java.NEARBY, "CONFIG")
    return any(
        client["strategy"].startswith(rooms)
        or (client["strategy"] == ring and "virtual_nodes" not in client)
        for client in others
    )


def dry_queue(audited):
    for topic in audited.topics:
        if dry := list(dry_queues(audited.routes[topic])):
            yield topic, dry


def only_dry_queues(audited):
    """By what clients compute; where that is not known of a topic, by what they say."""
    topics = [name for name in audited.topics if not name.startswith(RETRY)]
    dry = {queue for topic in topics for queue in dry_queues(audited.routes[topic])}
    told, theirs, who = _told(audited)[0], set(), []
    takers = {q: some for t in _ordinary(audited) for q, some in audited.takers(t)[1].items()}
    takers = takers or {queue: some for queue, some in told.items() if queue[0] in topics}
    for slot in audited.slots:
        mine = {queue for queue, slots in takers.items() if slot in slots}
        if mine and mine <= dry:
            theirs |= mine
            who.append(slot.client_id)
    if who:
        yield None, theirs, who


def topic_without_route(audited):
    for name in audited.names:
        if not name.startswith((RETRY, LMQ)) and not queues_of(
            audited.routes.get(name, {"name": name, "brokers": []})
        ):
            yield (
                name,
                [],
                [slot.client_id for slot in audited.slots if _subscribes(slot.client, name)],
            )


# --- What clients say ---


def _told(audited):
    """Slots by queue that they say they own, and ids that did not say anything."""
    owners = {queue: [] for queues in audited.topics.values() for queue in queues}
    answered = set()
    for slot in audited.slots:
        if slot.client.get("owned") is not None:
            answered.add(slot.client_id)
            for queue in {queue_key(one) for one in slot.client["owned"]}:
                for each in [queue] if queue[2] >= 0 else [q for q in owners if q[:2] == queue[:2]]:
                    if each in owners:
                        owners[each].append(slot)
    return owners, {slot.client_id for slot in audited.slots} - answered, answered


def _spoken_of(audited, topic):
    """Whether a retry topic is among what any client says."""
    said = {one["topic"] for slot in audited.slots for one in slot.client.get("owned") or ()}
    return not topic.startswith(RETRY) or topic in said


def actual_unowned(audited):
    owners, silent, answered = _told(audited)
    if answered and not silent and not audited.is_open:
        for topic, queues in audited.topics.items():
            untaken = _unowned(audited, topic) if topic not in audited.unknown else []
            found = [queue for queue in queues if not owners[queue] and queue not in untaken]
            if found and _spoken_of(audited, topic):
                yield topic, found


def actual_double_owned(audited):
    states, known = states_of(audited), set(_known(audited))
    for topic, queues in audited.topics.items():
        if audited.is_pop(topic):
            continue
        computed = _doubled(audited, topic) if topic in known else ()
        taken = {queue for queue in computed if states.rows[queue].may_be("is_double_owned")}
        rows = {q: states.rows[q] for q in queues if q in states.rows and q not in taken}
        if found := [q for q, row in rows.items() if row.is_double_owned and row.is_reported]:
            yield topic, found


def differs_from_expected(audited):
    owners, silent, _ = _told(audited)
    found = []
    for topic in _known(audited):
        surely, perhaps = audited.takers(topic)
        for queue in audited.topics[topic] if not audited.is_pop(topic) else ():
            said = {slot.client_id for slot in owners[queue]}
            due = {slot.client_id for slot in surely[queue]}
            if (
                len(said) == 1
                and len(surely[queue]) == len(perhaps[queue])
                and due - silent != said
            ):
                found.append(queue)
    if found:
        topics = {queue[0] for queue in found}
        yield topics.pop() if len(topics) == 1 else None, found


RULES = {
    "unowned-queue": unowned_queue,
    "double-owned-queue": double_owned_queue,
    "duplicate-client-id": duplicate_client_id,
    "idle-client": idle_client,
    "config-hole": config_hole,
    "config-overlap": config_overlap,
    "config-unknown-queue": config_unknown_queue,
    "actual-unowned": actual_unowned,
    "actual-double-owned": actual_double_owned,
    "differs-from-expected": differs_from_expected,
    "only-dry-queues": only_dry_queues,
    "topic-without-route": topic_without_route,
    "dry-queue": dry_queue,
}
WITH_CLIENTS = ("duplicate-client-id", "idle-client", "only-dry-queues", "topic-without-route")
