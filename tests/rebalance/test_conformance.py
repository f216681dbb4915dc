"""The files for authors of clients: the product answers as they say, and a checker finds what is
otherwise.
"""

import doctest
import importlib.util
import json
import re
from collections import Counter

import pytest
from checkout import ROOT
from differential.conformance import client_sequences, strategy_answers, wire_bodies
from differential.conformance.__main__ import compared
from differential.conformance.files import (
    MOST_BYTES,
    first_difference,
    path_of,
    read_lines,
    write_lines,
)
from programs import python

from rmqalloc import strategy

PAGE = (ROOT / "docs" / "authors" / "conformance.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "conformance" / "client_half.py"
NAMES = [
    strategy_answers.NAME,
    wire_bodies.NAME,
    *map(client_sequences.file_of, client_sequences.RELEASED),
]


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("client_half_example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def simple_lines(name="client-5.5"):
    return [line for line in read_lines(name) if line["level"] == "simple"]


def test_the_product_answers_as_every_file_says():
    rows = list(compared())
    assert [row.name for row in rows] == NAMES
    assert [row.wrong for row in rows] == [[]] * len(NAMES) and all(row.lines for row in rows)


def test_the_files_are_small_and_those_of_the_page():
    assert sum(path_of(name).stat().st_size for name in NAMES) <= MOST_BYTES
    assert {path.name for path in path_of("x").parent.iterdir()} == {
        path_of(name).name for name in NAMES
    }
    assert set(re.findall(r"^\| `([\w.-]+)\.jsonl\.gz`", PAGE, re.MULTILINE)) == {*NAMES}


@pytest.mark.parametrize("version", client_sequences.RELEASED)
def test_sequences_are_those_of_their_seeds(version):
    lines = list(read_lines(client_sequences.file_of(version)))[::20]
    assert lines
    for line in lines:
        made = client_sequences.sequence(
            line["level"], line["seed"], client_sequences.RELEASES[version]
        )
        assert json.loads(json.dumps(made)) == {"config": line["config"], "events": line["events"]}
        assert len(line["after"]) == len(line["events"])


def test_the_page_names_every_kind_of_line_and_event():
    lines = simple_lines()
    seen = {one[1] for line in lines for after in line["after"] for one in after["seen"]}
    kinds = {event["kind"] for line in lines for event in line["events"]}
    answered = {
        event["what"] for line in lines for event in line["events"] if event["kind"] == "answer"
    }
    assert seen | kinds | answered <= set(re.findall(r"`([a-z]+)`", PAGE))
    assert {"lock", "unlock", "commit", "dispatch", "unregister", "stored", "max"} <= seen


def test_the_frames_are_of_every_kind_and_form():
    lines = list(read_lines(wire_bodies.NAME))
    assert Counter((one["release"], one["form"]) for one in lines).keys() == {
        (release, form) for release in ("4.9.8", "5.5.0") for form in ("JSON", "ROCKETMQ")
    }
    assert {
        one["name"] for one in lines
    } >= wire_bodies.READ.keys() | wire_bodies.WRITTEN_FIELDS.keys()
    assert {one["name"] for one in lines} >= wire_bodies.WRITTEN_BODIES.keys()


def test_a_wrong_answer_is_found(example):
    line = next(line for line in read_lines(strategy_answers.NAME) if len(line["clients"]) > 1)
    first, second = line["clients"][:2]
    swapped = line["takes"] | {first: line["takes"][second], second: line["takes"][first]}
    assert strategy_answers.wrong_of_product(line | {"takes": swapped}) == [first, second]
    for name in ("route-answer", "client-ids-answer-two", "lock-answer", "pull-answer"):
        (line, *_) = (one for one in read_lines(wire_bodies.NAME) if one["name"] == name)
        other = json.loads(
            json.dumps(line["body"])
            .replace("broker-a", "b")
            .replace("@4121", "@1")
            .replace("two", "2")
        )
        assert other != line["body"] and wrong_or_error(line | {"body": other})
    line = next(
        line for line in simple_lines() if any(after["seen"] for after in line["after"][1:])
    )
    at = next(number for number, after in enumerate(line["after"]) if number and after["seen"])
    line["after"][at]["seen"].pop()
    assert client_sequences.wrong_event(line) == example.first_wrong(line) == at


def wrong_or_error(line):
    return wire_bodies.wrong_of_product(line)


def test_the_example_finds_a_client_with_another_strategy(example, monkeypatch):
    lines = simple_lines()[:40]
    assert [example.first_wrong(line) for line in lines] == [None] * len(lines)
    monkeypatch.setattr(example, "strategy", lambda name: strategy("AVG_BY_CIRCLE"))
    assert any(example.first_wrong(line) is not None for line in lines)


def test_the_example_prints_what_the_page_shows():
    shown = re.search(
        r"^\$ python (examples/conformance/\S+) (\S+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL
    )
    done = python("-W", "error", ROOT / shown[1], ROOT / shown[2], PYTHONSAFEPATH="")
    assert (done.returncode, done.stderr, done.stdout) == (0, "", shown[3])


def test_the_checker_of_strategies_on_the_page_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    (block,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest(block, {}, "conformance.md", None, 0)
    assert test.examples and doctest.DocTestRunner().run(test).failed == 0


def test_files_repeat_to_the_byte_and_differences_are_told(monkeypatch, tmp_path):
    lines = list(read_lines(wire_bodies.NAME))
    before = path_of(wire_bodies.NAME).read_bytes()
    monkeypatch.setattr("differential.conformance.files.FOLDER", tmp_path)
    write_lines("wire", lines)
    assert path_of("wire").read_bytes() == before
    assert first_difference("wire", lines) is None
    assert (
        first_difference("wire", [*lines[:3], lines[3] | {"code": 99}, *lines[4:]])
        == "wire, line 4: code differ"
    )
    assert "were made" in first_difference("wire", lines[:-1])


@pytest.mark.go
def test_client_go_shares_as_java_does_by_avg_and_in_a_circle_and_otherwise_by_consistent_hash():
    counts = strategy_answers.wrong_of_go(read_lines(strategy_answers.NAME))
    assert {name for name, (_, wrong) in counts.items() if not wrong} == {"AVG", "AVG_BY_CIRCLE"}
    assert {name for name, (_, wrong) in counts.items() if wrong} == {
        "CONSISTENT_HASH",
        "MACHINE_ROOM",
        "MACHINE_ROOM_NEARBY-AVG",
    }
