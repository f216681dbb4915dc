"""The golden file: 3,049 cases answered by RocketMQ's own Java classes.

The reference must give these answers, which proves the reference: an eighth of them in `make test`,
all of them in `make test-all`. The package must give all of them, through each of its faces. An
answer is a list of queue positions, ``None``, or the error in Java's words.
"""

import gzip
import json
import re
from collections import defaultdict
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
import reference
from checkout import DATA

from rmqalloc import Fleet, MessageQueue, sort_client_ids, sort_queues, strategy
from rmqalloc.errors import ArgumentError, ArgumentTypeError

GOLDEN = DATA / "golden.jsonl.gz"
N_CASES = 3049
NULL_POINTER = "NullPointerException"
MANY_TO_MANY = ("CONFIG", "POP", "MACHINE_ROOM_NEARBY-CONFIG")
ERRORS = {
    ArgumentError: "IllegalArgumentException",
    reference.IllegalArgument: "IllegalArgumentException",
    ArgumentTypeError: NULL_POINTER,
    reference.NullPointer: NULL_POINTER,
}


@cache
def golden_cases():
    """The cases by the name of their strategy, in file order."""
    cases = defaultdict(list)
    with gzip.open(GOLDEN, "rt") as lines:
        for case in map(json.loads, lines):
            case["queues"] = [MessageQueue(*queue) for queue in case["queues"]]
            cases[case["strategy"]].append(case)
    return cases


NAMES = sorted(golden_cases())
every_strategy = pytest.mark.parametrize("name", NAMES)
one_owner_strategy = pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in MANY_TO_MANY]
)


def in_java_words(error):
    """Class and text of an error; the text of a NullPointerException is the JVM's own affair."""
    java_class = ERRORS[type(error)]
    return java_class if java_class == NULL_POINTER else f"{java_class}: {error}"


def java_error(text):
    """The golden file's error in the same form."""
    return NULL_POINTER if text.startswith(NULL_POINTER) else text


def room_functions(case):
    """The resolver of a NEARBY case: by queue object, since equal queues may lie in different rooms
    here.
    """
    room_of = {
        id(queue): room
        for queue, room in zip(case["queues"], case["params"]["queue_rooms"], strict=True)
    }
    return (lambda queue: room_of[id(queue)]), case["params"]["client_rooms"].get


def reference_strategy(name, params, case):
    """The rule of a case, from the reference."""
    match name.split("-")[0]:
        case "AVG":
            return reference.Avg()
        case "AVG_BY_CIRCLE":
            return reference.AvgByCircle()
        case "CONSISTENT_HASH":
            return reference.ConsistentHash(*([params["vnodes"]] if "vnodes" in params else []))
        case "CONFIG":
            return reference.Config(configured(params))
        case "MACHINE_ROOM":
            return reference.MachineRoom(params["idcs"])
        case "POP":
            return reference.Pop(reference_strategy(*inner(params), case), params["share"])
    return reference.MachineRoomNearby(
        reference_strategy(*inner(params), case), *room_functions(case)
    )


def package_strategy(name, params, case):
    """The rule of a case, from the package."""
    match name.split("-")[0]:
        case "CONSISTENT_HASH":
            return strategy(
                name, **({"virtual_nodes": params["vnodes"]} if "vnodes" in params else {})
            )
        case "CONFIG":
            return strategy(name, message_queues=configured(params))
        case "MACHINE_ROOM":
            return strategy(
                name, machine_rooms=None if params["idcs"] is None else set(params["idcs"])
            )
        case "POP":
            return strategy(
                name,
                inner=package_strategy(*inner(params), case),
                pop_share_queue_num=params["share"],
            )
        case "MACHINE_ROOM_NEARBY":
            broker_room, client_room = room_functions(case)
            nested = package_strategy(*inner(params), case)
            return strategy(
                "MACHINE_ROOM_NEARBY",
                inner=nested,
                broker_room=broker_room,
                client_room=client_room,
            )
    return strategy(name)


def inner(params):
    return params["inner"]["strategy"], params["inner"]["params"]


def configured(params):
    """The queues of a CONFIG rule: one and the same list of objects however often it is asked for."""
    if params["config"] is not None and not isinstance(params["config"], tuple):
        params["config"] = tuple(MessageQueue(*queue) for queue in params["config"])
    return None if params["config"] is None else list(params["config"])


def java_answers(case):
    """Every answer of the file: by client id, and by ``None`` for a null current id."""
    answers = dict(case.get("result", {}))
    answers |= {client: java_error(text) for client, text in case.get("errors", {}).items()}
    if "null_client_error" in case:
        answers[None] = java_error(case["null_client_error"])
    return answers


def positions(case, result):
    """A result as positions in the queues (or configured queues) of the case, by object and not by
    value.
    """
    if case.get("queue_id_minus_one"):
        assert [tuple(queue) for queue in result] == [(*queue[:2], -1) for queue in case["queues"]]
        return list(range(len(result)))
    source = case["queues"]
    if case.get("result_of") == "config":
        params = case["params"]
        source = (
            params.get("config", ())
            if "inner" not in params
            else params["inner"]["params"]["config"]
        )
    position_of = {id(queue): position for position, queue in enumerate(source or ())}
    return None if result is None else [position_of[id(queue)] for queue in result]


def answers(rule, case):
    """What a rule answers to everyone whom the file asked."""
    given = {}
    for current in java_answers(case):
        try:
            result = rule.allocate("G", current, case["queues"], case["clients"])
        except tuple(ERRORS) as error:
            given[current] = in_java_words(error)
        else:
            given[current] = positions(case, result)
            if "set_size" in case:
                assert len(set(map(tuple, result))) == case["set_size"][current]
    return given


def wrong_cases(name, make, every=1):
    """Ids of the cases that a maker of rules does not answer as Java did; the constructor's own
    errors included.
    """
    wrong = []
    for case in golden_cases()[name][::every]:
        try:
            rule = make(name, case["params"], case)
        except tuple(ERRORS) as error:
            agrees = (case.get("error_at"), case.get("error")) == (
                "constructor",
                in_java_words(error),
            )
        else:
            agrees = "error_at" not in case and answers(rule, case) == java_answers(case)
        wrong += [] if agrees else [case["id"]]
    return wrong


def test_every_case_is_there():
    assert sum(map(len, golden_cases().values())) == N_CASES
    assert len({case["id"] for cases in golden_cases().values() for case in cases}) == N_CASES
    assert all(
        java_answers(case) or "error_at" in case
        for cases in golden_cases().values()
        for case in cases
    )


@pytest.mark.thorough(keep=2)
@every_strategy
def test_the_reference_answers_as_java_did(name):
    assert wrong_cases(name, reference_strategy, every=8) == []


@every_strategy
def test_the_reference_answers_every_case_as_java_did(name):
    assert wrong_cases(name, reference_strategy) == []


@every_strategy
def test_allocate_answers_as_java_did(name):
    assert wrong_cases(name, package_strategy) == []


@every_strategy
def test_strategies_carry_java_names(name):
    case = next(case for case in golden_cases()[name] if "error_at" not in case)
    assert package_strategy(name, case["params"], case).get_name() == name
    assert reference_strategy(name, case["params"], case).name == name


# --- The caller's sort ---


def sorted_cases():
    cases = [case for cases in golden_cases().values() for case in cases if "sorted" in case]
    assert cases
    return cases


def test_the_reference_sorts_as_java_did():
    assert sorted_cases()
    for case in sorted_cases():
        assert reference.sorted_queues(case["queues"]) == case["sorted"]["queues"], case["id"]
        assert reference.sorted_client_ids(case["clients"]) == case["sorted"]["clients"], case["id"]


def test_queues_and_client_ids_sort_as_java_did():
    assert sorted_cases()
    for case in sorted_cases():
        queues, ids = (
            [case[name][i] for i in case["sorted"][name]] for name in ("queues", "clients")
        )
        assert list(map(id, sort_queues(case["queues"]))) == list(map(id, queues)), case["id"]
        assert list(sort_client_ids(case["clients"])) == ids, case["id"]


def test_sorted_input_stays_as_it_is():
    presorted = [
        case for cases in golden_cases().values() for case in cases if case["sorted_input"]
    ]
    assert presorted
    for case in presorted:
        assert list(map(id, sort_queues(case["queues"]))) == list(map(id, case["queues"])), case[
            "id"
        ]
        assert list(sort_client_ids(case["clients"])) == case["clients"], case["id"]


# --- The whole group ---


def java_owners(case):
    """One owner per queue from the answers of the members, or the error that they all got.

    An empty id takes its slot in the list, but nobody can ask by it: its queues have no owner.
    """
    answer_of = java_answers(case)
    members = dict.fromkeys(client for client in case["clients"] if client)
    owners = [-1] * len(case["queues"])
    for member in members or ["anyone"]:
        answer = answer_of[member] if member in answer_of else reference_error(case)
        if isinstance(answer, str):
            return answer
        for queue in answer:
            owners[queue] = case["clients"].index(member)
    return owners


def can_ask(case):
    """Somebody can ask, or the list is empty: with nobody but empty ids the file says nothing of
    the group.
    """
    return "error_at" not in case and (any(case["clients"]) or not case["clients"])


def reference_error(case):
    """What a group without members answers: Java's error to a stranger."""
    rule = reference_strategy(case["strategy"], case["params"], case)
    try:
        return rule.allocate("G", "anyone", case["queues"], case["clients"])
    except tuple(ERRORS) as error:
        return in_java_words(error)


def assigned_owners(case):
    rule = package_strategy(case["strategy"], case["params"], case)
    try:
        return rule.assign(case["queues"], case["clients"]).owners.tolist()
    except tuple(ERRORS) as error:
        return in_java_words(error)


@one_owner_strategy
def test_assign_gives_the_owners_of_java(name):
    cases = [case for case in golden_cases()[name] if can_ask(case)]
    assert [case["id"] for case in cases if assigned_owners(case) != java_owners(case)] == []


@pytest.mark.parametrize("name", MANY_TO_MANY)
def test_assign_gives_each_client_its_queues_where_they_are_shared(name):
    wrong = []
    for case in golden_cases()[name]:
        expected = [java_answers(case)[client] for client in case["clients"]]
        wrong += [] if all(map(agrees, expected, shared_answers(case))) else [case["id"]]
    assert wrong == []


def shared_answers(case):
    """What a whole group gets, client by client; an error that nobody escapes may be raised at
    once.
    """
    rule = package_strategy(case["strategy"], case["params"], case)
    try:
        shared = rule.assign(case["queues"], case["clients"])
    except tuple(ERRORS) as error:
        return [str(error)] * len(case["clients"])
    assert len(shared.queues) == len(case["clients"])
    return [
        shared.errors.get(i) or positions(case, queues) for i, queues in enumerate(shared.queues)
    ]


def agrees(expected, answer):
    """An answer is Java's, or the text of its error is (a NullPointerException has no text of its
    own).
    """
    if expected == NULL_POINTER:
        return isinstance(answer, str)
    return answer == (expected.partition(": ")[2] if isinstance(expected, str) else expected)


# --- Many cases in one fleet ---


def by_parameters(name):
    """The cases of a strategy that one Fleet can hold: those with the same parameters."""
    fleets = defaultdict(list)
    for case in golden_cases()[name]:
        if can_ask(case):
            fleets[json.dumps(case["params"])].append(case)
    return fleets.values()


def fleet_of(cases):
    return Fleet.from_groups((case["id"], "t", case["queues"], case["clients"]) for case in cases)


def answers_of_units(rule, fleet):
    """Owners of each unit as a list, or the reason why it cannot be assigned; then nobody may own
    its queues.
    """
    owners = np.split(rule.assign_fleet(fleet, on_error="report"), fleet.queue_offsets[1:-1])
    answers = [of_unit.tolist() for of_unit in owners]
    for error in rule.fleet_errors(fleet):
        assert set(answers[error.position]) <= {-1}
        answers[error.position] = error.reason
    return answers


@pytest.mark.parametrize("name", ["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "MACHINE_ROOM"])
def test_a_fleet_of_all_cases_gives_the_owners_of_java(name):
    n_units, wrong = 0, []
    for cases in by_parameters(name):
        given = answers_of_units(
            package_strategy(name, cases[0]["params"], cases[0]), fleet_of(cases)
        )
        wrong += [
            case["id"]
            for case, answer in zip(cases, given, strict=True)
            if not agrees(java_owners(case), answer)
        ]
        n_units += len(cases)
    assert wrong == []
    assert n_units == sum(map(can_ask, golden_cases()[name]))


def one_topic_in_utf8(case):
    """Can the case be a row of an Arrow table, whose text is UTF-8 and whose queues are all of one
    topic?
    """
    texts = [*case["clients"], *(text for queue in case["queues"] for text in queue[:2])]
    return len({queue.topic for queue in case["queues"]}) == 1 and not re.search(
        "[\ud800-\udfff]", "".join(texts)
    )


def room_table(cases):
    """The cases as a table whose columns say the room of each queue, not only of each broker, and
    of each client.
    """
    queue = pa.struct([("broker_name", pa.string()), ("queue_id", pa.int32())])
    return pa.table({
        "consumer_group": [case["id"] for case in cases],
        "topic": [case["queues"][0].topic for case in cases],
        "queues": pa.array([[queue._asdict() for queue in case["queues"]] for case in cases], pa.list_(queue)),
        "client_ids": pa.array([case["clients"] for case in cases], pa.list_(pa.string())),
        "broker_rooms": pa.array([case["params"]["queue_rooms"] for case in cases], pa.list_(pa.string())),
        "client_rooms": [[case["params"]["client_rooms"][client] for client in case["clients"]] for case in cases],
    })  # fmt: skip


@pytest.mark.parametrize(
    "name", [name for name in NAMES if "NEARBY" in name and name not in MANY_TO_MANY]
)
def test_rooms_as_columns_give_the_owners_of_java(name):
    fleets = defaultdict(list)
    for case in filter(one_topic_in_utf8, golden_cases()[name]):
        fleets[json.dumps(case["params"]["inner"])].append(case)
    wrong = []
    for cases in fleets.values():
        nested = package_strategy(*inner(cases[0]["params"]), cases[0])
        rule = strategy("MACHINE_ROOM_NEARBY", inner=nested)
        given = answers_of_units(rule, Fleet.from_arrow(room_table(cases)))
        wrong += [
            case["id"]
            for case, answer in zip(cases, given, strict=True)
            if not agrees(java_owners(case), answer)
        ]
    assert wrong == []
    assert sum(map(len, fleets.values())) > 25
