"""Scripts: what they may say, and what is answered to those that are wrong."""

import json

import pytest
import yaml

from rmqalloc.documents.fields import Duration, FieldError
from rmqalloc.scenarios import ScenarioError
from rmqalloc.simulation import Script, read_script, simulate
from rmqalloc.simulation._events import EVENTS, Events


def script(events=(), **more):
    """A small cluster of two brokers and four clients, as plain data."""
    return {
        "duration": "100s",
        "brokers": ["broker-a", "broker-b"],
        "topics": [
            {"name": "orders", "read_queue_nums": 6},
            {"name": "bills", "read_queue_nums": 2, "brokers": "broker-a"},
        ],
        "groups": [{"name": "g", "topics": "orders", "clients": 4}],
        "events": list(events),
        **more,
    }


def refused(data):
    with pytest.raises(ScenarioError) as error:
        Script.of(data)
    return str(error.value)


def event(at="40s", **kind):
    return {"at": at, **kind}


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("500ms", 500), ("30s", 30_000), ("2m", 120_000), ("1h", 3_600_000), (0, 0)],
)
def test_times_have_units(text, milliseconds):
    assert Duration().read(text) == milliseconds


@pytest.mark.parametrize(
    "text",
    [
        "30",
        "s",
        "-1s",
        "1.5s",
        "25h",
        "1d",
        "٣s",
        True,
        False,
        None,
        -1,
        5,
        0.0,
        2.5,
        "9" * 20 + "s",
    ],
)
def test_other_times_are_refused(text):
    with pytest.raises(FieldError, match="must be a time such as 500ms"):
        Duration().read(text)


def test_yaml_and_json_say_the_same(tmp_path):
    data = script(
        [
            event(freeze={"clients": ["g-0"], "lasts": "5s"}),
            event("50s", notices={"enabled": False}),
        ]
    )
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(data))
    (tmp_path / "s.json").write_text(json.dumps(data))
    assert read_script(tmp_path / "s.yaml") == read_script(tmp_path / "s.json") == Script.of(data)


EVENT_OF_NOBODY = """duration: 60s
brokers: [a]
topics: [{name: t, read_queue_nums: 4}]
groups: [{name: g, topics: t, clients: 2}]
events: [{at: 10s, crash: {clients: g-0}}, {at: 20s, crash: {clients: x}}]
"""


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("s.json", "{", "s.json:1:2: not JSON"),
        ("s.yaml", "a: [", "s.yaml:2:1: not YAML"),
        pytest.param(
            "s.yaml",
            "!!python/object/apply:os.system ['true']",
            "s.yaml:1:1: tag 'tag:yaml.org,2002:python",
            id="yaml !!python",
        ),
        ("s.yaml", "- 1", "must be a mapping"),
        pytest.param(
            "s.json",
            "[" * 100_000,
            "s.json:1:65: is nested deeper than 64 levels",
            id="json 100000 lists",
        ),
        ("s.json", '{"duration": "1s"}', "s.json:1:1: brokers is missing"),
        pytest.param(
            "s.yaml",
            EVENT_OF_NOBODY,
            r"s.yaml:5:71: events\[1\].crash.clients names 'x', which does not exist",
            id="yaml an event of nobody",
        ),
    ],
)
def test_files_that_are_no_scripts_are_refused_by_name(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(ScenarioError, match=words) as error:
        read_script(tmp_path / name)
    assert name in str(error.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"duration": "soon"}, "duration must be a time"),
        ({"duration": 0}, "duration must be a time"),
        ({"profile": "5.2"}, "profile must be one of 5.5, 5.3, 4.9"),
        ({"brokers": []}, "brokers must be text"),
        ({"brokers": ["broker-a", "broker-a", "broker-b"]}, "has 'broker-a' twice"),
        ({"color": "red"}, "color is not known"),
        ({"topics": [{"name": "orders"}]}, "topics[0].read_queue_nums is missing"),
        (
            {"topics": [{"name": "orders", "read_queue_nums": 1}, {"name": "bills"}]},
            "topics[1].read_queue_nums is missing",
        ),
        (
            {"events": [event(crash={"clients": "g-0"}), event()]},
            "events[1] must be a mapping of at and one of join",
        ),
        ({"topics": "orders"}, "topics must be a list"),
        (
            {"topics": [{"name": "orders", "read_queue_nums": 1, "brokers": "x"}]},
            "topics[0].brokers names 'x'",
        ),
        (
            {"groups": [{"name": "g", "topics": "nope", "clients": 1}]},
            "groups[0].topics names 'nope'",
        ),
        ({"groups": [{"name": "g", "topics": "orders", "clients": True}]}, "groups[0].clients"),
        (
            {"groups": [{"name": "g", "topics": "orders", "clients": 10**6}]},
            "groups[0].clients must be a whole number",
        ),
        (
            {"groups": [{"name": "g", "topics": "orders", "clients": 1, "strategy": "BEST"}]},
            "strategy must be one of",
        ),
        (
            {"groups": [{"name": "g", "topics": "orders", "clients": 1, "params": {"x": 1}}]},
            "groups[0].params cannot be used",
        ),
        (
            {"groups": [{"name": "g", "topics": "orders", "clients": 1, "ordered": 1}]},
            "ordered must be true or false",
        ),
        (
            {"groups": [{"name": n, "topics": "orders", "clients": ["x"]} for n in "gh"]},
            "groups name the client 'x' twice",
        ),
        ({"events": [{"at": "1s"}]}, "events[0] must be a mapping of at and one of join, shutdown"),
        ({"events": ["crash clients"]}, "events[0] must be KIND key=value ..., each key once"),
        ({"events": ["krash"]}, "events[0] has no kind of event 'krash'"),
        ({"events": [event(explode={})]}, "events[0] must be a mapping of at and one of"),
        ({"events": [event(at="x", crash={"clients": "g-0"})]}, "events[0].at must be a time"),
        ({"events": [event(at="101s", crash={"clients": "g-0"})]}, "events[0].at is after the end"),
        (
            {"events": [event(crash={"clients": "g-9"})]},
            "events[0].crash.clients names 'g-9', which does not exist",
        ),
        (
            {"events": [event(crash={"clients": 9})]},
            "events[0].crash.clients needs 9, and there are",
        ),
        ({"events": [event(crash={"clients": "x*"})]}, "names 'x*', which matches nothing"),
        ({"warm_up": "10s"}, "warm_up must be 0, or 90s or more"),
        ({"events": [event(pause={"clients": "g-0"})]}, "events[0].pause.lasts is missing"),
        (
            {"events": [event(restart_broker={"brokers": "c", "lasts": "1s"})]},
            "restart_broker.brokers names 'c'",
        ),
        (
            {"events": [event(change_topic={"topic": "x", "read_queue_nums": 1})]},
            "change_topic.topic names 'x'",
        ),
        ({"events": [event(restart={"group": "x"})]}, "restart.group names 'x'"),
        (
            {"events": [event(join={"group": "g", "clients": "n", "topics": "x"})]},
            "join.topics names 'x'",
        ),
        (
            {
                "events": [
                    event(join={"group": "g", "clients": "n", "params": {"virtual_nodes": 3}})
                ]
            },
            "needs a strategy",
        ),
    ],
)
def test_what_is_wrong_is_named_with_what_would_be_right(changes, words):
    assert words in refused(script(**changes))


def test_events_are_a_list():
    assert refused({**script(), "events": {"at": "1s"}}).startswith(
        "events must be a list of events, got"
    )


def test_a_client_is_known_from_the_event_that_lets_it_join():
    join, crash = (
        event("20s", join={"group": "g", "clients": "n"}),
        event("30s", crash={"clients": "n"}),
    )
    assert Script.of(script([crash, join])).events[0].kind == "crash"
    assert "events[0].crash.clients names 'n'" in refused(script([{**crash, "at": "10s"}, join]))


def test_a_client_that_runs_cannot_join():
    data = script([event(join={"group": "g", "clients": "g-0"})])
    with pytest.raises(ScenarioError, match="client g-0 joins g while it is running"):
        simulate(Script.of(data))


def test_names_of_clients_sort_as_they_are_numbered():
    names = (
        Script.of(script(groups=[{"name": "g", "topics": "orders", "clients": 12}]))
        .groups[0]
        .client_names
    )
    assert (names[0], names[11], sorted(names)) == ("g-00", "g-11", list(names))


def test_events_say_what_they_do_in_a_line():
    events = [
        event(crash={"clients": ["a", "b", "c", "d", "e"]}),
        event(partition={"clients": "g-0", "brokers": "broker-a", "lasts": "5s"}),
        event(restart={"group": "g", "batch": 2}),
    ]
    groups = [{"name": "g", "topics": "orders", "clients": ["a", "b", "c", "d", "e", "g-0"]}]
    said = [str(one) for one in Script.of(script(events, groups=groups)).events]
    assert said == [
        "crash clients=a,...,e (5)",
        "partition lasts=5s clients=g-0 brokers=broker-a",
        "restart group=g batch=2",
    ]


def test_the_schema_knows_every_kind_of_event():
    schema = Script.schema()
    assert Events().schema().items() <= schema["properties"]["events"].items()
    assert set(Events().schema()["items"]["anyOf"][0]["properties"]) == {"at", *EVENTS}
    json.dumps(schema)


def test_strategies_are_spelled_as_on_a_command_line():
    def part(**more):
        return script(groups=[{"name": "g", "topics": "orders", "clients": 4, **more}])

    join = event(join={"group": "g", "clients": "new", "strategy": "CANARY-ROTATED-AVG(share=0.5)"})
    made = Script.of({**part(strategy="STABLE(slack=1)"), "events": [join]})
    assert made.groups[0].made_strategy().slack == 1
    assert made.events[0].detail.made_strategy().get_name() == "CANARY/1-ROTATED/1-AVG"
    assert (
        Script.of(part(strategy="ORDINAL", params={"tables": True}))
        .groups[0]
        .made_strategy()
        .tables
    )
    for text in ("STABLEE(slack=1)", "MACHINE_ROOM_NEARBY_POOLED-AVG"):
        assert "must be one of AVG, AVG_BY_CIRCLE" in refused(part(strategy=text))
    assert "STABLE takes slack, got slak; did you mean slack?" in refused(
        part(strategy="STABLE(slak=1)")
    )
    assert "slack is also given as a parameter" in refused(
        part(strategy="STABLE(slack=1)", params={"slack": 0})
    )
    settled = simulate(Script.of(part(strategy="STABLE(slack=1)")))
    assert [(one.event, one.unowned, one.double_owned) for one in settled.events] == [
        ("start", 0, 0)
    ]


def test_an_event_is_a_mapping_or_a_line_of_text():
    mappings = [
        event("10s", freeze={"clients": ["g-0", "g-1"], "lasts": "5s"}),
        event("30s", change_topic={"topic": "orders", "read_queue_nums": 2, "readable": False}),
    ]
    lines = [
        "freeze clients=g-0,g-1 lasts=5s at=10s",
        "change_topic topic=orders read_queue_nums=2 readable=false at=30s",
    ]
    script_of_lines = Script.of(script(lines))
    assert script_of_lines == Script.of(script(mappings))
    said = [f"{one} at={one.at // 1000}s" for one in script_of_lines.events]
    assert Script.of(script(said)) == script_of_lines
