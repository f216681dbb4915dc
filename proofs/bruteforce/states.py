"""The table of states, written a second time: who owns each queue of a group now and how that is
known, as loops over a snapshot document.

What clients report goes before what they compute, and what is missing makes a state unknown. The
table of decisions is here as well: with which class of exit code a verb ends for a group.
"""

from collections import Counter
from typing import NamedTuple

from bruteforce import java, own_strategies
from bruteforce.audited import _clients, _subscribes, rooms_of, rule_of
from bruteforce.clusters import RETRY, queue_key, queues_of

REPORTED, COMPUTED, UNKNOWN = "reported", "computed", "unknown"
READ = {"owner", "several-owners", "popped", "shared", "broadcast"}
POP = "POP"


class Row(NamedTuple):
    """The state of one queue: ``owners`` and ``perhaps`` are client ids in Java's order."""

    known: str
    reason: str
    owners: tuple | None = ()
    perhaps: tuple | None = None
    unread: str | None = None
    """Why nobody reads the queue whoever owns it."""

    @property
    def is_unowned(self):
        return self.known != UNKNOWN and not self.owners

    @property
    def is_reported(self):
        return self.known == REPORTED

    @property
    def is_double_owned(self):
        return self.reason == "several-owners"

    def may_be(self, what):
        """Whether a queue is unowned; or double-owned, also where that is computed in doubt."""
        is_guess = what == "is_double_owned" and self.known != REPORTED
        return is_guess or getattr(self, what)

    @property
    def state(self):
        """One of read, unread, unknown."""
        if self.unread is not None:
            return "unread"
        if self.known == UNKNOWN:
            return UNKNOWN
        return "read" if self.reason in READ else "unread"


class Client(NamedTuple):
    """A client: what it takes of each topic, by every client list that a broker may give it.

    A topic is missing where the client does not subscribe; its takes are None where they cannot be
    computed.
    """

    client_id: str
    owned: set | None
    takes: dict


class States:
    """The states of one group.

    Attributes
    ----------
    rows : dict of queue to Row
    figures : dict of str to number
        Unowned, double-owned, idle and skew over all topics but the retry topic.
    """

    def __init__(self, document, group):
        self.document, self.group = document, group
        self.routes = {topic["name"]: topic for topic in document["topics"]}
        self.unknown = set(group.get("unknown", ()))
        self.lists_unknown = bool(self.unknown & {"clients", "brokers"})
        self.is_broadcast = group.get("message_model") == "BROADCASTING"
        self.is_shared = self.is_broadcast or group.get("is_shared", False)
        divides_itself = self.is_shared or group.get("is_ordered")
        self.served = None if divides_itself else group.get("server_assignment")
        self.silent_brokers = {
            broker["broker_name"]
            for broker in document.get("brokers", ())
            if broker.get("is_silent")
        }
        self.topics = self._topics()
        self.clients = [self._client(client) for client in _clients(group)]
        self.reporting = [client for client in self.clients if client.owned is not None]
        answered = {client.client_id for client in self.reporting}
        self.silent = [client for client in self.clients if client.client_id not in answered]
        self.rows = {}
        for topic, queues in self.topics.items():
            for queue in queues:
                self.rows[queue] = self._closed(queue, self._row(topic, queue))

    def _topics(self):
        """Readable queues of every topic that the group or a client subscribes to."""
        names = self._listed()
        names.add(RETRY + self.group["name"])
        return {name: queues_of(self.routes[name]) for name in sorted(names & self.routes.keys())}

    def lists(self, topic):
        """Whether the group or a client lists a topic, as it need not its retry topic."""
        listed = [self.group, *self.group.get("clients", ())]
        return any(topic in row.get("subscriptions", ()) for row in listed)

    def _listed(self):
        """Topics that the group or a client subscribes to."""
        names = set(self.group["subscriptions"])
        for client in self.group.get("clients", ()):
            names.update(client.get("subscriptions", ()))
        return names

    def is_whole(self, topic):
        """Whether the route of a topic is known whole."""
        failed = {error["request"] for error in self.document.get("errors", ())}
        route = self.routes.get(topic, {})
        return "routes" not in route.get("unknown", ()) and f"route of topic {topic}" not in failed

    # --- What clients take by computation ---

    def _client(self, client):
        owned = None if client.get("owned") is None else set(map(queue_key, client["owned"]))
        takes = {}
        for topic in self.topics:
            if _subscribes(client, topic):
                takes[topic] = self._taken_of(client, topic)
        return Client(client["client_id"], owned, takes)

    def _taken_of(self, client, topic):
        if self.is_shared:
            takes = [self._seen(client, topic)]
        else:
            try:
                rule = rule_of(self.group, client, self.served is not None)
                takes = [self._taken(client, rule, topic, ids) for ids in self._lists(topic)]
            except (java.Unknown, java.Refused):
                return None
        is_listed = "subscriptions" in client or topic.startswith(RETRY)
        if "subscriptions" in self.unknown and not is_listed:
            takes.append(set())  # it may not subscribe
        return takes

    def _lists(self, topic):
        """Client lists that a broker of the topic may answer with."""
        by_broker = self.group.get("broker_client_ids") or {}
        brokers = [broker["broker_name"] for broker in self.routes[topic]["brokers"]]
        asked = [by_broker[name] for name in brokers if name in by_broker]
        lists = asked or list(by_broker.values())
        return lists or [[client["client_id"] for client in self.group.get("clients", ())]]

    def _seen(self, client, topic):
        """Queues that a client sees by its own route."""
        seen = client.get("sees_read_queue_nums", {}).get(topic)
        if seen is None or self.served is not None:
            return set(self.topics[topic])
        return {(topic, broker, i) for broker, n in seen.items() for i in range(n)}

    def _taken(self, client, rule, topic, ids):
        queues = sorted(self._seen(client, topic), key=java.queue_order)
        ids, name = sorted(ids, key=java.utf16), client["client_id"]
        if not queues or not ids:
            return set()
        rooms = rooms_of(self.document, self.group)
        asking = [client_id for client_id in ids if client_id]
        if asking and rule["name"] in (java.NEARBY, "MACHINE_ROOM"):
            java.owners(rule, queues, asking, rooms)
        if self.is_pop(topic):
            try:
                share = self.group.get("pop_share_queue_num", 0)
                return set(java.popped(rule, name, queues, ids, share))
            except java.Refused:
                return set()  # the broker answers nothing
        if name not in ids or (not name and rule["name"] != "CONFIG"):
            return set()
        found = java.allocate(rule, name, queues, ids, rooms)
        return {queue for queue in found if queue[0] == topic}

    def is_pop(self, topic):
        return self.served == POP and not topic.startswith(RETRY)

    @property
    def doubt(self):
        """Whether it is in doubt by what the clients divide."""
        names = [client.get("strategy") for client in self.group.get("clients", ())]
        stated = None not in names and {*names} != {self.group.get("strategy")}
        if self.served == POP:
            return False  # brokers divide by AVG where nothing is stated
        doubted = "strategy_doubt" in self.group or self.group.get("strategy") is None
        return doubted and not (stated and self.group.get("clients"))

    def is_computed(self, topic):
        """Whether it can be computed what the clients take of a topic."""
        return all(client.takes.get(topic, ()) is not None for client in self.clients)

    def takers(self, topic, queue, surely=False):
        """Clients that take a queue by one of their views, or by all."""
        found = []
        for client in self.clients:
            views = client.takes.get(topic) or ()
            takes = [queue in taken for taken in views]
            if takes and (all(takes) if surely else any(takes)):
                found.append(client)
        return found

    # --- The table ---

    def _row(self, topic, queue):
        """The first rule that holds."""
        clients_known = not self.lists_unknown
        subscribers = [client for client in self.clients if topic in client.takes]
        if not self.clients and clients_known:
            return Row(COMPUTED, "no-client")
        if topic == self.group.get("lite_topic") and subscribers:
            return Row(UNKNOWN, "lite", None)
        if self.is_shared:
            return self._shared(topic, queue, clients_known)
        if not subscribers and clients_known:
            return Row(COMPUTED, "no-subscriber")
        if not self.lists(topic):
            owners = [client for client in self.reporting if queue in client.owned]
            if not owners:
                return Row(UNKNOWN, "unknown", None, ids_of(subscribers))
            return Row(REPORTED, "several-owners" if len(owners) > 1 else "owner", ids_of(owners))
        if self.reports(topic):
            return self._reported(topic, queue, subscribers)
        return self._computed(topic, queue)

    def _shared(self, topic, queue, clients_known):
        readers = self.takers(topic, queue)
        is_sure = not readers or self.takers(topic, queue, surely=True)
        if not (clients_known and is_sure):
            return Row(UNKNOWN, "unknown", None, ids_of(readers))
        reason = "broadcast" if self.is_broadcast else "shared"
        if not any(topic in client.takes for client in self.clients):
            return Row(COMPUTED, "no-subscriber")
        return Row(COMPUTED, reason if readers else "not-seen", ids_of(readers))

    def reports(self, topic):
        """Whether reports speak of a topic."""
        spoken = {queue[0] for client in self.reporting for queue in client.owned}
        return bool(self.reporting) and (not topic.startswith(RETRY) or topic in spoken)

    def _reported(self, topic, queue, subscribers):
        owners = [client for client in self.reporting if owns(client, queue)]
        is_known = self.is_computed(topic) and not self.lists_unknown and self.is_whole(topic)
        if owners:
            ids = {client.client_id for client in owners}
            takers = self.takers(topic, queue, surely=True) if is_known else ()
            owners += [
                client for client in takers if client.owned is None and client.client_id in ids
            ]
            several = "several-owners" if len(owners) > 1 else "owner"
            reason = "popped" if self.is_pop(topic) else several
            return Row(REPORTED, reason, ids_of(owners))
        takers = self.takers(topic, queue)
        is_whole = not (self.lists_unknown or "owners" in self.unknown)
        if is_whole and not self.silent and self.is_whole(topic):
            nobody = self.is_computed(topic) and not takers
            return Row(REPORTED, "no-owner" if nobody else "not-owned-now")
        if is_known and not takers:
            return Row(COMPUTED, "no-owner")
        silent = [client for client in takers if client in self.silent]
        silent = silent or [client for client in subscribers if client in self.silent]
        return Row(UNKNOWN, "unknown", None, ids_of(silent))

    def _computed(self, topic, queue):
        perhaps, surely = self.takers(topic, queue), self.takers(topic, queue, surely=True)
        is_known = self.is_computed(topic) and not self.lists_unknown
        if not (is_known and self.is_whole(topic)):
            return Row(UNKNOWN, "unknown", None, ids_of(perhaps))
        if not perhaps:
            return Row(COMPUTED, "no-owner")
        if self.doubt:
            return Row(UNKNOWN, "unknown", None, ids_of(perhaps))
        if len(surely) > 1:
            reason = "popped" if self.is_pop(topic) else "several-owners"
            return Row(COMPUTED, reason, ids_of(surely))
        if not surely:
            return Row(UNKNOWN, "unknown", None, ids_of(perhaps))
        return Row(COMPUTED, "popped" if self.is_pop(topic) else "owner", ids_of(surely))

    def _closed(self, queue, row):
        """What the broker of a queue makes of it, whatever its owners."""
        is_sure = row.known == UNKNOWN or row.reason in ("no-client", "no-subscriber")
        if queue[1] in self.silent_brokers and not is_sure:
            is_paused = queue[1] in self.group.get("paused_brokers", ())
            unread = "paused" if is_paused else None
            return Row(UNKNOWN, "unknown", None, row.owners, unread)
        if row.reason in ("not-seen", "no-client", "no-subscriber"):
            return row
        if queue[1] in self.group.get("paused_brokers", ()):
            return row._replace(unread="paused")
        if row.reason == "lite":
            return row
        slaves = {
            broker["broker_name"]
            for broker in self.document.get("brokers", ())
            if broker.get("role") == "SLAVE"
        }
        is_locked = self.group.get("is_ordered") and self.lists(queue[0])
        if is_locked and not self.is_shared and queue[1] in slaves:
            return row._replace(unread="no-lock")
        return row

    # --- Figures ---

    def of_topic(self, topic):
        return [row for queue, row in self.rows.items() if queue[0] == topic]

    def is_open(self, topic):
        """Whether plans do not know it: they take readers of POP as they are computed."""
        return (self.served == POP and self.reports(topic)) or self.is_unknown(topic)

    def is_unknown(self, topic):
        """Whether it is not known who owns a queue of a topic, or whether a client owns more."""
        is_partial = self.silent and self.reports(topic) and not self.is_shared
        if not self.clients or is_partial or self.lists_unknown:
            return True
        if "owners" in self.unknown and self.reports(topic) and not self.is_shared:
            return True
        name, params = self.group.get("strategy"), self.group.get("strategy_params", {})
        if name is not None and own_strategies.is_own(java.rule_of(name, params)):
            return False  # `takers` knows RocketMQ's strategies alone
        return any(row.known == UNKNOWN for row in self.of_topic(topic))

    @property
    def figures(self):
        rows = [row for queue, row in self.rows.items() if not queue[0].startswith(RETRY)]
        is_null = not self.clients or any(row.known == UNKNOWN for row in rows)
        is_null = is_null or self.lists_unknown or "subscriptions" in self.unknown
        lacks = self.silent or "owners" in self.unknown
        if self.reporting and lacks and not self.is_shared:
            is_null = True
        if any(not self.is_whole(topic) for topic in self._listed()):
            is_null = True
        queues = [queue for queue in self.rows if not queue[0].startswith(RETRY)]
        if any(queue[1] in self.silent_brokers for queue in queues):
            is_null = True
        if is_null:
            return dict.fromkeys(("unowned", "double_owned", "idle", "skew"))
        loads = self.loads(rows)
        n_queues = sum(loads) if self.is_shared or self.served == POP else len(rows)
        mean = n_queues / len(loads)
        return {
            "unowned": sum(not row.owners for row in rows),
            "double_owned": sum(row.reason == "several-owners" for row in rows),
            "idle": loads.count(0),
            "skew": max(loads) / mean if mean else 0.0,
        }

    def loads(self, rows):
        """Queues of every client; of clients that share an id the first has all."""
        left = Counter(client_id for row in rows for client_id in row.owners)
        return [left.pop(client.client_id, 0) for client in self.clients]

    @property
    def settled(self):
        """Whether every queue but those of the retry topic is settled; None where that is not
        known.
        """
        rows = {queue: row for queue, row in self.rows.items() if not queue[0].startswith(RETRY)}
        if not self.clients and not self.lists_unknown:
            return False
        if any(row.known != UNKNOWN and not row.owners for row in rows.values()):
            return False
        if self.is_shared or self.served == POP:
            return None if any(row.known == UNKNOWN for row in rows.values()) else True
        if any(row.reason == "several-owners" for row in rows.values()):
            return False
        if any(row.known != REPORTED for row in rows.values()):
            return None
        return self._as_expected(rows)

    def _as_expected(self, rows):
        if self.doubt or self.silent or not all(map(self.is_computed, self.topics)):
            return None
        for queue, row in rows.items():
            takers = ids_of(self.takers(queue[0], queue))
            if row.owners != takers:
                return False
        return True


def owns(client, queue):
    return queue in client.owned or (*queue[:2], -1) in client.owned


def ids_of(clients):
    return tuple(sorted({client.client_id for client in clients}, key=java.utf16))


def without(document, name, gone):
    """The document after some clients of a group stopped, before anyone reports again."""
    groups = []
    for group in document["groups"]:
        if group["name"] == name:
            clients = [
                {key: value for key, value in client.items() if key != "owned"}
                for client in group.get("clients", ())
                if client["client_id"] not in gone
            ]
            group = {key: group[key] for key in group if key != "strategy_doubt"}
            group["clients"] = clients
            if group.get("broker_client_ids"):
                lists = group["broker_client_ids"].items()
                group["broker_client_ids"] = {
                    broker: [client_id for client_id in ids if client_id not in gone]
                    for broker, ids in lists
                }
        groups.append(group)
    return document | {"groups": groups}
