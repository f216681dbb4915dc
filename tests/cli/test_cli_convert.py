"""``rmqalloc convert``: every form into every other, with what is lost told on standard error."""

import csv
import io
import json
import re
import sys
from itertools import permutations

import pytest
from checkout import ROOT
from cli_commands import runner

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli._convert_command import convert
from rmqalloc.snapshot.files import WRITTEN, read_snapshot, snapshot_schema, write_snapshot
from rmqalloc.text import is_formula

ORDERS = ROOT / "examples" / "snapshots" / "orders.yaml"
SEED = ROOT / "examples" / "snapshots" / "seed.yaml"
MQADMIN = ROOT / "tests" / "data" / "mqadmin"


@pytest.fixture
def run(capsys):
    return runner(capsys, "convert")


@pytest.mark.parametrize(("before", "after"), list(permutations(WRITTEN, 2)))
def test_every_form_into_every_other(run, before, after, tmp_path):
    snapshot = read_snapshot(str(ORDERS))
    write_snapshot(snapshot, str(tmp_path / f"a.{before}"))
    code, out, _ = run(tmp_path / f"a.{before}", "--out", tmp_path / f"b.{after}")
    assert (code, out) == (0, "")
    again = read_snapshot(str(tmp_path / f"b.{after}"))
    assert again.topics == snapshot.topics
    assert [group.name for group in again.groups] == [group.name for group in snapshot.groups]


def test_what_is_lost_is_told(run, tmp_path):
    code, out, err = run(ORDERS, "--out", tmp_path / "s.csv")
    assert (code, out) == (0, "")
    assert err.splitlines() == [
        "warning: csv cannot hold fetched_at, source",
        f"3 topics with 26 queues, 3 groups with 17 clients: {tmp_path / 's.csv'} (csv)",
    ]


def test_standard_input_to_standard_output(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ORDERS.read_bytes())))
    code, out, _ = run("-", "--out", "-", "-o", "json")
    assert code == 0
    assert [topic["name"] for topic in json.loads(out)["topics"]] == [
        "orders",
        "payments",
        "%RETRY%order-svc",
    ]


def test_outputs_of_mqadmin_become_one_snapshot(run, tmp_path):
    texts = [
        MQADMIN / name
        for name in ("topicRoute.orders.json", "topicRoute.payments.txt", "with_clients.txt")
    ]
    code, _, err = run(*texts, "--out", tmp_path / "cluster.yaml")
    assert code == 0
    assert [line.partition(":")[0] for line in err.splitlines()[:-1]] == ["warning"] * 4
    snapshot = read_snapshot(str(tmp_path / "cluster.yaml"))
    assert [group.name for group in snapshot.groups] == ["order-svc"]


def test_what_was_read_is_listed_with_its_lines(run, tmp_path):
    for name in ("consumerStatus.audit.txt", "topicRoute.payments.txt"):
        (tmp_path / name).write_bytes((MQADMIN / name).read_bytes())
    (tmp_path / "notes.md").write_text("# Notes\non two lines\n")
    code, out, err = run(tmp_path, "--sources", "--out", tmp_path / ".out.yaml")
    head, *rows = out.splitlines()
    assert re.split(" {2,}", head) == ["file", "lines", "what", "states", "left out"]
    assert [re.split(" {2,}", row)[:3] for row in rows] == [
        [str(tmp_path / "consumerStatus.audit.txt"), "2-9", "consumerStatus"],
        [str(tmp_path / "notes.md"), "1-2", "not read"],
        [str(tmp_path / "topicRoute.payments.txt"), "1-5", "topicRoute"],
    ]
    known = "this is of no kind that is known; it begins with '# Notes'"
    left_out = f"{tmp_path / 'notes.md'}: {known}; it is left out"
    assert rows[1].endswith(left_out)
    assert f"warning: {left_out}\n" in err
    assert (code, (tmp_path / ".out.yaml").exists()) == (0, True)


def test_a_document_is_listed_as_one_row(run):
    code, out, err = run(ORDERS, "--sources")
    n_lines = len(ORDERS.read_text().splitlines())
    assert (code, err) == (0, "")
    assert re.split(" {2,}", out.splitlines()[1]) == [
        str(ORDERS), f"1-{n_lines}", "snapshot", "3 topics with 26 queues, 3 groups with 17 clients",
    ]  # fmt: skip
    code, _, err = run(ORDERS, "--sources", "--out", "-")
    assert code == exit_codes.USAGE
    assert "--sources and --out - both write to standard output" in err


def test_the_form_of_the_output_can_be_said(run, tmp_path):
    table = tmp_path / "table.data"
    table.write_text("group,topic,broker,queue_id\ng,t,b,1\n")
    assert run(table, "--out", tmp_path / "out.txt", "-o", "yaml")[0] == 0
    assert (tmp_path / "out.txt").read_text().startswith("apiVersion: rmqalloc/v2\n")


def test_the_verb_offers_every_form():
    offered = {
        param.name: list(param.type.choices)
        for param in convert.params
        if hasattr(param.type, "choices")
    }
    assert offered == {"to_form": ["auto", *WRITTEN]}


def test_the_schema_is_printed(run):
    code, out, err = run("--schema")
    assert (code, json.loads(out), err) == (0, snapshot_schema(), "")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--out", "x.json"], exit_codes.USAGE, "Missing argument 'IN...'"),
        ([ORDERS], exit_codes.USAGE, "Missing option '--out'"),
        ([ORDERS, "-o", "outputs", "--out", "x.json"], exit_codes.USAGE, "'outputs' is not one of"),
        ([ORDERS, "--out", "x.xml"], exit_codes.FAILURE, "suffix '.xml' is not known"),
        ([ORDERS, "--out", "nowhere/x.json"], exit_codes.FAILURE, "rmqalloc: nowhere/x.json: No such file or directory"),
        (["nowhere.json", "--out", "x.json"], exit_codes.FAILURE, "nowhere.json: No such file or directory"),
        ([ORDERS, SEED, "--out", "x.json"], exit_codes.FAILURE, "several files are allowed for outputs of tools only"),
    ],
)  # fmt: skip
def test_what_is_wrong_writes_nothing(run, arguments, code, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found, out, err = run(*arguments)
    assert (found, out) == (code, "")
    assert said in err
    assert list(tmp_path.iterdir()) == []


FORMULAS = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "＝1",
]  # a table holds no name that begins with a blank or a tab


@pytest.mark.parametrize("text", FORMULAS, ids=ascii)
def test_cells_that_look_like_a_formula_are_told_and_quoted_if_wished(run, tmp_path, text):
    """An apostrophe is how spreadsheets mark text; it stays when the file is read back, so nothing
    is quoted unasked.
    """
    source, out = tmp_path / "s.json", tmp_path / "o.csv"
    document = {
        "apiVersion": "rmqalloc/v2",
        "kind": "Snapshot",
        "groups": [{"name": "g", "clients": [{"client_id": f"{text}{i}"} for i in "ab"]}],
    }
    source.write_text(json.dumps(document))
    code, _, err = run(source, "--out", out)
    assert code == 0
    assert err.startswith("warning: 2 cells look like a formula, first client_id in row 3: ")
    assert "a spreadsheet may run it when it opens the file; --safe prevents this\n" in err
    assert f"{text}a" in out.read_bytes().decode() and f"'{text}a" not in out.read_bytes().decode()
    code, _, err = run(source, "--out", out, "--safe")
    assert code == 0
    assert "each is written with an apostrophe, which rmqalloc removes on reading" in err
    with out.open(newline="") as file:
        assert [row["client_id"] for row in csv.DictReader(file)][1:] == [f"'{text}a", f"'{text}b"]


@pytest.mark.parametrize(
    ("text", "is_one"), [("  =1", True), ("\tx", True), ("\rx", True), ("a=1", False), (" ", False)]
)
def test_a_formula_is_what_any_spreadsheet_takes_for_one(text, is_one):
    assert is_formula(text) == is_one


def test_formula_quoting_is_for_csv_and_plain_names_are_not_told(run, tmp_path):
    source = tmp_path / "s.csv"
    source.write_text("group,client\ng=1,a-b\n")
    assert "like a formula" not in run(source, "--out", tmp_path / "o.csv")[2]
    code, _, err = run(source, "--out", tmp_path / "o.json", "--safe")
    assert code == 64
    assert "--safe applies to CSV" in err
