"""What brokers and name servers answer to the client half, and all that is written down of it.

The Java side of it are ``World.java`` and ``StubTransport.java``.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

from little_cluster import START, VirtualClock

from rmqalloc.model import MessageQueue
from rmqalloc.rebalance import MQClientFactory, PopRequest, PullRequest
from rmqalloc.remoting import (
    BrokerData,
    HeartbeatData,
    HeartbeatReply,
    MessageModel,
    QueueAssignment,
    QueueData,
    RemotingError,
    ResponseCode,
    ResponseError,
    TopicRouteData,
)
from rmqalloc.remoting.bodies import MessageRequestMode, TopicQueueMappingInfo

Answer = dict[str, Any]

USUAL: dict[str, Answer] = {
    "route": {"code": 17},
    "stored": {"code": 22},
    "clients": {"code": 1},
    "max": {"offset": 100},
    "search": {"offset": 50},
    "assignment": {"code": 1},
}
"""What is answered where a sequence says nothing."""


def told(queue: MessageQueue | None) -> str | None:
    """A queue as it is written."""
    return None if queue is None else f"{queue.topic}|{queue.broker_name}|{queue.queue_id}"


def all_told(queues: Iterable[MessageQueue] | None) -> list[str | None] | None:
    """Queues in their order."""
    return None if queues is None else [told(queue) for queue in sorted(queues)]


def read(text: str) -> MessageQueue:
    """A queue that was written."""
    topic, broker_name, queue_id = text.split("|")
    return MessageQueue(topic, broker_name, int(queue_id))


class TwinRandom(Random):
    """Draws what ``VirtualRandom.java`` draws."""

    def __init__(self, seed: int) -> None:
        super().__init__(0)
        self._state = seed & 0x7FFFFFFF

    def choice(self, seq: Sequence[Any]) -> Any:
        """One of several."""
        self._state = (self._state * 1103515245 + 12345) & 0x7FFFFFFF
        return seq[(self._state >> 8) % len(seq)]


class SteadyRandom(TwinRandom):
    """Draws what ``VirtualRandom.java`` draws with delays: whoever draws first draws the same."""

    def choice(self, seq: Sequence[Any]) -> Any:
        """One of several."""
        return seq[(self._state >> 8) % len(seq)]


class World:
    """The answers of a sequence, and what happened."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.answers: dict[tuple[str, str], Answer] = {}
        self.requests: dict[tuple[bool, str, MessageQueue], Any] = {}
        self._lines: list[list[Any]] = []
        self._is_seen = True

    def see(self, *line: Any) -> None:
        """Write down that something happened."""
        if self._is_seen:
            self._lines.append([self.clock.now() - START, *line])

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """What happens meanwhile was written down before."""
        self._is_seen = False
        try:
            yield
        finally:
            self._is_seen = True

    def seen(self) -> list[list[Any]]:
        """What has happened since this was asked last."""
        lines, self._lines = self._lines, []
        return lines

    def answer(self, what: str, key: str) -> Answer:
        """What is answered to a kind of question about something."""
        return self.answers.get((what, key), USUAL.get(what, {}))


class Dispatcher:
    """Who would pull: requests are written down."""

    def __init__(self, world: World) -> None:
        self._world = world

    def pull_later(self, request: PullRequest, delay: int) -> None:
        """A request to pull."""
        self._world.requests[False, request.consumer_group, request.queue] = request
        self._world.see(
            "dispatch", request.consumer_group, told(request.queue), request.next_offset, delay
        )

    def pop_later(self, request: PopRequest, delay: int) -> None:
        """A request to pop."""
        self._world.requests[True, request.consumer_group, request.queue] = request
        line = (
            request.consumer_group,
            told(request.queue),
            request.topic,
            request.init_mode,
            delay,
        )
        self._world.see("dispatch pop", *line)


class StubRemoting:
    """The requests of one client."""

    def __init__(self, world: World, factory: MQClientFactory) -> None:
        self._world = world
        self.client_id = factory.client_id

    def _ask(
        self, what: str, key: str, address: str | None, *line: Any, oneway: bool = False
    ) -> Answer:
        self._world.see(what, self.client_id, *([] if address is None else [address]), *line)
        answer = self._world.answer(what, key)
        if answer.get("lost") or self._world.answer("down", str(address)).get("lost"):
            raise RemotingError("told to be lost")
        if answer.get("code") and not oneway:
            raise ResponseError(answer["code"], "as told")
        return answer

    def topic_route(self, topic: str) -> TopicRouteData:
        """Code 105."""
        return route(self._ask("route", topic, None, topic)["body"])

    def send_heartbeat(self, address: str, heartbeat: HeartbeatData) -> HeartbeatReply | None:
        """Code 34."""
        groups = []
        for data in sorted(heartbeat.consumers, key=lambda one: one.consumer_group):
            subscriptions = sorted(
                [one.topic, one.sub_string, one.sub_version] for one in data.subscriptions
            )
            where, model = data.consume_from_where.value, data.message_model.value
            line = [
                data.consumer_group,
                data.consume_type.value,
                model,
                where,
                data.unit_mode,
                subscriptions,
            ]
            groups.append(line)
        line = [heartbeat.client_id, heartbeat.without_subscriptions, groups]
        answer = self._ask("heartbeat", address, address, line)
        return HeartbeatReply(*answer["v2"]) if "v2" in answer else None

    def unregister_client(self, address: str, client_id: str, consumer_group: str) -> None:
        """Code 35."""
        self._ask("unregister", address, address, client_id, consumer_group)

    def consumer_ids(self, address: str, consumer_group: str) -> Any:
        """Code 38."""
        answer = self._ask("clients", consumer_group, address, consumer_group)
        if "body" not in answer:
            raise ResponseError(ResponseCode.SUCCESS, "no body")
        return answer["body"]["consumerIdList"]

    def lock_batch(
        self,
        address: str,
        consumer_group: str,
        client_id: str,
        queues: Iterable[MessageQueue],
        timeout: int,
    ) -> set[MessageQueue]:
        """Code 41."""
        queues = list(queues)
        answer = self._ask(
            "lock", address, address, consumer_group, client_id, all_told(queues), timeout
        )
        refused = (
            list(map(told, queues)) if answer.get("refuses all") else answer.get("refused", ())
        )
        locked = {queue for queue in queues if told(queue) not in refused}
        return locked | set(map(read, answer.get("extra", ())))

    def unlock_batch(
        self,
        address: str,
        consumer_group: str,
        client_id: str,
        queues: Iterable[MessageQueue],
        oneway: bool,
    ) -> None:
        """Code 42."""
        line = (consumer_group, client_id, all_told(queues), oneway)
        self._ask("unlock", address, address, *line, oneway=oneway)

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
        line = (topic, consumer_group, client_id, strategy_name, model.value)
        answer = self._ask("assignment", f"{topic} {consumer_group}", address, *line)
        found = answer["body"]["messageQueueAssignments"]
        if found is None:
            return None
        return [
            QueueAssignment(of_json(one["messageQueue"]), MessageRequestMode[one["mode"]])
            for one in found
        ]

    def query_offset(self, address: str, consumer_group: str, queue: MessageQueue) -> int:
        """Code 14."""
        answer = self._ask(
            "stored", f"{consumer_group} {told(queue)}", address, consumer_group, told(queue)
        )
        return int(answer["offset"])

    def update_offset(
        self, address: str, consumer_group: str, queue: MessageQueue, offset: int
    ) -> None:
        """Code 15."""
        self._ask(
            "commit", address, address, consumer_group, told(queue), offset, True, oneway=True
        )

    def max_offset(self, address: str, queue: MessageQueue) -> int:
        """Code 30."""
        return int(self._ask("max", str(told(queue)), address, told(queue))["offset"])

    def search_offset(self, address: str, queue: MessageQueue, timestamp: int) -> int:
        """Code 29."""
        return int(self._ask("search", str(told(queue)), address, told(queue), timestamp)["offset"])


def of_json(queue: dict[str, Any] | None) -> MessageQueue | None:
    """A queue as RocketMQ writes it in JSON."""
    return (
        None
        if queue is None
        else MessageQueue(queue["topic"], queue["brokerName"], queue["queueId"])
    )


def route(body: dict[str, Any]) -> TopicRouteData:
    """A route as RocketMQ writes it in JSON."""
    mapping = {
        broker: TopicQueueMappingInfo(
            info["bname"],
            info["totalQueues"],
            info["scope"],
            info["epoch"],
            {int(logical): physical for logical, physical in info["currIdMap"].items()},
        )
        for broker, info in body.get("topicQueueMappingByBroker", {}).items()
    }
    return TopicRouteData(
        tuple(
            QueueData(one["brokerName"], one["readQueueNums"], one["writeQueueNums"], one["perm"])
            for one in body["queueDatas"]
        ),
        tuple(
            BrokerData(
                one["brokerName"],
                {int(key): address for key, address in one["brokerAddrs"].items()},
            )
            for one in body["brokerDatas"]
        ),
        mapping,
    )


Listener = Callable[[str, Any, Any], None]


def listener(world: World, group: str, kind: str | None) -> Listener | None:
    """Who hears of changed queues."""

    def heard(topic: str, mq_all: Any, mq_divided: Any) -> None:
        world.see("listener", group, topic, all_told(mq_all), all_told(mq_divided))
        if kind == "throws":
            raise RuntimeError("told to throw")

    return None if kind is None else heard
