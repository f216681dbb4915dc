"""What a type checker makes of the public names; checked by mypy in tests/house/test_typing.py,
never run.

A line that must not pass has ``# type: ignore[code]``: mypy reports one that is not needed.
"""

# mypy: disable-error-code=empty-body

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from rmqalloc import (
    Assignment,
    Fleet,
    MessageQueue,
    SharedAssignment,
    Strategy,
    sort_queues,
    strategy,
)
from rmqalloc.client import (
    CONSUME_SUCCESS,
    ConsumeSuccess,
    Listener,
    Message,
    PushConsumer,
    ReconsumeLater,
    SuspendCurrentQueue,
)
from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.scenarios import Scenario
from rmqalloc.strategies import (
    Averagely,
    AveragelyByCircle,
    Config,
    ConfigByClient,
    ConsistentHash,
    MachineRoom,
    MachineRoomNearby,
    Pop,
)


@dataclass
class Mine:
    topic: str
    broker_name: str
    queue_id: int


Pair = tuple[str, str, int]


def literal_names(ids: list[str]) -> None:
    assert_type(strategy("AVG"), Averagely)
    assert_type(strategy("AVG_BY_CIRCLE"), AveragelyByCircle)
    assert_type(strategy("CONSISTENT_HASH", virtual_nodes=160), ConsistentHash)
    assert_type(strategy("CONSISTENT_HASH").virtual_nodes, int)
    assert_type(strategy("MACHINE_ROOM", machine_rooms=ids), MachineRoom)
    assert_type(strategy("CONFIG"), Config[Any])
    assert_type(strategy("POP", inner=strategy("AVG")), Pop[Averagely])


def wrong_parameters(mine: list[Mine], ids: list[str]) -> None:
    strategy("AVG", virtual_node=3)  # type: ignore[call-overload]
    strategy("CONSISTENT_HASH", virtual_node=3)  # type: ignore[call-overload]
    strategy("AVG", virtual_nodes=3).allocate("g", "c", mine, ids)  # type: ignore[attr-defined]
    strategy("CONSISTENT_HASH", virtual_nodes="3").virtual_nodes  # type: ignore[attr-defined]
    strategy("POP").assign(mine, ids)  # type: ignore[attr-defined]
    wrong: Strategy = strategy("MACHINE_ROOM", virtual_nodes=3)  # type: ignore[assignment]
    PlanSpec(wrong.get_name())


def own_queues(
    mine: list[Mine], tuples: Sequence[Pair], plain: tuple[MessageQueue, ...], ids: list[str]
) -> None:
    assert_type(sort_queues(mine), list[Mine])
    assert_type(strategy("AVG").allocate("g", "c", mine, ids), list[Mine])
    assert_type(strategy("AVG_BY_CIRCLE").allocate("g", "c", tuples, ids), list[Pair])
    assert_type(strategy("CONSISTENT_HASH").allocate("g", "c", plain, ids), list[MessageQueue])
    assert_type(strategy("MACHINE_ROOM").allocate("g", "c", mine, ids), list[Mine])
    assert_type(strategy("CONSISTENT_HASH").assign(mine, ids, sort=True), Assignment[Mine])
    assert_type(strategy("AVG").assign(mine, ids).owners, NDArray[np.int32])
    assert_type(strategy("AVG").assign(mine, ids).queues_of("c"), list[Mine])
    assert_type(strategy("AVG").assign(tuples, ids).unowned, list[Pair])
    strategy("AVG").allocate("g", "c", mine, ids)[0].no_such_field  # type: ignore[attr-defined]
    strategy("AVG").allocate("g", None, mine, ids)  # type: ignore[arg-type]
    strategy("AVG").assign(mine, [1, 2])  # type: ignore[list-item]


def shared_queues(mine: list[Mine], tuples: list[Pair], ids: list[str]) -> None:
    config = strategy("CONFIG", message_queues=mine)
    assert_type(config, Config[Mine])
    assert_type(config.allocate("g", "c", tuples, ids), list[Mine] | None)
    assert_type(config.assign(tuples, ids), SharedAssignment[Mine])
    len(config.allocate("g", "c", tuples, ids))  # type: ignore[arg-type]
    config.assign(tuples, ids).owners  # type: ignore[attr-defined]
    pop = strategy("POP", inner=strategy("AVG"), pop_share_queue_num=1)
    assert_type(pop.allocate("g", "c", mine, ids), list[Mine | MessageQueue])
    assert_type(pop.assign(mine, ids), SharedAssignment[Mine | MessageQueue])
    listing = strategy("POP", inner=config, pop_share_queue_num=1)
    assert_type(listing.allocate("g", "c", tuples, ids), list[Pair | Mine | MessageQueue])
    assert_type(listing.assign(tuples, ids), SharedAssignment[Pair | Mine | MessageQueue])
    by_client = ConfigByClient({"c": tuples})
    assert_type(by_client.allocate("g", "c", mine, ids), list[MessageQueue] | None)
    assert_type(by_client.assign(mine, ids), Assignment[Mine])


def rooms(
    mine: list[Mine], ids: list[str], room: Mapping[str, str], ask: Callable[[str], str | None]
) -> None:
    nearby = strategy(
        "MACHINE_ROOM_NEARBY", inner=strategy("AVG"), broker_room=room, client_room=ask
    )
    assert_type(nearby, MachineRoomNearby[Averagely])
    assert_type(nearby.inner, Averagely)
    assert_type(nearby.allocate("g", "c", mine, ids), list[Mine])
    assert_type(nearby.assign(mine, ids), Assignment[Mine])
    sharing = strategy("MACHINE_ROOM_NEARBY", inner=strategy("CONFIG", message_queues=mine))
    assert_type(sharing.assign(mine, ids), SharedAssignment[Any])
    strategy("MACHINE_ROOM_NEARBY", inner="AVG").inner  # type: ignore[attr-defined]


def any_name(name: str, mine: list[Mine], ids: list[str], params: dict[str, Any]) -> None:
    made = strategy(name, **params)
    assert_type(made, Strategy)
    assert_type(made.assign_fleet(Fleet.from_groups([])), NDArray[np.int32])
    made.assign(mine, ids).owners  # type: ignore[union-attr]
    assert_type(made.allocate("g", "c", mine, ids), list[Mine])
    assert_type(strategy(name).allocate("g", "c", mine, ids), list[Mine])


def specs(read: tuple[Scenario, ...]) -> None:
    one_leaves = {"name": "2 leaves", "changes": [{"remove_clients": {"ids": ["2"]}}]}
    assert_type(PlanSpec("AVG", scenarios=[one_leaves]).scenarios, tuple[Scenario, ...])
    assert_type(PlanSpec("AVG", scenarios=read, best_by=["moved"]).best_by, tuple[str, ...])
    PlanSpec("AVG", scenarios=["2 leaves"])  # type: ignore[list-item]
    PlanSpec(160)  # type: ignore[arg-type]


# Listeners of a consumer.


def plain(messages: list[Message]) -> None: ...
def of_a_sequence(messages: Sequence[Message]) -> ReconsumeLater | None: ...
def of_an_iterable(messages: Iterable[Message]) -> ConsumeSuccess: ...
async def waiting(messages: list[Message]) -> None: ...
async def answering(messages: Sequence[Message]) -> SuspendCurrentQueue | ConsumeSuccess: ...
def with_rate(rate: float, messages: list[Message]) -> None: ...
async def waiting_with_rate(messages: list[Message], *, rate: float) -> None: ...


class Bills:
    def __call__(self, messages: Sequence[Message]) -> None: ...
    def bill(self, messages: list[Message]) -> ConsumeSuccess | ReconsumeLater: ...
    async def bill_later(self, messages: list[Message]) -> None: ...


class AsyncBills:
    async def __call__(self, messages: list[Message]) -> None: ...


def listeners(kept: list[Message]) -> None:
    PushConsumer("g", listener=plain)
    PushConsumer("g", listener=of_a_sequence)
    PushConsumer("g", listener=of_an_iterable)
    PushConsumer("g", listener=waiting)
    PushConsumer("g", listener=answering)
    PushConsumer("g", listener=Bills())
    PushConsumer("g", listener=Bills().bill)
    PushConsumer("g", listener=Bills().bill_later)
    PushConsumer("g", listener=AsyncBills())
    PushConsumer("g", listener=partial(with_rate, 0.19))
    PushConsumer("g", listener=partial(waiting_with_rate, rate=0.19))
    PushConsumer("g", listener=lambda messages: None)
    PushConsumer("g", listener=lambda messages: CONSUME_SUCCESS if messages[0].keys else None)
    PushConsumer("g", listener=kept.extend)
    PushConsumer("g", listener=print)
    named: Listener = waiting
    PushConsumer("g", listener=named)


def of_one(message: Message) -> None: ...
def of_two(messages: list[Message], context: object) -> None: ...
def of_bytes(messages: list[bytes]) -> None: ...
def truth(messages: list[Message]) -> bool: ...
def text(messages: list[Message]) -> str: ...
async def waiting_truth(messages: list[Message]) -> bool: ...
def generating(messages: list[Message]) -> Iterator[None]: ...
def generating_later(messages: list[Message]) -> AsyncIterator[None]: ...


def wrong_listeners() -> None:
    PushConsumer("g", listener=of_one)  # type: ignore[arg-type]
    PushConsumer("g", listener=of_two)  # type: ignore[arg-type]
    PushConsumer("g", listener=of_bytes)  # type: ignore[arg-type]
    PushConsumer("g", listener=truth)  # type: ignore[arg-type]
    PushConsumer("g", listener=text)  # type: ignore[arg-type]
    PushConsumer("g", listener=waiting_truth)  # type: ignore[arg-type]
    PushConsumer("g", listener=generating)  # type: ignore[arg-type]
    PushConsumer("g", listener=generating_later)  # type: ignore[arg-type]
    PushConsumer("g", listener=lambda messages: True)  # type: ignore[arg-type]
    PushConsumer("g", listener=None)  # type: ignore[arg-type]
    PushConsumer("g")  # type: ignore[call-arg]
    PushConsumer("g", listner=plain)  # type: ignore[call-arg]
    PushConsumer("g", plain)  # type: ignore[call-arg]
    PushConsumer("g", listener=plain, consume_concurrently="20")  # type: ignore[arg-type]
    PushConsumer("g", listener=plain, strategy="AVG")  # type: ignore[arg-type]


async def running(consumer: PushConsumer) -> None:
    async with consumer as same:
        assert_type(same, PushConsumer)
    assert_type(await consumer.seek("orders", datetime.now(UTC)), dict[MessageQueue, int])
    await consumer.seek("orders", 1_700_000_000_000)  # type: ignore[arg-type]
    assert_type(consumer.metrics().lag, Mapping[MessageQueue, int | None])
    consumer.metrics().consumed = 3  # type: ignore[misc]
