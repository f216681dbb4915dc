"""Fleets side by side in threads, and in a child forked after use: the same answers as alone."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from interpreter import run_python
from thread_fleets import RULES, fleet_of

from rmqalloc import strategy

N_ROUNDS = 10


@pytest.mark.parametrize("name", RULES)
def test_two_threads_answer_as_one(name):
    rules = [strategy(name, **RULES[name]) for _ in range(2)]
    fleets = [fleet_of(7), fleet_of(11)]
    alone = [rule.assign_fleet(fleet) for rule, fleet in zip(rules, fleets, strict=True)]
    together = Barrier(2)

    def work(i):
        together.wait(timeout=300)
        return [rules[i].assign_fleet(fleets[i]) for _ in range(N_ROUNDS)]

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(work, range(2)))
    assert not np.array_equal(alone[0], alone[1])
    for i in range(2):
        assert all(np.array_equal(answer, alone[i]) for answer in answers[i])


@pytest.mark.parametrize("name", RULES)
def test_threads_share_one_fleet_and_one_rule(name):
    rule, fleet = strategy(name, **RULES[name]), fleet_of(5)
    alone = rule.assign_fleet(fleet)
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda _: rule.assign_fleet(fleet), range(N_ROUNDS)))
    assert alone.max() > 0
    assert all(np.array_equal(answer, alone) for answer in answers)


FORK = """
import os, signal, warnings
warnings.simplefilter("ignore")  # Python 3.12 warns of any fork beside threads, which is the point here
from concurrent.futures import ThreadPoolExecutor
from rmqalloc import strategy
from thread_fleets import RULES, fleet_of

fleet = fleet_of(7)
rules = [strategy(name, **RULES[name]) for name in RULES]

def answer():
    return [rule.assign_fleet(fleet).tobytes() for rule in rules]

with ThreadPoolExecutor(2) as pool:
    before = list(pool.map(lambda _: answer(), range(2)))
child = os.fork()
if child == 0:
    signal.alarm(120)
    os._exit(0 if answer() == before[0] else 7)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print({0: "same", 7: "different"}.get(status, status), "same" if answer() == before[1] else "different")
"""


def test_a_forked_child_answers_as_its_parent():
    """Spark's Python daemon forks after import; a thread pool that does not survive that would hang
    here.
    """
    assert run_python(FORK) == ["same", "same"]
