"""The product's client half under the events of a sequence; ``ClientHalf.java`` and ``Member.java``
are its Java side.
"""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from little_cluster import START

from differential.client_world import (
    Dispatcher,
    SteadyRandom,
    StubRemoting,
    TwinRandom,
    World,
    all_told,
    listener,
    read,
    told,
)
from differential.compared_releases import Release
from rmqalloc import strategy
from rmqalloc.model import MessageQueue
from rmqalloc.rebalance import (
    ClientIdentity,
    Driver,
    LitePullConsumer,
    MQClientFactory,
    MQClientManager,
    ProcessQueue,
    PullConsumer,
    PushConsumer,
    ReadOffsetType,
    Remoting,
    Steps,
)
from rmqalloc.rebalance.driving import nothing
from rmqalloc.remoting import ConsumeFromWhere, MessageModel
from rmqalloc.strategies import Strategy

MEMORY = Path("/dev/shm")
"""Offset files are brought to the disk whenever they are written, which takes most of the time elsewhere."""
PULL_LATER = {"exception": 1_000, "paused": 1_000, "full": 50}


class OddStrategy(Strategy):
    """A strategy that no release has: ``THROWS``, ``NULL`` or ``ALL``."""

    def __init__(self, name: str, world: World) -> None:
        self._name = name
        self._world = world

    def get_name(self) -> str:
        """As given."""
        return self._name

    def allocate(self, consumer_group: str, current_cid: str, mq_all: Any, cid_all: Any) -> Any:
        """Throw, give None, or give all."""
        self._world.see("strategy", consumer_group, current_cid, all_told(mq_all), list(cid_all))
        if self._name == "THROWS":
            raise RuntimeError("told to throw")
        return None if self._name == "NULL" else list(mq_all)

    def _owners(self, fleet: Any, out: Any, threads: int = 1) -> None:
        raise NotImplementedError


class WaitingProcessQueue(ProcessQueue):
    """Lets time pass where the product only says how a wait for the consume lock would end."""

    __slots__ = ("_clock",)

    def __init__(self, clock: Any) -> None:
        super().__init__(clock.now())
        self._clock = clock

    def takes_consume_lock(self, now: int, wait: int) -> bool:
        """As in Java: until the lock is had, or for all of the wait; no timer runs in between."""
        taken = super().takes_consume_lock(now, wait)
        if self._consuming:
            until = self._consumed_until if taken else now + wait
            assert until is not None
            self._clock.jump(max(0, until - now))
        return taken


class ClientTwin:
    """Consumers by name over stubs."""

    def __init__(self, config: dict[str, Any], release: Release) -> None:
        self.world = World()
        self.profile = release.profile
        self._specs = config["consumers"]
        self._members: dict[str, Any] = {}
        self._leaving: list[Any] = []
        self._known: dict[str, dict[MessageQueue, ProcessQueue]] = {}
        self._directory: Path | None = None
        for given in config["answers"]:
            self.world.answers[given["what"], given["key"]] = given["answer"]
        if any(spec["model"] == "BROADCASTING" for spec in self._specs.values()):
            self._directory = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self._manager = MQClientManager(
            self.world.clock,
            self._connected,
            profile=release.profile,
            random=(SteadyRandom if config.get("delays") else TwinRandom)(config["seed"]),
            heartbeat_v2=any(spec["heartbeat v2"] for spec in self._specs.values()),
            pid=1,
            offset_directory=self._directory or Path(tempfile.gettempdir()) / "unused",
        )

    def _connected(self, factory: MQClientFactory) -> Remoting | Driver:
        """Requests are answered at once."""
        return StubRemoting(self.world, factory)

    def __del__(self) -> None:
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)

    def after(self, event: dict[str, Any]) -> Any:
        """Let one event happen, and say what is seen then."""
        try:
            answer = self._happen(event)
        except (TypeError, AttributeError, AssertionError, UnboundLocalError):
            raise
        except Exception:
            answer = "error"
        states = {
            name: state(member, self._known[name]) for name, member in sorted(self._members.items())
        }
        return {"answer": answer, "seen": self.world.seen(), "consumers": states}

    def _happen(self, event: dict[str, Any]) -> Any:
        kind = event["kind"]
        if kind == "answer":
            self.world.answers[event["what"], event["key"]] = event["answer"]
        elif kind == "advance":
            self.world.clock.run_for(event["ms"])
        elif kind == "jump":
            self.world.clock.jump(event["ms"])
        elif kind == "start":
            self._start(event["consumer"])
        else:
            member = self._members[event["consumer"]]
            if kind == "shutdown":
                self._leaving.append(member)
            if "queue" not in event:
                return OF_CONSUMER[kind](member, event)
            queue = chosen(member, event["queue"], kind == "pop")
            if kind in ("pull", "pop"):
                return finished(member, self._pull(member, queue, kind == "pop"))
            if kind in OF_PROCESS_QUEUE:
                return OF_PROCESS_QUEUE[kind](
                    self, member, member.rebalance.process_queue_table[queue], queue, event
                )
            return OF_QUEUE[kind](member, queue, event)
        return None

    def _start(self, name: str) -> None:
        self._members[name] = member = self._made(self._specs[name])
        member.rebalance.create_process_queue = lambda: WaitingProcessQueue(self.world.clock)
        self._known[name] = {}
        member.start()

    def _made(self, spec: dict[str, Any]) -> Any:
        settings: dict[str, Any] = {
            "identity": ClientIdentity(spec["ip"], spec["instance"], stream=spec["type"] != "push"),
            "strategy": self._strategy(spec),
            "message_model": MessageModel(spec["model"]),
        }
        heard = listener(self.world, spec["group"], spec["listener"])
        if spec["type"] != "pull":
            settings |= {
                "consume_from_where": ConsumeFromWhere(spec["from"]),
                "consume_timestamp": spec["timestamp"],
            }
        if spec["type"] == "push":
            names = [
                f"pull_threshold_{what}"
                for what in ("for_queue", "size_for_queue", "for_topic", "size_for_topic")
            ]
            settings |= dict(zip(names, spec["thresholds"], strict=True))
            settings |= {
                "orderly": spec["orderly"],
                "client_rebalance": spec["client rebalance"],
                "listener": heard,
            }
            consumer: Any = PushConsumer(
                self._manager, spec["group"], dispatcher=Dispatcher(self.world), **settings
            )
        elif spec["type"] == "pull":
            consumer = PullConsumer(self._manager, spec["group"], listener=heard, **settings)
        else:
            consumer = LitePullConsumer(self._manager, spec["group"], **settings)
        for topic in spec["topics"]:
            consumer.subscribe(topic, "*", heard) if spec["type"] == "lite" else consumer.subscribe(
                topic
            )
        if spec["type"] == "lite" and spec["assigned"]:
            consumer.assign(list(map(read, spec["assigned"])))
        return consumer

    def _strategy(self, spec: dict[str, Any]) -> Strategy:
        name = spec["strategy"]
        if name in ("THROWS", "NULL", "ALL"):
            return OddStrategy(name, self.world)
        return strategy(
            name, **({"message_queues": list(map(read, spec["given"]))} if name == "CONFIG" else {})
        )

    # --- What whoever pulls does with the product ---

    def _pull(self, member: Any, queue: MessageQueue, pops: bool) -> Steps[Any]:
        """``DefaultMQPushConsumerImpl.pullMessage`` and ``popMessage`` up to the request itself."""
        request = self.world.requests.get((pops, member.consumer_group, queue))
        if request is None:
            return "nothing to pull"
        process_queue = request.process_queue
        if not process_queue.dropped:
            if pops:
                process_queue.last_pop_timestamp = self.world.clock.now()
            else:
                process_queue.last_pull_timestamp = self.world.clock.now()
            later = yield from self._refused(member, request, pops)
            if later is None:
                self.world.see("pull", told(queue), -1 if pops else request.next_offset)
            elif pops:
                member.dispatcher.pop_later(request, later)
            else:
                member.dispatcher.pull_later(request, later)
        return None if pops else [request.next_offset, request.previously_locked]

    def _refused(self, member: Any, request: Any, pops: bool) -> Steps[int | None]:
        """Why a queue is pulled later, as a delay."""
        if member.state.name != "RUNNING":
            return PULL_LATER["exception"]
        if member.paused:
            return PULL_LATER["paused"]
        if not pops and request.process_queue.n_messages > member.pull_threshold_for_queue:
            return PULL_LATER["full"]
        if (
            not pops
            and member.orderly
            and not (yield from member.rebalance.prepare_ordered_pull(request))
        ):
            return PULL_LATER["exception"]
        if request.queue.topic not in member.rebalance.subscription_inner:
            return PULL_LATER["exception"]
        return None

    def consuming(self, process_queue: ProcessQueue, event: dict[str, Any]) -> None:
        """The listener works on messages."""
        lasts = event["for"]
        process_queue.begin_consuming(None if lasts is None else self.world.clock.now() + lasts)

    def _has_pools(self, member: Any) -> bool:
        """Whether it could consume: a shutdown ends that first."""
        return member.state.name == "RUNNING" and member not in self._leaving

    def lock_later(self, member: Any, queue: MessageQueue) -> None:
        """The lock was lost: try again, then consume."""
        if not self._has_pools(member):
            raise RuntimeError("its pools are shut down")

        def consume() -> None:
            if self._has_pools(member):
                self.world.see("consume", told(queue))

        def resume(delay: int) -> None:
            lane = member.orderly_service.lanes[0]
            due = self.world.clock.now() + delay
            self.world.clock.call_later(
                delay, lambda: lane.do(nothing(None), lambda _result, _error: consume(), due)
            )

        member.orderly_service.lock_later(queue, resume)


def chosen(member: Any, text: str, pops: bool) -> MessageQueue:
    """The queue that an event is about: ``#n`` is the n-th of those that the consumer has."""
    if not text.startswith("#"):
        return read(text)
    table = (
        member.rebalance.pop_process_queue_table if pops else member.rebalance.process_queue_table
    )
    return sorted(table)[int(text[1:]) % len(table)] if table else MessageQueue("T", "a", 0)


def finished(member: Any, steps: Steps[Any]) -> Any:
    """What a thread of the user's gets, or its error; None if it waits."""
    ended: list[tuple[Any, BaseException | None]] = []
    member.client_factory.driver.drive(steps, lambda result, error: ended.append((result, error)))
    result, error = ended[0] if ended else (None, None)
    if error is not None:
        raise error
    return result


def state(member: Any, known: dict[MessageQueue, ProcessQueue]) -> dict[str, Any]:
    """All that can be seen of a consumer; ``known`` are process queues of a lite pull consumer that
    were seen before.
    """
    rebalance = member.rebalance
    now = member.manager.clock.now()
    store = getattr(member, "offset_store", None)
    seen = {
        "state": member.state.name,
        "table": {
            told(queue): _process_queue(one, now)
            for queue, one in rebalance.process_queue_table.items()
        },
        "pop": {
            told(queue): [one.dropped, one.last_pop_timestamp - START, one.is_pull_expired(now)]
            for queue, one in rebalance.pop_process_queue_table.items()
        },
        "views": {
            topic: all_told(queues) for topic, queues in rebalance.topic_subscribe_info.items()
        },
        "subscriptions": {
            topic: [one.sub_string, one.sub_version]
            for topic, one in rebalance.subscription_inner.items()
        },
        "offsets": {}
        if store is None
        else {told(queue): offset for queue, offset in store.offsets().items()},
    }
    if isinstance(member, PushConsumer):
        seen["thresholds"] = [member.pull_threshold_for_queue, member.pull_threshold_size_for_queue]
        seen["paused"] = member.paused
    elif isinstance(member, LitePullConsumer):
        seen["assigned"] = {
            told(queue): _assigned(member, queue) for queue in member.assigned.queues()
        }
        known.update(
            (queue, member.assigned.state(queue).process_queue)
            for queue in member.assigned.queues()
        )
        seen["dropped"] = all_told(queue for queue, one in known.items() if one.dropped)
        seen["tasks"] = all_told(member.tasks if member.state.name == "RUNNING" else ())
    return seen


def _process_queue(one: ProcessQueue, now: int) -> list[Any]:
    times = [one.last_pull_timestamp - START, one.last_lock_timestamp - START, one.try_unlock_times]
    return [
        one.dropped,
        one.locked,
        *times,
        one.is_pull_expired(now),
        one.is_lock_expired(now),
        one.n_messages,
    ]


def _assigned(member: LitePullConsumer, queue: MessageQueue) -> list[Any]:
    one = member.assigned.state(queue)
    assert one is not None
    known = one.process_queue is member.rebalance.process_queue_table.get(queue)
    return [
        one.paused,
        one.pull_offset,
        one.consume_offset,
        one.seek_offset,
        one.process_queue.dropped,
        known,
    ]


def _pass(member: Any) -> bool | None:
    balanced = finished(member, member.client_factory.do_rebalance())
    return balanced if member.manager.profile.returns_balanced else None  # 4.9 says nothing


def _set_from_where(member: Any, event: dict[str, Any]) -> None:
    member.consume_from_where = ConsumeFromWhere(event["where"])


OF_CONSUMER: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "pass": lambda member, event: _pass(member),
    "try": lambda member, event: (
        finished(member, member.try_rebalance()) or not member.manager.profile.returns_balanced
    ),
    "notice": lambda member, event: member.client_factory.notify_consumer_ids_changed("any"),
    "active": lambda member, event: member.client_factory.channel_active(event["address"]),
    "persist": lambda member, event: finished(member, member.persist_consumer_offset()),
    "persist all": lambda member, event: finished(
        member, member.client_factory.persist_all_consumer_offset()
    ),
    "lock all": lambda member, event: finished(member, member.rebalance.lock_all()),
    "unlock all": lambda member, event: finished(
        member, member.rebalance.unlock_all(event["oneway"])
    ),
    "subscribe": lambda member, event: member.subscribe(event["topic"]),
    "unsubscribe": lambda member, event: member.unsubscribe(event["topic"]),
    "pause": lambda member, event: member.pause(),
    "resume": lambda member, event: member.resume(),
    "assign": lambda member, event: member.assign(list(map(read, event["queues"]))),
    "pause queues": lambda member, event: member.pause(list(map(read, event["queues"]))),
    "resume queues": lambda member, event: member.resume(list(map(read, event["queues"]))),
    "from where": _set_from_where,
    "shutdown": lambda member, event: member.shutdown(),
}

OF_QUEUE: dict[str, Callable[[Any, MessageQueue, dict[str, Any]], Any]] = {
    "update offset": lambda m, queue, event: m.offset_store.update_offset(
        queue, event["offset"], event["increase"]
    ),
    "freeze offset": lambda m, queue, event: m.offset_store.update_and_freeze_offset(
        queue, event["offset"]
    ),
    "read offset": lambda m, queue, event: finished(
        m, m.offset_store.read_offset(queue, ReadOffsetType[event["from"]])
    ),
    "remove offset": lambda m, queue, event: m.offset_store.remove_offset(queue),
    "persist offset": lambda m, queue, event: finished(m, m.offset_store.persist(queue)),
    "compute": lambda m, queue, event: finished(
        m, m.rebalance.compute_pull_from_where_with_exception(queue)
    ),
    "compute swallowing": lambda m, queue, event: finished(
        m, m.rebalance.compute_pull_from_where(queue)
    ),
    "lock": lambda m, queue, event: finished(m, m.rebalance.lock(queue)),
    "unlock": lambda m, queue, event: finished(m, m.rebalance.unlock(queue, event["oneway"])),
    "remove": lambda m, queue, event: finished(m, m.rebalance.remove_process_queue(queue)),
}

OF_PROCESS_QUEUE: dict[
    str, Callable[[ClientTwin, Any, ProcessQueue, MessageQueue, dict[str, Any]], Any]
] = {
    "consuming": lambda twin, m, one, queue, event: twin.consuming(one, event),
    "consumed": lambda twin, m, one, queue, event: one.end_consuming(),
    "messages": lambda twin, m, one, queue, event: one.add_messages(event["n"], 10 * event["n"]),
    "no messages": lambda twin, m, one, queue, event: one.remove_messages(
        one.n_messages, one.n_bytes
    ),
    "lock later": lambda twin, m, one, queue, event: twin.lock_later(m, queue),
}
