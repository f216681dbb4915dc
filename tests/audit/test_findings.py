"""Findings as text, JSON, tables and SARIF 2.1.0."""

import io
import json

import pyarrow.parquet as pq
import pytest
import yaml
from audited import group, queues, snapshot, topic

from rmqalloc import __version__
from rmqalloc.audit import RULES, SEVERITIES, Finding, Findings, check_snapshot
from rmqalloc.audit.findings import FINDINGS_SCHEMA
from rmqalloc.report.sarif_log import OUTPUTS, SARIF_SCHEMA, sarif, write_findings

HOSTILE = "[x](http://evil){0}\x1b[2J<img src=x>\n|"
FOUND = check_snapshot(
    snapshot(group("c1", "c1", "c2", name="order-svc"), group("x", "x", name="pay-svc"))
)
MANY = Finding(
    "config-hole",
    "error",
    "g",
    "orders",
    queues(range(50)),
    tuple(f"c{i}" for i in range(25)),
    "Many.",
    "Look.",
)
EVIL = Finding(
    "idle-client",
    "warning",
    HOSTILE,
    HOSTILE,
    queues([1], HOSTILE, HOSTILE),
    (HOSTILE,),
    f"{HOSTILE}.",
    "Stop it.",
)


def written(findings, output):
    file = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    write_findings(findings, output, file, "dir/a b.yaml")
    file.flush()
    return file.buffer.getvalue()


# --- For people ---


def test_text_is_grouped_and_names_queues_and_clients():
    text = str(FOUND)
    assert text.count("Group order-svc\n") == text.count("Group pay-svc\n") == 1
    assert "\n! error    unowned-queue: No client takes 3 of 8 queues of orders" in text
    assert "queues: a:3, b:0, b:1\n" in text
    assert "clients: c1\n" in text
    assert text.endswith(f"\n\n{len(FOUND)} findings: {len(FOUND)} errors")


def test_nothing_found_is_said():
    assert str(Findings()) == "0 findings"


def test_findings_of_no_group_stand_apart():
    one = Finding("name-perhaps-cut", "note", "", None, (), (), "Cut.", "Compare.")
    assert str(Findings([one])).splitlines()[0] == "All groups"


def test_many_names_are_folded_unless_wide():
    text = " ".join(str(Findings([MANY])).split())
    assert "a:18, a:19, and 30 more clients: " in text and "c18, c19, and 5 more advice: " in text
    assert "a:49\n" in Findings([MANY]).text(most=None)
    assert b"a:49\n" in written([MANY], "wide") and b"more" not in written([MANY], "wide")


def test_queues_of_several_topics_are_told_apart():
    both = Finding(
        "idle-client",
        "note",
        "g",
        None,
        queues([0]) + queues([0], name="pay"),
        (),
        "Both.",
        "Look.",
    )
    assert "queues: orders a:0, pay a:0\n" in str(Findings([both]))


def test_names_cannot_draw_on_the_terminal():
    text = str(Findings([EVIL]))
    assert "\x1b" not in text
    assert len(text.splitlines()) == 7
    lone = Finding("idle-client", "note", "\ud800", None, (), ("\ud800",), "\ud800.", "Look.")
    assert b"\\ud800" in written([lone], "table")


# --- For programs ---


def test_json_is_one_document():
    document = json.loads(written((*FOUND, EVIL), "json"))
    assert (document["apiVersion"], document["kind"]) == ("rmqalloc/v1", "Findings")
    assert document["counts"] == {"error": len(FOUND), "warning": 1, "note": 0}
    first = document["findings"][0]
    assert first["queues"] == [
        {"topic": q.topic, "broker_name": q.broker_name, "queue_id": q.queue_id}
        for q in FOUND[0].queues
    ]
    assert document["findings"][-1]["clients"] == [HOSTILE]
    assert document == json.loads(json.dumps(Findings((*FOUND, EVIL)).to_dict()))


def test_rows_for_programs_are_the_findings():
    table = FOUND.main_table()
    assert table.schema == FINDINGS_SCHEMA
    assert [json.loads(line) for line in written(FOUND, "jsonl").splitlines()] == table.to_pylist()
    assert yaml.safe_load(written(FOUND, "yaml")) == table.to_pylist()
    assert pq.read_table(io.BytesIO(written(FOUND, "parquet"))).to_pylist() == table.to_pylist()


def test_tables_for_people_name_all_queues():
    for output, last in (("csv", b"a:49"), ("md", b"a:49"), ("html", b"a:0-49")):
        assert last in written([MANY], output)
        assert b"\x1b" not in written([MANY], output)
    assert b"<img src=x>" not in written([EVIL], "html")


@pytest.mark.parametrize("output", OUTPUTS)
def test_every_output_can_be_empty(output):
    assert bool(written((), output)) == (output != "jsonl")


def test_an_unknown_output_is_refused():
    with pytest.raises(ValueError, match="output must be one of"):
        written((), "xml")


# --- SARIF ---


@pytest.fixture(scope="module")
def log():
    return json.loads(written((*FOUND, EVIL), "sarif"))


def test_sarif_has_one_run_of_this_tool_with_all_rules(log):
    assert (log["version"], log["$schema"]) == ("2.1.0", SARIF_SCHEMA)
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("rmqalloc", __version__)
    assert [rule["id"] for rule in driver["rules"]] == list(RULES)
    for rule in driver["rules"]:
        assert (
            rule["shortDescription"]["text"]
            and rule["fullDescription"]["text"]
            and rule["help"]["text"]
        )
        assert rule["defaultConfiguration"]["level"] in SEVERITIES


def test_every_result_points_at_its_rule_and_place(log):
    (run,) = log["runs"]
    assert len(run["results"]) == len(FOUND) + 1
    for result, finding in zip(run["results"], (*FOUND, EVIL), strict=True):
        assert (
            run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"]
            == result["ruleId"]
            == finding.rule
        )
        assert result["level"] == finding.severity
        (location,) = result["locations"]
        place = location["logicalLocations"][-1]
        assert place["name"] == (finding.topic or finding.consumer_group)
        assert location["logicalLocations"][0] == {
            "name": finding.consumer_group,
            "fullyQualifiedName": finding.consumer_group,
            "kind": "consumer group",
        }
        assert location["physicalLocation"]["artifactLocation"]["uri"] == "dir/a%20b.yaml"
        assert result["properties"]["clients"] == list(finding.clients)
        assert [q["queue_id"] for q in result["properties"]["queues"]] == [
            q.queue_id for q in finding.queues
        ]


def test_no_name_becomes_a_link_or_a_placeholder(log):
    text = log["runs"][0]["results"][-1]["message"]["text"]
    assert r"\[x\](http://evil){{0}}" in text


def test_fingerprints_tell_findings_apart_and_stay(log):
    prints = [result["partialFingerprints"]["place/v1"] for result in log["runs"][0]["results"]]
    assert len(set(prints)) == len(prints)
    others = snapshot(group("c1", "c1", "c2", "c3", name="order-svc"), topics=(topic(a=40),))
    again = {
        r["partialFingerprints"]["place/v1"]
        for r in sarif(check_snapshot(others))["runs"][0]["results"]
    }
    assert again <= set(prints)


def test_standard_input_is_no_place():
    assert "physicalLocation" not in sarif(FOUND, "-")["runs"][0]["results"][0]["locations"][0]
