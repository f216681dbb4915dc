"""Fleets: many groups as columns, from Python objects and from Arrow, sorted, and back to Arrow."""

import itertools
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import random_groups as inputs
from fleets import (
    AVG,
    GROUPS,
    RING,
    assert_same_fleet,
    assert_same_owners,
    columns,
    pairs_of,
    python_fleet,
)
from hypothesis import given
from hypothesis import strategies as st

from rmqalloc import Fleet, MessageQueue, sort_client_ids, sort_queues
from rmqalloc.fleet.lists import QueueLists

QUEUES = pa.list_(pa.struct([("broker_name", pa.string()), ("queue_id", pa.int32())]))

# --- From Python objects ---


def test_a_fleet_keeps_what_it_was_given():
    fleet = python_fleet()
    assert fleet.n_units == len(GROUPS)
    for u, (group, topic, brokers, clients) in enumerate(GROUPS):
        assert fleet.consumer_group(u) == group
        assert fleet.topic(u) == topic
        assert fleet.queues_of(u) == [MessageQueue(topic, *pair) for pair in pairs_of(brokers)]
        assert all(
            isinstance(queue, MessageQueue) and type(queue.queue_id) is int
            for queue in fleet.queues_of(u)
        )
        assert fleet.client_ids_of(u) == clients


def test_offsets_say_which_owners_belong_to_which_unit():
    fleet = python_fleet()
    assert (fleet.queue_offsets.dtype, fleet.queue_offsets.tolist()) == (
        np.int64,
        [0, 7, 14, 15, 19, 24],
    )
    assert (fleet.client_offsets.dtype, fleet.client_offsets.tolist()) == (
        np.int64,
        [0, 3, 4, 7, 10, 13],
    )
    assert (fleet.n_queues.dtype, fleet.n_queues.tolist()) == (np.int32, [7, 7, 1, 4, 5])
    assert (fleet.n_clients.dtype, fleet.n_clients.tolist()) == (np.int32, [3, 1, 3, 3, 3])
    owners = AVG.assign_fleet(fleet)
    assert owners.dtype == np.int32
    assert np.split(owners, fleet.queue_offsets[1:-1])[3].tolist() == [0, 0, 1, 2]
    assert np.split(owners, fleet.queue_offsets[1:-1])[4].tolist() == [0, 0, 1, 1, -1]


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(lambda pair: pair, id="pair"),
        pytest.param(lambda pair: MessageQueue("orders", *pair), id="MessageQueue"),
        pytest.param(lambda pair: ("orders", *pair), id="triple"),
        pytest.param(
            lambda pair: {"topic": "orders", "brokerName": pair[0], "queueId": pair[1]},
            id="mapping",
        ),
    ],
)
def test_any_form_of_queue_will_do(form):
    queues = [form(pair) for pair in pairs_of(GROUPS[0][2])]
    fleet = Fleet.from_groups([("g1", "orders", queues, GROUPS[0][3])])
    assert_same_fleet(fleet, python_fleet(GROUPS[:1]))


def test_queues_and_ids_may_come_from_iterators():
    fleet = Fleet.from_groups((g, t, iter(pairs_of(b)), iter(c)) for g, t, b, c in GROUPS)
    assert_same_fleet(fleet, python_fleet())


def test_a_queue_may_be_of_another_topic_than_its_unit():
    queues = [MessageQueue("a", "b", 0), ("b", 1), MessageQueue("c", "b", 2)]
    fleet = Fleet.from_groups([("g", "t", queues, ["x"])])
    assert fleet.queues_of(0) == [("a", "b", 0), ("t", "b", 1), ("c", "b", 2)]
    assert fleet.topic(0) == "t"


def test_an_empty_fleet_is_a_fleet():
    for fleet in (
        Fleet.from_groups([]),
        Fleet.from_arrow(columns([])),
        Fleet.from_arrow(columns([], form="brokers")),
    ):
        assert fleet.n_units == 0
        assert fleet.queue_offsets.tolist() == [0]
        assert AVG.assign_fleet(fleet).shape == RING.assign_fleet(fleet).shape == (0,)
        assert AVG.fleet_errors(fleet) == []
        assert fleet.sorted().n_units == 0
        assert fleet.to_arrow(AVG.assign_fleet(fleet)).num_rows == 0


# --- What many units share is kept once ---


WAYS = {
    "objects": python_fleet,
    "queues": lambda groups: Fleet.from_arrow(columns(groups)),
    "brokers": lambda groups: Fleet.from_arrow(columns(groups, "brokers")),
}
every_way = pytest.mark.parametrize("make", WAYS.values(), ids=WAYS)


def n_stored(fleet):
    """Stored lists that a unit names: of queues, of clients."""
    return len(set(fleet.unit_queue_list.tolist())), len(set(fleet.unit_client_list.tolist()))


def many_readers(n_groups, topics=("orders",)):
    return [
        (f"g{i}", topic, {"a": 8, "b": 8}, [f"c{i}-{k}" for k in range(3)])
        for i in range(n_groups)
        for topic in topics
    ]


@every_way
def test_a_topic_read_by_many_groups_is_kept_once(make):
    fleet = make(many_readers(50))
    assert n_stored(fleet) == (1, 50)
    assert fleet.queue_lists.queue_ids.size == 16
    assert fleet.queue_offsets[-1] == 50 * 16


@every_way
def test_a_group_of_many_topics_is_kept_once(make):
    fleet = make(many_readers(2, topics=[f"t{i}" for i in range(20)]))
    assert n_stored(fleet) == (20, 2)
    assert len(fleet.client_lists.client_ids) == 6


@every_way
def test_lists_that_only_look_alike_are_kept_apart(make):
    """Joined text is the same in both, where the strings begin is not; and so are numbers and
    topics.
    """
    groups = [
        ("g", "t", {"a": 2}, ["ab", "c"]),
        ("g", "t", {"a": 2}, ["a", "bc"]),
        ("g", "t", {"a": 2}, ["c", "ab"]),
        ("g", "u", {"a": 2}, ["ab", "c"]),
        ("g", "t", {"a": 3}, ["ab", "c"]),
        ("g", "t", {"a": 1, "b": 1}, ["ab", "c"]),
    ]
    fleet = make(groups)
    assert n_stored(fleet) == (4, 3)
    assert [fleet.client_ids_of(u) for u in range(6)] == [group[3] for group in groups]
    assert [fleet.queues_of(u) for u in range(6)] == [
        [MessageQueue(t, *q) for q in pairs_of(b)] for _, t, b, _ in groups
    ]


# --- From Arrow ---


@pytest.mark.parametrize("form", ["queues", "brokers"])
@pytest.mark.parametrize(
    "lists", [pa.list_, pa.large_list, pa.list_view, pa.large_list_view], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("text", ["string", "large_string", "string_view"])
def test_any_type_of_text_and_list(form, lists, text):
    assert_same_fleet(Fleet.from_arrow(columns(form=form, text=text, lists=lists)), python_fleet())


def test_list_views_lie_anywhere_and_overlap():
    ids = pa.array(["a", "b", "c", "d"])
    views = pa.ListViewArray.from_arrays(
        pa.array([2, 0, 1], pa.int32()), pa.array([2, 3, 0], pa.int32()), ids
    )
    groups = [("g", "t", {"b": 1}, clients) for clients in (["c", "d"], ["a", "b", "c"], [])]
    fleet = Fleet.from_arrow(columns(groups).set_column(3, "client_ids", views))
    assert [fleet.client_ids_of(u) for u in range(3)] == [group[3] for group in groups]


def test_lists_of_one_length():
    groups = GROUPS[:1] + GROUPS[2:]
    fixed = pa.array([group[3] for group in groups], pa.list_(pa.string(), 3))
    assert_same_fleet(
        Fleet.from_arrow(columns(groups).set_column(3, "client_ids", fixed)), python_fleet(groups)
    )


@pytest.mark.parametrize("form", ["queues", "brokers"])
@pytest.mark.parametrize("value", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
@pytest.mark.parametrize("index", [pa.int8(), pa.uint32()], ids=str)
def test_dictionaries(form, value, index):
    plain = columns(form=form)

    def encoded(array):
        codes = array.dictionary_encode()
        return pa.DictionaryArray.from_arrays(
            codes.indices.cast(index), codes.dictionary.cast(value)
        )

    clients = plain["client_ids"].combine_chunks()
    table = pa.table({
        "consumer_group": encoded(plain["consumer_group"].combine_chunks()),
        "topic": encoded(plain["topic"].combine_chunks()),
        form: with_dictionary(plain[form].combine_chunks(), encoded),
        "client_ids": pa.ListArray.from_arrays(clients.offsets, encoded(clients.values)),
    })  # fmt: skip
    assert pa.types.is_dictionary(table["topic"].type)
    assert pa.types.is_dictionary(table["client_ids"].type.value_type)
    assert_same_fleet(Fleet.from_arrow(table), python_fleet())


def with_dictionary(lists, encoded):
    """A list of struct whose broker names are a dictionary."""
    names, numbers = lists.values.flatten()
    names = encoded(names)
    fields = [pa.field("broker_name", names.type), lists.type.value_type.field(1)]
    structs = pa.StructArray.from_arrays([names, numbers], fields=fields)
    return pa.ListArray.from_arrays(lists.offsets, structs)


@pytest.mark.parametrize("form", ["queues", "brokers"])
def test_slices_begin_where_they_say(form):
    table = columns(form=form)
    for start in range(table.num_rows):
        for stop in range(start, table.num_rows + 1):
            fleet = Fleet.from_arrow(table.slice(start, stop - start))
            assert_same_fleet(fleet, python_fleet(GROUPS[start:stop]))


@pytest.mark.parametrize("form", ["queues", "brokers"])
def test_chunks_are_one_table(form):
    table = columns(form=form)
    chunked = pa.concat_tables(
        [table.slice(0, 1), table.slice(1, 0), table.slice(1, 3), table.slice(4)]
    )
    assert chunked["topic"].num_chunks > 1
    assert_same_fleet(Fleet.from_arrow(chunked), python_fleet())


def in_utf8(text):
    return text.encode("utf-8", "replace").decode()


@given(units=inputs.units(), cuts=st.lists(st.integers(0, 6), max_size=3))
def test_what_arrow_brings_is_what_python_brings(units, cuts):
    """Any text that UTF-8 can hold, any chunks."""
    plain = [
        (f"g{u % 2}", f"t{u % 3}", [q[1:] for q in queues], list(map(in_utf8, ids)))
        for u, (queues, ids) in enumerate(units)
    ]
    table = pa.table({
        "consumer_group": pa.array([group[0] for group in plain], pa.string()),
        "topic": pa.array([group[1] for group in plain], pa.string()),
        "queues": pa.array([group[2] for group in plain], QUEUES),
        "client_ids": pa.array([group[3] for group in plain], pa.list_(pa.string())),
    })  # fmt: skip
    bounds = [0, *sorted(min(cut, len(plain)) for cut in cuts), len(plain)]
    chunked = pa.concat_tables([table.slice(a, b - a) for a, b in itertools.pairwise(bounds)])
    fleet, expected = Fleet.from_arrow(chunked), Fleet.from_groups(plain)
    assert [fleet.names_of(u) for u in range(fleet.n_units)] == [group[:2] for group in plain]
    assert [fleet.queues_of(u) for u in range(fleet.n_units)] == [
        expected.queues_of(u) for u in range(len(plain))
    ]
    assert [fleet.client_ids_of(u) for u in range(fleet.n_units)] == [group[3] for group in plain]
    for one, other in [(fleet, expected), (fleet.sorted(), expected.sorted())]:
        assert_same_owners(one, other)


def test_a_record_batch_and_a_reader_will_do():
    table = columns()
    assert_same_fleet(Fleet.from_arrow(table.to_batches()[0]), python_fleet())
    assert_same_fleet(Fleet.from_arrow(table.to_reader(max_chunksize=2)), python_fleet())


class OnlyAStream:
    """A data frame of which we know nothing but that it speaks Arrow, as those of polars or DuckDB."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def test_any_object_that_streams_arrow_will_do():
    assert_same_fleet(Fleet.from_arrow(OnlyAStream(columns(text="string_view"))), python_fleet())


@pytest.mark.needs("pandas")  # a new Python has no wheel of it at first
@pytest.mark.parametrize("form", ["queues", "brokers"])
def test_a_data_frame_of_pandas_will_do(form):
    frame = columns(form=form).to_pandas()
    assert_same_fleet(Fleet.from_arrow(frame), python_fleet())
    assert_same_fleet(
        Fleet.from_arrow(frame.astype({"topic": "category"})[1:]), python_fleet(GROUPS[1:])
    )


def test_text_is_not_copied():
    table = columns()
    ids = table["client_ids"].chunk(0).values
    fleet = Fleet.from_arrow(table.slice(0, 1))
    assert np.shares_memory(
        fleet.client_lists.client_ids.values, np.frombuffer(ids.buffers()[2], np.uint8)
    )


def test_other_columns_and_their_order_do_not_matter():
    table = columns()
    table = table.append_column("lag", pa.array(range(table.num_rows))).select(
        ["lag", *reversed(table.column_names)]
    )
    assert_same_fleet(Fleet.from_arrow(table), python_fleet())


def test_both_forms_of_queues_give_equal_owners():
    """Queue ids of the compact form run from 0 to read_queue_nums - 1 of every broker, in the order
    of the brokers.
    """
    compact, written_out = (
        Fleet.from_arrow(columns(form="brokers")),
        Fleet.from_arrow(columns(form="queues")),
    )
    assert_same_fleet(compact, written_out)
    nothing = [("g", "t", {"a": 0, "b": 2, "c": 0}, ["x", "y"])]
    assert Fleet.from_arrow(columns(nothing, "brokers")).queues_of(0) == [
        ("t", "b", 0),
        ("t", "b", 1),
    ]


def test_arrow_s_own_garbage_under_a_null_is_not_read():
    """A null list may have values of its own under it; they belong to nobody."""
    table = columns()
    clients = table["client_ids"].combine_chunks()
    mask = pa.array([False, True, False, False, False])
    hidden = pa.ListArray.from_arrays(clients.offsets, clients.values, mask=mask)
    fleet = Fleet.from_arrow(table.set_column(3, "client_ids", hidden), on_error="report")
    assert [error.position for error in fleet.errors] == [1]
    assert [fleet.client_ids_of(u) for u in (0, 2, 3, 4)] == [GROUPS[u][3] for u in (0, 2, 3, 4)]


def test_a_table_that_lacks_a_column_is_refused():
    for name in ("consumer_group", "topic", "queues", "client_ids"):
        with pytest.raises(TypeError, match=name):
            Fleet.from_arrow(columns().drop_columns([name]))


def test_a_column_of_another_type_is_refused():
    table = columns()
    with pytest.raises(TypeError, match="topic"):
        Fleet.from_arrow(table.set_column(1, "topic", pa.array([1, 2, 3, 4, 5])))
    with pytest.raises(TypeError, match="client_ids"):
        Fleet.from_arrow(table.set_column(3, "client_ids", pa.array([[1]] * 5)))
    with pytest.raises(TypeError, match="arrow"):
        Fleet.from_arrow([1, 2, 3])


# --- Java's order ---


def test_sorted_is_java_s_order():
    queues, clients = [("B", 7), ("\ue000", 1), ("😀", 1)], ["\ue000", "😀", "B"]
    groups = [
        (g, t, [*reversed(pairs_of(b)), *queues], [*reversed(c), *clients]) for g, t, b, c in GROUPS
    ]
    fleet = Fleet.from_groups(groups)
    in_order = fleet.sorted()
    for u in range(fleet.n_units):
        assert in_order.queues_of(u) == list(sort_queues(fleet.queues_of(u))) != fleet.queues_of(u)
        assert in_order.client_ids_of(u) == list(sort_client_ids(fleet.client_ids_of(u)))
        brokers = [queue.broker_name for queue in in_order.queues_of(u)]
        assert brokers.index("😀") < brokers.index("\ue000")
        assert in_order.consumer_group(u) == fleet.consumer_group(u)
    assert in_order.queue_offsets.tolist() == fleet.queue_offsets.tolist()
    assert fleet.sorted().queue_offsets is fleet.queue_offsets  # counted once, not once more


@every_way
def test_sorting_twice_is_sorting_once(make):
    fleet = make(GROUPS).sorted()
    again = fleet.sorted()
    assert_same_fleet(again, fleet)
    assert again.queue_lists is fleet.queue_lists
    assert again.client_lists is fleet.client_lists


def table_of(form, number, lists, clients):
    """Units on two topics, from lists of (broker name, number) and of client ids."""
    kind = pa.list_(pa.struct([("broker_name", pa.string()), (number, pa.int32())]))
    return pa.table({
        "consumer_group": pa.array(["g"] * len(lists), pa.string()),
        "topic": pa.array([f"t{u % 2}" for u in range(len(lists))], pa.string()),
        form: pa.array(lists, kind),
        "client_ids": pa.array(clients, pa.list_(pa.string())),
    })  # fmt: skip


broker_lists = st.lists(st.tuples(st.sampled_from(inputs.BROKERS), st.integers(0, 3)), max_size=20)
id_lists = st.lists(st.sampled_from(["", "a", "b", "ab", "10.0.0.1@7", "\ue000", "😀"]), max_size=6)


@given(st.lists(st.tuples(broker_lists, id_lists), max_size=5))
def test_any_brokers_sort_as_their_queues_do(units):
    """Brokers in any order, there twice or without queues: however the sort goes about it, it is
    that of the queues.
    """
    fleet = Fleet.from_arrow(
        table_of("brokers", "read_queue_nums", [b for b, _ in units], [ids for _, ids in units])
    )
    in_order = fleet.sorted()
    lists = fleet.queue_lists
    written_out = QueueLists(
        lists.offsets, lists.queue_ids, lists.route_offsets, lists.route_topic, lists.route_broker
    )
    same = replace(fleet, queue_lists=written_out).sorted()
    for u, (brokers, ids) in enumerate(units):
        assert same.queues_of(u) == in_order.queues_of(u)
        assert fleet.queues_of(u) == [
            MessageQueue(f"t{u % 2}", b, i) for b, n in brokers for i in range(n)
        ]
        assert in_order.queues_of(u) == sort_queues(fleet.queues_of(u))
        assert in_order.client_ids_of(u) == sort_client_ids(ids)
    irregular = in_order.client_lists.irregular[in_order.unit_client_list].tolist()
    assert irregular == ["" in ids or len(set(ids)) < len(ids) for _, ids in units]


@given(st.lists(st.tuples(broker_lists, id_lists), max_size=5))
def test_rooms_move_with_what_they_belong_to(units):
    table = table_of("brokers", "read_queue_nums", [b for b, _ in units], [ids for _, ids in units])
    for name, rooms in (("broker_rooms", [[b for b, _ in brokers] for brokers, _ in units]),
                        ("client_rooms", [ids for _, ids in units])):  # fmt: skip
        table = table.append_column(name, pa.array(rooms, pa.list_(pa.string())))
    fleet = Fleet.from_arrow(table).sorted()
    queues, clients = fleet.queue_lists, fleet.client_lists
    rooms = [*fleet.rooms.to_list(), ""]  # -1, the last one, where the room is missing
    assert [rooms[room] for room in queues.route_room] == [
        fleet.brokers[broker] for broker in queues.route_broker
    ]
    assert [rooms[room] for room in clients.slot_room] == clients.client_ids.to_list()
    assert [fleet.client_ids_of(u) for u in range(len(units))] == [
        sort_client_ids(ids) for _, ids in units
    ]


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from("abc"), st.integers(-2, 4)), max_size=20), max_size=4
    )
)
def test_any_queues_sort_as_they_should(lists):
    """Runs of ascending ids are sorted as a whole, all others queue by queue."""
    from_arrow = Fleet.from_arrow(table_of("queues", "queue_id", lists, [["x"]] * len(lists)))
    from_groups = Fleet.from_groups(
        [("g", f"t{u % 2}", queues, ["x"]) for u, queues in enumerate(lists)]
    )
    wanted = [
        sort_queues([MessageQueue(f"t{u % 2}", *queue) for queue in queues])
        for u, queues in enumerate(lists)
    ]
    for fleet in (from_groups, from_arrow):
        in_order = fleet.sorted()
        assert [in_order.queues_of(u) for u in range(in_order.n_units)] == wanted


def test_queues_of_several_topics_sort_by_topic_first():
    queues = [
        MessageQueue(t, b, i)
        for i in (3, -1, 2**31 - 1)
        for b in ("b", "a")
        for t in ("z", "", "😀", "\ue000")
    ]
    fleet = Fleet.from_groups([("g", "t", queues, ["x"]), ("g", "t", queues[:1], ["x"])]).sorted()
    assert fleet.queues_of(0) == list(sort_queues(queues))
    assert [queue.topic for queue in fleet.queues_of(0)[::6]] == ["", "z", "😀", "\ue000"]


def test_a_name_spelled_in_two_ways_is_one_broker_to_the_sort():
    queues = [("x\U0001f600", 2), ("x\ud83d\ude00", 1), ("x\U0001f600", 0)]
    fleet = Fleet.from_groups([("g", "t", queues, ["c"])]).sorted()
    assert [queue.queue_id for queue in fleet.queues_of(0)] == [0, 1, 2]


# --- Back to Arrow ---


def test_owners_go_back_to_arrow():
    fleet = python_fleet()
    table = fleet.to_arrow(AVG.assign_fleet(fleet))
    assert table.column_names == ["consumer_group", "topic", "owners"]
    assert table.schema.field("owners").type == pa.list_(pa.int32())
    assert table["consumer_group"].to_pylist() == [group[0] for group in GROUPS]
    assert table["topic"].to_pylist() == [group[1] for group in GROUPS]
    one_by_one = [
        AVG.assign(fleet.queues_of(u), fleet.client_ids_of(u)).owners.tolist()
        for u in range(fleet.n_units)
    ]
    assert table["owners"].to_pylist() == one_by_one
    table.validate(full=True)


def test_owners_of_another_fleet_do_not_fit():
    fleet = python_fleet()
    with pytest.raises(ValueError, match="24"):
        fleet.to_arrow(np.zeros(23, np.int32))
