"""Every public method that takes positions, masks or arrays: NumPy's answer on Python's lists, or
an error of ours.
"""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rmqalloc import Assignment, Fleet, MessageQueue, strategy
from rmqalloc.evaluation import PlanSpec, plan_batch
from rmqalloc.evaluation.balance import balance, cross_room, loads
from rmqalloc.fleet.columns import Strings
from rmqalloc.scenarios import RemoveClients, Rules, Scenario, apply, ordered


def by_numpy(things, index):
    """The things that NumPy takes by an index of several, or None where it refuses or takes one, or
    a table.
    """
    if (
        isinstance(index, np.ndarray)
        and index.dtype.kind == "u"
        and (index > np.uint64(2**63 - 1)).any()
    ):
        return None  # which NumPy reads as negative ones
    box = np.empty(len(things), object)
    box[:] = range(len(things))
    try:
        rows = box[index]
    except (IndexError, TypeError, ValueError, OverflowError):
        return None
    return [things[i] for i in rows] if isinstance(rows, np.ndarray) and rows.ndim == 1 else None


def one_of_list(things, index):
    """What a Python list has at a position, or None; a bool is none, as in NumPy."""
    try:
        return None if isinstance(index, bool) else (things[index],)
    except (IndexError, TypeError):
        return None


REFUSED = (IndexError, TypeError)
UNITS = [
    (
        f"group {i}",
        f"topic {i % 3}",
        [(f"b{i}", q) for q in range(i % 4)],
        [f"client {i}-{c}" for c in range(i % 5)],
    )
    for i in range(7)
]
FLEET = Fleet.from_groups(UNITS, on_error="report")
N = len(UNITS)
CLIENTS = [ids for *_, ids in UNITS]
QUEUES = [[MessageQueue(topic, *queue) for queue in queues] for _, topic, queues, _ in UNITS]
NAMES = [(group, topic) for group, topic, *_ in UNITS]
EMPTY = Fleet.from_groups([])

NUMBERS = st.one_of(
    st.integers(-N - 2, N + 1),
    st.sampled_from(
        [
            2**31 - 1,
            2**31,
            2**40,
            2**63 - 1,
            2**63,
            2**64,
            2**70,
            -(2**31),
            -(2**40),
            -(2**63),
            -(2**80),
        ]
    ),
)
KINDS = st.sampled_from(
    ["i1", "u1", "i2", "<i4", ">i4", "u4", "<i8", ">i8", "u8", "f8", "c16", "O", "U1", "M8[s]"]
)
ODD = st.sampled_from(
    [
        None,
        True,
        False,
        1.0,
        "1",
        b"1",
        ...,
        (),
        (0, 1),
        {},
        {0},
        np.True_,
        np.float64(1),
        np.array([1, 2]),
        np.array(2.0),
    ]
)


def as_array(numbers, kind):
    """The numbers in a type, those that fit it not as NumPy wraps them."""
    with np.errstate(all="ignore"):
        return (
            np.array([number % 2**64 for number in numbers], np.uint64).astype(kind)
            if kind != "O"
            else np.array(numbers, "O")
        )


ARRAYS = st.one_of(
    st.builds(as_array, st.lists(NUMBERS, max_size=6), KINDS),
    st.builds(
        lambda numbers: np.array(numbers, np.int64)[::-2], st.lists(st.integers(-N, N), max_size=8)
    ),
    st.builds(
        lambda flags: np.array(flags, bool), st.lists(st.booleans(), min_size=N - 1, max_size=N + 1)
    ),
    st.builds(lambda flags: np.array(flags, bool), st.lists(st.booleans(), min_size=N, max_size=N)),
    st.builds(
        slice,
        *[st.none() | st.integers(-N - 2, N + 2)] * 2,
        st.none() | st.sampled_from([-2, -1, 1, 3]),
    ),
    st.lists(NUMBERS, max_size=5),
    st.lists(st.booleans(), max_size=N + 1),
    st.just(np.zeros((2, 2), np.int64)),
    st.just(np.zeros((N, 1), bool)),
    st.just(np.array(3)),
    NUMBERS,
    ODD,
)


def names_of(fleet):
    """What a fleet says of all its units."""
    units = range(fleet.n_units)
    return [(*fleet.names_of(u), fleet.queues_of(u), fleet.client_ids_of(u)) for u in units]


EXPECTED = [
    (*names, queues, clients) for names, queues, clients in zip(NAMES, QUEUES, CLIENTS, strict=True)
]


@given(ARRAYS)
@example(np.array([-1]))
@example(np.array([2**40]))
@example(np.array([True, False] * 3 + [True]))
@example(np.array([2**64 - 1], np.uint64))
@example([])
def test_units_are_selected_as_numpy_takes_them(index):
    expected = by_numpy(EXPECTED, index)
    if expected is None:
        with pytest.raises(REFUSED):
            FLEET.select(index)
        return
    part = FLEET.select(index)
    assert names_of(part) == expected
    assert strategy("AVG").assign_fleet(part, on_error="report").size == sum(
        len(queues) for _, _, queues, _ in expected
    )


@given(ARRAYS)
@example(np.array([-1]))
@example(np.array([2**40]))
def test_columns_and_lists_take_rows_as_numpy_does(index):
    lists, clients = FLEET.queue_lists, FLEET.client_lists
    sizes = [np.diff(one.offsets).tolist() for one in (lists, clients)]
    takes = [
        ([group for group, _ in NAMES], FLEET.consumer_groups.take, Strings.to_list),
        (sizes[0], lists.taken, lambda made: np.diff(made.offsets).tolist()),
        (sizes[1], clients.taken, lambda made: np.diff(made.offsets).tolist()),
    ]
    for things, take, said in takes:
        expected = by_numpy(things, index)
        if expected is None:
            with pytest.raises(REFUSED):
                take(index)
        else:
            assert said(take(index)) == expected


@given(NUMBERS | ODD | st.integers(0, N - 1).map(np.int8) | st.integers(-N, -1).map(np.int64))
@example(-1)
def test_a_unit_by_position_is_that_of_a_list(index):
    faces = [
        ([group for group, _ in NAMES], FLEET.consumer_group),
        ([topic for _, topic in NAMES], FLEET.topic),
        (NAMES, FLEET.names_of),
        (CLIENTS, FLEET.client_ids_of),
        (QUEUES, FLEET.queues_of),
        ([group for group, _ in NAMES], FLEET.consumer_groups.__getitem__),
        ([], EMPTY.consumer_group),
        ([], EMPTY.topic),
    ]
    for things, face in faces:
        if (expected := one_of_list(things, index)) is None:
            with pytest.raises(REFUSED):
                face(index)
        else:
            assert face(index) == expected[0]


@given(*[st.none() | st.integers(-9, 9)] * 2)
def test_a_stretch_of_a_column_is_that_of_a_list(start, stop):
    names = [group for group, _ in NAMES]
    assert FLEET.consumer_groups.to_list(start or 0, stop) == names[start or 0 : stop]


GROUP = [MessageQueue("t", f"room{i % 2}@b", i) for i in range(5)]
EXPLAINED = {
    **{
        name: {}
        for name in ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "STABLE/1", "ORDINAL/1", "WEIGHTED")
    },
    "CANARY-AVG": {"share": 0.4, "pattern": "x*"},
}


@given(NUMBERS | ODD, st.sampled_from(list(EXPLAINED)))
@example(-1, "AVG")
@example(2**70, "AVG_BY_CIRCLE")
def test_a_queue_by_position_is_that_of_a_list(index, name):
    made, ids = strategy(name, **EXPLAINED[name]), ["x", "y", "z"]
    owners = made.assign(GROUP, ids).owners.tolist()
    if one_of_list(GROUP, index) is None:
        for face in (made.owner_of, made.explain):
            with pytest.raises(REFUSED):
                face(GROUP, ids, index)
        return
    assert made.owner_of(GROUP, ids, index) == owners[index]
    assert made.explain(GROUP, ids, index) == made.explain(GROUP, ids, index % len(GROUP))


OWNERS = st.lists(st.integers(-2, 4), min_size=3, max_size=5)


@given(OWNERS, st.sampled_from([np.int8, np.int32, np.int64, np.float64, bool, list]))
def test_an_assignment_of_owners_that_do_not_fit_is_refused(owners, kind):
    """It can be made of anything; its methods answer what the lists say, or raise."""
    queues, ids = GROUP[:4], ["x", "y", "z"]
    made = Assignment(owners if kind is list else np.array(owners, kind), queues, ids)
    fits = len(owners) == len(queues) and max(owners) < len(ids)
    if kind in (list, bool, np.float64) or not fits:
        for face in (lambda: made.queues_of("y"), made.counts, lambda: made.unowned):
            with pytest.raises(REFUSED):
                face()
        return
    assert made.queues_of("y") == [
        queue for queue, owner in zip(queues, owners, strict=True) if owner == 1
    ]
    assert made.unowned == [queue for queue, owner in zip(queues, owners, strict=True) if owner < 0]
    assert made.counts().tolist() == [owners.count(i) for i in range(3)]


@given(ARRAYS)
@example(np.int64(0))
def test_rules_are_selected_as_numpy_takes_them(index):
    of_unit = np.arange(N, dtype=np.int32) % 2
    rules = Rules((strategy("AVG"), strategy("STABLE")), of_unit)
    expected = by_numpy(of_unit.tolist(), index)
    if expected is None:
        with pytest.raises(REFUSED):
            rules.select(index)
    else:
        assert rules.select(index).of_unit.tolist() == expected


@pytest.mark.parametrize(
    "of_unit",
    [
        np.zeros(N + 1, np.int32),
        np.full(N, 2),
        np.full(N, -1),
        np.full(N, 2**63, np.uint64),
        np.zeros(N),
        [0] * N,
        None,
    ],
    ids=["one too many", "all 2", "all -1", "all 2**63", "doubles", "a list", "None"],
)
def test_rules_that_are_not_those_of_the_units_are_refused(of_unit):
    scenario = Scenario("less", [RemoveClients(count=1)], groups=["group 3"])
    with pytest.raises((TypeError, ValueError), match="of_unit"):
        apply(scenario, ordered(FLEET), Rules((strategy("AVG"), strategy("STABLE")), of_unit))


NO_SEQUENCES = [slice(None), {}, {"x", "y"}, np.array(["x", "y"]), memoryview(b"xy"), object()]


@pytest.mark.parametrize("given_", NO_SEQUENCES, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("name", list(EXPLAINED))
def test_what_is_no_list_of_queues_or_clients_is_refused(given_, name):
    made = strategy(name, **EXPLAINED[name])
    for queues, ids, what in ((given_, ["x"], "mq_all"), (GROUP, given_, "cid_all")):
        for face in (made.assign, lambda *both: made.allocate("g", "x", *both)):
            with pytest.raises(TypeError, match=f"{what} must be a sequence"):
                face(queues, ids)


SIZE = int(FLEET.queue_offsets[-1])
MISFITS = [
    [0] * SIZE,
    None,
    np.zeros(SIZE, np.int64),
    np.zeros(SIZE, np.float32),
    np.zeros(SIZE, bool),
    np.zeros(SIZE - 1, np.int32),
    np.zeros(SIZE + 1, np.int32),
    np.zeros((SIZE, 1), np.int32),
    np.int32(0),
]
MISFIT_NAMES = [
    "list",
    "None",
    "int64",
    "float32",
    "bool",
    "one too few",
    "one too many",
    "two dimensions",
    "number",
]


@pytest.mark.parametrize("owners", MISFITS, ids=MISFIT_NAMES)
def test_owners_that_do_not_fit_are_refused_by_every_reader(owners):
    readers = [
        FLEET.to_arrow,
        *(lambda o, read=read: read(FLEET, o) for read in (balance, loads, cross_room)),
    ]
    writers = (
        [lambda o: strategy("AVG").assign_fleet(FLEET, out=o, on_error="report")]
        if owners is not None
        else []
    )
    for face in readers + writers:
        with pytest.raises((ValueError, TypeError), match=r"owners|out"):
            face(owners)


@pytest.mark.parametrize("carry", [[-1], [None], [0]])
def test_columns_to_carry_are_names(carry):
    batch = pa.RecordBatch.from_pylist(
        [
            {
                "consumer_group": "g",
                "topic": "T",
                "client_ids": ["c"],
                "brokers": [{"broker_name": "b", "read_queue_nums": 1}],
            }
        ]
    )
    with pytest.raises(TypeError, match="names of columns"):
        plan_batch(batch, PlanSpec("AVG"), carry)
