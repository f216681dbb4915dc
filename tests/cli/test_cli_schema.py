"""``rmqalloc schema``: true of what is shipped and written, and a file may name it."""

import json

import pytest
from json_schema import faults

from rmqalloc.cli import main
from rmqalloc.cli._schema_command import KINDS
from rmqalloc.documents import yaml_text
from rmqalloc.plans import load_plan, plan_snapshot, save_plan
from rmqalloc.snapshot.examples import find
from rmqalloc.snapshot.files import read_snapshot


def printed(kind, capsys):
    assert main(["schema", kind]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_schema(kind, capsys):
    schema = printed(kind, capsys)
    assert schema["$schema"].endswith("2020-12/schema")
    assert schema["type"] == "object" and schema["properties"]["$schema"]


def fields_of(schema):
    """Yield the name and schema of every field of a mapping, and of the mappings in it."""
    for name, field in schema.get("properties", {}).items():
        yield name, field
        yield from fields_of(field)
    for part in (*schema.get("anyOf", ()), schema.get("items"), schema.get("additionalProperties")):
        yield from fields_of(part) if isinstance(part, dict) else ()


@pytest.mark.parametrize("kind", ["snapshot", "simulation"])
def test_every_field_is_described(kind, capsys):
    schema = printed(kind, capsys)
    events = schema["properties"].get("events")
    parts = events["items"]["anyOf"][0]["properties"] if events else {}
    found = [*fields_of(schema), *(pair for part in parts.values() for pair in fields_of(part))]
    assert len(found) > 60
    assert [name for name, field in found if not field.get("description")] == []


def test_a_saved_plan_keeps_its_schema_and_may_name_it(tmp_path, capsys):
    path = tmp_path / "plan.json"
    save_plan(plan_snapshot(read_snapshot(str(find("seed").path)), []), path)
    data = json.loads(path.read_text())
    schema = printed("plan", capsys)
    assert list(faults(data, schema, schema)) == []
    assert list(faults({**data, "warnings": 3}, schema, schema)) != []
    path.write_text(json.dumps({"$schema": "plan.schema.json", **data}))
    assert load_plan(path).digest == data["digest"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [("snapshot", "seed"), ("scenarios", "what-if"), ("simulation", "three-deaths")],
)
def test_examples_keep_their_schema(kind, name, capsys):
    data = yaml_text.loads(find(name, kind).path.read_text(encoding="utf-8"))
    schema = printed(kind, capsys)
    assert list(faults(data, schema, schema)) == []


def test_a_kind_that_is_not_known_is_a_wrong_usage(capsys):
    assert main(["schema", "snapshots"]) == 64
    assert "did you mean snapshot" in capsys.readouterr().err.lower()
