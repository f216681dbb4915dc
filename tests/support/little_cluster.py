"""A little RocketMQ of its own for the client half: brokers with groups, locks and offsets, a name
server, and virtual time.
"""

import heapq
import itertools
from random import Random

from rmqalloc.model import MessageQueue
from rmqalloc.rebalance import ClientIdentity, MQClientManager, PushConsumer
from rmqalloc.remoting import (
    BrokerData,
    HeartbeatReply,
    QueueData,
    RemotingError,
    ResponseCode,
    ResponseError,
    TopicRouteData,
)

START = 1_700_000_000_000
LOCK_MAX_LIVE = 60_000


class VirtualClock:
    """Time that passes when it is told to."""

    def __init__(self, now=START):
        self._now = now
        self._entries = []
        self._order = itertools.count()

    def now(self):
        return self._now

    def call_later(self, delay, action):
        timer = VirtualTimer(action)
        heapq.heappush(self._entries, (self._now + delay, next(self._order), timer))
        return timer

    def run_for(self, milliseconds):
        end = self._now + milliseconds
        while self._entries and self._entries[0][0] <= end:
            due, _, timer = heapq.heappop(self._entries)
            self._now = max(self._now, due)
            if timer.action is not None:
                timer.action()
        self._now = max(self._now, end)

    def timers(self):
        """How many things will happen at all."""
        return sum(timer.action is not None for _, _, timer in self._entries)

    def timers_due_in(self, delay):
        """How many things will happen just then."""
        return sum(
            due == self._now + delay and timer.action is not None for due, _, timer in self._entries
        )

    def jump(self, milliseconds):
        """Time passes, but nothing that was due happens before the next `run_for`."""
        self._now += milliseconds


class VirtualTimer:
    def __init__(self, action):
        self.action = action

    def cancel(self):
        self.action = None


class LittleBroker:
    """One broker name, served by a master (and a slave) at addresses of that name."""

    def __init__(self, clock, name):
        self.clock = clock
        self.name = name
        self.groups = {}
        self.locks = {}
        self.offsets = {}
        self.max_offsets = {}
        self.assignments = {}
        self.fingerprints = {}
        self.knows_v2 = True
        self.down = False
        self.refuses = {}
        self.requests = []
        self.notify = lambda consumer_group: None

    def request(self, kind, client_id, *what):
        """Every request passes here, to be kept, lost or refused."""
        self.requests.append((self.clock.now(), kind, client_id, *what))
        if self.down:
            raise RemotingError(f"{self.name} does not answer")
        if kind in self.refuses:
            raise self.refuses[kind].with_traceback(None)  # raised again and again it would grow

    def asked(self, kind):
        return [request for request in self.requests if request[1] == kind]

    def heartbeat(self, heartbeat):
        known = self.fingerprints.get(heartbeat.client_id)
        if heartbeat.without_subscriptions:
            return HeartbeatReply(True, known != heartbeat.fingerprint)
        for data in heartbeat.consumers:
            group = self.groups.setdefault(data.consumer_group, {})
            is_new = heartbeat.client_id not in group
            group[heartbeat.client_id] = data
            if is_new:
                self.notify(data.consumer_group)
        if heartbeat.fingerprint and self.knows_v2:
            self.fingerprints[heartbeat.client_id] = heartbeat.fingerprint
            return HeartbeatReply(True, False)
        return None

    def unregister(self, client_id, consumer_group):
        if self.groups.get(consumer_group, {}).pop(client_id, None) is not None:
            self.notify(consumer_group)

    def consumer_ids(self, consumer_group):
        if not self.groups.get(consumer_group):
            raise ResponseError(
                ResponseCode.SYSTEM_ERROR, f"no consumer for this group, {consumer_group}"
            )
        return list(self.groups[consumer_group])

    def lock(self, consumer_group, client_id, queues):
        now, locked = self.clock.now(), set()
        for queue in queues:
            holder, since = self.locks.get((consumer_group, queue), (client_id, now))
            if holder == client_id or now - since > LOCK_MAX_LIVE:
                self.locks[consumer_group, queue] = client_id, now
                locked.add(queue)
        return locked

    def unlock(self, consumer_group, client_id, queues):
        for queue in queues:
            if self.locks.get((consumer_group, queue), (None,))[0] == client_id:
                del self.locks[consumer_group, queue]

    def holder(self, consumer_group, queue):
        return self.locks.get((consumer_group, queue), (None,))[0]


class LittleCluster:
    """Brokers by name, routes by topic, each with so many queues on every broker, and the clients
    that are connected.
    """

    def __init__(self, *names, **topics):
        self.clock = VirtualClock()
        self.brokers = {name: LittleBroker(self.clock, name) for name in names or ("broker-a",)}
        self.addresses = {}
        for name, broker in self.brokers.items():
            self.addresses[f"{name}:master"] = broker
            broker.notify = self._notify
        self.routes = {}
        for topic, n_queues in topics.items():
            self.add_topic(topic, n_queues)
        self.routes_asked = []
        self.name_server_down = False
        self.notices = True
        self.factories = []

    @property
    def broker(self):
        """The broker of a cluster of one."""
        (broker,) = self.brokers.values()
        return broker

    def add_topic(self, topic, n_queues, brokers=None, **queue_data):
        """A topic with so many queues on every broker."""
        names = self.brokers if brokers is None else brokers
        self.routes[topic] = TopicRouteData(
            tuple(QueueData(name, n_queues, n_queues, **queue_data) for name in names),
            tuple(BrokerData(name, {0: f"{name}:master"}) for name in names),
        )
        return [MessageQueue(topic, name, i) for name in sorted(names) for i in range(n_queues)]

    def connect(self, factory):
        self.factories.append(factory)
        return LittleRemoting(self, factory)

    def _notify(self, consumer_group):
        if self.notices:
            for factory in self.factories:
                if consumer_group in factory.consumers:
                    self.clock.call_later(
                        0, lambda f=factory: f.notify_consumer_ids_changed(consumer_group)
                    )


class LittleRemoting:
    """One client's connections."""

    def __init__(self, cluster, factory):
        self.cluster = cluster
        self.factory = factory

    def _ask(self, address, kind, *what):
        broker = self.cluster.addresses.get(address)
        if broker is None:
            raise RemotingError(f"nobody listens at {address}")
        broker.request(kind, self.factory.client_id, *what)
        return broker

    def topic_route(self, topic):
        self.cluster.routes_asked.append((self.cluster.clock.now(), topic))
        if self.cluster.name_server_down:
            raise RemotingError("the name server does not answer")
        if topic not in self.cluster.routes:
            raise ResponseError(ResponseCode.TOPIC_NOT_EXIST, f"no route to {topic}")
        return self.cluster.routes[topic]

    def send_heartbeat(self, address, heartbeat):
        return self._ask(address, "heartbeat", address, heartbeat).heartbeat(heartbeat)

    def unregister_client(self, address, client_id, consumer_group):
        self._ask(address, "unregister", address, consumer_group).unregister(
            client_id, consumer_group
        )

    def consumer_ids(self, address, consumer_group):
        return self._ask(address, "consumer_ids", address, consumer_group).consumer_ids(
            consumer_group
        )

    def lock_batch(self, address, consumer_group, client_id, queues, timeout):
        return self._ask(address, "lock", address, set(queues), timeout).lock(
            consumer_group, client_id, queues
        )

    def unlock_batch(self, address, consumer_group, client_id, queues, oneway):
        self._ask(address, "unlock", address, set(queues), oneway).unlock(
            consumer_group, client_id, queues
        )

    def query_assignment(self, address, topic, consumer_group, client_id, strategy_name, model):
        return self._ask(address, "assignment", topic, strategy_name, model).assignments.get(
            (topic, client_id)
        )

    def query_offset(self, address, consumer_group, queue):
        offsets = self._ask(address, "query_offset", address, queue).offsets
        if (consumer_group, queue) not in offsets:
            raise ResponseError(ResponseCode.QUERY_NOT_FOUND, "no offset")
        return offsets[consumer_group, queue]

    def update_offset(self, address, consumer_group, queue, offset):
        self._ask(address, "update_offset", address, queue, offset).offsets[
            consumer_group, queue
        ] = offset

    def max_offset(self, address, queue):
        return self._ask(address, "max_offset", queue).max_offsets.get(queue, 0)

    def search_offset(self, address, queue, timestamp):
        return self._ask(address, "search_offset", queue, timestamp).max_offsets.get(queue, 0) // 2


class ManualPulls:
    """Keeps the requests of a push consumer and reads nothing, so that queues expire."""

    def __init__(self):
        self.pulls = []
        self.pops = []

    def pull_later(self, request, delay):
        self.pulls.append((request, delay))

    def pop_later(self, request, delay):
        self.pops.append((request, delay))


class Reads(ManualPulls):
    """Keeps the requests of a push consumer, and reads each for ever, so that no queue expires."""

    def pull_later(self, request, delay):
        super().pull_later(request, delay)
        request.process_queue.pulling = True


class Changes:
    """A queue listener that remembers what it heard."""

    def __init__(self):
        self.heard = []

    def __call__(self, topic, mq_all, mq_divided):
        self.heard.append((topic, None if mq_all is None else set(mq_all), set(mq_divided)))


def manager_of(cluster, **settings):
    """A process of its own."""
    settings.setdefault("pid", 1)
    settings.setdefault("random", Random(7))
    return MQClientManager(cluster.clock, settings.pop("connect", cluster.connect), **settings)


def push(cluster, name="x", group="g", topic="T", manager=None, **settings):
    """A push consumer with a name of its own, subscribed but not started."""
    manager = manager_of(cluster) if manager is None else manager
    consumer = PushConsumer(manager, group, identity=ClientIdentity("10.0.0.1", name), **settings)
    if topic is not None:
        consumer.subscribe(topic)
    return consumer


def started(consumer):
    consumer.start()
    return consumer


def queues_of(consumer, topic="T"):
    return sorted(consumer.rebalance.working_queues(topic))


def ids(queues):
    return [queue.queue_id for queue in queues]
