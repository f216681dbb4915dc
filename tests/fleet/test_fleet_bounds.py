"""Units of very many queues: one bound whatever makes the fleet, and fleets that come to more than
an int32 counts.
"""

import numpy as np
import pyarrow as pa
import pytest

from rmqalloc import Fleet, FleetError, strategy
from rmqalloc.evaluation.batch_planning import ErrCode, PlanSpec, plan_batch, plan_stream
from rmqalloc.fleet import unit_sizes
from rmqalloc.model import MAX_PER_UNIT
from rmqalloc.scenarios import (
    AddBroker,
    AddClients,
    RemoveClients,
    Scenario,
    SetQueues,
    apply,
    ordered,
)

AVG = strategy("AVG")
MOST_OF_A_BROKER = 2**24


def brokers(n, last=MOST_OF_A_BROKER):
    """So many brokers, all full but for the last."""
    return [
        {"broker_name": f"b{i:05}", "read_queue_nums": last if i == n - 1 else MOST_OF_A_BROKER}
        for i in range(n)
    ]


def units(*rows, ids=("a", "b")):
    return pa.RecordBatch.from_pylist(
        [
            {"consumer_group": f"g{i}", "topic": "T", "brokers": row, "client_ids": list(ids)}
            for i, row in enumerate(rows)
        ]
    )


TOO_MANY = [(brokers(128), 2**31), (brokers(257), 257 * 2**24)]


def test_a_unit_may_have_as_many_queues_as_an_int32_counts():
    fleet = Fleet.from_arrow(units(brokers(128, last=2**24 - 1))).sorted()
    assert fleet.n_queues.tolist() == [2**31 - 1] == [MAX_PER_UNIT]
    assert fleet.queue_offsets.tolist() == [0, 2**31 - 1]


@pytest.mark.parametrize(("row", "n"), TOO_MANY)
def test_a_unit_of_more_is_refused_by_its_position(row, n):
    few = brokers(1, last=3)
    with pytest.raises(
        FleetError, match=rf"unit 1 .*the unit has {n} queues; at most 2147483647 can be assigned"
    ):
        Fleet.from_arrow(units(few, row))
    fleet = Fleet.from_arrow(units(few, row, few), on_error="report").sorted()
    assert [error.position for error in fleet.errors] == [1]
    assert fleet.n_queues.tolist() == [3, 0, 3]
    assert fleet.queue_lists.offsets[-1] == 3, "nothing is made of the queues that are too many"
    assert AVG.assign_fleet(fleet, on_error="report").tolist() == [0, 0, 1, 0, 0, 1]


@pytest.mark.parametrize(("row", "n"), TOO_MANY)
def test_a_plan_has_a_lower_bound_and_says_the_same_of_every_form_of_lists(row, n):
    batch = units(brokers(1, last=3), row)
    kinds = (pa.list_view, pa.large_list_view, pa.large_list)
    column = batch.column("brokers")
    wide = [pa.array(column.to_pylist(), kind(column.type.value_type)) for kind in kinds]
    for form in (column, *wide):
        rows = plan_batch(batch.set_column(2, "brokers", form), PlanSpec("AVG")).to_pylist()
        assert [row["err_code"] for row in rows] == [ErrCode.GOOD, ErrCode.TOO_LARGE]
        assert f"{n} queues; at most {2**24} can be planned" in rows[1]["err_msg"]


def test_a_list_of_one_length_is_counted_before_it_is_read():
    entry = pa.struct([("broker_name", pa.string()), ("read_queue_nums", pa.int32())])
    column = pa.array([brokers(2)], pa.list_(entry, 2))
    batch = units(brokers(2)).set_column(2, "brokers", column)
    [row] = plan_batch(batch, PlanSpec("AVG")).to_pylist()
    assert row["err_code"] == ErrCode.TOO_LARGE


@pytest.mark.thorough
def test_a_fleet_may_come_to_more_than_an_int32_counts():
    row = brokers(1)
    fleet = ordered(Fleet.from_arrow(units(*[row] * 300, ids=("a", "b", "c"))))
    assert fleet.queue_lists.offsets.size - 1 == 2, "one list and the empty one"
    assert fleet.queue_offsets.tolist() == [2**24 * i for i in range(301)]
    assert fleet.client_offsets[-1] == 900
    part = fleet.select(np.arange(299, 99, -1))
    assert part.queue_offsets[-1] == 200 * 2**24 > 2**31
    after = apply(Scenario("less", [RemoveClients(ids="a")]), fleet, AVG).fleet
    assert after.queue_offsets[-1] == 300 * 2**24
    more = apply(Scenario("more", [AddBroker("z", 2**16)]), fleet, AVG).fleet
    assert more.queue_offsets[-1] == 300 * (2**24 + 2**16)


def test_a_scenario_that_makes_a_unit_too_large_is_refused_before_its_queues_are_made():
    row = [{**one, "read_queue_nums": 1} for one in brokers(2**15)]
    fleet = ordered(Fleet.from_arrow(units(row, row)))
    twice = Scenario("all", [SetQueues(2**16)])
    with pytest.raises(FleetError, match=r"unit 0 .*'g0'.* has 2147483648 queues") as caught:
        apply(twice, fleet, AVG)
    assert [error.position for error in caught.value.errors] == [0, 1]
    only = Scenario("one", [SetQueues(2**16)], groups="g1")
    with pytest.raises(FleetError, match=r"1 of 2 units .*unit 1 .*'g1'"):
        apply(only, fleet, AVG)


def test_every_fleet_is_counted_by_the_same_bound(monkeypatch):
    monkeypatch.setattr(unit_sizes, "MAX_PER_UNIT", 3)
    three, four = [("b", i) for i in range(3)], [("b", i) for i in range(4)]
    fleet = Fleet.from_groups(
        [("g", "T", four, ["a"]), ("g", "T", three, ["a"] * 4), ("g", "T", three, ["a"] * 3)],
        "report",
    )
    assert [(error.position, error.reason) for error in fleet.errors] == [
        (0, "the unit has 4 queues; at most 3 can be assigned"),
        (1, "the unit has 4 clients; at most 3 can be assigned"),
    ]
    small = ordered(Fleet.from_groups([("g", "T", three, ["a", "b", "c"])]))
    grown = apply(Scenario("more", [AddClients(ids="d")]), small, AVG).fleet
    with pytest.raises(
        FleetError, match=r"unit 0 .*'g', topic 'T'.* has 4 clients; at most 3 .*Give fewer"
    ):
        grown.client_offsets  # noqa: B018 (reading it counts)


@pytest.mark.parametrize("name", ["brokers", "client_ids"])
def test_no_kernel_sees_a_list_of_more_entries(monkeypatch, name):
    monkeypatch.setattr(unit_sizes, "MAX_PER_UNIT", 3)
    small = {"broker_name": "b", "read_queue_nums": 0}
    row = [dict(small, broker_name=f"b{i}") for i in range(4 if name == "brokers" else 1)]
    batch = units([small], row, ids=("a", "b") if name == "brokers" else "abcd")
    with pytest.raises(ValueError, match=rf"of column {name} has 4 entries; at most"):
        Fleet.from_arrow(batch, on_error="report")


def test_owners_that_no_column_of_lists_holds_are_refused():
    full = units(brokers(1))
    many = [Scenario(f"s{i}", [RemoveClients(count=1)]) for i in range(128)]
    spec = PlanSpec("AVG", scenarios=many, output="owners")
    [piece] = plan_stream([full], spec)
    assert set(piece.column("err_code").to_pylist()) == {ErrCode.TOO_LARGE}
    assert (
        f"the unit may have {129 * 2**24} queues in all scenarios together"
        in piece.column("err_msg")[0].as_py()
    )
    with pytest.raises(
        ValueError, match=rf"may have {128 * 2**24} queues in all .*use plan_stream"
    ):
        plan_batch(units(*[brokers(1)] * 64), PlanSpec("AVG", scenarios=many[:1], output="owners"))
