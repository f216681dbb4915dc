"""A child forked while threads compute on a fleet has nothing to wait for: fleets have no locks."""

import os
import threading

import pytest
from interpreter import run_python

from rmqalloc._lazy import lazy_property

# A thread is held up in the middle of computing one property, the process forks, and the child reads that property of
# another fleet, then all others: a lock held over the computation would be one that the child never gets.
_FORK_IN_THE_MIDDLE = """
import os, signal, threading, warnings
from rmqalloc import Fleet, strategy
from rmqalloc.fleet import {module} as module

thread_is_in, go_on = threading.Event(), threading.Event()
compute = module.{function}

def held_up(*given):
    if threading.current_thread() is not threading.main_thread():
        thread_is_in.set()
        go_on.wait(60)
    return compute(*given)

module.{function} = held_up
groups = [(f"g{{i}}", "t", [("b", q) for q in range(5)], [f"c{{i}}", "x", "x"]) for i in range(3)]

def read():
    return Fleet.from_groups(groups).{path}

thread = threading.Thread(target=read)
thread.start()
assert thread_is_in.wait(30)
warnings.simplefilter("ignore", DeprecationWarning)  # later Pythons warn of just this
child = os.fork()
if not child:
    signal.alarm(120)  # ends a child that hangs
    read()
    fleet = Fleet.from_groups(groups).sorted()
    answers = [strategy(name).assign_fleet(fleet, threads=2) for name in ("AVG", "CONSISTENT_HASH")]
    os._exit(0 if [answer.size for answer in answers] == [15, 15] else 1)
status = os.waitpid(child, 0)[1]
go_on.set()
thread.join()
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    ("module", "function", "path"),
    [
        ("_fleet", "unit_sizes", "n_queues"),
        ("_fleet", "offsets_of", "queue_offsets"),
        ("_lists", "lengths_of", "queue_lists.queue_route"),
        ("_lists", "list_positions", "client_lists.first"),
    ],
)
def test_a_child_forked_while_a_thread_computes_does_not_hang(module, function, path):
    assert run_python(_FORK_IN_THE_MIDDLE.format(module=module, function=function, path=path)) == ["0"]


class _Slow:
    """Every reader waits in the middle of the property until all are there."""

    def __init__(self, readers):
        self.all_in, self.made = threading.Barrier(readers), []

    @lazy_property
    def value(self):
        """A value."""
        self.all_in.wait(30)
        self.made.append(object())
        return self.made[-1]


def test_threads_that_read_a_property_at_once_get_one_value_and_wait_for_nobody():
    slow, seen = _Slow(4), []
    threads = [threading.Thread(target=lambda: seen.append(slow.value)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(slow.made) == 4
    assert len(set(map(id, seen))) == 1
    assert slow.value is seen[0]
    assert isinstance(_Slow.value, lazy_property)
    assert _Slow.value.__doc__ == "A value."
