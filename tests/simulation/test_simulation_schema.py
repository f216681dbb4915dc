"""The JSON Schema of a script: in step with what reads scripts."""

import copy
import json
from dataclasses import replace

import pytest
import yaml
from checkout import ROOT
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from json_schema import faults

from rmqalloc.cli import main
from rmqalloc.documents.fields import MAX_DURATION, Milliseconds
from rmqalloc.scenarios import ScenarioError
from rmqalloc.simulation import Script, script_schema
from rmqalloc.simulation._events import EVENTS

EXAMPLES = sorted((ROOT / "examples" / "simulations").glob("*.yaml"))
SCHEMA = script_schema()


def broken(data):
    """What the schema says against a script."""
    return list(faults(data, SCHEMA, SCHEMA))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_keep_the_schema_and_come_back_as_they_were(path):
    data = yaml.safe_load(path.read_text())
    assert broken(data) == []
    script = Script.of(data)
    again = script.to_data()
    assert broken(again) == []
    assert Script.of(json.loads(json.dumps(again))) == script


def test_the_command_prints_it(capsys):
    assert main(["simulate", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_every_field_is_described():
    events = SCHEMA["properties"]["events"]["items"]["anyOf"][0]["properties"]
    assert list(events) == ["at", *EVENTS]
    lacking = [path for path, one in described(SCHEMA, "") if not one.get("description")]
    assert lacking == []


def described(schema, path):
    for name, one in schema.get("properties", {}).items():
        yield f"{path}.{name}", one
        yield from described(one, f"{path}.{name}")
    if isinstance(schema.get("items"), dict):
        yield from described(schema["items"], f"{path}[]")


# --- Whatever is refused by the schema is refused by the reader ---

GOOD = {
    "duration": "100s",
    "brokers": ["broker-a", "broker-b"],
    "broker_settings": [
        {"brokers": "broker-a", "lock_max_live_time": "20s", "default_message_request_mode": "POP"},
        {"notify_consumer_ids_changed_enable": False, "server_channel_max_idle_time_seconds": 0},
    ],
    "topics": [{"name": "orders", "read_queue_nums": 6, "brokers": "broker-a"}],
    "groups": [
        {"name": "g", "topics": "orders", "clients": 4, "start_every": 0, "strategy": "CONSISTENT_HASH",
         "params": {"virtual_nodes": 5}, "subscription_group": {"retry_queue_nums": 2}},
        {"name": "s", "topics": ["orders"], "clients": ["x", "y"], "server_assignment": True, "message_request_mode": "POP"},
    ],
    "events": [
        {"at": 0, "notices": {"enabled": True}},
        {"at": "5s", "join": {"group": "g", "clients": "n", "client_id": "g-0@1", "topics": "orders"}},
        {"at": "6s", "pause": {"clients": "g-1", "lasts": "5s"}},
        {"at": "7s", "freeze": {"clients": ["g-2"], "lasts": "5s"}},
        {"at": "8s", "disconnect": {"clients": "g-3", "brokers": "broker-a"}},
        {"at": "9s", "partition": {"clients": "n", "brokers": "broker-a", "lasts": "1m"}},
        {"at": "10s", "change_topic": {"topic": "orders", "read_queue_nums": 0, "readable": False}},
        {"at": "20s", "restart_broker": {"brokers": "broker-b", "lasts": "5s", "crash": True}},
        {"at": "30s", "update_broker_config": {"real_time_notify_consumer_change": False}},
        {"at": "31s", "update_sub_group": {"group": "g", "notify_consumer_ids_changed_enable": False}},
        {"at": "32s", "set_consume_mode": {"group": "s", "topic": "orders", "mode": "PULL", "pop_share_queue_num": -1}},
        {"at": "40s", "restart": {"group": "g", "batch": 3, "every": "5s", "down": "2s", "ids": "stable"}},
        {"at": "59s", "scale": {"group": "s", "to": 3}},
        {"at": "60s", "shutdown": {"clients": "g-0"}},
        {"at": "61s", "crash": {"clients": "g-1"}},
        {"at": "62s", "vanish": {"clients": "g-2"}},
    ],
    "seed": 7,
    "latency": "2ms",
}  # fmt: skip

VALUES = st.sampled_from(
    [
        5,
        -1,
        0,
        2.5,
        True,
        "",
        "x",
        "5",
        "5s",
        "0s",
        "5 s",
        "-5s",
        "25m",
        "GOOD",
        [],
        ["x"],
        [""],
        [5],
        {},
        {"x": 1},
    ]
)


def places(data, path=()):
    """Every place in a document."""
    inner = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    )
    for key, value in inner:
        yield (*path, key)
        yield from places(value, (*path, key))


PLACES = list(places(GOOD))


def changed(path, how, value):
    """The good script with one value replaced, one field taken away, or one added."""
    data = copy.deepcopy(GOOD)
    *before, last = path
    parent = data
    for key in before:
        parent = parent[key]
    if how == "replace":
        parent[last] = value
    elif how == "remove":
        del parent[last]
    elif isinstance(parent[last], dict):
        parent[last]["more"] = value
    return data


def is_read(data):
    try:
        Script.of(data)
    except ScenarioError:
        return False
    return True


def test_a_script_with_all_of_it_is_good():
    assert broken(GOOD) == []
    assert {kind for event in GOOD["events"] for kind in event} - {"at"} == EVENTS.keys()
    script = Script.of(GOOD)
    assert Script.of(script.to_data()) == script == replace(replace(script, seed=8), seed=7)


@given(st.sampled_from(PLACES), st.sampled_from(["replace", "remove", "add"]), VALUES)
@examples(400)
def test_what_breaks_the_schema_is_never_read(path, how, value):
    data = changed(path, how, value)
    if broken(data):
        assert not is_read(data)


BAD = [
    (("duration",), 100),
    (("duration",), "0s"),
    (("duration",), 0),
    (("duration",), "100"),
    (("duration",), "1d"),
    (("events", 1, "at"), 5),
    (("events", 1, "at"), 5.0),
    (("events", 1, "at"), False),
    (("events", 2, "pause", "lasts"), 5),
    (("events", 2, "pause", "lasts"), "0ms"),
    (("events", 2, "pause", "clients"), []),
    (("events", 2, "pause", "more"), 1),
    (("events", 2, "explode"), {}),
    (("events", 2), {"at": "6s"}),
    (("events", 8, "update_broker_config"), {"brokers": "broker-a"}),
    (("events", 8, "update_broker_config", "lock_max_live_time"), "5s"),
    (("events", 10, "set_consume_mode", "mode"), "PUSH"),
    (("groups", 0, "start_every"), 5),
    (("groups", 0, "clients"), 5_001),
    (("groups", 0, "strategy"), "BEST"),
    (("groups", 0, "ordered"), 1),
    (("broker_settings", 0), {}),
    (("broker_settings",), {"lock_max_live_time": "5s"}),
    (("topics", 0, "read_queue_nums"), -1),
    (("profile",), "5.2"),
    (("seed",), 2**63),
    (("latency",), 1),
]


@pytest.mark.parametrize(("path", "value"), BAD)
def test_bad_scripts_are_refused_by_both(path, value):
    data = changed(path, "replace", value)
    assert broken(data)
    assert not is_read(data)


@pytest.mark.parametrize(
    ("path", "value"), [(("duration",), "25h"), (("events", 1, "join", "group"), "nobody")]
)
def test_what_the_schema_cannot_say_the_reader_does(path, value):
    data = changed(path, "replace", value)
    assert broken(data) == []
    assert not is_read(data)


@given(st.integers(0, MAX_DURATION))
def test_times_come_back_as_text(milliseconds):
    text = Milliseconds(milliseconds).to_data()
    script = Script.of(
        {
            **GOOD,
            "events": [],
            "duration": "24h",
            "groups": [{**GOOD["groups"][0], "listener_time": text}],
        }
    )
    assert script.groups[0].listener_time == milliseconds
    assert broken(script.to_data()) == []
