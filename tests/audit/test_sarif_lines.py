"""A SARIF result points at its group's place in the file, in every form that has lines, and at no
line where none is known.
"""

import json

import pytest
from checkout import DATA
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc.audit import check_snapshot
from rmqalloc.documents import json_text, yaml_text
from rmqalloc.report.sarif_log import sarif
from rmqalloc.snapshot.files import read_snapshot, write_snapshot
from rmqalloc.snapshot.files.group_lines import group_places
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

MQADMIN = DATA / "mqadmin"
NAMES = ("first", 'quoted "one"', "third\nof two lines", "订单")


def cluster():
    """Every group has an id twice."""
    clients = (Client("c1"), Client("c1"))
    groups = tuple(Group(name, ("orders",), clients, strategy="AVG") for name in NAMES)
    return Snapshot((Topic("orders", (TopicBroker("a", 4),)),), groups)


def regions(path):
    """Region by group, of what `check` finds in a file."""
    findings = check_snapshot(read_snapshot(str(path)))
    (run,) = sarif(findings, str(path), group_places([path]))["runs"]
    found = {}
    for one in run["results"]:
        (location,) = one["locations"]
        name = location["logicalLocations"][0]["name"]
        region = location["physicalLocation"].get("region")
        assert found.setdefault(name, region) == region
    return found


@pytest.mark.parametrize("suffix", ["json", "yaml", "csv"])
def test_results_point_at_the_line_of_their_group(suffix, tmp_path):
    path = tmp_path / f"s.{suffix}"
    write_snapshot(cluster(), str(path))
    lines = path.read_text().split("\n")
    found = regions(path)
    assert set(found) == set(NAMES)
    assert len({region["startLine"] for region in found.values()}) == len(NAMES)
    for name, region in found.items():
        rest = "\n".join(lines[region["startLine"] - 1 :])[region.get("startColumn", 1) - 1 :]
        rest = (
            rest.encode().decode("unicode_escape").encode("latin-1").decode()
            if suffix == "yaml"
            else rest
        )
        plain = name.split("\n")[0].replace('"', {"json": '\\"', "csv": '""', "yaml": '"'}[suffix])
        assert plain in rest[:120] or name == "订单", (name, rest[:120])
        assert suffix == "csv" or rest.startswith(("{", "name:")), rest[:40]


def test_a_parquet_file_has_no_lines(tmp_path):
    path = tmp_path / "s.parquet"
    write_snapshot(cluster(), str(path))
    assert regions(path) == dict.fromkeys(NAMES)


def test_outputs_of_mqadmin_point_at_their_first_line(tmp_path):
    parts = [
        ("$ mqadmin consumerStatus -g audit\n", "consumerStatus.audit.txt"),
        ("$ mqadmin consumerConnection -g order-svc\n", "consumerConnection.order-svc.txt"),
    ]
    path = tmp_path / "session.log"
    path.write_text("".join(command + (MQADMIN / name).read_text() for command, name in parts))
    lines = path.read_text().split("\n")
    heads = [
        number for number, line in enumerate(lines, 1) if line.startswith(("#Index", "#ClientId"))
    ]
    assert group_places([path], "outputs") == {
        "audit": (str(path), heads[0], None),
        "order-svc": (str(path), heads[1], None),
    }


def test_a_document_of_one_line_is_told_apart_by_columns(tmp_path):
    path = tmp_path / "s.json"
    write_snapshot(cluster(), str(path))
    path.write_text(json.dumps(json.loads(path.read_text())))
    found = regions(path)
    assert {region["startLine"] for region in found.values()} == {1}
    text = path.read_text()
    for name, region in found.items():
        assert text[region["startColumn"] - 1 :].startswith(f'{{"name": {json.dumps(name)}')


listed = st.lists(
    st.recursive(
        st.integers() | st.text('a]\n"[{,', max_size=3), lambda one: st.lists(one, max_size=3)
    ),
    max_size=6,
)


@examples(60)
@given(listed, st.sampled_from([None, 1]))
def test_places_of_a_list_are_those_of_its_elements(given_list, indent):
    text = json.dumps({"before": [given_list], "a": given_list, "b": 1}, indent=indent)
    for language in (json_text, yaml_text):
        expected = [language.place(text, ("a", i)) for i in range(len(given_list))]
        assert language.places(text, "a") == expected
        assert language.places(text, "c") == language.places(text, "b") == []
