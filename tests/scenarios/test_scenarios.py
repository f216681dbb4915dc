"""Scenarios as data: read, printed, refused; and done to fleets whose every list is looked at
afterwards.
"""

import json
import math
import pickle
from collections import Counter
from fnmatch import fnmatchcase

import drawn_units
import numpy as np
import pyarrow as pa
import pytest
import yaml
from bruteforce import java, planned, rows
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from programs import python

from rmqalloc import Fleet, strategy
from rmqalloc.evaluation.movement import renamed_clients
from rmqalloc.fleet.columns import Strings
from rmqalloc.model import MAX_TEXT_BYTES
from rmqalloc.scenarios import (
    AddBroker,
    AddClients,
    LoseMachineRoom,
    RemoveBroker,
    RemoveClients,
    ScaleClients,
    Scenario,
    ScenarioError,
    SetQueues,
    SetStrategy,
    apply,
    ordered,
    read_scenarios,
    scenarios_of,
    scenarios_schema,
    to_data,
)
from rmqalloc.scenarios.patterns import matches
from rmqalloc.scenarios.scenario import CHANGES
from rmqalloc.scenarios.subfleet import per_unit
from rmqalloc.strategies.by_name import rule

SCALE = {"scale_clients": {"to": 8}}
EVERY_CHANGE = [
    {"remove_clients": {"ids": ["a", "b"]}},
    {"remove_clients": {"pattern": "10.1.*"}},
    {"remove_clients": {"count": 2, "which": "spread"}},
    {"remove_clients": {"machine_room": "hz"}},
    {"add_clients": {"ids": "x"}},
    {"add_clients": {"count": 3, "name": "pod-{n}", "machine_room": "hz"}},
    SCALE,
    {"set_strategy": {"strategy": "MACHINE_ROOM", "params": {"machine_rooms": ["hz", "sh"]}}},
    {"set_virtual_nodes": {"virtual_nodes": 160}},
    {"set_queues": {"read_queue_nums": 16, "brokers": ["a*", "b"]}},
    {"remove_broker": {"brokers": "a"}},
    {"add_broker": {"broker_name": "c", "read_queue_nums": 4, "machine_room": "sh"}},
    {"lose_machine_room": {"machine_room": "hz", "what": "clients"}},
]
FULL = {"name": "all of them", "changes": EVERY_CHANGE, "groups": ["g*", "h"], "topics": "T?"}


# --- Reading and printing ---


def test_every_change_is_there():
    assert {name for change in EVERY_CHANGE for name in change} == CHANGES.keys()


@pytest.mark.parametrize(
    ("suffix", "dump"), [(".yaml", yaml.safe_dump), (".yml", yaml.safe_dump), (".json", json.dumps)]
)
def test_a_file_holds_what_was_printed_into_it(tmp_path, suffix, dump):
    wanted = scenarios_of([FULL, {"name": "é", "changes": [SCALE]}])
    path = tmp_path / f"scenarios{suffix}"
    path.write_text(dump(to_data(wanted)), encoding="utf-8")
    assert read_scenarios(path) == wanted
    assert to_data(wanted)["scenarios"][0] == FULL


@given(drawn_units.scenarios(rooms=True))
def test_plain_data_makes_the_round(data):
    if data:
        made = scenarios_of(data)
        assert scenarios_of(to_data(made)["scenarios"]) == made
        assert scenarios_of(json.loads(json.dumps(to_data(made)))["scenarios"]) == made
        assert pickle.loads(pickle.dumps(made)) == made
        assert {hash(one) for one in made} == {hash(one) for one in scenarios_of(data)}


def test_rows_of_a_table_will_do():
    columns = {
        "name": ["a", "b"],
        "groups": [None, "g*"],
        "changes": [[{"scale_clients": {"to": 3}}], [{"remove_clients": {"count": 1}}]],
    }
    table = pa.table(columns)
    assert table.to_pylist()[0]["changes"] == [{"scale_clients": {"to": 3}, "remove_clients": None}]
    first, second = scenarios_of(table.to_pylist())
    assert first == Scenario("a", [ScaleClients(3)])
    assert second == Scenario("b", [RemoveClients(count=1)], groups="g*")
    texts = [{"name": "a", "changes": json.dumps([SCALE])}]
    assert scenarios_of(texts) == (Scenario("a", [ScaleClients(8)]),)


def test_json_needs_no_yaml(tmp_path):
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"scenarios": [FULL]}))
    script = (
        "import sys; sys.modules['yaml'] = None; from rmqalloc.scenarios import read_scenarios; "
    )
    done = python("-c", script + f"print(len(read_scenarios({str(path)!r})))")
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_fields_are_checked_and_kept_as_tuples():
    assert AddClients(ids=["a", "b"]).ids == ("a", "b")
    assert SetStrategy("MACHINE_ROOM", {"machine_rooms": {"b", "a"}}).params == {
        "machine_rooms": ["a", "b"]
    }
    with pytest.raises(
        ScenarioError, match="which must be one of last, first, spread, got 'middle'"
    ):
        RemoveClients(count=1, which="middle")


def test_the_schema_names_every_field():
    one = scenarios_schema()["properties"]["scenarios"]["items"]
    assert set(one["properties"]) == {"name", "changes", "groups", "topics"}
    changes = one["properties"]["changes"]["items"]["properties"]
    assert changes.keys() == CHANGES.keys()
    for change in EVERY_CHANGE:
        [(name, fields)] = change.items()
        assert fields.keys() <= changes[name]["properties"].keys()
        assert set(changes[name]["required"]) <= fields.keys()
    json.dumps(scenarios_schema())


# --- What is refused, and in which words ---


def one(**fields):
    return [{"name": "x", "changes": [SCALE], **fields}]


def with_change(verb, **fields):
    return one(changes=[SCALE, {verb: fields}])


LONG = "a" * (MAX_TEXT_BYTES + 1)
HERE = "f.yaml: scenario 'x': "


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("text", "f.yaml: must be a list of scenarios, got 'text'"),
        ([], "f.yaml: contains no scenario; give at least one"),
        ([3], "f.yaml: scenario number 1 must be a mapping, got 3"),
        ([{"changes": [SCALE]}], "f.yaml: scenario number 1: name is missing"),
        ([*one(), *one()], "f.yaml: scenarios 1 and 2 are both named 'x'; give each scenario its own name"),
        (one(name="current"), "scenario 'current': name must not be 'current'"),
        (one(name=3), "f.yaml: scenario number 1: name must be text that is not empty, got 3"),
        pytest.param(one(grups="g"), HERE + "grups is not known; known are name, changes, groups, topics", id="grups"),
        pytest.param(one(groups=[]),
                     HERE + "groups must be text or a list of text that is not empty, got []", id="no group"),
        (one(topics=["a", 1]), HERE + "topics[1] must be text that is not empty, got 1"),
        (one(topics={"a": 1}), HERE + "topics must be text or a list of text"),
        pytest.param(one(changes=[]),
                     HERE + "changes must be a list of changes that is not empty, got []", id="no change"),
        pytest.param(one(changes="[{]"),
                     HERE + "changes must be a list of changes, or one as JSON text: ", id="changes that are cut"),
        pytest.param(one(changes=[{}]),
                     HERE + "changes[0] must be one change by name (remove_clients, ", id="a change of no name"),
        (one(changes=[{**SCALE, "remove_broker": {}}]), HERE + "changes[0] must be one change by name"),
        (one(changes=[{"shuffle": {}}]), HERE + "changes[0] must be one change by name"),
        (one(changes=[["scale_clients"]]), HERE + "changes[0] must be one change by name"),
        (with_change("scale_clients"), HERE + "changes[1].scale_clients.to is missing"),
        (with_change("scale_clients", to=-1), "to must be a whole number from 0 to 100000, got -1"),
        (with_change("scale_clients", to=True), "to must be a whole number from 0 to 100000, got True"),
        (with_change("scale_clients", to="8"), "to must be a whole number from 0 to 100000, got '8'"),
        (with_change("scale_clients", to=8, name="pod"), "scale_clients.name must contain {n} once"),
        (with_change("scale_clients", to=8, by=2), "scale_clients.by is not known; known are to, name, machine_room"),
        pytest.param(with_change("remove_clients"),
                     "must have exactly one of ids, pattern, count, machine_room, got none of them",
                     id="remove_clients of none"),
        (with_change("remove_clients", ids="a", count=2), "one of ids, pattern, count, machine_room, got ids and count"),
        (with_change("remove_clients", count=0), "count must be a whole number from 1 to 100000, got 0"),
        (with_change("remove_clients", ids=LONG), f"ids[0] must be at most {MAX_TEXT_BYTES} bytes long, got {len(LONG)}"),
        (with_change("remove_clients", ids="\ud800"), "must be Unicode text, got half a surrogate pair"),
        (with_change("add_clients", ids=[""]), "add_clients.ids[0] must be text that is not empty, got ''"),
        (with_change("set_strategy", strategy="BEST"), "set_strategy cannot be made: unknown strategy 'BEST'; known are AVG, "),
        (with_change("set_strategy", strategy="AVG", params={"x": 1}), "takes no parameters"),
        (with_change("set_strategy", strategy="AVG", params=[1]), "params must be a mapping of parameters by name, got [1]"),
        (with_change("set_strategy", strategy="AVG", params={"x": math.inf}), "params.x must be a number, text or a list"),
        (with_change("set_strategy", strategy="CONFIG"), "the lists of CONFIG are not known"),
        (with_change("set_strategy", strategy="MACHINE_ROOM_NEARBY"), "write MACHINE_ROOM_NEARBY-AVG"),
        (with_change("set_virtual_nodes", virtual_nodes=-1), "virtual_nodes must be a whole number from 0 to 65536, got -1"),
        (with_change("set_queues", read_queue_nums=10**9), "read_queue_nums must be a whole number from 0 to 65536"),
        (with_change("add_broker", broker_name="b", read_queue_nums=0), "must be a whole number from 1 to 65536, got 0"),
        (with_change("lose_machine_room", machine_room="hz", what="all"), "must be one of both, clients, brokers, got 'all'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(data, said):
    with pytest.raises(ScenarioError) as error:
        scenarios_of(data, "f.yaml")
    assert said in str(error.value)
    assert str(error.value).startswith("f.yaml: ")
    assert len(str(error.value)) < 400
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)


ONE = "{name: x, changes: [scale_clients: {to: 1}]}"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("s.json", "{", ":1:2: not JSON: Expecting property name"),
        pytest.param("s.json", "[" * 100_000, ":1:65: is nested deeper than 64 levels", id="json 100000 lists"),
        pytest.param("s.yaml", "[" * 500, ":1:65: is nested deeper than 64 levels", id="yaml 500 lists"),
        ("s.yaml", "scenarios: [", ":2:1: not YAML: did not find expected node content"),
        ("s.yaml", "!!bool maybe", ":1:1: not YAML: 'maybe' is no bool"),
        pytest.param("s.yaml", "!!python/object/apply:os.system [exit]", ":1:1: tag 'tag:yaml.org,2002:python",
                     id="yaml !!python"),
        pytest.param("s.yaml", "2020-13-01", ":1:1: must be a mapping with the one key scenarios, got '2020-13-01'",
                     id="yaml a date"),
        ("s.yaml", "", ":1:1: must be a mapping with the one key scenarios, got None"),
        pytest.param("s.yaml", "scenarios: []\nversion: 1", "one key scenarios, got a mapping of scenarios, version",
                     id="yaml two keys"),
        ("s.yaml", "scenarios: &a [*a]", ":1:12: not YAML: found unconstructable recursive node"),
        ("s.json", '{"scenarios": {"name": "x"}}', ":1:15: must be a list of scenarios"),
        ("s.json", '{"scenarios":\n []}', ":2:2: contains no scenario; give at least one"),
        pytest.param("s.yaml", "scenarios:\n- name: x\n  changes:\n  - scale_clients: {to: -1}\n",
                     ":4:25: scenario 'x': changes[0].scale_clients.to must be a whole number from 0", id="yaml to: -1"),
        pytest.param("s.yaml", f"scenarios:\n- &a {ONE}\n- *a\n", ":2:13: scenarios 1 and 2 are both named 'x'",
                     id="yaml one name twice"),
        pytest.param("s.yaml", f"scenarios:\n- {ONE}\n- no\n", ":3:3: scenario number 2 must be a mapping, got 'no'",
                     id="yaml a text as scenario"),
    ],
)  # fmt: skip
def test_a_file_that_is_none_is_named(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(ScenarioError) as error:
        read_scenarios(tmp_path / name)
    assert str(error.value).startswith(f"{tmp_path / name}:")
    assert said in str(error.value)
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)


def test_a_file_in_another_encoding_is_named(tmp_path):
    (tmp_path / "s.json").write_bytes('{"scenarios": "é"}'.encode("latin-1"))
    with pytest.raises(ScenarioError, match=r"s\.json:1: byte 15 \(0xe9\) is not UTF-8"):
        read_scenarios(tmp_path / "s.json")
    with pytest.raises(FileNotFoundError):
        read_scenarios(tmp_path / "none.json")


# --- Done to fleets ---


def fleet_of(rows):
    return ordered(Fleet.from_arrow(pa.Table.from_pylist(rows)))


def lists_after(row, data):
    """Client ids and queues of a row after a scenario, by the twin."""
    unit = planned.changed(rows.unit_of(row, ("AVG", {})), data)
    return unit.ids, [queue[1:] for queue in unit.queues], java.title(unit.rule)


@examples(40, nightly=2000)
@given(st.data())
def test_a_fleet_after_a_scenario_has_the_lists_it_should(data):
    rooms = data.draw(st.booleans())
    rows = data.draw(st.lists(drawn_units.units("brokers", rooms), min_size=1, max_size=5))
    assert rows
    fleet = fleet_of(rows)
    for given_data in data.draw(drawn_units.scenarios(rooms).filter(bool)):
        after = apply(Scenario.of(given_data), fleet, strategy("AVG"))
        for unit, row in enumerate(rows):
            ids, queues, name = lists_after(row, given_data)
            assert after.fleet.client_ids_of(unit) == ids
            assert [queue[1:] for queue in after.fleet.queues_of(unit)] == queues
            assert after.rules.table[after.rules.of_unit[unit]].get_name() == name
            before = fleet.client_ids_of(unit)
            firsts = [
                ids.index(c) if c in ids and before.index(c) == i else -1
                for i, c in enumerate(before)
            ]
            assert (
                after.renamed[fleet.client_offsets[unit] : fleet.client_offsets[unit + 1]].tolist()
                == firsts
            )
            if not after.units[unit]:
                assert (before, [q[1:] for q in fleet.queues_of(unit)], "AVG") == (
                    ids,
                    queues,
                    name,
                )


def test_a_broker_whose_one_queue_is_not_the_first_is_changed_by_a_count_of_one():
    """As many queues as before are other queues."""
    rows = [("g", "T", [("T", "b", number)], ["c"]) for number in (0, 3)]
    one_each = {"name": "one", "changes": [{"set_queues": {"read_queue_nums": 1}}]}
    after = apply(Scenario.of(one_each), Fleet.from_groups(rows), strategy("AVG"))
    assert [queue.queue_id for unit in (0, 1) for queue in after.fleet.queues_of(unit)] == [0, 0]
    assert after.units.tolist() == [False, True]


PIECES = st.sampled_from(["a", "b", "ab", "é", "😀", "\n", "*", "?", "[ab]", "[!a]", "[", "]", "-"])


@given(
    st.lists(st.lists(PIECES, max_size=5).map("".join), max_size=4),
    st.lists(st.text("ab[]*é😀\n-", max_size=6)),
)
def test_patterns_match_as_fnmatchcase_does(patterns, names):
    wanted = [any(fnmatchcase(name, pattern) for pattern in patterns) for name in names]
    assert matches(tuple(patterns), Strings.from_list(names)).tolist() == wanted


@given(st.data())
def test_clients_are_followed_as_movement_follows_them(data):
    rows = data.draw(st.lists(drawn_units.units(), min_size=1, max_size=4))
    fleet = fleet_of(
        [{**row, "client_ids": list(dict.fromkeys(row["client_ids"]))} for row in rows]
    )
    scenarios = data.draw(drawn_units.scenarios().filter(bool))
    assert scenarios
    for given_data in scenarios:
        after = apply(Scenario.of(given_data), fleet, strategy("AVG"))
        assert after.renamed.tolist() == renamed_clients(fleet, after.fleet).tolist()


def test_text_is_not_copied_unless_somebody_reads_it():
    fleet = fleet_of([plan_row("g", [f"c{i}" for i in range(9)])])
    after = apply(Scenario("x", [RemoveClients(count=3)]), fleet, strategy("AVG")).fleet
    assert strategy("AVG").assign_fleet(after).tolist() == [0, 1, 2, 3]
    assert "text" not in vars(after.client_lists.client_ids)
    assert after.client_ids_of(0) == [f"c{i}" for i in range(6)]


def plan_row(group, client_ids, brokers=(("b", 4),), **more):
    entries = [{"broker_name": name, "read_queue_nums": n} for name, n in brokers]
    return {
        "consumer_group": group,
        "topic": "T",
        "brokers": entries,
        "client_ids": client_ids,
        **more,
    }


def ids_after(client_ids, *changes):
    fleet = fleet_of([plan_row("g", client_ids)])
    return apply(Scenario("x", changes), fleet, strategy("AVG")).fleet.client_ids_of(0)


def test_which_clients_go():
    ids = list("abcdefg")
    assert ids_after(ids, RemoveClients(count=2)) == list("abcde")
    assert ids_after(ids, RemoveClients(count=2, which="first")) == list("cdefg")
    assert ids_after(ids, RemoveClients(count=1, which="spread")) == list("abcefg")
    assert ids_after(ids, RemoveClients(count=3, which="spread")) == list("aceg")
    assert ids_after(ids, RemoveClients(count=9)) == []
    assert ids_after(["10", "9", "8"], ScaleClients(2)) == ["10", "8"]


def test_which_clients_come():
    assert ids_after(["b"], AddClients(ids=["c", "a"])) == ["a", "b", "c"]
    assert ids_after(["b"], AddClients(ids="b")) == ["b", "b"]
    assert ids_after(["b"], AddClients(count=2)) == ["b", "what-if-000001", "what-if-000002"]
    taken = ids_after(["what-if-000001", "z"], AddClients(count=2))
    assert taken == ["what-if-000001", "what-if-000002", "what-if-000003", "z"]
    twice = ids_after(["b"], AddClients(count=1), ScaleClients(4, name="a{n}"), AddClients(count=1))
    assert twice == ["a000001", "a000002", "b", "what-if-000001", "what-if-000002"]


def test_a_client_that_comes_back_is_the_same():
    fleet = fleet_of([plan_row("g", ["a", "b"])])
    after = apply(
        Scenario("x", [RemoveClients(ids="a"), AddClients(ids=["a", "aa"])]), fleet, strategy("AVG")
    )
    assert after.fleet.client_ids_of(0) == ["a", "aa", "b"]
    assert after.renamed.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (RemoveClients(machine_room="hz"), "no column client_rooms"),
        (AddClients(count=1, machine_room="hz"), "no column client_rooms"),
        (LoseMachineRoom("hz", what="brokers"), "no column broker_rooms"),
        (SetStrategy("MACHINE_ROOM_NEARBY-AVG"), "bring the column broker_rooms"),
    ],
)
def test_rooms_that_the_table_does_not_know_are_asked_for(change, said):
    fleet = fleet_of([plan_row("g", ["a"])])
    with pytest.raises(TypeError, match=rf"scenario 'x': changes\[1\].*{said}"):
        apply(Scenario("x", [SetQueues(1), change]), fleet, strategy("AVG"))


def test_a_broker_whose_queues_stand_in_two_rooms_stays_one_broker():
    row = {
        "consumer_group": "g",
        "topic": "T",
        "client_ids": ["a"],
        "broker_rooms": ["hz", "sh", "hz"],
    }
    row["queues"] = [{"broker_name": "b", "queue_id": i} for i in (0, 3, 7)]
    fleet = fleet_of([row | {"client_rooms": ["hz"]}])
    after = apply(Scenario("x", [SetQueues(2)]), fleet, strategy("AVG")).fleet
    assert [queue.queue_id for queue in after.queues_of(0)] == [0, 1]


def test_rules_by_name():
    assert rule("MACHINE_ROOM_NEARBY-CONSISTENT_HASH", virtual_nodes=3).inner.virtual_nodes == 3
    for name in (
        "POP",
        "CONFIG",
        "MACHINE_ROOM_NEARBY",
        "MACHINE_ROOM_NEARBY-POP",
        "BEST",
        "",
        None,
    ):
        with pytest.raises((ValueError, TypeError)):
            rule(name)


# --- Retry topics ---


def retry_plan(changes, brokers=(("a", 1), ("b", 1)), topic="%RETRY%g", **scope):
    """Queues of a retry topic and of another one after changes, broker by broker."""
    rows = [
        {"consumer_group": "g", "topic": name, "client_ids": ["c1", "c2"],
         "brokers": [{"broker_name": b, "read_queue_nums": n} for b, n in counts]}
        for name, counts in ((topic, brokers), ("orders", (("a", 8), ("b", 8))))
    ]  # fmt: skip
    fleet = apply(
        Scenario("s", changes, **scope),
        ordered(Fleet.from_arrow(pa.Table.from_pylist(rows))),
        rule("AVG"),
    ).fleet
    return [dict(Counter(queue.broker_name for queue in fleet.queues_of(unit))) for unit in (0, 1)]


ORDERS = {"a": 8, "b": 8}


@pytest.mark.parametrize(
    ("brokers", "n"),
    [
        ((("a", 1), ("b", 1)), 1),
        ((("a", 3), ("b", 3)), 3),
        ((("a", 3), ("b", 2)), 1),
        ((("a", 3), ("b", 0)), 3),
        ((), 1),
    ],
)
def test_a_retry_topic_has_on_a_new_broker_what_it_has_on_the_others(brokers, n):
    retry, orders = retry_plan([AddBroker("z", 8)], brokers)
    assert retry == {name: count for name, count in (*brokers, ("z", n)) if count}
    assert orders == {**ORDERS, "z": 8}
    retry, orders = retry_plan([AddBroker("a", 5)], brokers)
    assert retry == ({name: count for name, count in brokers if count} or {"a": 1})
    assert orders == ORDERS


def test_a_retry_topic_goes_with_its_brokers_and_comes_back_as_it_was_told():
    patterns = ("%RETRY%*",)
    assert retry_plan([RemoveBroker("*"), AddBroker("z", 8)]) == [{"z": 1}, {"z": 8}]
    assert retry_plan([RemoveBroker("a")]) == [{"b": 1}, {"b": 8}]
    assert retry_plan([SetQueues(5, topics=patterns), AddBroker("z", 8)]) == [
        {"a": 5, "b": 5, "z": 5},
        {**ORDERS, "z": 8},
    ]


@pytest.mark.parametrize("topics", ["%RETRY%*", "%RETRY%g", ["orders", "%RETRY%?"]])
def test_queues_of_retry_topics_are_set_by_their_name(topics):
    retry, orders = retry_plan([SetQueues(4, topics=topics)])
    assert (retry, orders["a"]) == ({"a": 4, "b": 4}, 4 if "orders" in topics else 8)


@pytest.mark.parametrize("topics", ["*", "*g", "?RETRY%*", "[%]RETRY%g", ["o*", "*"]])
def test_queues_of_retry_topics_are_left_alone_by_any_other_pattern(topics):
    retry, orders = retry_plan([SetQueues(4, topics=topics)])
    assert (retry, orders["a"]) == ({"a": 1, "b": 1}, 4 if topics in ("*", ["o*", "*"]) else 8)
    assert retry_plan([SetQueues(4)]) == [{"a": 1, "b": 1}, {"a": 4, "b": 4}]
    # A topic that merely holds the word is no retry topic, and a scenario may be for retry topics
    # as for any others.
    assert retry_plan([SetQueues(4)], topic="x%RETRY%g")[0] == {"a": 4, "b": 4}
    assert retry_plan([RemoveBroker("a")], topics="%RETRY%*") == [{"b": 1}, ORDERS]


@pytest.mark.parametrize(
    ("changes", "left"),
    [
        ([SetQueues(2)], {"a": 2, "b": 2, "c": 2}),
        ([SetQueues(2, brokers=("b",))], {"a": 4, "b": 2}),
        ([SetQueues(0), SetQueues(3)], {"a": 3, "b": 3, "c": 3}),
        ([SetQueues(0), RemoveBroker(("a", "b")), SetQueues(3)], {"c": 3}),
        ([AddBroker("b", 5), SetQueues(3)], {"a": 3, "b": 3, "c": 3}),
        ([AddBroker("b", 5), AddBroker("b", 6)], {"a": 4, "b": 5}),
    ],
)
def test_a_readable_broker_without_queues_is_on_the_route(changes, left):
    row = plan_row("g", ["x"])
    numbers = {"a": 4, "b": 0, "c": 0}
    row["brokers"] = [{"broker_name": name, "read_queue_nums": n} for name, n in numbers.items()]
    fleet = fleet_of([row, plan_row("h", ["x"])])
    found = apply(Scenario("x", changes, groups="g"), fleet, strategy("AVG"))
    counts = Counter(queue.broker_name for queue in found.fleet.queues_of(0))
    assert counts == left
    assert found.units.tolist() == [True, False]
    assert found.fleet.queues_of(1) == fleet.queues_of(1)


def test_a_change_of_a_broker_without_queues_that_gives_it_none_changes_nothing():
    row = plan_row("g", ["x"])
    row["brokers"] = [
        {"broker_name": "a", "read_queue_nums": 4},
        {"broker_name": "b", "read_queue_nums": 0},
    ]
    for change in (
        SetQueues(0, brokers=("b",)),
        RemoveBroker(("b",)),
        SetQueues(4, brokers=("a",)),
    ):
        assert not apply(Scenario("x", [change]), fleet_of([row]), strategy("AVG")).units.any()


def test_numbers_of_slots_are_laid_out_unit_by_unit():
    lists = {"a": ["a1"], "b": ["b1", "b2", "b3"]}
    fleet = Fleet.from_groups([(g, "T", [("b", 0)], lists[g]) for g in "bab"])
    numbers = {"a1": 7, "b1": 0, "b2": 1, "b3": 2}
    per_slot = np.array(
        [numbers[name] for name in fleet.client_lists.client_ids.to_list()], np.int32
    )
    assert per_unit(fleet, per_slot).tolist() == [0, 1, 2, 7, 0, 1, 2]
