"""Routes of topics, from what the brokers hold."""

from __future__ import annotations

from rmqalloc.broker import Broker
from rmqalloc.remoting import (
    BrokerData,
    QueueData,
    ResponseCode,
    ResponseError,
    TopicRouteData,
)


class NameServer:
    """Knows the registered brokers and answers with routes; it never fails.

    Attributes
    ----------
    brokers : dict of str to (Broker, str)
        Registered brokers and their addresses, by name.
    """

    def __init__(self) -> None:
        self.brokers: dict[str, tuple[Broker, str]] = {}
        self._routes: dict[str, TopicRouteData] = {}

    def register(self, broker: Broker, address: str) -> None:
        """A broker is there, with all it holds now and will hold."""
        self.brokers[broker.name] = broker, address

    def unregister(self, broker_name: str) -> None:
        """A broker is gone, and its queues with it."""
        self.brokers.pop(broker_name, None)

    def topic_route(self, topic: str) -> TopicRouteData:
        """Route of a topic; the same object as long as nothing about it changes."""
        holders = sorted(name for name, (broker, _) in self.brokers.items() if topic in broker.topics)
        if not holders:
            raise ResponseError(ResponseCode.TOPIC_NOT_EXIST, f"no route to {topic}")
        queue_datas = tuple(self._queue_data(name, topic) for name in holders)
        known = self._routes.get(topic)
        if known is None or known.queue_datas != queue_datas:
            broker_datas = tuple(BrokerData(name, {0: self.brokers[name][1]}) for name in holders)
            known = self._routes[topic] = TopicRouteData(queue_datas, broker_datas)
        return known

    def _queue_data(self, broker_name: str, topic: str) -> QueueData:
        return self.brokers[broker_name][0].topics[topic]
