"""Which server of a broker a queue is pulled from, and when it is not."""

import asyncio
from types import SimpleNamespace

import pytest

from rmqalloc import MessageQueue
from rmqalloc.client._pulled_queue import PulledQueue
from rmqalloc.client._pulling import OVER_LIMIT, WHILE_PAUSED, PullService
from rmqalloc.remoting import ClientError

QUEUE = MessageQueue("orders", "broker-a", 0)


class Client:
    """A client factory that knows addresses, at once or once it has asked."""

    def __init__(self, known, later=None):
        self.later = later or {}
        self.routes = SimpleNamespace(
            broker_addresses=known, broker_of=lambda queue: queue.broker_name
        )

    def update_topic_route(self, topic):
        self.routes.broker_addresses.update(self.later)


async def finish(_steps):
    pass


def server(suggested, known, later=None):
    service = PullService(
        SimpleNamespace(client_factory=Client(known, later)), None, finish, None, 32, 0, 2_000, None
    )
    if suggested is not None:
        service._suggested[QUEUE] = suggested
    return asyncio.run(service._server(QUEUE))


@pytest.mark.parametrize(
    ("suggested", "found"),
    [
        (None, ("m", True)),
        (0, ("m", True)),
        (1, ("s1", False)),
        (3, ("s4", False)),
        (4, ("s4", False)),
        (9, ("m", True)),
    ],
)
def test_the_broker_suggests_and_the_next_id_or_the_first_stands_in(suggested, found):
    assert server(suggested, {"broker-a": {0: "m", 1: "s1", 4: "s4"}}) == found


def test_without_a_master_any_server_will_do():
    assert server(None, {"broker-a": {2: "s2", 1: "s1"}}) == ("s1", False)


def test_the_route_is_asked_for_once():
    assert server(None, {}, {"broker-a": {0: "m"}}) == ("m", True)
    with pytest.raises(ClientError, match=r"broker 'broker-a' of .* is unknown"):
        server(None, {}, {})


@pytest.mark.parametrize(
    ("n_messages", "n_bytes", "settings", "pause"),
    [
        (10, (4 << 20) - 1, {}, 0),
        (11, 0, {}, OVER_LIMIT),
        (1, 4 << 20, {}, OVER_LIMIT),
        (1, 0, {"paused": True}, WHILE_PAUSED),
        (1, 0, {"span": 6}, OVER_LIMIT),
        (1, 0, {"span": 6, "orderly": True}, 0),
    ],
)
def test_a_queue_is_pulled_while_no_limit_is_passed(n_messages, n_bytes, settings, pause):
    limits = {
        "pull_threshold_for_queue": 10,
        "pull_threshold_size_for_queue": 3,
        "paused": False,
        "orderly": False,
    }
    service = PullService(SimpleNamespace(**limits | settings), None, finish, None, 32, 0, 5, None)
    queue = PulledQueue(now=0)
    queue.put(
        [
            SimpleNamespace(queue_offset=offset, raw_body=b"")
            for offset in (0, settings.get("span", 5))
        ]
    )
    queue.add_messages(n_messages - 2, n_bytes)
    assert service._held_back(queue) == pause
