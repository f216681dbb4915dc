"""The loop as a client's clock, and the driver that answers steps in it."""

import asyncio

import pytest
import simulated_time

from rmqalloc.client._asyncio_driver import AsyncioDriver, LoopClock
from rmqalloc.client.group_member import local_address
from rmqalloc.client.member_codes import MemberCode
from rmqalloc.rebalance import Lane, Request
from rmqalloc.remoting import RemotingError
from rmqalloc.remoting.read_codes import ReadCode


def test_actions_come_in_the_order_of_their_times_and_can_be_cancelled():
    async def run():
        clock, called, done = LoopClock(asyncio.get_running_loop()), [], asyncio.Event()
        clock.call_later(20, done.set)
        clock.call_later(10, lambda: called.append("later"))
        clock.call_later(0, lambda: called.append("at once"))
        clock.call_later(5, lambda: called.append("never")).cancel()
        clock.call_later(-5, lambda: called.append("overdue"))
        assert called == [], "nothing is called from within"
        await done.wait()
        return called

    assert asyncio.run(run()) == ["at once", "overdue", "later"]


class Broker:
    def __init__(self):
        self.gate = asyncio.Event()

    async def max_offset(self, address):
        if address == "gone":
            raise RemotingError("gone")
        await self.gate.wait()
        return 40


def asks(*addresses):
    found = []
    for address in addresses:
        try:
            found.append((yield Request("max_offset", (address,))))
        except RemotingError as error:
            found.append(str(error))
    return found


def test_answers_and_errors_are_sent_in():
    async def run():
        broker = Broker()
        broker.gate.set()
        return await AsyncioDriver(broker).finish(asks("a", "gone", "b"))

    assert asyncio.run(run()) == [40, "gone", 40]


def test_an_error_of_steps_reaches_who_waits():
    def steps():
        yield Request("max_offset", ("a",))
        raise ValueError("of the steps")

    async def run():
        broker, ended = Broker(), []
        broker.gate.set()
        driver = AsyncioDriver(broker)
        driver.drive(steps(), lambda result, error: ended.append(error))
        with pytest.raises(ValueError, match="of the steps"):
            await driver.finish(steps())
        return ended

    assert [str(error) for error in asyncio.run(run())] == ["of the steps"]


def test_a_lane_waits_and_another_does_not():
    async def run():
        broker, ended = Broker(), []
        driver = AsyncioDriver(broker)
        one, other = Lane(driver), Lane(driver)
        one.do(asks("a"), lambda result, _error: ended.append(result))
        one.do(asks("gone"), lambda result, _error: ended.append(result))
        other.do(asks("gone"), lambda result, _error: ended.append("other"))
        await asyncio.sleep(0.01)
        assert ended == ["other"]
        broker.gate.set()
        await asyncio.sleep(0.01)
        assert ended == ["other", [40], ["gone"]]

    simulated_time.run(run())


def test_closing_ends_what_is_under_way_and_lets_steps_clean_up():
    cleaned = []

    def steps():
        try:
            yield Request("max_offset", ("a",))
        finally:
            cleaned.append(True)

    async def run():
        driver = AsyncioDriver(Broker())
        driver.drive(steps(), lambda result, error: cleaned.append("reported"))
        await asyncio.sleep(0)
        await driver.close()

    asyncio.run(run())
    assert cleaned == [True]


def test_the_address_of_this_machine():
    assert asyncio.run(local_address(["no such host.invalid:1", "127.0.0.1:9876"])) == "127.0.0.1"
    assert asyncio.run(local_address(["bad"])) == "127.0.0.1"


def test_codes_of_a_member_have_javas_numbers_and_are_more_than_reads():
    """And nothing that sends messages, makes topics or changes settings."""
    assert sorted(MemberCode) == [11, 14, 15, 29, 30, 34, 35, 36, 38, 41, 42, 46, 105, 400]
    assert {code for code in MemberCode if code in ReadCode.__members__.values()} == {38, 105, 400}
