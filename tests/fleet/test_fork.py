"""A child forked while threads compute on a fleet has nothing to wait for: fleets have no locks."""

import ast
import os
import threading

import pytest
from interpreter import run_python
from source_modules import MODULES

from rmqalloc.lazy import lazy_property

# A thread is held up in the middle of computing one property, the process forks, and the child
# reads that property of another fleet, then all others: a lock held over the computation would be
# one that the child never gets.
_FORK_IN_THE_MIDDLE = """
import os, signal, threading, warnings
from rmqalloc import Fleet, strategy
from rmqalloc.fleet import {module} as module

thread_is_in, go_on = threading.Event(), threading.Event()
compute = module.{function}

def held_up(*given):
    if threading.current_thread() is not threading.main_thread():
        thread_is_in.set()
        go_on.wait(300)
    return compute(*given)

module.{function} = held_up
groups = [(f"g{{i}}", "t", [("b", q) for q in range(5)], [f"c{{i}}", "x", "x"]) for i in range(3)]

def read():
    return Fleet.from_groups(groups).{path}

thread = threading.Thread(target=read)
thread.start()
assert thread_is_in.wait(300)
warnings.simplefilter("ignore", DeprecationWarning)  # later Pythons warn of just this
child = os.fork()
if not child:
    signal.alarm(300)  # ends a child that hangs
    read()
    fleet = Fleet.from_groups(groups).sorted()
    answers = [strategy(name).assign_fleet(fleet, threads=2) for name in ("AVG", "CONSISTENT_HASH")]
    os._exit(0 if [answer.size for answer in answers] == [15, 15] else 1)
status = os.waitpid(child, 0)[1]
go_on.set()
thread.join()
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.thorough(keep=1)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    ("module", "function", "path"),
    [
        ("fleet", "unit_sizes", "n_queues"),
        ("fleet", "offsets_of", "queue_offsets"),
        ("lists", "lengths_of", "queue_lists.queue_route"),
        ("lists", "list_positions", "client_lists.first"),
    ],
)
def test_a_child_forked_while_a_thread_computes_does_not_hang(module, function, path):
    assert run_python(_FORK_IN_THE_MIDDLE.format(module=module, function=function, path=path)) == [
        "0"
    ]


# What strategies need before they divide anything, by name.
_TAKES = """
rooms = {"broker_room": {"b": "r"}, "client_room": {f"c{i}": "r" for i in range(3)} | {"x": "r"}}
takes = {
    "CANARY": {"share": 0.5, "pattern": "c*"}, "MACHINE_ROOM": {"machine_rooms": ["r"]}, "POP": {"inner": strategy("AVG")},
    "MACHINE_ROOM_NEARBY": {"inner": strategy("AVG"), **rooms}, "CONFIG": {"message_queues": []},
    "MACHINE_ROOM_NEARBY_POOLED": rooms, "STICKY": {"owners": {("t", "b", 0): "x"}}, "ROTATED": {"inner": strategy("AVG")},
    "CONFIG_BY_CLIENT": {"message_queues": {}},
}
groups = [(f"g{i}", "t", [("b", q) for q in range(5)], [f"c{i}", "x", "x", ""]) for i in range(3)]
groups.append(("g", "t", [("b", 0)], ["\\ud83d\\ude00"]))  # the two halves of a character, which are joined by a codec
"""

# Every way to owners once; what is imported meanwhile is imported in whatever thread comes first.
_FIRST_CALLS = """
import sys
from rmqalloc import Fleet, strategy
from rmqalloc.strategies import STRATEGIES
loaded = set(sys.modules)
{takes}
for sort in (True, False):
    fleet = Fleet.from_groups(groups)
    fleet = fleet.sorted() if sort else fleet
    fleet.select([0, -1]).own_lists().sorted(), fleet.irregular_alone(), fleet.names_of(0)
    for name in STRATEGIES:
        made = strategy(name, **takes.get(name.partition("/")[0], {{}}))
        if not made.is_shared:
            made.assign_fleet(fleet, on_error="report", threads=2)
            made.assign([("t", "b", q) for q in range(5)], ["c0", "x"])
        elif hasattr(made, "share_fleet"):
            made.share_fleet(fleet, on_error="report")
print(*sorted(set(sys.modules) - loaded))
"""


def test_first_calls_import_nothing():
    assert run_python(_FIRST_CALLS.format(takes=_TAKES)) == []


# Without pandas, which imports much by itself where it is there. All verbs of rooms that are
# loaded, once each.
_FIRST_VERBS = """
import sys

class NoPandas:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, NoPandas())
from importlib import resources
import rmqalloc
from rmqalloc import audit, plans, report, rollouts, simulation
from rmqalloc.plans import diffs
from rmqalloc.rollouts import advice

cluster = rmqalloc.read("example:orders")
script = simulation.read_script(resources.files("rmqalloc.snapshot.examples") / "simulations/three-deaths.yaml")
scenarios = [{{"name": "more", "changes": [{{"scale_clients": {{"to": 6}}}}]}}]
loaded = set(sys.modules)
{verbs}
print(*sorted(set(sys.modules) - loaded))
"""

_VERBS = {
    "plan": "p = rmqalloc.plan(cluster, scenarios); [getattr(p, table) for table in p.TABLES], str(p)",
    "transition": "rmqalloc.plan(cluster, scenarios).transitions().num_rows",
    "compare": "str(rmqalloc.compare(cluster, ['AVG', 'CONSISTENT_HASH']))",
    "rollout": "str(rmqalloc.rollout.restart(cluster, ['*'], batch=1)), str(rmqalloc.rollout.broker(cluster, 'broker-a'))",
    "recommend": "str(rmqalloc.recommend(cluster))",
    "check": "str(rmqalloc.check(cluster))",
    "diff": "str(rmqalloc.diff(cluster, cluster))",
    "simulate": "str(rmqalloc.simulate(script))",
}


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("verb", _VERBS)
def test_first_verbs_import_nothing(verb):
    assert run_python(_FIRST_VERBS.format(verbs=_VERBS[verb])) == []


_SETS = {
    f"np.{name}" for name in ("unique", "isin", "setdiff1d", "intersect1d", "union1d", "setxor1d")
}

_ACERO_AHEAD = ("import pyarrow.acero", 'import_ahead("pyarrow.acero")')


def imports_when_asked(source):
    """Whether a module calls what imports something when first called, and does not import that
    itself.

    `numpy.unique` of numbers alone imports `numpy.ma`, and a table's `group_by` imports
    `pyarrow.acero`.
    """
    called = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    names = {ast.unparse(call.func) for call in called if not call.keywords}
    groups = any(name.endswith(".group_by") for name in (ast.unparse(call.func) for call in called))
    is_ahead = any(f"\n{line}" in source for line in _ACERO_AHEAD)
    return bool(names & _SETS) or (groups and not is_ahead)


@pytest.mark.parametrize(
    ("asks", "source"),
    [
        (True, "np.isin(a, b)"),
        (True, "np.unique(of[rows] // 2).tolist(), np.unique(b, return_index=True)"),
        (False, "np.unique(\n    of(rows)[f(g(1))], return_index=True\n)"),
        (True, "import pyarrow as pa\ntable.group_by(keys)"),
        (False, "import pyarrow as pa\nimport pyarrow.acero\ntable.group_by(keys)"),
        (False, 'import pyarrow as pa\nimport_ahead("pyarrow.acero")\ntable.group_by(keys)'),
    ],
)
def test_the_rule_sees_what_imports_when_asked(asks, source):
    assert imports_when_asked(source) == asks


@pytest.mark.thorough
def test_no_room_asks_what_imports_when_first_asked():
    """`distinct` and `among` answer the same as NumPy."""
    rooms = [name for name in MODULES if name.startswith("rmqalloc.")]
    assert [name for name in rooms if imports_when_asked(MODULES[name].read_text("utf-8"))] == []


# As above, but the thread is held up where it imports something, if it does; a child has its import
# locks then.
_FORK_IN_AN_IMPORT = """
import os, signal, sys, threading, warnings
{setup}
thread_is_in, go_on = threading.Event(), threading.Event()

class HeldUp:
    def find_spec(self, name, path=None, target=None):
        if threading.current_thread() is not threading.main_thread():
            thread_is_in.set()
            go_on.wait(300)

sys.meta_path.insert(0, HeldUp())

def ask():
    {call}

def ask_and_tell():
    ask()
    thread_is_in.set()

thread = threading.Thread(target=ask_and_tell)
thread.start()
assert thread_is_in.wait(300)
warnings.simplefilter("ignore", DeprecationWarning)  # later Pythons warn of just this
child = os.fork()
if not child:
    signal.alarm(300)  # ends a child that hangs
    ask()
    os._exit(0)
status = os.waitpid(child, 0)[1]
go_on.set()
thread.join()
print(os.waitstatus_to_exitcode(status))
"""

_THREE_GROUPS = """
from rmqalloc import Fleet, strategy
groups = [(f"g{i}", "t", [("b", q) for q in range(5)], [f"c{i}", "x", "x"]) for i in range(3)]
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("name", ["AVG", "CONSISTENT_HASH", "CONSISTENT_HASH_BOUNDED", "STABLE/1"])
def test_a_child_forked_while_a_thread_makes_its_first_assignment_does_not_hang(name):
    call = f'strategy("{name}").assign_fleet(Fleet.from_groups(groups).sorted(), threads=2)'
    assert run_python(_FORK_IN_AN_IMPORT.format(setup=_THREE_GROUPS, call=call)) == ["0"]


@pytest.mark.thorough(keep=1)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("verb", ["plan", "rollout", "transition", "recommend"])
def test_a_child_forked_while_a_thread_runs_its_first_verb_does_not_hang(verb):
    setup = _FIRST_VERBS.partition("loaded =")[0].format()  # the verb's room is loaded
    assert run_python(_FORK_IN_AN_IMPORT.format(setup=setup, call=_VERBS[verb])) == ["0"]


# The same without holding anything up: children are forked all through the first call.
_FORK_ALL_THROUGH = """
import os, signal, threading, time, warnings
from rmqalloc import Fleet, strategy

warnings.simplefilter("ignore", DeprecationWarning)
groups = [(f"g{i}", "t", [("b", q) for q in range(5)], [f"c{i}", "x", "x"]) for i in range(3)]

def assign():
    strategy("CONSISTENT_HASH").assign_fleet(Fleet.from_groups(groups).sorted(), threads=2)

thread, children = threading.Thread(target=assign), []
thread.start()
for _ in range(12):
    child = os.fork()
    if not child:
        signal.alarm(300)
        assign()
        os._exit(0)
    children.append(child)
    time.sleep(0.002)
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
thread.join()
print(*codes)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_children_forked_all_through_a_first_assignment_answer():
    assert run_python(_FORK_ALL_THROUGH) == ["0"] * 12


class _Slow:
    """Every reader waits in the middle of the property until all are there."""

    def __init__(self, readers):
        self.all_in, self.made = threading.Barrier(readers), []

    @lazy_property
    def value(self):
        """A value."""
        self.all_in.wait(300)
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
