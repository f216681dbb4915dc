"""The array that owners are written to: nothing that the fleet reads may lie in it."""

import copy
import dataclasses
import pickle
import weakref

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqalloc import Fleet, strategy
from rmqalloc.fleet.checked_columns import replaced


def room_fleet():
    """Four units of three queues each, with machine rooms, after strategies have computed what they
    need.
    """
    rows = [
        {
            "consumer_group": f"a long name of group {i}",
            "topic": f"a long name of topic {i}",
            "queues": [
                {"broker_name": f"a long name of broker {q}", "queue_id": 7 - q} for q in range(3)
            ],
            "broker_rooms": ["hz", "sh", "hz"],
            "client_ids": [f"client {i} of many", "\U0001f600 twice", "\U0001f600 twice"],
            "client_rooms": ["hz", "sh", "sh"],
        }
        for i in range(4)
    ]
    fleet = Fleet.from_arrow(pa.Table.from_pylist(rows)).sorted()
    for name in ("MACHINE_ROOM_NEARBY", "CONSISTENT_HASH", "AVG"):
        inner = {"inner": strategy("AVG")} if "NEARBY" in name else {}
        strategy(name, **inner).assign_fleet(fleet)
    return fleet


def arrays(thing, path="fleet", seen=()):
    """Every array that can be reached from a fleet, by what one would write to get it."""
    if isinstance(thing, np.ndarray):
        yield path, thing
    elif hasattr(thing, "__dict__") and not any(thing is one for one in seen):
        for name, value in vars(thing).items():
            yield from arrays(value, f"{path}.{name}", (*seen, thing))
    elif isinstance(thing, tuple):
        for i, value in enumerate(thing):
            yield from arrays(value, f"{path}[{i}]", seen)


FLEET = room_fleet()
PATHS = [path for path, array in arrays(FLEET) if array.size]


def test_the_arrays_of_a_fleet_are_found():
    assert {
        "fleet.queue_offsets",
        "fleet.unit_topic",
        "fleet.queue_lists.route_offsets",
        "fleet.client_lists.slot_room",
    } <= {*PATHS}
    assert len(PATHS) > 25


def owners_at(address):
    """Room for the fleet's owners at an address, which need not be its own."""
    interface = {
        "data": (address, False),
        "shape": (int(FLEET.queue_offsets[-1]),),
        "typestr": "<i4",
        "version": 3,
    }
    return np.asarray(type("Memory", (), {"__array_interface__": interface})())


@pytest.mark.parametrize("path", PATHS)
def test_out_that_overlaps_any_array_of_a_fleet_is_refused(path):
    """By its first or by its last element."""
    array = dict(arrays(FLEET))[path]
    first, last = array.ctypes.data & ~3, (array.ctypes.data + array.nbytes - 1) & ~3
    for address in (last, first + 4 - 4 * int(FLEET.queue_offsets[-1])):
        with pytest.raises(
            ValueError, match=r"out overlaps an array of the fleet.*pass a fresh array"
        ):
            strategy("AVG").assign_fleet(FLEET, out=owners_at(address))


def test_what_a_fleet_shows_of_itself_is_no_place_to_write_to():
    fleet = Fleet.from_groups([("g", "t", [("b", 3), ("b", 4)], ["x", "y"])])
    for shown in (
        fleet.queue_lists.given_ids,
        fleet.queue_offsets.view(np.int32)[1:3],
        fleet.client_offsets.view(np.int32)[:2],
    ):
        before = shown.tolist()
        with pytest.raises(ValueError, match="out overlaps"):
            strategy("AVG_BY_CIRCLE").assign_fleet(fleet, out=shown, on_error="report")
        assert shown.tolist() == before


@given(st.integers(0, 14), st.integers(0, 14))
def test_out_is_refused_exactly_where_it_overlaps(at_units, at_out):
    """Three units' topics and nine owners somewhere in one array."""
    fleet = Fleet.from_groups(
        [(f"g{i}", "t", [("b", q) for q in range(3)], ["x", f"y{i}"]) for i in range(3)]
    )
    expected, memory = strategy("AVG").assign_fleet(fleet), np.zeros(24, np.int32)
    fleet = dataclasses.replace(fleet, unit_topic=memory[at_units : at_units + 3])
    out = memory[at_out : at_out + 9]
    if at_units < at_out + 9 and at_out < at_units + 3:
        with pytest.raises(ValueError, match="overlaps"):
            strategy("AVG").assign_fleet(fleet, out=out)
    else:
        for _ in range(2):  # the second time it is known
            assert strategy("AVG").assign_fleet(fleet, out=out) is out
            assert np.array_equal(out, expected)


def test_an_array_between_the_elements_of_another_does_not_overlap_it():
    fleet = Fleet.from_groups([(f"g{i}", "t", [("b", 0)], ["x"]) for i in range(2)])
    columns = np.zeros((2, 3), np.int32)
    fleet = replaced(fleet, unit_topic=columns[:, 0])  # such as the constructor refuses
    assert strategy("AVG").assign_fleet(fleet, out=columns[0, 1:]).tolist() == [0, 0]
    with pytest.raises(ValueError, match="overlaps"):
        strategy("AVG").assign_fleet(fleet, out=columns.reshape(-1)[2:4])


def test_every_array_is_looked_at_anew_by_every_fleet():
    fleet, out = Fleet.from_groups([("g", "t", [("b", 3)], ["x"])]), np.zeros(1, np.int32)
    strategy("AVG").assign_fleet(fleet, out=out)
    with pytest.raises(ValueError, match="overlaps"):
        strategy("AVG").assign_fleet(fleet, out=fleet.queue_lists.given_ids)
    with pytest.raises(ValueError, match="overlaps"):
        strategy("AVG").assign_fleet(dataclasses.replace(fleet, unit_topic=out), out=out)
    strategy("AVG").assign_fleet(fleet, out=out)
    for same in (
        copy.copy(fleet),
        pickle.loads(pickle.dumps(fleet)),
    ):  # a fleet that knows an array still travels
        assert not {"_apart", "_held"} & {*vars(same)}  # addresses mean nothing elsewhere
        assert strategy("AVG").assign_fleet(same, out=out) is out


def test_out_must_be_aligned():
    fleet = Fleet.from_groups([("g", "t", [("b", 3), ("b", 4)], ["x", "y"])])
    crooked = np.zeros(9, np.uint8)[1:].view(np.int32)
    with pytest.raises(ValueError, match="aligned"):
        strategy("AVG").assign_fleet(fleet, out=crooked)


def test_memory_is_looked_at_anew_when_the_fleet_keeps_more():
    """What is computed later is found, too, though the bounds of what was there are kept."""
    fleet, spare = Fleet.from_groups([("g", "t", [("b", 0)], ["x"])]), np.zeros(1, np.int32)
    assert not fleet.shares_memory(spare)
    assert fleet.shares_memory(fleet.n_queues)
    assert fleet.shares_memory(fleet.client_lists.order)
    assert fleet.shares_memory(fleet.queue_offsets[1:])
    assert not fleet.shares_memory(np.zeros(1, np.int32)) and not fleet.shares_memory(
        np.zeros(0, np.int32)
    )


def test_a_fleet_is_freed_with_its_last_name():
    """No cycle runs through what is kept of its memory."""
    fleet = Fleet.from_groups([("g", "t", [("b", 0)], ["x"])])
    strategy("AVG").assign_fleet(fleet, np.zeros(1, np.int32))
    alive = weakref.ref(fleet)
    del fleet
    assert alive() is None
