"""Counting kernels against plain Python, once for every instruction set of this machine, and the
faces that guard them.
"""

from collections import Counter
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from instruction_sets import isas_of

from rmqalloc import Fleet, strategy
from rmqalloc._engine import tally
from rmqalloc.evaluation.balance import balance, cross_room, loads
from rmqalloc.evaluation.movement import movement, renamed_clients

FENCE = 99  # what an output holds where nothing may be written
ABSENT = tally.ABSENT


isa = isas_of(tally, autouse=True)


# Around the sizes where vectors, counters and registers are full.
N_QUEUES = st.one_of(
    st.integers(0, 20), st.sampled_from([31, 32, 33, 63, 64, 65, 254, 255, 256, 300])
)
N_CLIENTS = st.one_of(st.integers(0, 9), st.sampled_from([15, 16, 17, 24, 25, 31, 32, 33, 40]))
SEEDS = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def drawn(rng, n_queues, n_clients):
    """Owners of a unit: each equally likely, and nobody as likely as one of them; now and then
    nearly all one's.
    """
    owners = (
        rng.integers(-2, max(n_clients, 0), n_queues, dtype=np.int32)
        if n_clients
        else np.full(n_queues, -1, np.int32)
    )
    owners[rng.random(n_queues) < rng.choice([0, 0, 0.99, 1])] = n_clients - 1
    owners[owners == -2] = rng.choice([-1, -2, -(2**31), -(2**29), -256])
    return owners


@st.composite
def fleets(draw):
    """Per unit its number of clients and the owners of its queues; often all units are alike, as
    vectors like it.
    """
    rng, sizes = draw(SEEDS), draw(st.lists(st.tuples(N_QUEUES, N_CLIENTS), min_size=1, max_size=5))
    sizes = [sizes[i % len(sizes)] for i in range(draw(st.integers(0, 21)))]
    return [(n_clients, drawn(rng, n_queues, n_clients).tolist()) for n_queues, n_clients in sizes]


def counted(n_clients, owners):
    """Plain Python: load of every client, and unowned, idle, least, most."""
    found = Counter(owners)
    counts = [found[client] for client in range(n_clients)]
    unowned = len(owners) - sum(counts)
    return counts, (unowned, counts.count(0), min(counts, default=0), max(counts, default=0))


def offsets_of(lengths):
    return np.cumsum([0, *lengths], dtype=np.int64)


def int32(lists):
    return np.array([x for of_unit in lists for x in of_unit], np.int32)


def columns(units):
    """Offsets of queues and of clients, and owners."""
    return (
        offsets_of(len(owners) for _, owners in units),
        offsets_of(n for n, _ in units),
        int32(o for _, o in units),
    )


@given(fleets())
def test_balance_is_what_plain_python_counts(units):
    out = np.full((4, len(units)), FENCE, np.int32)
    queue_offsets, client_offsets, owners = columns(units)
    n_clients = np.diff(client_offsets).astype(np.int32)
    tally.balance(queue_offsets, n_clients, owners, np.full(40, FENCE, np.int32), *out)
    assert [tuple(figures) for figures in out.T.tolist()] == [counted(*unit)[1] for unit in units]


@given(fleets(), st.integers(0, 9), st.integers(0, 9))
def test_loads_are_what_plain_python_counts(units, first, behind):
    """Of a range of units: what lies around it is not written."""
    queue_offsets, client_offsets, owners = columns(units)
    first, last = min(first, len(units)), max(first, len(units) - behind)
    out = np.full(client_offsets[-1], FENCE, np.int32)
    tally.loads(queue_offsets[first : last + 1], client_offsets[first : last + 1], owners, out)
    want = [
        counted(*unit)[0] if first <= u < last else [FENCE] * unit[0]
        for u, unit in enumerate(units)
    ]
    assert out.tolist() == [count for counts in want for count in counts]


# --- Movement ---


@st.composite
def changes(draw, queues=N_QUEUES, clients=N_CLIENTS, most_units=21):
    """Units before and after: owners, the place after of every client before (-1: gone), clients
    after, owners.
    """
    rng = draw(SEEDS)
    sizes = draw(
        st.lists(
            st.tuples(queues, clients, clients, st.sampled_from([0, 0, 0.2])),
            min_size=1,
            max_size=4,
        )
    )
    return [change(rng, *sizes[i % len(sizes)]) for i in range(draw(st.integers(1, most_units)))]


def change(rng, n_queues, n_before, n_after, absent):
    places = rng.permutation([*range(n_after), *[-1] * rng.integers(n_before + 1)])
    places = np.append(places, np.full(n_before, -1))[:n_before].astype(int).tolist()
    before, after = (drawn(rng, n_queues, n) for n in (n_before, n_after))
    known = np.append(places, -1)[np.maximum(before, -1)]
    after = np.where((rng.random(n_queues) < 0.5) & (known >= 0), known, after)
    for side in (before, after):
        side[rng.random(n_queues) < absent] = ABSENT
    return before.tolist(), places, n_after, after.tolist()


def names(before, places, after):
    """Who has each queue on either side: after's clients by their places, those that are gone by
    names of their own.
    """
    had = [
        f"gone {o}" if 0 <= o < ABSENT and places[o] < 0 else places[o] if 0 <= o < ABSENT else None
        for o in before
    ]
    return had, [o if 0 <= o < ABSENT else None for o in after]


def figures_of(before, places, n_after, after):
    """Plain Python: queues of both sides that moved, the fewest that could have, and clients whose
    queues differ.
    """
    had, has = names(before, places, after)
    both = [ABSENT not in pair for pair in zip(before, after, strict=True)]
    moved = sum(a != b for a, b, there in zip(had, has, both, strict=True) if there)
    loads = Counter(name for name, there in zip(had, both, strict=True) if there)
    size, extra = divmod(len(after) - after.count(ABSENT), max(n_after, 1))
    had_now = sorted((loads[client] for client in range(n_after)), reverse=True)
    stay = (
        sum(min(load, size + (i < extra)) for i, load in enumerate(had_now))
        if n_after
        else loads[None]
    )
    differ = {
        name for pair in zip(had, has, strict=True) if pair[0] != pair[1] for name in pair
    } - {None}
    return moved, sum(both) - stay, len(differ)


def fewest(before, places, n_after, after):
    """All assignments tried: the least that `figures_of` says of an even one that owns every queue."""
    there = [queue for queue, owner in enumerate(after) if owner != ABSENT]
    tries = []
    for owners in product(range(n_after) if n_after else [-1], repeat=len(there)):
        if not n_after or np.ptp(np.bincount(np.array(owners, int), minlength=n_after)) <= 1:
            tried = list(after)
            for queue, owner in zip(there, owners, strict=True):
                tried[queue] = owner
            tries.append(figures_of(before, places, n_after, tried)[0])
    return min(tries)


def change_columns(units, first):
    """Columns of units from one on, their offsets absolute, and scratch."""
    before, renamed, after = (int32(unit[i] for unit in units) for i in (0, 1, 3))
    n_after = np.array([unit[2] for unit in units[first:]], np.int32)
    queues, slots = (offsets_of(len(unit[i]) for unit in units)[first:] for i in (0, 1))
    scratch = np.full(122, FENCE, np.int32)
    return (
        queues,
        before,
        after,
        np.diff(slots).astype(np.int32),
        slots[:-1],
        renamed,
        n_after,
        scratch,
    )


@given(changes(), st.integers(0, 9))
def test_movement_is_what_plain_python_counts(units, first):
    first = min(first, len(units))
    out = np.full((3, len(units) - first), FENCE, np.int32)
    tally.movement(*change_columns(units, first), *out)
    assert [tuple(figures) for figures in out.T.tolist()] == [
        figures_of(*unit) for unit in units[first:]
    ]


def test_every_client_counts_for_itself():
    """All of them go and one comes, or all stay and lose what they had to it, or nobody had
    anything.
    """
    for n in range(1, 40):
        everyone, gone = list(range(n)), [-1] * n
        units = [
            (everyone, gone, 1, [0] * n),
            (everyone, everyone, n + 1, [n] * n),
            ([-1] * n, gone, n, everyone),
        ] * 3
        out = np.full((3, 9), FENCE, np.int32)
        tally.movement(*change_columns(units, 0), *out)
        assert out.tolist() == [[n, n, n] * 3, [n, 0, n] * 3, [n + 1, n + 1, n] * 3]


@given(changes(), st.integers(0, 9))
def test_one_figure_alone_is_the_same(units, first):
    units = [(before, *rest) for before, *rest in units if ABSENT not in [*before, *rest[2]]]
    first = min(first, len(units))
    offsets, before, after, n_before, slots, renamed, n_after, _ = change_columns(units, first)
    out = np.full((2, len(units) - first), FENCE, np.int32)
    tally.moved(offsets, before, after, slots, renamed, out[0])
    tally.least_moves(
        offsets, before, n_before, slots, renamed, n_after, np.full(40, FENCE, np.int32), out[1]
    )
    assert [tuple(figures) for figures in out.T.tolist()] == [
        figures_of(*unit)[:2] for unit in units[first:]
    ]


@given(changes(st.integers(0, 5), st.integers(0, 4), most_units=9))
def test_least_moves_is_the_best_of_all_even_assignments(units):
    out = np.full((3, len(units)), FENCE, np.int32)
    tally.movement(*change_columns(units, 0), *out)
    assert out[1].tolist() == [fewest(*unit) for unit in units]


@given(st.lists(st.tuples(*[st.lists(st.integers(0, 4), max_size=6)] * 2), max_size=5))
def test_align_merges_by_key(units):
    """Equal keys meet in their order; the numbers are the places of the keys."""
    sides = []
    for side in (0, 1):
        offsets = offsets_of(len(unit[side]) for unit in units)
        order = int32(np.argsort(unit[side], kind="stable") for unit in units)
        places = int32(range(len(unit[side])) for unit in units)
        sides.append(
            (
                offsets[:-1],
                order,
                int32(unit[side] for unit in units).astype(np.uint64),
                offsets,
                places,
            )
        )
    offsets, out = (
        np.full(len(units) + 1, FENCE),
        np.full((2, sum(len(a) + len(b) for a, b in units)), FENCE, np.int32),
    )
    tally.align(*sides[0], *sides[1], offsets, *out)
    wanted = []
    for unit in units:
        numbered = [{(key, of[:i].count(key)): i for i, key in enumerate(of)} for of in unit]
        keys = sorted(numbered[0].keys() | numbered[1].keys())
        wanted.append([[side.get(key, ABSENT) for side in numbered] for key in keys])
    assert [out[:, a:b].T.tolist() for a, b in pairwise(offsets)] == wanted


# --- The faces ---


def fleet_of(units):
    """A fleet with the sizes of the units."""
    queues = [[("b", i) for i in range(len(owners))] for _, owners in units]
    clients = [[f"c{i}" for i in range(n)] for n, _ in units]
    return Fleet.from_groups(("g", "t", q, c) for q, c in zip(queues, clients, strict=True))


@given(fleets())
@examples(15)
def test_the_faces_say_the_same_of_a_fleet(units):
    owners = int32(of_unit for _, of_unit in units)
    fleet = fleet_of(units)
    figures = balance(fleet, owners)
    assert loads(fleet, owners).tolist() == [count for unit in units for count in counted(*unit)[0]]
    for u, (n_clients, owners_of_unit) in enumerate(units):
        unowned, idle, least, most = counted(n_clients, owners_of_unit)[1]
        skew = most / (len(owners_of_unit) / n_clients) if most else 0.0
        want = [len(owners_of_unit), n_clients, unowned, idle, least, most, pytest.approx(skew)]
        assert [field[u] for field in figures] == want


def test_figures_have_the_promised_types():
    figures = balance(fleet_of([(2, [0, 1, 1])]), np.array([0, 1, 1], np.int32))
    assert [field.dtype for field in figures] == [np.int32] * 6 + [np.float64]
    assert figures.skew.tolist() == [2 / 1.5]


@pytest.mark.parametrize(
    "unit",
    [(0, []), (3, []), (0, [-1, -1]), (3, [-1, -1])],
    ids=["nothing", "no queues", "no clients", "nothing owned"],
)
def test_skew_is_zero_where_nothing_is_owned(unit):
    figures = balance(fleet_of([unit] * 9), np.array(unit[1] * 9, np.int32))
    for field in (figures.skew, figures.max_load, figures.min_load):
        assert field.tolist() == [0] * 9


def test_more_clients_than_queues_cannot_be_even():
    fleet = fleet_of([(8, [0, 0])])
    assert balance(fleet, strategy("AVG").assign_fleet(fleet)).skew.tolist() == [4.0]


@pytest.mark.parametrize("figure", [balance, loads, cross_room])
@pytest.mark.parametrize(
    ("owners", "said"),
    [
        pytest.param(
            np.zeros(2, np.int32),
            r"int32 of shape \(3,\), one entry per queue of the fleet, got int32 of shape \(2,\)",
            id="too short",
        ),
        (np.zeros(3, np.int64), "got int64"),
        (np.array([0, 2, 0], np.int32), "names client 2 in unit 1, which has 2 clients"),
    ],
)
def test_owners_that_do_not_fit_are_refused(figure, owners, said):
    with pytest.raises(ValueError, match=said):
        figure(fleet_of([(5, [0]), (2, [0, 0])]), owners)


def test_owners_may_be_a_view_of_something_larger():
    wide = np.array([[0, 9], [1, 9], [1, 9]], np.int32)
    assert loads(fleet_of([(2, [0, 1, 1])]), wide[:, 0]).tolist() == [1, 2]


ROOMS = st.sampled_from(["hz", "sh", "", None])


@given(st.lists(st.tuples(*[st.lists(ROOMS, max_size=3)] * 2), max_size=5), SEEDS)
def test_cross_room_counts_known_rooms_that_differ(units, rng):
    """Two queues of each broker; the empty room and the missing one are unknown."""
    rows = [
        {
            "consumer_group": "g", "topic": "T", "broker_rooms": brokers, "client_rooms": clients,
            "brokers": [{"broker_name": f"b{i}", "read_queue_nums": 2} for i in range(len(brokers))],
            "client_ids": [f"c{i}" for i in range(len(clients))],
        }
        for brokers, clients in units
    ]  # fmt: skip
    texts, broker = (
        pa.list_(pa.string()),
        pa.struct([("broker_name", pa.string()), ("read_queue_nums", pa.int32())]),
    )
    kinds = {
        "broker_rooms": texts,
        "client_rooms": texts,
        "client_ids": texts,
        "brokers": pa.list_(broker),
    }
    schema = pa.schema([("consumer_group", pa.string()), ("topic", pa.string()), *kinds.items()])
    table = pa.Table.from_pylist(rows, schema=schema)
    owners = [rng.integers(-1, len(clients), 2 * len(brokers)) for brokers, clients in units]
    want = [
        sum(
            bool(o >= 0 and brokers[q // 2] and clients[o] and brokers[q // 2] != clients[o])
            for q, o in enumerate(of)
        )
        for (brokers, clients), of in zip(units, owners, strict=True)
    ]
    assert cross_room(Fleet.from_arrow(table), int32(owners)).tolist() == want
    for column in ("broker_rooms", "client_rooms"):
        assert not cross_room(Fleet.from_arrow(table.drop_columns(column)), int32(owners)).any()


# --- The face of movement ---

QUEUE_LISTS = st.lists(
    st.tuples(st.sampled_from("TU"), st.sampled_from("ab"), st.sampled_from([-1, 0, 7])), max_size=5
)
ID_LISTS = st.lists(st.sampled_from(["x", "y", "z", "é", ""]), max_size=4)


@st.composite
def sides(draw):
    """The queues, ids and owners of some units on both sides: often the same lists, or equal ones
    in another order.
    """
    units = []
    for _ in range(draw(st.integers(0, 4))):
        queues, ids = draw(QUEUE_LISTS), draw(ID_LISTS)
        after = [
            draw(st.one_of(st.just(of), st.permutations(of), new))
            for of, new in ((queues, QUEUE_LISTS), (ids, ID_LISTS))
        ]
        units.append(
            [
                (q, c, [draw(st.integers(-1, len(c) - 1)) for _ in q])
                for q, c in ((queues, ids), after)
            ]
        )
    return units


def held(queues, ids, owners):
    """Owner's id, or None, of every queue; repeats of a queue are told apart by their number."""
    return {
        (q, queues[:i].count(q)): ids[o] if o >= 0 else None
        for i, (q, o) in enumerate(zip(queues, owners, strict=True))
    }


def by_hand(before, after):
    """`Movement` of one unit as its docstring says it, the least moves by trying all even
    allocations.
    """
    had, has = held(*before), held(*after)
    both, clients = had.keys() & has.keys(), sorted({*after[1]})
    even = (
        [
            dict(zip(has, owners, strict=True))
            for owners in product(clients, repeat=len(has))
            if not clients or np.ptp([owners.count(client) for client in clients]) <= 1
        ]
        if clients
        else [dict.fromkeys(has)]
    )
    least = min(sum(had[q] != tried[q] for q in both) for tried in even)
    queues_of = [
        {c: {q for q in side if side[q] == c} for c in {*before[1], *after[1]}}
        for side in (had, has)
    ]
    affected = sum(queues != queues_of[1][client] for client, queues in queues_of[0].items())
    return sum(had[q] != has[q] for q in both), least, affected


def side_fleet(units, side):
    return Fleet.from_groups(
        [(f"g{u}", "T", unit[side][0], unit[side][1]) for u, unit in enumerate(units)]
    )


@given(sides())
def test_movement_is_what_its_docstring_says(units):
    fleets = [side_fleet(units, side) for side in (0, 1)]
    owners = [int32(unit[side][2] for unit in units) for side in (0, 1)]
    figures = movement(fleets[0], owners[0], fleets[1], owners[1])
    assert [field.dtype for field in figures] == [np.int32] * 3
    assert np.stack(figures, axis=1).tolist() == [list(by_hand(*unit)) for unit in units]


@given(sides())
def test_renamed_clients_are_first_places(units):
    """Also for a fleet whose units name other lists of the very same columns."""
    fleets = [side_fleet(units, side) for side in (0, 1)]
    want = [
        [after[1].index(c) if c in after[1] else -1 for c in before[1]] for before, after in units
    ]
    assert renamed_clients(*fleets).tolist() == [place for of_unit in want for place in of_unit]
    turned = replace(fleets[0], unit_client_list=fleets[0].unit_client_list[::-1].copy())
    lists = [unit[0][1] for unit in units]
    want = [
        [other.index(c) if c in other else -1 for c in own]
        for own, other in zip(lists, lists[::-1], strict=True)
    ]
    assert renamed_clients(fleets[0], turned).tolist() == [
        place for of_unit in want for place in of_unit
    ]


def test_the_same_lists_need_not_be_compared():
    """One `QueueLists` on both sides, and equal ones of another fleet."""
    groups = [
        ("g", "T", [("b", i) for i in range(16)], list("wxyz")),
        ("h", "T", [("b", i) for i in range(3)], ["w"]),
    ]
    one, other = Fleet.from_groups(groups), Fleet.from_groups(groups)
    owners = strategy("AVG").assign_fleet(one)
    circle = strategy("AVG_BY_CIRCLE").assign_fleet(one)
    for after in (one, replace(one), other):
        figures = movement(one, owners, after, circle)
        assert [field.tolist() for field in figures] == [[12, 0], [0, 0], [4, 0]]


def test_equal_lists_of_other_names_are_not_the_same():
    one = Fleet.from_groups([("g", "T", [("b", 0), ("b", 1)], ["x", "y"])])
    other = Fleet.from_groups([("g", "T", [("c", 0), ("c", 1)], ["x", "y"])])
    owners = np.array([0, 1], np.int32)
    assert [field.tolist() for field in movement(one, owners, other, owners)] == [[0], [0], [2]]


@pytest.mark.thorough(keep=1)
def test_more_topics_and_brokers_than_a_key_holds():
    """The queue before is route 0, the one after is route 2**32 of all pairs of a topic and a
    broker.
    """
    n = 65_600
    many = [(f"t{i}", f"b{i}", 0) for i in range(n)]
    topic, broker = divmod(2**32, n)
    queues = [many[0], (f"t{topic}", f"b{broker}", 0)]
    one, other = (
        Fleet.from_groups([("g", "t0", many, ["x"]), ("h", "t0", [queue], ["x"])])
        for queue in queues
    )
    owners = np.zeros(n + 1, np.int32)
    assert [field.tolist() for field in movement(one, owners, other, owners)] == [
        [0, 0],
        [0, 0],
        [0, 1],
    ]


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ([("g", "T", [], [])] * 2, "1 units before and 2 after$"),
        ([("h", "T", [], [])], "1 after with other names"),
    ],
)
def test_movement_refuses_other_units(groups, said):
    one, two = Fleet.from_groups([("g", "T", [("b", 0)], ["x"])]), Fleet.from_groups(groups)
    with pytest.raises(ValueError, match=f"the same consumer groups in the same order.*{said}"):
        movement(one, np.zeros(1, np.int32), two, np.zeros(0, np.int32))


def test_movement_refuses_owners_that_do_not_fit():
    one = Fleet.from_groups([("g", "T", [("b", 0)], ["x"])])
    for owners in ([0, 1], [1, 0]):
        with pytest.raises(ValueError, match="names client 1 in unit 0"):
            movement(one, np.array(owners[:1], np.int32), one, np.array(owners[1:], np.int32))
