"""One budget for every reader: what a few bytes could stand for is refused before it is made, by
the reader's own error.
"""

import difflib
import gzip
import io
import json
import zlib
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fuzz import mutations
from fuzz.readers import PLAN
from interpreter import run_python

from rmqalloc.documents import DocumentError, json_text, read_budget, read_source
from rmqalloc.documents.document_errors import TextError, known_names
from rmqalloc.plans import PlanError, load_plan
from rmqalloc.rebalance._offset_file import read_offsets
from rmqalloc.snapshot.files import read_snapshot
from rmqalloc.snapshot.files._parquet_pages import pages
from rmqalloc.snapshot.plain_data import SnapshotError

MIB = 1 << 20


def gzipped(data):
    """Bytes packed without the time, which gzip writes into its header: a parameter is the same in
    every run.
    """
    return gzip.compress(data, mtime=0)


def given(folder, name, data):
    path = folder / name
    path.write_bytes(data)
    return str(path)


# --- Plans ---


def test_the_plan_of_these_tests_is_one(tmp_path):
    text = json.dumps(PLAN).encode()
    two = gzip.compress(text[:9]) + gzip.compress(text[9:])
    for name, data in {"p.json": text, "p.json.gz": gzip.compress(text), "two.gz": two}.items():
        assert load_plan(given(tmp_path, name, data)).digest == PLAN["digest"]
    assert (
        load_plan(given(tmp_path, "padded.gz", gzip.compress(text) + b"\0" * 512)).digest
        == PLAN["digest"]
    )


def test_a_packed_plan_that_is_damaged_anywhere_is_no_plan_and_nothing_else(tmp_path):
    """1,906 of 4,000 mutations once ended in zlib.error."""
    packed, random = gzip.compress(json.dumps(PLAN).encode()), Random(1)
    ended = {
        load(given(tmp_path, "p.json.gz", mutations.changed_bytes(packed, random)))
        for _ in range(400)
    }
    assert all("is not a plan: " in said for said in ended - {""})
    assert len(ended) > 5


def load(path):
    """What is wrong with a plan, as far as that is its own error."""
    try:
        load_plan(path)
    except PlanError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("data", "said"),
    [
        pytest.param(b"", "not JSON: Expecting value", id="empty"),
        pytest.param(b"x" * 30, "is not gzip data, or is damaged: Error -3", id="not packed"),
        pytest.param(gzipped(b"{}")[:-9], "is truncated: it ends inside", id="cut"),
        pytest.param(gzipped(b"{}") + b"x" * 30, "is not gzip data, or is damaged", id="more after its end"),
        pytest.param(zlib.compress(b"{}"), "is not gzip data, or is damaged", id="zlib"),
        pytest.param(gzipped(b"[" * 100_000), "1:65: is nested deeper than 64 levels", id="100000 lists"),
        pytest.param(gzipped(b"\xff{}"), "byte 0 .0xff. is not UTF-8", id="not UTF-8"),
        pytest.param(gzipped(json.dumps({**PLAN, "warnings": 3}).encode()), "warnings must be a list", id="warnings"),
        pytest.param(gzipped(json.dumps({**PLAN, "tables": []}).encode()), "tables must be a mapping, got", id="tables"),
        pytest.param(gzipped(json.dumps({**PLAN, "tables": {"units": 3}}).encode()),
                     "tables.units must be a mapping, got 3", id="units"),
        pytest.param(gzipped(json.dumps({**PLAN, "scenarios": 3}).encode()),
                     "must be a list of scenarios, got 3", id="scenarios"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_plan_is_said(data, said, tmp_path):
    with pytest.raises(PlanError, match=rf"^{tmp_path}/p.json.gz is not a plan: .*{said}"):
        load_plan(given(tmp_path, "p.json.gz", data))


ODD = ([1], [0]), (["a"], [7]), (["a"], 3)
ODD_COLUMNS = [2**70, "x", None, 1.5, [], *({"words": words, "rows": rows} for words, rows in ODD)]


@pytest.mark.parametrize("value", ODD_COLUMNS, ids=str)
@pytest.mark.parametrize("column", ["queue_id", "change"])
def test_columns_of_a_plan_are_checked_one_by_one(column, value, tmp_path):
    queues = {
        **PLAN["tables"]["queues"],
        column: value if isinstance(value, dict | list) else [value],
    }
    document = {**PLAN, "tables": {**PLAN["tables"], "queues": queues}}
    with pytest.raises(
        PlanError,
        match=rf"tables.queues.{column} |columns of tables.queues must have equal numbers of rows",
    ):
        load_plan(given(tmp_path, "p.json", json.dumps(document).encode()))


# --- Bytes ---


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(read_budget, "MAX_BYTES", MIB)


@pytest.mark.usefixtures("small")
def test_no_more_is_unpacked_than_is_read_of_a_plain_file(tmp_path):
    for data in (b" " * (MIB + 1), b" " * (50 * MIB)):
        with pytest.raises(PlanError, match=r"has more than 1 MiB"):
            load_plan(given(tmp_path, "p.json.gz", gzip.compress(data)))
    several = b"".join(gzip.compress(b" " * (MIB // 2)) for _ in range(3))
    with pytest.raises(PlanError, match=r"has more than 1 MiB"):
        load_plan(given(tmp_path, "p.json.gz", several))
    assert (
        len(read_source(given(tmp_path, "p.gz", gzip.compress(b" " * MIB)), packed=True).data)
        == MIB
    )
    assert read_offsets(tmp_path / "p.json.gz") == {}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("unit", ["[],", "{},", '{"a":0},', '"a",', "[[[]]],"])
def test_values_of_json_are_counted_before_they_are_made(unit):
    def text(n):
        return "[" + unit * (n // len(unit)) + "0]"

    with pytest.raises(
        TextError,
        match=r"contains more values than 12 MiB of memory have room for; give a smaller file",
    ):
        json_text.loads(text(MIB))
    assert json_text.loads(text(MIB // 100))


@pytest.mark.usefixtures("small")
def test_rows_of_tables_are_counted(tmp_path):
    n = read_budget.most_rows() + 1
    with pytest.raises(SnapshotError, match=rf"has more than {n - 1} rows"):
        read_snapshot(given(tmp_path, "s.csv", b"group\n" + b"g\n" * n))
    out = io.BytesIO()
    pq.write_table(pa.table({"group": ["g"] * n}), out)
    with pytest.raises(SnapshotError, match=rf"has {n} rows; up to {n - 1} are read"):
        read_snapshot(given(tmp_path, "s.parquet", out.getvalue()))


def test_columns_of_tables_are_counted(tmp_path):
    with pytest.raises(SnapshotError, match=r"s.csv:1: has 1001 columns; up to 1000 are read"):
        read_snapshot(given(tmp_path, "s.csv", b"group" + b"," * 1000))
    assert (
        read_snapshot(given(tmp_path, "s.csv", b"group" + b"," * 999 + b"\ng\n")).groups[0].name
        == "g"
    )


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("options", [{}, {"use_dictionary": False}, {"data_page_version": "2.0"}])
def test_pages_of_parquet_are_counted_before_they_are_unpacked(options, tmp_path):
    out = io.BytesIO()
    pq.write_table(
        pa.table({"group": ["g" * (2 * MIB)], "topic": ["t"]}),
        out,
        compression="zstd",
        write_statistics=False,
        **options,
    )
    assert len(out.getvalue()) < 5000
    assert sum(page.n_bytes for page in pages(out.getvalue())) > 2 * MIB
    with pytest.raises(SnapshotError, match=r"has more than 1 MiB unpacked"):
        read_snapshot(given(tmp_path, "s.parquet", out.getvalue()))


def test_parquet_that_grows_without_bound_or_holds_lists_is_refused(tmp_path):
    out = io.BytesIO()
    options = {"use_dictionary": False, "column_encoding": {"group": "DELTA_BYTE_ARRAY"}}
    pq.write_table(pa.table({"group": ["g" * 1000 + str(i) for i in range(9)]}), out, **options)
    with pytest.raises(SnapshotError, match="is written with the encoding DELTA_BYTE_ARRAY"):
        read_snapshot(given(tmp_path, "s.parquet", out.getvalue()))
    out = io.BytesIO()
    pq.write_table(pa.table({"group": ["g"], "topic": [["t"]]}), out)
    with pytest.raises(SnapshotError, match="column topic is of the type list"):
        read_snapshot(given(tmp_path, "s.parquet", out.getvalue()))


def test_a_damaged_footer_of_parquet_does_not_end_the_process(tmp_path):
    """Asked for a column whose statistics were damaged, Arrow ended the process."""
    path = tmp_path / "s.parquet"
    run_python(f"""
import io, pyarrow as pa, pyarrow.parquet as pq
from rmqalloc.snapshot.plain_data import SnapshotError
from rmqalloc.snapshot.files import read_snapshot
out = io.BytesIO()
pq.write_table(pa.table({{"group": ["g", None], "topic": ["t", "t"]}}), out)
data = out.getvalue()
footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
for at in range(footer, footer + 60):
    with open({str(path)!r}, "wb") as file:
        file.write(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
    try:
        read_snapshot({str(path)!r})
    except SnapshotError:
        pass
""")


# --- Time, and what it comes to in memory ---


def test_the_place_of_a_fault_is_not_looked_for_without_end(monkeypatch):
    monkeypatch.setattr(json_text, "_MOST_TOKENS", 1000)
    near, far = "[" + "[]," * 100, "[" + "[]," * 1000
    faults = {
        '{"a":1,"a":2}]': "key 'a' is given twice",
        "1e999]": "1e999 is not a JSON number",
        '"\\ud800"]': "text must be Unicode, got half a surrogate pair",
    }
    for fault, said in faults.items():
        with pytest.raises(TextError, match=rf"^1:\d+: {said}"):
            json_text.loads(near + fault)
        with pytest.raises(TextError, match=rf"^{said}"):
            json_text.loads(far + fault)
    with pytest.raises(TextError, match=r"^is nested deeper than 64 levels"):
        json_text.loads(far + "[" * 70 + "]" * 71)


@pytest.mark.parametrize(
    "text",
    [
        "[1e999-1]",
        "[-1e999.5]",
        "[1e999e9]",
        '[1e999 "\\x"]',
        "[NaN}",
        '{"a":1,"a":2}}',
        '[1e999,"',
    ],
)
def test_text_that_goes_on_wrongly_after_a_fault_is_no_traceback(text):
    with pytest.raises(TextError):
        json_text.loads(text)


def test_a_long_name_is_not_compared_with_known_ones(monkeypatch):
    """The comparison takes the square of its length, and memory for every letter."""
    compared = []
    monkeypatch.setattr(difflib, "get_close_matches", lambda name, *_: compared.append(name) or [])
    assert known_names("n" * 101, ["name"]) == known_names("nam", ["name"]) == "known are name"
    assert compared == ["nam"]


def test_an_escaped_backslash_before_u_is_no_half_of_a_pair():
    assert json_text.loads('["\\\\ud800", "\\ud83d\\ude00"]') == ["\\ud800", "😀"]
    with pytest.raises(TextError, match="half a surrogate pair"):
        json_text.loads('["\\\\\\ud800"]')
    with pytest.raises(TextError, match="half a surrogate pair"):
        json_text.loads('["\\ud83d\\\\\\ude00"]')


MEASURED = """
import gzip, io, resource, sys
import pyarrow as pa, pyarrow.parquet as pq
from rmqalloc.documents import DocumentError, read_budget as budget
from rmqalloc.snapshot.files import read_snapshot
from rmqalloc.plans import load_plan
from rmqalloc.scenarios import read_scenarios
import yaml, rmqalloc.snapshot.files._parquet
budget.MAX_BYTES = M = 4 << 20
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
def read(name, data, how):
    with open(name, "wb") as file:
        file.write(data)
    del data
    try:
        how(name)
    except DocumentError as error:
        assert len(str(error)) < 1000, len(str(error))
def parquet(table):
    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd", write_statistics=False)
    return out.getvalue()
word = pa.DictionaryArray.from_arrays(pa.array([0] * 300_000, pa.int32()), pa.array(["g" * 1_000_000]))
ALIASES = "a0: &a0 [x]\\n" + "\\n".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30))
CASES = {
    "gzip": ("p.gz", gzip.compress(bytes(32 * M), 1), load_plan),
    "gzip of nested empties": ("p.gz", gzip.compress(b"[" + b"[]," * (M // 4) + b"0]"), load_plan),
    "nested empties": ("s.json", b'{"kind":[' + b"{}," * (M // 4) + b"0]}", read_snapshot),
    "just few enough": ("s.json", b'{"kind":[' + b'{"a":0},' * (12 * M // 400) + b"0]}", read_snapshot),
    "long text of every width": ("s.json", ('{"kind":"' + "a" * (M - 99) + chr(0x1F600) + '"}').encode(), read_snapshot),
    "long key": ("s.json", b'{"' + b"a" * (M - 99) + b'":1}', read_snapshot),
    "aliases": ("s.yaml", ALIASES.encode(), read_scenarios),
    "one text a million times": ("s.parquet", parquet(pa.table({"group": word})), read_snapshot),
    "pages": ("s.parquet", parquet(pa.table({"group": ["g" * (16 * M)]})), read_snapshot),
    "clients": ("s.csv", b"group,client\\n" + b"g,c\\n" * (M // 32 - 9), read_snapshot),
    "empty cells": ("s.csv", b"," * (M - 1), read_snapshot),
    "one cell": ("s.csv", ("group,topic\\ng," + "a" * (M - 99) + chr(0x1F600)).encode(), read_snapshot),
    "no form": ("s", b"a,b" * (M // 3), read_snapshot),
}
for case, (name, data, how) in CASES.items():
    CASES[case] = None
    before = peak()
    read(name, data, how)
    print(f"{case.replace(' ', '-')}:{(peak() - before) / M:.1f}")
"""


@pytest.mark.thorough
def test_memory_of_a_hostile_file_is_a_bounded_multiple_of_the_budget(tmp_path):
    """The figures are rises of one process's high-water mark, so that all of them together bound
    each.
    """
    words = run_python(f"import os\nos.chdir({str(tmp_path)!r})\n{MEASURED}")
    rises = dict(word.split(":") for word in words)
    assert len(rises) == 13
    assert sum(map(float, rises.values())) < MOST_TIMES, rises


MOST_TIMES = 20


def test_source_errors_are_documents_errors(tmp_path):
    with pytest.raises(DocumentError, match="is not gzip data"):
        read_source(given(tmp_path, "x", b"x" * 30), packed=True)
