"""The product's broker half under the events that `differential.broker_half` makes."""

from typing import Any

from differential.compared_releases import Release
from rmqalloc.broker import Broker, ConsumerGroupEvent, RequestMode, RequestModes, SubscriptionGroup
from rmqalloc.model import MessageQueue
from rmqalloc.remoting import (
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    MessageRequestMode,
    QueueData,
    RemotingError,
    ResponseCode,
    ResponseError,
    SubscriptionData,
    TopicRouteData,
)
from rmqalloc.simulation._virtual_clock import VirtualClock

Event = dict[str, Any]


class Connection:
    """One connection of a client, with nobody at its other end."""

    def __init__(self, twin: "Twin", number: int) -> None:
        self._twin = twin
        self.number = number
        self.is_active = True

    def notify_consumer_ids_changed(self, consumer_group: str) -> None:
        """Note it, and do what was armed for it."""
        self._twin.sent(self.number, consumer_group)

    def close(self) -> None:
        """Note it."""
        if self.is_active:
            self.is_active = False
            self._twin.closed.append(self.number)


class Twin:
    """The product with its transport stubbed; also the listener that hears what happens to groups."""

    def __init__(self, config: dict[str, Any], release: Release) -> None:
        self._clock = VirtualClock()
        self._routes: dict[str, Any] = {}
        self._connections: dict[int, Connection] = {}
        self._failing: set[int] = set()
        self._armed: dict[tuple[int, str], Event] = {}
        self._notices: list[Any] = []
        self._heard: list[Any] = []
        self._last_groups: dict[str, Any] = {}
        self.closed: list[int] = []
        self._broker = self._made(config, release)
        for topic in config["topics"]:
            self._broker.topics[topic] = QueueData("b0", 4, 4)
        self._does = {
            "heartbeat": self._heartbeat,
            "unregister": self._unregister,
            "close": self._close,
            "advance": lambda event: self._clock.run(self._clock.now() + event["by"]),
            "notices": lambda event: self._switch("notify_consumer_ids_changed_enable", event),
            "real time": lambda event: self._switch("real_time", event),
            "group flag": self._group_flag,
            "fail": self._fail,
            "arm": self._arm,
            "lists": self._lists,
            "topic groups": self._topic_groups,
            "topics": lambda event: sorted(
                topic for topic in self._broker.topics if topic.startswith("%RETRY%")
            ),
            "lock": self._lock,
            "lock one": self._lock_one,
            "unlock": self._unlock,
            "all expired": lambda event: self._broker.locks.is_lock_all_expired(event["group"]),
            "route": lambda event: self._routes.update({event["topic"]: event["route"]}),
            "query": self._query,
            "set mode": self._set_mode,
        }

    def _made(self, config: dict[str, Any], release: Release) -> Broker:
        return Broker(
            "b0",
            self._clock,
            release.profile,
            topic_route=self._route,
            auto_create_subscription_group=config["auto create"],
            notify_consumer_ids_changed_enable=config["notify"],
            real_time_notify=config["real time"],
            channel_expired_timeout=config["expired"],
            fast_channel_events=config["fast"],
            reject_pull_consumers=config["rejects pull"],
            request_modes=RequestModes(MessageRequestMode(config["mode"]), config["share"]),
            server_load_balancer_enable=config["divides"],
            listeners=[self],
        )

    def after(self, event: Event) -> Any:
        """Let one event happen, and say what is seen then."""
        self._notices, self._heard, self.closed = [], [], []
        answer = self._does[event["kind"]](event)
        groups = self._groups()
        is_as_before, self._last_groups = groups == self._last_groups, groups
        return {
            "answer": answer,
            "closed": sorted(self.closed),
            "groups": None if is_as_before else groups,
            "heard": self._heard,
            "notices": self._notices,
        }

    def _groups(self) -> dict[str, Any]:
        return {
            name: [
                group.consume_type.value,
                group.message_model.value,
                group.consume_from_where.value,
                [
                    [channel.number, client.client_id, client.last_update]
                    for channel, client in group.channels.items()
                ],
                {
                    topic: [one.sub_string, one.sub_version]
                    for topic, one in group.subscriptions.items()
                },
            ]
            for name, group in self._broker.consumers.groups.items()
        }

    # --- connections and listeners ---

    def _connection(self, number: int) -> Connection:
        return self._connections.setdefault(number, Connection(self, number))

    def sent(self, number: int, group: str) -> None:
        """A notice was sent."""
        self._notices.append([number, group])
        then = self._armed.pop((number, group), None)
        if then is not None:
            self._does[then["kind"]](then)
        if number in self._failing:
            raise RemotingError("this channel takes nothing")

    def handle(self, event: ConsumerGroupEvent, consumer_group: str, *arguments: Any) -> None:
        """Hear of something."""
        told: list[Any] = [event.name, consumer_group]
        if event is ConsumerGroupEvent.CHANGE:
            told.append([channel.number for channel in arguments[0]])
        elif event is ConsumerGroupEvent.REGISTER:
            told.append(sorted(subscription.topic for subscription in arguments[0]))
        elif event is not ConsumerGroupEvent.UNREGISTER:
            channel, client, topics = arguments
            told += [[channel.number, client.client_id], sorted(topics)]
        self._heard.append(told)

    # --- who is in a group ---

    def _heartbeat(self, event: Event) -> Any:
        data = event["data"]
        heartbeat = HeartbeatData(
            data["clientID"],
            tuple(map(_consumer, data["consumerDataSet"])),
            data["heartbeatFingerprint"],
            data["withoutSub"],
        )
        reply = self._broker.heartbeat(self._connection(event["channel"]), heartbeat)
        return [0] if reply is None else [0, reply.supports_v2, reply.subscriptions_changed]

    def _unregister(self, event: Event) -> int:
        self._broker.unregister_client(
            self._connection(event["channel"]), event["client"], event["group"]
        )
        return 0

    def _close(self, event: Event) -> None:
        channel = self._connection(event["channel"])
        channel.is_active = False
        self._broker.consumers.channel_closed(channel)

    def _switch(self, name: str, event: Event) -> None:
        setattr(self._broker.notifier, name, event["on"])

    def _group_flag(self, event: Event) -> None:
        self._broker.subscription_groups[event["group"]] = SubscriptionGroup(event["on"])

    def _fail(self, event: Event) -> bool:
        is_new = event["channel"] not in self._failing
        self._failing.add(event["channel"])
        return is_new

    def _arm(self, event: Event) -> None:
        self._armed[event["channel"], event["group"]] = event["then"]

    def _lists(self, event: Event) -> Any:
        try:
            return list(self._broker.consumers.consumer_ids(event["group"]))
        except ResponseError as error:
            return int(error.code)

    def _topic_groups(self, event: Event) -> list[str]:
        return sorted(self._broker.consumers.topic_groups.get(event["topic"], ()))

    # --- locks and division ---

    def _lock(self, event: Event) -> Any:
        return _shown(self._broker.lock_batch(event["group"], event["client"], _queues(event)))

    def _lock_one(self, event: Event) -> bool:
        return self._broker.locks.try_lock(event["group"], _queues(event)[0], event["client"])

    def _unlock(self, event: Event) -> None:
        self._broker.unlock_batch(event["group"], event["client"], _queues(event))

    def _route(self, topic: str) -> TopicRouteData:
        said = self._routes.get(topic)
        if said == "timeout":
            raise RemotingError("no answer")
        if said is None or said == "error":
            raise ResponseError(
                ResponseCode.SYSTEM_ERROR if said else ResponseCode.TOPIC_NOT_EXIST, "no route"
            )
        queues = (
            QueueData(one["brokerName"], one["readQueueNums"], one["writeQueueNums"], one["perm"])
            for one in said["queueDatas"]
        )
        return TopicRouteData(tuple(queues))

    def _query(self, event: Event) -> Any:
        data = event["data"]
        assigned = self._broker.query_assignment(
            data["topic"],
            data["consumerGroup"],
            data["clientId"],
            data["strategyName"],
            MessageModel(data["messageModel"]),
        )
        if assigned is None:
            return None
        return [[*_parts(one.queue), one.mode.value] for one in assigned]

    def _set_mode(self, event: Event) -> int:
        data = event["data"]
        mode = RequestMode(MessageRequestMode(data["mode"]), data["popShareQueueNum"])
        try:
            self._broker.set_message_request_mode(data["topic"], data["consumerGroup"], mode)
        except ResponseError as error:
            return int(error.code)
        return 0


def _consumer(data: dict[str, Any]) -> ConsumerData:
    return ConsumerData(
        data["groupName"],
        ConsumeType(data["consumeType"]),
        MessageModel(data["messageModel"]),
        ConsumeFromWhere(data["consumeFromWhere"]),
        frozenset(SubscriptionData(*one.values()) for one in data["subscriptionDataSet"]),
    )


def _queues(event: Event) -> list[MessageQueue]:
    return [MessageQueue(*parts) for parts in event["queues"]]


def _parts(queue: MessageQueue | None) -> list[Any]:
    return [] if queue is None else [queue.topic, queue.broker_name, queue.queue_id]


def _shown(queues: set[MessageQueue]) -> list[Any]:
    return sorted(map(_parts, queues))
