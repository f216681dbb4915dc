"""Ctrl-C during work that takes long: kernels hear nothing of it, so no call of one may take long."""

import os
import subprocess
import sys
import threading
import time
from itertools import count, cycle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tied
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from interpreter import PLACES

from rmqalloc import Fleet, strategy
from rmqalloc.evaluation import parquet_plan, unit_files
from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.fleet import columns
from rmqalloc.fleet.columns import Strings, distinct_rows
from rmqalloc.strategies import consistent_hash, hashing
from rmqalloc.strategies._parallel import in_threads

PATIENCE = 300
"""Seconds, far more than anything here takes."""

# --- The parts of a huge ring give what the whole gives ---


@examples(60)
@given(st.data(), st.integers(1, 40), st.sampled_from([1, 3, 7, 64]), st.booleans())
def test_a_ring_in_steps_is_the_ring(data, virtual_nodes, step, with_repeats):
    """Lists that several units share, huge ones beside small ones, repeated ids, one client of more
    points than a step has.
    """
    ids = st.lists(
        st.sampled_from([f"c{i}" for i in range(9)]),
        min_size=1,
        max_size=6,
        unique=not with_repeats,
    )
    lists = data.draw(st.lists(ids, min_size=1, max_size=3))
    groups = [
        (
            f"g{i}",
            f"t{i % 2}",
            [(f"b{q % 2}", q) for q in range(data.draw(st.integers(1, 9)))],
            data.draw(st.sampled_from(lists)),
        )
        for i in range(data.draw(st.integers(1, 5)))
    ]
    fleet, ring = (
        Fleet.from_groups(groups),
        strategy("CONSISTENT_HASH", virtual_nodes=virtual_nodes),
    )
    expected = ring.assign_fleet(fleet)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashing, "SMALL", 0)
        patch.setattr(hashing, "STEP", step)
        patch.setattr(consistent_hash, "STEP", step)
        for huge in (0, 20):
            patch.setattr(hashing, "HUGE", huge)
            for threads in (1, 2):
                patch.setattr(hashing, "LEAST_HASHES", 1)
                assert np.array_equal(ring.assign_fleet(fleet, threads=threads), expected)
        queues, ids = [("t0", *queue) for queue in groups[0][2]], groups[0][3]
        assert np.array_equal(ring.assign(queues, ids).owners, expected[: len(queues)])


def test_queues_that_crowd_take_the_other_way_in_steps_too(monkeypatch):
    queues = [("b", i) for i in range(200)]
    fleet = Fleet.from_groups([("g", "t", queues, [f"c{i}" for i in range(30)])])
    ring = strategy(
        "CONSISTENT_HASH",
        virtual_nodes=9,
        hash_function=lambda key: len(key) + key.encode()[-2] % 3,
    )
    expected = ring.assign_fleet(fleet)
    monkeypatch.setattr(hashing, "HUGE", 10)
    assert np.array_equal(ring.assign_fleet(fleet, out=np.full(200, -7, np.int32)), expected)


def test_no_call_of_a_kernel_hashes_more_than_a_step(monkeypatch):
    calls = []

    class Counted:
        def __getattr__(self, name):
            def call(*given):
                calls.append(
                    (name, given[-1].size if name in ("points", "queues") else given[0].size)
                )
                return getattr(original, name)(*given)

            return call

    original = hashing.md5
    monkeypatch.setattr(hashing, "md5", Counted())
    monkeypatch.setattr(hashing, "STEP", 1000)
    monkeypatch.setattr(consistent_hash, "STEP", 1000)
    monkeypatch.setattr(hashing, "HUGE", 4000)
    queues = [("t", "b", i) for i in range(3000)]
    strategy("CONSISTENT_HASH", virtual_nodes=2500).assign(queues, ["x", "y", "z"])
    assert max(size for _, size in calls) == 1000
    assert [name for name, _ in calls].count("points") == 9
    assert [name for name, _ in calls].count("queues") == 3


def test_rows_are_told_apart_in_steps(monkeypatch):
    rows = Strings.from_list([f"{i * i % 7919}" for i in range(5000)])
    expected = [each.tolist() for each in distinct_rows(rows.values, rows.offsets)]
    for at_once in (16, 1600, 4992, 5008):
        monkeypatch.setattr(columns, "_AT_ONCE", at_once)
        assert [each.tolist() for each in distinct_rows(rows.values, rows.offsets)] == expected


# --- Threads stop, too ---


def test_the_others_stop_between_steps_when_one_part_fails():
    """Their steps have no end of their own."""
    begun, ended = threading.Barrier(3), []

    def work(start, stop):
        begun.wait(PATIENCE)
        try:
            for step in count():
                if start == 0 and step == 3:
                    raise KeyboardInterrupt
                time.sleep(0.001)
                yield
        finally:
            ended.append(start)

    with pytest.raises(KeyboardInterrupt):
        in_threads(work, [0, 1, 2, 3])
    assert sorted(ended) == [0, 1, 2]


def test_bulk_stops_with_the_batch_that_it_is_at(tmp_path, monkeypatch):
    """The batches of a file have no end of their own."""
    rows = [{"consumer_group": f"g{i}", "topic": "t", "brokers": [{"broker_name": "b", "read_queue_nums": 1}],
             "client_ids": ["c"]} for i in range(600)]  # fmt: skip
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in" / f"{name}.parquet")
    monkeypatch.setattr(unit_files, "ROWS_PER_BATCH", 2)
    monkeypatch.setattr(parquet_plan, "refuse_schema", lambda *_: None)  # it plans a row, too
    both, original = threading.Barrier(2), parquet_plan.plan_stream

    def endless(source, spec):
        is_first = both.wait(PATIENCE) == 0
        for number, batch in enumerate(cycle(original(source, spec))):
            if is_first and number == 20:
                raise KeyboardInterrupt
            time.sleep(0.002)
            yield batch

    monkeypatch.setattr(parquet_plan, "plan_stream", endless)
    with pytest.raises(KeyboardInterrupt):
        parquet_plan.plan_files(tmp_path / "in", tmp_path / "out", PlanSpec("AVG"), threads=2)
    assert not (tmp_path / "out").exists()


# --- A real Ctrl-C ---

_LONG = """
import os, signal, sys, threading, time
from rmqalloc import Fleet, strategy
threads, asked = int(sys.argv[1]), []
groups = [(f"g{i}", "t", [("b", q) for q in range(64)], [f"c{i}-{j}" for j in range(40)]) for i in range(threads)]
fleet, ring = Fleet.from_groups(groups), strategy("CONSISTENT_HASH", virtual_nodes=1_000_000)

def ask():
    while time.process_time() - begun < 0.5:
        time.sleep(0.01)
    asked.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)

begun = time.process_time()
threading.Thread(target=ask).start()
try:
    ring.assign_fleet(fleet, threads=threads)
except KeyboardInterrupt:
    print((time.process_time() - asked[0]) / threads)
else:
    print("done too soon")
"""


@pytest.mark.thorough
@pytest.mark.parametrize("threads", [1, 2])
def test_a_huge_ring_hears_of_ctrl_c(threads):
    """40,000,000 points take seconds of the processor, the answer a fiftieth; how busy the machine
    is does not matter.
    """
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, PLACES)),
        "RMQALLOC_ISA": "scalar",
    }
    command = [sys.executable, "-c", _LONG, str(threads)]
    with tied.popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        answered = process.communicate(timeout=PATIENCE)[0]
    assert float(answered) < 2
