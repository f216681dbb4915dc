"""Lists that another thread changes meanwhile: an answer is that of one moment, an error is Java's
of an empty list.
"""

import sys
import time
from collections.abc import Iterator
from itertools import cycle, product
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest

from rmqalloc import MessageQueue, strategy
from rmqalloc._engine import preferences, ring_of_one, slots

SECONDS, PATIENCE = 0.4, 300
"""How long a test reads, and where that was not enough to find `LEAST_ANSWERS`, at most."""

LEAST_ANSWERS = 3
READERS = 3

QUEUES = [
    [MessageQueue("T", f"{'xy'[i % 2]}@broker-{i % 5}", i) for i in range(n)] for n in (0, 3, 400)
]
CLIENT_IDS = [[f"10.0.{n}.{i}@x" for i in range(n)] for n in (0, 2, 90)]
CURRENT = CLIENT_IDS[2][1]


def room(name: Any) -> str:
    return str(getattr(name, "broker_name", name)).partition("@")[0]


def nearby() -> Any:
    return strategy(
        "MACHINE_ROOM_NEARBY", inner=strategy("AVG"), broker_room=room, client_room=lambda one: "x"
    )


RULES = {
    "AVG": lambda: strategy("AVG"),
    "AVG_BY_CIRCLE": lambda: strategy("AVG_BY_CIRCLE"),
    "CONSISTENT_HASH": lambda: strategy("CONSISTENT_HASH"),
    "STABLE": lambda: strategy("STABLE"),
    "MACHINE_ROOM_NEARBY": nearby,
    "POP": lambda: strategy("POP", inner=strategy("AVG"), pop_share_queue_num=2),
}


@pytest.fixture(autouse=True)
def _often_switched() -> Iterator[None]:
    """Threads take turns as often as they can, where they have to take turns."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def answer(rule: Any, verb: str, queues: list[Any], client_ids: list[str]) -> str:
    """What a verb answers, as a text that can be looked up; an error by its type and text."""
    try:
        if verb == "allocate":
            return repr(rule.allocate("g", CURRENT, queues, client_ids))
        got = rule.assign(queues, client_ids)
        return repr(
            (getattr(got, "owners", np.empty(0)).tolist(), getattr(got, "mq_all", None), got)
        )
    except (ValueError, TypeError) as error:
        return repr(error)


def change(lists: list[tuple[list[Any], list[list[Any]]]], done: Event) -> None:
    """Let lists be now this and now that, all at once and by way of an empty one."""
    for step in cycle(range(6)):
        if done.is_set():
            return
        for shared, states in lists:
            if step % 2:
                shared[:] = states[step % 3]
            else:
                shared.clear()
                shared.extend(states[step % 3])


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("verb", ["allocate", "assign"])
@pytest.mark.parametrize("name", RULES)
def test_an_answer_is_that_of_one_moment(name: str, verb: str) -> None:
    rule = RULES[name]()
    expected = {answer(rule, verb, *state) for state in product(QUEUES, CLIENT_IDS)}
    queues, client_ids, done, found = list(QUEUES[1]), list(CLIENT_IDS[1]), Event(), set[str]()

    def read() -> None:
        while not done.is_set():
            found.add(answer(rule, verb, queues, client_ids))

    writer = Thread(target=change, args=([(queues, QUEUES), (client_ids, CLIENT_IDS)], done))
    threads = [writer, *(Thread(target=read) for _ in range(READERS))]
    for thread in threads:
        thread.start()
    latest = time.monotonic() + PATIENCE
    time.sleep(SECONDS)
    while len(found) < LEAST_ANSWERS and time.monotonic() < latest:
        time.sleep(SECONDS)
    done.set()
    for thread in threads:
        thread.join(timeout=PATIENCE)
    assert found <= expected, [text[:300] for text in found - expected]
    assert len(found) >= LEAST_ANSWERS


@pytest.mark.parametrize(
    ("kernel", "parameters"),
    [
        (ring_of_one.consistent_hash, (10,)),
        (slots.own_group, (b"-", b"", False)),
        (preferences.match_group, (False,)),
    ],
)
def test_the_kernel_of_one_group_takes_what_cannot_change(
    kernel: Any, parameters: tuple[Any, ...]
) -> None:
    queue, out = ("t", "b", 0), np.empty(1, np.int32)
    assert kernel((queue,), ("x",), *parameters, -1, out) == 1
    assert kernel((queue,), ("x",), *parameters, 0, None) == [queue]
    for queues, client_ids in (([queue], ("x",)), ((queue,), ["x"])):
        with pytest.raises(TypeError, match="expected tuple, got list"):
            kernel(queues, client_ids, *parameters, -1, out)
