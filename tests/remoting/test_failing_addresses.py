"""When an address that failed is tried again, and what the log says of it."""

import itertools
import logging

import pytest

from rmqalloc.remoting import FailingAddresses
from rmqalloc.remoting.failing import NotAskedError

ADDRESS = "10.0.0.1:10911"


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self):
        self.now = 1_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def addresses(clock):
    return FailingAddresses(clock)


def outage(addresses, clock, seconds):
    """Fail at each try for a while; the times of the tries, from its begin."""
    begin, tries = clock.now, []
    while clock.now < begin + seconds:
        tries.append(clock.now - begin)
        addresses.check(ADDRESS)
        addresses.failed(ADDRESS, f"{ADDRESS}: the connection was closed")
        clock.now = addresses.failing()[ADDRESS].next_try
    return tries


def test_a_pause_is_a_third_of_the_outage_up_to_thirty_seconds(addresses, clock):
    tries = outage(addresses, clock, 600)
    pauses = [after - before for before, after in itertools.pairwise(tries)]
    for since, pause in zip(tries, pauses, strict=False):
        longest = min(max(since / 3, 0.2), 30)
        assert 0.8 * longest - 1e-9 <= pause <= longest + 1e-9
    of_longest = {round(pause, 6) for pause in pauses[-8:]}
    assert len(of_longest) > 1, "clients do not return all at once"
    assert sum(at < 20 for at in tries) <= 25


def test_requests_during_a_pause_fail_and_say_why(addresses, clock):
    addresses.failed(ADDRESS, f"{ADDRESS} did not answer within 3 s", began=clock.now - 30)
    text = rf"{ADDRESS} failed and gets no request for another 1\.\d s: did not answer within 3 s"
    with pytest.raises(NotAskedError, match=text) as caught:
        addresses.check(ADDRESS)
    assert 5 / 3 * 0.8 <= caught.value.wait <= 5 / 3, "the try may have waited for a frozen process"
    addresses.check("10.0.0.2:10911")
    clock.now += caught.value.wait
    addresses.check(ADDRESS)


def test_several_failures_at_once_are_one(addresses, clock):
    for _ in range(1_000):
        addresses.failed(ADDRESS, "closed")
    assert addresses.failing()[ADDRESS].n_tries == 1


def test_an_answer_makes_the_next_pause_the_shortest(addresses, clock):
    outage(addresses, clock, 100)
    addresses.answered(ADDRESS)
    assert addresses.failing() == {}
    addresses.check(ADDRESS)
    addresses.failed(ADDRESS, "closed")
    assert addresses.failing()[ADDRESS].next_try - clock.now <= 0.2


def test_the_log_has_one_line_a_minute(addresses, clock, caplog):
    caplog.set_level(logging.DEBUG)
    outage(addresses, clock, 300)
    first, *further = caplog.messages
    assert first == (
        f"{ADDRESS} failed: the connection was closed; it is tried again after pauses of up to 30 s"
    )
    assert 3 <= len(further) <= 5
    assert all("the last: the connection was closed" in line for line in further)
    addresses.answered(ADDRESS)
    addresses.answered(ADDRESS)
    assert caplog.messages[len(further) + 1 :] == [
        line for line in caplog.messages if "answers again" in line
    ]
    assert len(caplog.messages) == len(further) + 2


def test_one_that_comes_and_goes_is_logged_once_a_minute(addresses, clock, caplog):
    caplog.set_level(logging.INFO)
    for _ in range(590):
        addresses.failed(ADDRESS, "closed")
        clock.now += 0.1
        addresses.answered(ADDRESS)
    assert [line.split()[1] for line in caplog.messages] == ["failed:", "answers"]
