"""The ports of these examples: a broker in memory, and a client's connection to it as plain calls."""

from collections.abc import Iterable

from rmqalloc import MessageQueue
from rmqalloc.broker import Broker, Clock
from rmqalloc.rebalance import ClientIdentity, MQClientFactory, MQClientManager
from rmqalloc.remoting import (
    DEFAULT_PROFILE,
    BrokerData,
    HeartbeatData,
    HeartbeatReply,
    MessageModel,
    QueueAssignment,
    QueueData,
    ResponseCode,
    ResponseError,
    TopicRouteData,
)


class Messages:
    """Messages by queue; a `rmqalloc.broker.MessageStore`."""

    def __init__(self) -> None:
        self._messages: dict[MessageQueue, list[str]] = {}

    def put(self, queue: MessageQueue, message: str) -> None:
        """Send a message."""
        self._messages.setdefault(queue, []).append(message)

    def read(self, queue: MessageQueue, offset: int) -> list[str]:
        """Pull: all messages from an offset on."""
        return self._messages.get(queue, [])[offset:]

    def max_offset(self, queue: MessageQueue) -> int:
        """Offset after the last message."""
        return len(self._messages.get(queue, []))

    def search_offset(self, queue: MessageQueue, timestamp: int) -> int:
        """Offset of the first message stored at a time or later; here messages have no time."""
        return 0


class Cluster:
    """A name server and one broker with one topic, on the clock of the clients."""

    def __init__(self, clock: Clock, topic: str, n_queues: int) -> None:
        self.clock = clock
        self.connections: dict[str, Connection] = {}
        self.messages = Messages()
        self.queues = [MessageQueue(topic, "broker-a", i) for i in range(n_queues)]
        self.broker = Broker("broker-a", clock, DEFAULT_PROFILE, store=self.messages)
        self.broker.topics[topic] = QueueData("broker-a", n_queues, n_queues)

    def process(self) -> MQClientManager:
        """A process with clients."""
        return MQClientManager(self.clock, self._connect)

    def fill(self, n_messages: int) -> None:
        """Send a number of messages, to one queue after another."""
        for n in range(n_messages):
            self.messages.put(self.queues[n % len(self.queues)], f"message {n}")

    def _connect(self, factory: MQClientFactory) -> "Connection":
        connection = self.connections[factory.client_id] = Connection(self, factory)
        return connection


class Connection:
    """One client's connection: its `rmqalloc.rebalance.Remoting`, and the `rmqalloc.broker.Channel`
    of the broker.

    A real connection sends each request to ``address``, waits for the answer, and raises
    RemotingError if there is none.
    """

    def __init__(self, cluster: Cluster, factory: MQClientFactory) -> None:
        self._clock = cluster.clock
        self._broker = cluster.broker
        self._factory = factory

    # --- From the broker: as an action of its own on the client's clock, not in the middle of another one ---

    def notify_consumer_ids_changed(self, consumer_group: str) -> None:
        """Handle the broker's notice that clients joined or left."""
        self._clock.call_later(0, lambda: self._factory.notify_consumer_ids_changed(consumer_group))

    def close(self) -> None:
        """End the connection, from either side."""
        self._clock.call_later(0, lambda: self._broker.consumers.channel_closed(self))

    # --- To the name server and to the broker ---

    def topic_route(self, topic: str) -> TopicRouteData:
        """Code 105."""
        if topic not in self._broker.topics:
            raise ResponseError(ResponseCode.TOPIC_NOT_EXIST, f"no route to {topic}")
        brokers = (BrokerData(self._broker.name, {0: "127.0.0.1:10911"}),)
        return TopicRouteData((self._broker.topics[topic],), brokers)

    def send_heartbeat(self, address: str, heartbeat: HeartbeatData) -> HeartbeatReply | None:
        """Code 34."""
        return self._broker.heartbeat(self, heartbeat)

    def unregister_client(self, address: str, client_id: str, consumer_group: str) -> None:
        """Code 35."""
        self._broker.unregister_client(self, client_id, consumer_group)

    def consumer_ids(self, address: str, consumer_group: str) -> list[str]:
        """Code 38."""
        return self._broker.consumers.consumer_ids(consumer_group)

    def lock_batch(
        self,
        address: str,
        consumer_group: str,
        client_id: str,
        queues: Iterable[MessageQueue],
        timeout: int,
    ) -> set[MessageQueue]:
        """Code 41."""
        return self._broker.lock_batch(consumer_group, client_id, queues)

    def unlock_batch(
        self,
        address: str,
        consumer_group: str,
        client_id: str,
        queues: Iterable[MessageQueue],
        oneway: bool,
    ) -> None:
        """Code 42."""
        self._broker.unlock_batch(consumer_group, client_id, queues)

    def query_assignment(
        self,
        address: str,
        topic: str,
        consumer_group: str,
        client_id: str,
        strategy_name: str,
        model: MessageModel,
    ) -> list[QueueAssignment] | None:
        """Code 400."""
        return self._broker.query_assignment(topic, consumer_group, client_id, strategy_name, model)

    def query_offset(self, address: str, consumer_group: str, queue: MessageQueue) -> int:
        """Code 14."""
        return self._broker.offsets.query_offset(consumer_group, queue)

    def update_offset(
        self, address: str, consumer_group: str, queue: MessageQueue, offset: int
    ) -> None:
        """Code 15."""
        self._broker.offsets.commit_offset(consumer_group, queue, offset)

    def max_offset(self, address: str, queue: MessageQueue) -> int:
        """Code 30."""
        return self._broker.store.max_offset(queue)

    def search_offset(self, address: str, queue: MessageQueue, timestamp: int) -> int:
        """Code 29."""
        return self._broker.store.search_offset(queue, timestamp)


def named(name: str) -> ClientIdentity:
    """Return the identity of the client id ``10.0.0.1@name``."""
    return ClientIdentity("10.0.0.1", name)
