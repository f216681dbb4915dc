"""Threads that share a result: what it works out when first asked is one object for all, equal to
what one thread gets.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

import rmqalloc
from rmqalloc.evidence import known
from rmqalloc.lazy import lazy_property

N_THREADS = 8
SEED = rmqalloc.read("example:seed")
DOUBLE = rmqalloc.read("example:duplicate-id")
LEAVES = [{"name": "one leaves", "changes": [{"remove_clients": {"ids": ["10.0.0.11@1009"]}}]}]


@pytest.fixture(autouse=True)
def _often_switched():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def asked_of_plan(plan):
    tables = [plan.groups, plan.clients, plan.queues, plan.evidence]
    return [*tables, plan.inputs, plan.input_digest, plan.undo, plan.digest]


RESULTS = {
    "known": (lambda: known(SEED), lambda one: [one.snapshot, one.once(asked_of_known)]),
    "plan": (lambda: rmqalloc.plan(SEED, LEAVES), asked_of_plan),
    "plan from what is known": (lambda: rmqalloc.plan(known(SEED), LEAVES), asked_of_plan),
    "a snapshot planned by all": (lambda: SEED, lambda one: [rmqalloc.plan(one, LEAVES).digest]),
    "findings": (lambda: rmqalloc.check(DOUBLE), lambda one: [str(one), list(one.lines())]),
}


def asked_of_known(one):
    return [group.strategy for group in one.snapshot.groups]


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("name", RESULTS)
def test_threads_get_what_one_thread_gets(name):
    make, ask = RESULTS[name]
    alone = ask(make())
    for _ in range(3):
        shared, together = make(), Barrier(N_THREADS)

        def work(_, shared=shared, together=together):
            together.wait(timeout=300)
            return ask(shared)

        with ThreadPoolExecutor(N_THREADS) as pool:
            assert list(pool.map(work, range(N_THREADS))) == [alone] * N_THREADS


class Overtaken:
    """A question that two threads work out at once, the second of which ends when the first has its
    answer.
    """

    def __init__(self):
        self.both, self.first_done = Barrier(2), Event()

    def __call__(self, _one):
        place = self.both.wait(timeout=300)
        if place:
            assert self.first_done.wait(timeout=300)
        return object()

    def answers(self, ask):
        def work(_):
            answer = ask()
            self.first_done.set()
            return answer

        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(work, range(2)))


def test_what_was_kept_first_stays_of_questions_about_a_snapshot():
    question, one = Overtaken(), known(SEED)
    first, second = question.answers(lambda: one.once(question))
    assert first is second


def test_what_was_kept_first_stays_of_lazy_properties():
    question = Overtaken()
    kind = type("Kind", (), {"value": lazy_property(question)})
    shared = kind()
    first, second = question.answers(lambda: shared.value)
    assert first is second
