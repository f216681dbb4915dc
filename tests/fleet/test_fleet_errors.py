"""What is said of the units of a fleet that cannot be assigned, while the others are; and the rooms
of a fleet.
"""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from fleets import AVG, RING, columns, pairs_of, python_fleet
from interpreter import run_python

from rmqalloc import Fleet, FleetError, UnitError, strategy

QUEUES = pa.struct([("broker_name", pa.string()), ("queue_id", pa.int32())])

# --- Units that cannot be assigned ---

GOOD = ("g", "t", [("b", 0), ("b", 1)], ["x", "y"])
GOOD_BROKERS = ("g", "t", {"b": 1}, ["x", "y"])
BAD = {
    "null group": ((None, "t", [("b", 0)], ["x"]), "consumer_group"),
    "null topic": (("g", None, [("b", 0)], ["x"]), "topic"),
    "null queues": (("g", "t", None, ["x"]), "queues"),
    "null clients": (("g", "t", [("b", 0)], None), "client_ids"),
    "null client": (("g", "t", [("b", 0)], ["x", None]), "null"),
    "null broker": (("g", "t", [(None, 0)], ["x"]), "broker_name"),
    "null queue": (("g", "t", [None], ["x"]), "null"),
}
UNASSIGNABLE = {
    "no queues": (("g", "t", [], ["x"]), "mqAll is null or mqAll empty"),
    "no clients": (("g", "t", [("b", 0)], []), "cidAll is null or cidAll empty"),
}


def arrow_column(groups):
    """The same bad groups as a table: an absent list, string or struct is an Arrow null."""

    def queue(pair):
        return None if pair is None else {"broker_name": pair[0], "queue_id": pair[1]}

    return pa.table({
        "consumer_group": pa.array([group[0] for group in groups], pa.string()),
        "topic": pa.array([group[1] for group in groups], pa.string()),
        "queues": pa.array([None if g[2] is None else list(map(queue, g[2])) for g in groups], pa.list_(QUEUES)),
        "client_ids": pa.array([group[3] for group in groups], pa.list_(pa.string())),
    })  # fmt: skip


SOURCES = {
    "objects": Fleet.from_groups,
    "arrow": lambda groups, **how: Fleet.from_arrow(arrow_column(groups), **how),
}
every_source = pytest.mark.parametrize("source", SOURCES)


@every_source
@pytest.mark.parametrize("what", BAD)
def test_a_malformed_unit_is_reported_and_the_others_are_assigned(source, what):
    bad, reason = BAD[what]
    fleet = SOURCES[source]([GOOD, bad, GOOD, bad], on_error="report")
    assert [error.position for error in fleet.errors] == [1, 3]
    assert all(isinstance(error, UnitError) and reason in error.reason for error in fleet.errors)
    assert fleet.errors[0][1:3] == (bad[0] or "", bad[1] or "")
    assert fleet.n_queues.tolist() == [2, 0, 2, 0]
    owners = np.split(AVG.assign_fleet(fleet, on_error="report"), fleet.queue_offsets[1:-1])
    assert [of_unit.tolist() for of_unit in owners] == [[0, 1], [], [0, 1], []]
    assert [error.position for error in AVG.fleet_errors(fleet)] == [1, 3]


@every_source
@pytest.mark.parametrize("what", BAD)
def test_a_malformed_unit_is_refused_by_default(source, what):
    bad, reason = BAD[what]
    with pytest.raises(FleetError, match="1 of 3 units") as caught:
        SOURCES[source]([GOOD, GOOD, bad])
    assert [error.position for error in caught.value.errors] == [2]
    assert "unit 2" in str(caught.value)
    assert reason in str(caught.value)
    assert 'on_error="report"' in str(caught.value)


@every_source
@pytest.mark.parametrize("what", UNASSIGNABLE)
def test_a_unit_that_java_refuses_has_java_s_reason(source, what):
    bad, reason = UNASSIGNABLE[what]
    fleet = SOURCES[source]([GOOD, bad])
    assert fleet.errors == ()
    assert AVG.assign_fleet(fleet, on_error="report").tolist() == [0, 1, *[-1] * len(bad[2])]
    for rule in (AVG, RING):
        assert rule.fleet_errors(fleet) == [UnitError(1, "g", "t", reason)]
        with pytest.raises(FleetError, match=reason):
            rule.assign_fleet(fleet)


def test_the_message_shows_the_first_and_counts_the_rest():
    groups = [GOOD] + [UNASSIGNABLE["no clients"][0]] * 9
    with pytest.raises(FleetError, match="9 of 10 units cannot be assigned") as caught:
        AVG.assign_fleet(Fleet.from_groups(groups))
    assert "unit 1 (consumer group 'g', topic 't')" in str(caught.value)
    assert "unit 9" not in str(caught.value)
    assert "and 4 more" in str(caught.value)
    assert [error.position for error in caught.value.errors] == list(range(1, 10))


def test_read_queue_nums_below_zero_are_a_bad_unit():
    groups = [
        ("g", "t", {"a": 1}, ["x"]),
        ("g", "t", {"a": 2, "b": -1}, ["x"]),
        ("g", "t", {"b": 2}, ["x"]),
    ]
    fleet = Fleet.from_arrow(columns(groups, "brokers"), on_error="report")
    assert [error.position for error in fleet.errors] == [1]
    assert "-1" in fleet.errors[0].reason
    assert fleet.queues_of(2) == [("t", "b", 0), ("t", "b", 1)]


@pytest.mark.parametrize("form", ["queues", "brokers"])
@pytest.mark.parametrize(
    ("kind", "number"),
    [("uint64", 2**64 - 1), ("int64", 2**40), ("int64", -(2**63)), ("uint32", 2**31)],
)
def test_numbers_beyond_their_bounds_are_a_bad_unit(form, kind, number):
    """Also those that would be right if only their last bits were read."""
    name = "queue_id" if form == "queues" else "read_queue_nums"
    entries = [
        [{"broker_name": "b", name: n} for n in numbers] for numbers in ([1], [1, number], [2])
    ]
    lists = pa.array(
        entries,
        pa.list_(pa.struct([("broker_name", pa.string()), (name, pa.type_for_alias(kind))])),
    )
    fleet = Fleet.from_arrow(
        columns([GOOD_BROKERS] * 3, form).set_column(2, form, lists), on_error="report"
    )
    assert [error.position for error in fleet.errors] == [1]
    assert fleet.errors[0].reason.startswith(
        f"{name} at position 1 of {form} must be an integer from "
    )
    assert fleet.errors[0].reason.endswith(f"got {number}")
    assert fleet.n_queues.tolist() == [1, 0, 1 if form == "queues" else 2]


def test_a_bad_unit_leaves_the_topics_of_the_others_alone():
    groups = [("g", f"t{u}", [("b", u)], [f"c{u}"] if u != 2 else [None]) for u in range(4)]
    fleet = Fleet.from_arrow(arrow_column(groups), on_error="report")
    assert [fleet.topic(u) for u in range(4)] == ["t0", "t1", "t2", "t3"]
    assert [fleet.queues_of(u) for u in range(4)] == [
        [("t0", "b", 0)],
        [("t1", "b", 1)],
        [],
        [("t3", "b", 3)],
    ]
    assert [fleet.client_ids_of(u) for u in range(4)] == [["c0"], ["c1"], [], ["c3"]]


def test_bad_rows_in_several_chunks_keep_their_places():
    good, null = ("g", "t", [("b", 0)], ["x"]), ("g", None, [(None, 0)], [None])
    chunks = [arrow_column(groups) for groups in ([good, null], [good, good, null], [null, good])]
    fleet = Fleet.from_arrow(pa.concat_tables(chunks), on_error="report")
    assert [error.position for error in fleet.errors] == [1, 4, 5]
    assert {error.reason for error in fleet.errors} == {"topic is null; it must be a string"}
    assert fleet.n_queues.tolist() == [1, 0, 1, 1, 0, 0, 1]


MISFIT = """
import sys, numpy as np, pyarrow as pa
from interpreter import run_python
from fleets import columns
from rmqalloc import Fleet

table, (column, depth) = columns(form="{form}"), {where}
array = table[column].combine_chunks()

def turned(array, depth):
    if depth:
        children = [turned(array.values, depth - 1)]
        return pa.Array.from_buffers(array.type, len(array), array.buffers()[:2], children=children)
    offsets = np.frombuffer(array.buffers()[1], np.int32).copy()
    offsets[1:3] = offsets[2:0:-1]
    buffers = [None, pa.py_buffer(offsets), *array.buffers()[2:3]]
    children = [array.values] if pa.types.is_list(array.type) else []
    return pa.Array.from_buffers(array.type, len(array), buffers[: 2 if children else 3], children=children)

broken = table.set_column(table.column_names.index(column), column, turned(array, depth))
try:
    Fleet.from_arrow(broken)
except ValueError as error:
    print("refused", column in str(error))
"""


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize(
    ("form", "where"),
    [
        ("queues", ("queues", 0)),
        ("brokers", ("brokers", 0)),
        ("queues", ("client_ids", 0)),
        ("queues", ("client_ids", 1)),
        ("queues", ("topic", 0)),
    ],
)
def test_offsets_that_run_backwards_are_refused(form, where):
    """Kernels trust offsets, so a broken producer must be stopped at the face; a crash would end
    this script only.
    """
    assert run_python(MISFIT.format(form=form, where=where)) == ["refused", "True"]


def test_on_error_knows_two_words():
    for call in (
        lambda: Fleet.from_groups([], on_error="skip"),
        lambda: AVG.assign_fleet(python_fleet(), on_error="skip"),
    ):
        with pytest.raises(ValueError, match="skip"):
            call()


# --- Machine rooms ---

BROKER_ROOMS = {"hz-1": "hz", "hz-2": "hz", "sh-1": "sh", "bj-1": "bj"}
CLIENT_ROOMS = {"c1": "hz", "c2": "sh", "c3": "sh", "c4": "hz"}
ROOM_GROUPS = [
    ("g1", "t1", {"hz-1": 3, "sh-1": 2}, ["c1", "c2", "c3"]),
    ("g2", "t1", {"hz-1": 3, "sh-1": 2}, ["c4", "c1"]),
    ("g3", "t2", {"bj-1": 4, "hz-2": 1}, ["c2", "c3"]),
]
ROOM_OWNERS = [0, 0, 0, 1, 2, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0]


def nearby(**rooms):
    return strategy("MACHINE_ROOM_NEARBY", inner=AVG, **rooms)


@pytest.mark.parametrize("form", ["queues", "brokers"])
def test_machine_rooms_as_columns(form):
    table = columns(ROOM_GROUPS, form)
    names = [
        [b for b, _ in pairs_of(g[2])] if form == "queues" else list(g[2]) for g in ROOM_GROUPS
    ]
    table = table.append_column(
        "broker_rooms", pa.array([[BROKER_ROOMS[b] for b in unit] for unit in names])
    )
    table = table.append_column(
        "client_rooms", pa.array([[CLIENT_ROOMS[c] for c in g[3]] for g in ROOM_GROUPS])
    )
    assert nearby().assign_fleet(Fleet.from_arrow(table)).tolist() == ROOM_OWNERS


def test_machine_rooms_as_mappings():
    rule = nearby(broker_room=BROKER_ROOMS, client_room=CLIENT_ROOMS)
    assert rule.assign_fleet(python_fleet(ROOM_GROUPS)).tolist() == ROOM_OWNERS
    unit = python_fleet(ROOM_GROUPS[2:])
    assert rule.assign(unit.queues_of(0), ["c2", "c3"]).owners.tolist() == ROOM_OWNERS[10:]


def test_a_resolver_is_asked_once_for_each_broker_and_each_client():
    asked = Counter()

    def broker_room(queue):
        asked[queue.broker_name] += 1
        return BROKER_ROOMS[queue.broker_name]

    def client_room(client_id):
        asked[client_id] += 1
        return CLIENT_ROOMS[client_id]

    rule = nearby(broker_room=broker_room, client_room=client_room)
    assert rule.assign_fleet(python_fleet(ROOM_GROUPS)).tolist() == ROOM_OWNERS
    assert asked == dict.fromkeys([*BROKER_ROOMS, *CLIENT_ROOMS], 1)


def test_a_missing_room_is_java_s_error_of_that_unit_only():
    rule = nearby(broker_room=BROKER_ROOMS, client_room={**CLIENT_ROOMS, "c4": None})
    fleet = python_fleet(ROOM_GROUPS)
    assert rule.fleet_errors(fleet) == [
        UnitError(1, "g2", "t1", "Machine room is null for consumer id c4")
    ]
    assert rule.assign_fleet(fleet, on_error="report").tolist() == [
        *ROOM_OWNERS[:5],
        *[-1] * 5,
        *ROOM_OWNERS[10:],
    ]
    nowhere = nearby(broker_room={**BROKER_ROOMS, "sh-1": ""}, client_room={})
    reasons = [error.reason for error in nowhere.fleet_errors(fleet)]
    assert (
        reasons[:2]
        == ["Machine room is null for mq MessageQueue [topic=t1, brokerName=sh-1, queueId=0]"] * 2
    )
    assert reasons[2] == "Machine room is null for consumer id c2"


def test_columns_of_rooms_have_to_fit_their_lists():
    table = columns(ROOM_GROUPS)
    rooms = [[BROKER_ROOMS[b] for b, _ in pairs_of(g[2])] for g in ROOM_GROUPS]
    clients = [[CLIENT_ROOMS[c] for c in g[3]] for g in ROOM_GROUPS]
    table = table.append_column("broker_rooms", pa.array([rooms[0], rooms[1][:-1], rooms[2]]))
    table = table.append_column(
        "client_rooms", pa.array([clients[0], clients[1], [*clients[2], "hz"]])
    )
    fleet = Fleet.from_arrow(table, on_error="report")
    assert [error.position for error in fleet.errors] == [1, 2]
    assert "broker_rooms" in fleet.errors[0].reason
    assert "client_rooms" in fleet.errors[1].reason
    assert nearby().assign_fleet(fleet, on_error="report").tolist()[:5] == ROOM_OWNERS[:5]
