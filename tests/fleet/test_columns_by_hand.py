"""Columns that callers make themselves: an array by which a kernel would read other memory is
refused where it is given.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from rmqalloc import ArgumentError, ArgumentTypeError, Fleet, UnitError, strategy
from rmqalloc.fleet.columns import Strings
from rmqalloc.fleet.lists import ClientLists, QueueLists

ROWS = [
    {
        "consumer_group": f"g{i}",
        "topic": "T",
        "client_ids": ["a@1", "b@2"][: 1 + i % 2],
        "client_rooms": ["r", "s"][: 1 + i % 2],
        "brokers": [{"broker_name": f"b{k}", "read_queue_nums": 1 + i} for k in range(2)],
        "broker_rooms": ["r", "s"],
    }
    for i in range(4)
]
FLEET = Fleet.from_arrow(pa.Table.from_pylist(ROWS))
LISTS, CLIENTS = FLEET.queue_lists, FLEET.client_lists


def vector(*numbers, kind=np.int64):
    return np.array(numbers, kind)


TEXT = vector(*b"ab\xc3\xa9", kind=np.uint8)


@pytest.mark.parametrize(
    ("values", "offsets", "said"),
    [
        (TEXT, vector(0, 9), "runs from 0 to 9 of 4 values"),
        (TEXT, vector(0, 2**62), "of 4 values"),
        (TEXT, vector(2, 1), "must not decrease"),
        (TEXT, vector(-1, 2), "begin within"),
        (TEXT, vector(9), "begin within"),
        (TEXT, vector(), "at least one entry"),
        (TEXT[:0], vector(0), "at least one byte"),
        (TEXT, vector(0, 1, kind=np.int32), "numpy array of int64, got int32"),
        (TEXT, vector(0, 1, kind=">i8"), "numpy array of int64"),
        (TEXT, [0, 1], "numpy array of int64, got list"),
        (TEXT.astype(np.int8), vector(0, 1), "numpy array of uint8"),
        (TEXT[::2], vector(0, 1), "contiguous"),
        (TEXT.reshape(2, 2), vector(0, 1), "contiguous"),
        (TEXT, vector(0, 3), "unexpected end of data"),
        (TEXT, vector(0, 3, 4), "inside of a character"),
        (vector(0xFF, kind=np.uint8), vector(0, 1), "invalid start byte"),
    ],
)
def test_text_that_does_not_fit_its_offsets_is_refused(values, offsets, said):
    with pytest.raises((ArgumentTypeError, ArgumentError), match=said):
        Strings(values, offsets)


def test_text_that_fits_is_taken():
    made = Strings(TEXT, vector(1, 2, 4, 4))
    assert made.to_list() == ["b", "é", ""] and made.take([-1, 0]).to_list() == ["", "b"]


@pytest.mark.parametrize(
    "change",
    [
        {"offsets": LISTS.offsets[1:]},
        {"offsets": LISTS.offsets + 1},
        {"offsets": LISTS.offsets[::-1].copy()},
        {"offsets": np.append(0, LISTS.offsets[-1:] - 1)},
        {"offsets": LISTS.offsets + 2**40},
        {"route_offsets": LISTS.route_offsets[:-1]},
        {"route_offsets": LISTS.route_offsets * 2},
        {"route_offsets": LISTS.route_offsets[::-1].copy()},
        {"given_ids": np.zeros(1, np.int32)},
        {"given_ids": LISTS.queue_ids.astype(np.int64)},
        {"route_topic": LISTS.route_topic[1:]},
        {"route_broker": LISTS.route_broker[1:]},
        {"route_room": LISTS.route_room[1:]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_lists_of_queues_that_do_not_fit_are_refused(change):
    with pytest.raises((TypeError, ValueError), match=r"offsets|given_ids|route_"):
        replace(LISTS, **change)


def test_a_route_that_crosses_two_lists_is_refused():
    zeros = vector(0, kind=np.int32)
    with pytest.raises(ValueError, match="crosses two lists"):
        QueueLists(vector(0, 1, 4), None, vector(0, 4), zeros, zeros)


@pytest.mark.parametrize(
    "change",
    [
        {"offsets": CLIENTS.offsets[:-2]},
        {"offsets": CLIENTS.offsets + 1},
        {"offsets": vector(0, 2**40)},
        {"client_ids": ["a@1"]},
        {"client_ids": FLEET.topics},
        {"slot_room": CLIENTS.slot_room[1:]},
    ],
    ids=[
        "too few offsets",
        "a first offset of 1",
        "offsets beyond the end",
        "a list of ids",
        "too few ids",
        "too few rooms",
    ],
)
def test_lists_of_clients_that_do_not_fit_are_refused(change):
    with pytest.raises(
        (TypeError, ValueError), match=r"offsets of client lists|client_ids|slot_room"
    ):
        replace(CLIENTS, **change)


def turned(lists, name, number):
    changed = getattr(lists, name).copy()
    changed[-1] = number
    return replace(lists, **{name: changed})


@pytest.mark.parametrize(
    "change",
    [
        *(
            {name: getattr(FLEET, name) + 2**20}
            for name in ("unit_topic", "unit_queue_list", "unit_client_list")
        ),
        *(
            {name: getattr(FLEET, name) * 0 - 1}
            for name in ("unit_topic", "unit_queue_list", "unit_client_list")
        ),
        *(
            {name: getattr(FLEET, name)[1:]}
            for name in ("unit_topic", "unit_queue_list", "unit_client_list")
        ),
        {"unit_topic": FLEET.unit_topic.astype(np.int64)},
        *({name: ["T"]} for name in ("consumer_groups", "topics", "brokers", "rooms")),
        {"topics": Strings.from_list([])},
        {"queue_lists": turned(LISTS, "route_broker", 2)},
        {"queue_lists": turned(LISTS, "route_broker", -1)},
        {"queue_lists": turned(LISTS, "route_topic", 2**31 - 1)},
        {"queue_lists": turned(LISTS, "route_room", 2)},
        {"client_lists": turned(CLIENTS, "slot_room", -2)},
        {"client_lists": LISTS},
        {"errors": None},
        {"errors": (0,)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_fleets_of_columns_that_do_not_fit_are_refused(change):
    with pytest.raises((TypeError, ValueError), match=r"must (be|have)"):
        replace(FLEET, **change)


def test_a_damaged_dictionary_is_refused():
    """Before Arrow reads it, which ends the process."""
    offsets = pa.py_buffer(vector(0, 2**30, 2, kind=np.int32))
    names = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"TU")])
    indices = pa.array([0, 1, 0, 1], pa.int32())
    columns = {
        name: pa.array([row[name] for row in ROWS])
        for name in ("consumer_group", "client_ids", "brokers")
    }
    columns["topic"] = pa.DictionaryArray.from_arrays(indices, names, safe=False)
    with pytest.raises(ValueError, match="column topic is damaged"):
        Fleet.from_arrow(pa.table(columns))


def test_errors_of_units_that_are_not_there_are_refused():
    with pytest.raises(IndexError, match="no unit 4"):
        replace(FLEET, errors=(UnitError(4, "g", "T", "wrong"),))


def test_a_fleet_of_its_own_columns_is_the_same():
    made = Fleet(**{name: getattr(FLEET, name) for name in Fleet.__dataclass_fields__})
    made = replace(
        made, client_lists=ClientLists(CLIENTS.offsets, CLIENTS.client_ids, CLIENTS.slot_room)
    )
    rule = strategy("CONSISTENT_HASH")
    assert rule.assign_fleet(made).tolist() == rule.assign_fleet(FLEET).tolist()
