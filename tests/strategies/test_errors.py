"""Bad inputs: what is refused, when, and in which words."""

import inspect
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest

from rmqalloc import Error, Fleet, MessageQueue, sort_client_ids, sort_queues, strategy
from rmqalloc.strategies import STRATEGIES
from rmqalloc.strategies.by_name import rule
from rmqalloc.strategies.spelled import with_params

QUEUES = [MessageQueue("T", "hz@b", i) for i in range(4)]
NAMES = [
    "AVG",
    "AVG_BY_CIRCLE",
    "CONSISTENT_HASH",
    "CONFIG",
    "MACHINE_ROOM",
    "MACHINE_ROOM_NEARBY",
    "POP",
]
VALIDATING = {
    "AVG": lambda: strategy("AVG"),
    "AVG_BY_CIRCLE": lambda: strategy("AVG_BY_CIRCLE"),
    "CONSISTENT_HASH": lambda: strategy("CONSISTENT_HASH"),
    "MACHINE_ROOM": lambda: strategy("MACHINE_ROOM", machine_rooms={"hz"}),
    "MACHINE_ROOM_NEARBY": lambda: nearby(),
}
every_validating = pytest.mark.parametrize("name", VALIDATING)


def nearby(**changed):
    parameters = {
        "inner": strategy("AVG"),
        "broker_room": {"hz@b": "hz"},
        "client_room": {"x": "hz", "y": "hz"},
    } | changed
    return strategy("MACHINE_ROOM_NEARBY", **parameters)


def fleet():
    return Fleet.from_groups([("g", "T", QUEUES, ["x", "y"])])


# --- Names and parameters ---


def test_an_unknown_strategy_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="avg") as caught:
        strategy("avg")
    assert all(name in str(caught.value) for name in NAMES)


@pytest.mark.parametrize("name", ["AVG", "AVG_BY_CIRCLE"])
def test_a_parameter_that_a_strategy_does_not_have_is_refused(name):
    with pytest.raises(TypeError, match="virtual_nodes"):
        strategy(name, virtual_nodes=3)


@pytest.mark.parametrize("virtual_nodes", [-1, -(2**31)])
def test_negative_virtual_nodes_are_refused_in_java_s_words(virtual_nodes):
    with pytest.raises(ValueError, match=f"^illegal virtualNodeCnt :{virtual_nodes}$"):
        strategy("CONSISTENT_HASH", virtual_nodes=virtual_nodes)


@pytest.mark.parametrize("virtual_nodes", [10.0, "10", None, True])
def test_virtual_nodes_are_an_integer(virtual_nodes):
    with pytest.raises(TypeError, match="virtual_nodes"):
        strategy("CONSISTENT_HASH", virtual_nodes=virtual_nodes)


def test_numpy_s_integers_are_integers():
    plain, numpy_s = (
        strategy("CONSISTENT_HASH", virtual_nodes=n).assign(QUEUES, ["x", "y"])
        for n in (3, np.int64(3))
    )
    assert plain.owners.tolist() == numpy_s.owners.tolist()


def test_a_hash_function_is_a_function():
    with pytest.raises(TypeError, match="hash_function"):
        strategy("CONSISTENT_HASH", hash_function="md5")


@pytest.mark.parametrize("answer", ["7", None, 7.5, pytest.param(b"7", id="bytes")])
def test_a_hash_that_is_no_integer_is_refused(answer):
    rule = strategy("CONSISTENT_HASH", hash_function=lambda key: answer)
    with pytest.raises(TypeError, match="hash_function"):
        rule.assign(QUEUES, ["x", "y"])
    with pytest.raises(TypeError, match="hash_function"):
        rule.allocate("g", "x", QUEUES, ["x", "y"])


@pytest.mark.parametrize("answer", [2**63, -(2**63) - 1, 2**200])
def test_a_hash_outside_of_int64_is_refused(answer):
    rule = strategy("CONSISTENT_HASH", hash_function=lambda key: answer)
    with pytest.raises((ValueError, OverflowError), match="hash_function"):
        rule.assign(QUEUES, ["x", "y"])


def test_the_ends_of_int64_are_hashes():
    ends = {"x-0": 2**63 - 1, "y-0": -(2**63)}
    rule = strategy("CONSISTENT_HASH", virtual_nodes=1, hash_function=lambda key: ends.get(key, 0))
    assert rule.assign(QUEUES, ["x", "y"]).owners.tolist() == [0, 0, 0, 0]
    wrapped = strategy(
        "CONSISTENT_HASH",
        virtual_nodes=1,
        hash_function=lambda key: {"x-0": 5}.get(key, 2**63 - 1 if "=" in key else -4),
    )
    assert wrapped.assign(QUEUES, ["x", "y"]).owners.tolist() == [1, 1, 1, 1]


def test_what_a_hash_function_raises_comes_through():
    def broken(key):
        raise KeyError("no such key")

    with pytest.raises(KeyError, match="no such key"):
        strategy("CONSISTENT_HASH", hash_function=broken).assign(QUEUES, ["x"])


def test_nearby_wants_an_inner_rule_before_it_wants_rooms():
    with pytest.raises(TypeError, match="allocateMessageQueueStrategy is null"):
        strategy("MACHINE_ROOM_NEARBY", inner=None, broker_room=None, client_room=None)


@pytest.mark.parametrize("missing", ["broker_room", "client_room"])
def test_nearby_wants_rooms(missing):
    """Without a resolver and without room columns nothing is known; Java refuses the null resolver."""
    with pytest.raises(TypeError, match="machineRoomResolver is null"):
        nearby(**{missing: None}).allocate("g", "x", QUEUES, ["x", "y"])


@pytest.mark.parametrize(
    ("rooms", "who"),
    [
        ({"broker_room": {}}, "mq MessageQueue [topic=T, brokerName=hz@b, queueId=0]"),
        ({"client_room": {}}, "consumer id x"),
    ],
)
def test_nearby_wants_every_room(rooms, who):
    rule = nearby(**rooms)
    for call in (
        lambda: rule.assign(QUEUES, ["x", "y"]),
        lambda: rule.allocate("g", "y", QUEUES, ["x", "y"]),
    ):
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
            call()
        assert str(caught.value) == f"Machine room is null for {who}"


def test_inner_rules_are_rules():
    with pytest.raises(TypeError, match="inner"):
        nearby(inner="AVG")
    with pytest.raises(TypeError, match="inner"):
        strategy("POP", inner="AVG", pop_share_queue_num=1)


# --- Lists ---


@every_validating
@pytest.mark.parametrize(
    ("current", "mq_all", "cid_all", "text"),
    [
        ("", [], [], "currentCID is empty"),
        (None, QUEUES, ["x"], "currentCID is empty"),
        ("x", [], [], "mqAll is null or mqAll empty"),
        ("x", None, None, "mqAll is null or mqAll empty"),
        ("x", QUEUES, [], "cidAll is null or cidAll empty"),
        ("x", QUEUES, None, "cidAll is null or cidAll empty"),
    ],
)
def test_empty_lists_are_refused_in_java_s_order_and_words(name, current, mq_all, cid_all, text):
    rule = VALIDATING[name]()
    with pytest.raises(ValueError, match=f"^{text}$"):
        rule.allocate("g", current, mq_all, cid_all)
    if current:
        with pytest.raises(ValueError, match=f"^{text}$"):
            rule.assign(mq_all, cid_all)


@every_validating
@pytest.mark.parametrize("bad", [None, 7, pytest.param(b"x", id="bytes")])
@pytest.mark.parametrize("place", [0, 2])
def test_a_client_id_that_is_no_text_is_refused_with_its_place(name, bad, place):
    """Java takes a null id into the list and fails later, or not at all; here it is refused before
    that.
    """
    clients = ["x", "y"]
    clients.insert(place, bad)
    rule = VALIDATING[name]()
    with pytest.raises(TypeError, match=rf"position {place}\b"):
        rule.assign(QUEUES, clients)
    with pytest.raises(TypeError, match=rf"position {place}\b"):
        sort_client_ids(clients)
    if name == "CONSISTENT_HASH":
        with pytest.raises(TypeError, match=rf"position {place}\b"):
            rule.allocate("g", "x", QUEUES, clients)


@pytest.mark.parametrize("name", ["AVG", "AVG_BY_CIRCLE"])
def test_one_client_may_ask_beside_a_null_as_in_java(name):
    """The null takes its slot; only the whole group and the ring refuse it."""
    assert [queue.queue_id for queue in strategy(name).allocate("g", "x", QUEUES, [None, "x"])] == {
        "AVG": [2, 3],
        "AVG_BY_CIRCLE": [1, 3],
    }[name]


BAD_QUEUES = {
    "no topic": (SimpleNamespace(broker_name="b", queue_id=0), TypeError, "topic"),
    "no broker": ({"topic": "T", "queue_id": 0}, TypeError, "broker_name"),
    "no id": (SimpleNamespace(topic="T", brokerName="b"), TypeError, "queue_id"),
    "a pair": (("b", 0), TypeError, r"\(topic, broker_name, queue_id\)"),
    "null": (None, TypeError, "null"),
    "a topic of bytes": ((b"T", "b", 0), TypeError, "topic"),
    "a broker of bytes": (("T", b"b", 0), TypeError, "broker_name"),
    "an id of text": (("T", "b", "0"), TypeError, "queue_id"),
    "an id of float": (("T", "b", 0.0), TypeError, "queue_id"),
    "an id too big": (("T", "b", 2**31), ValueError, "2147483648"),
    "an id too small": (("T", "b", -(2**31) - 1), ValueError, "-2147483649"),
}


@pytest.mark.parametrize("what", BAD_QUEUES)
def test_what_is_no_queue_is_refused(what):
    bad, error, text = BAD_QUEUES[what]
    for call in (
        lambda: strategy("AVG").assign([QUEUES[0], bad], ["x"]),
        lambda: strategy("CONSISTENT_HASH").allocate("g", "x", [QUEUES[0], bad], ["x"]),
        lambda: strategy("MACHINE_ROOM", machine_rooms={"hz"}).allocate(
            "g", "x", [QUEUES[0], bad], ["x"]
        ),
        lambda: sort_queues([QUEUES[0], bad]),
    ):
        with pytest.raises(error, match=text):
            call()


@pytest.mark.parametrize("queue_id", [-(2**31), 2**31 - 1])
def test_the_ends_of_int32_are_queue_ids(queue_id):
    queue = MessageQueue("T", "b", queue_id)
    assert strategy("CONSISTENT_HASH").allocate("g", "x", [queue], ["x"]) == [queue]
    assert Fleet.from_groups([("g", "T", [queue], ["x"])]).queues_of(0) == [queue]


@pytest.mark.parametrize("broker_name", ["hz@b", "a@b@c"])
def test_machine_room_without_rooms_fails_only_where_java_reads_them(broker_name):
    rule, queues = strategy("MACHINE_ROOM", machine_rooms=None), [MessageQueue("T", broker_name, 0)]
    if broker_name == "a@b@c":  # not two parts: its room is never looked up
        assert rule.allocate("g", "x", queues, ["x"]) == []
    else:
        with pytest.raises(TypeError, match="machine_rooms"):
            rule.allocate("g", "x", queues, ["x"])


@pytest.mark.parametrize("what", [0, 1])
def test_a_null_is_refused_where_java_compares_it(what):
    queues = [
        MessageQueue("T", "b", 0),
        MessageQueue(*(None if part == what else name for part, name in enumerate("Tb")), 1),
    ]
    with pytest.raises(TypeError, match=["topic", "broker_name"][what]):
        sort_queues(queues)
    assert sort_queues(queues[1:]) == queues[1:]


# --- out= and fleets ---


@every_validating
@pytest.mark.parametrize("dtype", [np.int64, np.uint32, np.float32, ">i4"])
def test_out_is_int32(name, dtype):
    with pytest.raises(TypeError, match="int32"):
        VALIDATING[name]().assign_fleet(fleet(), out=np.empty(4, dtype))


@pytest.mark.parametrize("out", [[0, 0, 0, 0], memoryview(np.zeros(4, np.int32))])
def test_out_is_an_array(out):
    with pytest.raises(TypeError, match="out"):
        strategy("AVG").assign_fleet(fleet(), out=out)


@pytest.mark.parametrize("shape", [3, 5, (4, 1), ()])
def test_out_has_one_entry_per_queue(shape):
    with pytest.raises(ValueError, match="shape"):
        strategy("AVG").assign_fleet(fleet(), out=np.empty(shape, np.int32))


def test_out_is_contiguous_and_writeable():
    memory, frozen = np.full(8, 77, np.int32), np.full(4, 77, np.int32)
    frozen.flags.writeable = False
    for out in (memory[::2], frozen, memory[3::-1]):
        with pytest.raises(ValueError, match=r"contiguous|writeable"):
            strategy("AVG").assign_fleet(fleet(), out=out)
        assert (out == 77).all()


@pytest.mark.parametrize("name", ["CONFIG", "POP"])
def test_shared_queues_have_no_fleet_of_owners(name):
    parameters = (
        {"message_queues": QUEUES}
        if name == "CONFIG"
        else {"inner": strategy("AVG"), "pop_share_queue_num": 1}
    )
    with pytest.raises(TypeError, match=name):
        strategy(name, **parameters).assign_fleet(fleet())


@pytest.mark.parametrize("group", [("g", "T", QUEUES), "gTqc!", 7])
def test_a_group_is_four_things(group):
    with pytest.raises(TypeError, match="position 1"):
        Fleet.from_groups([("g", "T", QUEUES, ["x"]), group])


def test_client_ids_are_not_one_string():
    with pytest.raises(ValueError, match="client_ids must be a list"):
        Fleet.from_groups([("g", "T", QUEUES, "xyz")])
    with pytest.raises(TypeError, match="list"):
        strategy("AVG").assign(QUEUES, "xyz")


ODD = (
    None,
    True,
    -1,
    0,
    1.5,
    float("nan"),
    2**70,
    "x",
    "",
    b"x",
    [],
    [None],
    [[1]],
    {},
    {"a": None},
    {"a": [1]},
    {1: 2},
    (),
    object(),
)
PARAMETERS = [
    (name, parameter)
    for name, made in STRATEGIES.items()
    for parameter in inspect.signature(made).parameters
]


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_a_parameter_of_any_kind_is_taken_or_refused_by_an_error_of_ours(name, parameter):
    """As files and rows of tables give them; a builtin exception would be a defect."""
    for value in ODD:
        with suppress(Error):
            strategy(name, **{parameter: value})
        with suppress(Error):
            rule(name, **{parameter: value})


@pytest.mark.thorough(keep=20)
@pytest.mark.parametrize(
    "parameter", ["name", "dialect", "inner", "self", "cls", "params", "text", "", "a b"]
)
@pytest.mark.parametrize(
    "name", [*STRATEGIES, "MACHINE_ROOM_NEARBY-AVG", "POP-AVG", "CANARY-AVG", "x", "", None, 3]
)
def test_a_parameter_of_any_name_is_taken_or_refused_by_an_error_of_ours(name, parameter):
    for value in ODD:
        with suppress(Error):
            rule(name, **{parameter: value})
        with suppress(Error):
            made, params = with_params(str(name), {parameter: value})
            strategy(made, **params)
