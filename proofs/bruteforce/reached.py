"""Who reads every queue that holds or gets messages: each group and queue on its own, from the
rules of RocketMQ.

Producers write to queue ids below the write queues of brokers with the write bit; consumers see ids
below the read queues of brokers with the read bit. A queue is read if somebody is there who sees
it, may consume it and takes it.
"""

from bruteforce.audited import LMQ, Audited, _spoken_of, _subscribes, _told
from bruteforce.clusters import RETRY, chance, queue_key, queues_of, snapshot, some

READ = {"owner", "several-owners", "popped", "shared", "broadcast"}
INTERNAL = (
    "%DLQ%group-1",
    "%RETRY%nobody",
    "RMQ_SYS_TRACE_TOPIC",
    "SCHEDULE_TOPIC_XXXX",
    "a_REPLY_TOPIC",
    "%LMQ%x",
)


def case(random):
    """A random snapshot with topics, brokers and groups of all the kinds that decide who reads."""
    document = snapshot(random, config=True, served=True, views=True, owned=True)
    names = sorted(
        {broker["broker_name"] for topic in document["topics"] for broker in topic["brokers"]}
    )
    for name in ("lonely", *INTERNAL):
        if names and chance(random, 0.15):
            brokers = [
                {"broker_name": one, "read_queue_nums": 2, "perm": random.choice((6, 6, 4, 2))}
                for one in some(random, names, 1)
            ]
            document["topics"].append({"name": name, "brokers": brokers})
    for group in document["groups"]:
        group["strategy_source"] = "given"  # no doubt but what is put in here
        odd = {name for client in group.get("clients", []) for name in client} & {
            "strategy",
            "virtual_nodes",
            "language",
        }
        if chance(random, 0.1) and not odd:
            group["strategy_doubt"] = "it may be another"
        if chance(random, 0.1):
            group["clients"] = []
        if chance(random, 0.05):
            group["clients"] = [
                client | {"subscriptions": ["extra"]} for client in group.get("clients", [])
            ]
        if chance(random, 0.1):
            group["is_shared"] = True
        if chance(random, 0.05) and group["subscriptions"]:
            group["is_shared"], group["lite_topic"] = True, group["subscriptions"][0]
        if "BROADCASTING" in group.values() or group.get("is_shared"):
            _take_away_queues(random, document, group)
        if chance(random, 0.15):
            group["paused_brokers"] = some(random, names, min(1, len(names)), 2)
        if chance(random, 0.2):
            group.setdefault("lags", []).extend(_stray_lags(random, group))
    if chance(random, 0.2):
        roles = (
            (one, random.choice(("MASTER", "SLAVE", "SLAVE", "ACTING_MASTER"))) for one in names
        )
        document["brokers"] = [
            {"broker_name": one, "address": "h:1", "role": role} for one, role in roles
        ]
    if chance(random, 0.1):
        name = random.choice(document["groups"])["name"]
        failed = random.choice((f"GET_CONSUMER_CONNECTION_LIST {name}", "route of topic missing"))
        document["errors"] = [{"source": "broker a", "request": failed, "message": "timeout"}]
    return document


def _take_away_queues(random, document, group):
    """Let no client see the last queue of each broker."""
    if chance(random, 0.3):
        routes = {
            topic["name"]: {
                one["broker_name"]: max(0, one["read_queue_nums"] - 1) for one in topic["brokers"]
            }
            for topic in document["topics"]
        }
        group["clients"] = [
            client | {"sees_read_queue_nums": routes} for client in group.get("clients", [])
        ]


def _stray_lags(random, group):
    for topic in ("missing", "lonely", RETRY + group["name"], *group["subscriptions"][:1]):
        if chance(random, 0.5):
            queue = {
                "topic": topic,
                "broker_name": random.choice(("gone", "broker-a")),
                "queue_id": random.randint(20, 30),
            }
            yield {"queue": queue, "broker_offset": 9, "consumer_offset": random.choice((-1, 4, 9))}


def reach(document):
    """Reason and backlog of every queue that is looked at, by group (None for no group), topic,
    broker and queue id.
    """
    found = {}
    for group in document["groups"]:
        one = _Reading(document, group)
        for topic in {*one.audited.names, RETRY + group["name"]}:
            for queue in one.looked_at(topic):
                if reason := one.reason(queue):
                    found[group["name"], *queue] = reason, one.waiting.get(queue)
    subscribed = {name for group in document["groups"] for name in Audited(document, group).names}
    for topic in document["topics"]:
        name = topic["name"]
        if (
            name not in subscribed
            and name not in INTERNAL
            and not name.startswith(RETRY)
            and not _is_brokers(document, name)
        ):
            for queue in _written(topic):
                found[None, *queue] = (
                    _hidden(topic, queue) or _nobody(document),
                    _least(document, queue),
                )
    return found


class _Reading:
    def __init__(self, document, group):
        self.document, self.group, self.audited = document, group, Audited(document, group)
        self.failed = {error["request"] for error in document.get("errors", [])}
        self.dead = not self.audited.slots
        self.waiting = {}
        if self.audited.clustering:
            self.waiting = {
                queue_key(lag["queue"]): _messages(lag) for lag in group.get("lags", [])
            }

    def looked_at(self, topic):
        route = self.audited.routes.get(topic)
        return {
            *(_written(route) if route else ()),
            *(q for q, n in self.waiting.items() if n and q[0] == topic),
        }

    def reason(self, queue):
        topic, route = queue[0], self.audited.routes.get(queue[0])
        asked = f"GET_CONSUMER_CONNECTION_LIST {self.group['name']}" not in self.failed
        if route is None:
            if self.dead and asked:
                return "no-client"
            is_open = topic.startswith((RETRY, LMQ)) or f"route of topic {topic}" in self.failed
            return "unknown" if is_open else "no-route"
        if hidden := _hidden(route, queue):
            return hidden
        if self.dead:
            if topic.startswith(RETRY) and not self.waiting.get(queue):
                return None  # a client of the group would have to send something back first
            return "no-client" if asked else "unknown"
        divides = self.audited.clustering and not self.group.get("is_shared")
        closed = self._closed(queue, divides)
        if not any(_subscribes(slot.client, topic) for slot in self.audited.slots):
            return "no-subscriber" if asked else closed or "unknown"
        if closed:
            return closed
        if not divides:
            return self._read_by_all(topic, queue, asked)
        return self._owned(topic, queue) if topic in self.audited.topics else "unknown"

    def _closed(self, queue, divides):
        """Why nobody reads a queue whoever owns it."""
        if queue[1] in self.group.get("paused_brokers", ()):
            return "paused"
        brokers = self.document.get("brokers", [])
        slaves = {broker["broker_name"] for broker in brokers if broker["role"] == "SLAVE"}
        is_locked = divides and self.group.get("is_ordered") and queue[0] in self.audited.topics
        return "no-lock" if is_locked and queue[1] in slaves else None

    def _owned(self, topic, queue):
        """Owners by what clients report, if any does, else by what each of them computes."""
        owners, silent, answered = _told(self.audited)
        is_told = bool(answered) and _spoken_of(self.audited, topic)
        is_known = topic not in self.audited.unknown
        surely, perhaps = self.audited.takers(topic)
        if is_told and not owners[queue]:
            if is_known and not perhaps[queue]:
                return "no-owner"
            return "unknown" if silent or self.audited.is_open else "not-owned-now"
        if not is_told:
            if not is_known:
                return "unknown"
            if not perhaps[queue]:
                return "no-owner"
            if "strategy_doubt" in self.group or not surely[queue]:
                return "unknown"
        readers = surely[queue]
        if is_told:
            ids = {slot.client_id for slot in owners[queue]}
            silent_twins = [
                slot
                for slot in surely[queue]
                if slot.client_id in ids and slot.client.get("owned") is None
            ]
            readers = [*owners[queue], *silent_twins]
        if self.audited.is_pop(topic):
            return "popped"
        return "several-owners" if len(readers) > 1 else "owner"

    def _read_by_all(self, topic, queue, asked):
        """Every client that subscribes reads what it sees."""
        if topic == self.group.get("lite_topic"):
            return "lite"
        if not asked:
            return "unknown"
        routes = (
            slot.client.get("sees_read_queue_nums", {}).get(topic)
            for slot in self.audited.slots
            if _subscribes(slot.client, topic)
        )
        if not any(route is None or queue[2] < route.get(queue[1], 0) for route in routes):
            return "not-seen"
        return "shared" if self.audited.clustering else "broadcast"


def _messages(lag):
    return max(0, lag["broker_offset"] - max(0, lag["consumer_offset"]))


def _written(topic):
    for broker in topic["brokers"]:
        if broker.get("perm", 6) & 2:
            n = broker.get("write_queue_nums", broker["read_queue_nums"])
            yield from ((topic["name"], broker["broker_name"], i) for i in range(n))


def _hidden(topic, queue):
    """Why consumers do not see a queue."""
    if queue in queues_of(topic):
        return None
    perms = [one.get("perm", 6) for one in topic["brokers"] if one["broker_name"] == queue[1]]
    if not perms:
        return "no-route"
    return "beyond-read-queues" if perms[0] & 4 else "no-permission"


def _nobody(document):
    partial = any(one["request"].startswith("GET_CONSUMER") for one in document.get("errors", []))
    return "unknown" if partial else "no-group"


def _least(document, queue):
    """Messages that no group has consumed."""
    lags = (lag for group in document["groups"] for lag in group.get("lags", []))
    return min((_messages(lag) for lag in lags if queue_key(lag["queue"]) == queue), default=None)


def _is_brokers(document, name):
    return name in {one["broker_name"] for one in document.get("brokers", [])}
