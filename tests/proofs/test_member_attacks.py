"""The proof of hostile servers sees a message that is lost, a stop, and a turn that is too long."""

import asyncio
import time

import pytest
from fuzz import member
from fuzz.member import Judge, TimedSelector

from rmqalloc.remoting.message import MessageReader

KEY = ("beside", "broker-a", 0)


def pulled(judge, offset, following, whole=None, code=0):
    """Pull at an offset, and let it be answered."""
    pull = judge.pulls(KEY, offset)
    pull.code, pull.following = code, following
    pull.whole = frozenset(range(offset, following) if whole is None else whole)
    return pull


def hears(judge, *offsets):
    for offset in offsets:
        judge.hears("beside", member.text_of(KEY, offset).decode())


def test_what_goes_well_is_no_fault():
    judge = Judge()
    pulled(judge, 10, 14, whole=[10, 12])
    hears(judge, 10, 12)
    judge.commits(KEY, 13)
    pulled(judge, 14, 15)
    pulled(judge, 14, 15)  # again, after an answer that did not arrive
    hears(judge, 14)
    judge.pulls(KEY, 15)
    judge.commits(KEY, 15)
    assert not judge.faults and judge.n_due == 3


def test_a_message_that_is_not_heard_before_its_offset_is_stored_is_a_fault():
    judge = Judge()
    pulled(judge, 10, 14)
    hears(judge, 10, 11, 13)
    judge.pulls(KEY, 14)
    assert not judge.faults
    judge.commits(KEY, 14)
    assert judge.faults == [f"{KEY}: 14 is stored, and 12 is not consumed"]


def test_a_changed_message_is_none_that_is_heard():
    judge = Judge()
    pulled(judge, 10, 11)
    judge.hears("beside", member.text_of(KEY, 10).decode().replace("/10 ", "/11 "))
    judge.pulls(KEY, 11)
    assert judge.states[KEY].due == {10}


@pytest.mark.parametrize("offset", [9, 15, 99])
def test_a_pull_that_goes_on_elsewhere_is_a_fault(offset):
    judge = Judge()
    pulled(judge, 10, 14)
    judge.pulls(KEY, offset)
    assert len(judge.faults) == 1 and f"is pulled at {offset} after" in judge.faults[0]


def test_a_broker_may_move_a_queue():
    judge = Judge()
    pulled(judge, 10, 14)
    judge.pulls(KEY, 14)
    judge.says("beside", '{"offset": 99}')
    judge.commits(KEY, 99)
    judge.pulls(KEY, 99)
    assert not judge.faults and judge.n_forgiven == 4


def test_a_queue_may_begin_again_within_an_answer_that_it_did_not_get():
    judge = Judge()
    pulled(judge, 10, 14)
    judge.says("beside", '{"offset": 11}')
    judge.pulls(KEY, 11)
    judge.commits(KEY, 12)
    assert not judge.faults


def test_a_turn_of_the_loop_that_takes_long_is_seen():
    selector = TimedSelector()
    loop = asyncio.SelectorEventLoop(selector)

    async def run():
        await asyncio.sleep(0)
        end = time.thread_time() + 0.02
        while time.thread_time() < end:
            pass
        await asyncio.sleep(0)

    loop.run_until_complete(run())
    loop.close()
    assert selector.worst_cpu >= 0.02 and selector.n_turns > 1


def test_a_member_that_passes_good_messages_is_a_fault(monkeypatch):
    monkeypatch.setattr(member, "ENDS_WITHIN", 1.0)
    read = MessageReader.steps

    def lossy(self):
        yield from read(self)
        del self.messages[3:]

    monkeypatch.setattr(MessageReader, "steps", lossy)
    made = member.attacked(50, 3)
    assert any("is not consumed" in fault for fault in made.faults)


def test_a_queue_that_stops_is_a_fault(monkeypatch):
    monkeypatch.setattr(member, "ENDS_WITHIN", 1.0)
    read = MessageReader.__init__

    def stops(self, data, begin, end):
        if b"broker-a/0" in data:
            raise ZeroDivisionError
        read(self, data, begin, end)

    monkeypatch.setattr(MessageReader, "__init__", stops)
    made = member.attacked(50, 3)
    assert any("('beside', 'broker-a', 0) has stopped" in fault for fault in made.faults)
