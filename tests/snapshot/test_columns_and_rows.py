"""Snapshots are read by columns where that is plain, else piece by piece: both ways give the same
snapshot, and refuse the same files in the same words.
"""

import io
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checkout import DATA
from fuzz.readers import READERS

from rmqalloc.documents import DocumentError, Source, json_text, records
from rmqalloc.snapshot import proxy
from rmqalloc.snapshot.files import _checks, _parquet, read_snapshot
from rmqalloc.snapshot.files._to_rows import to_rows
from rmqalloc.snapshot.plain_data import SnapshotError
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

BROKERS = (TopicBroker("a", 4, 4), TopicBroker("b", 8, perm=4, machine_room="hz"))
PLAIN = Snapshot(
    (Topic("T", BROKERS), Topic("U", BROKERS), Topic("V", BROKERS[:1])),
    (
        Group("g", ("T", "U"), (Client("1@a", "hz", owned=()), Client("2@a"), Client("2@a"))),
        Group("h", (), (), strategy="AVG", strategy_params={"virtual_nodes": 7}, consume_tps=1.5),
        Group("i", ("V",), (Client("h@1@2@abc"),), is_shared=True, unknown={"lags": "x"}),
        Group("j", ("T",), message_model="BROADCASTING", is_ordered=True),
    ),
)


def answer(read, given):
    """What is read, types included, or what is said of it."""
    try:
        return repr(read(given))
    except DocumentError as error:
        return f"{type(error).__name__}: {error}"


def piece_by_piece(monkeypatch):
    """Leave out every look at many values together."""
    monkeypatch.setattr(records, "read_all", lambda kind, given: [*map(kind.read, given)])
    monkeypatch.setattr(json_text, "_checked", json_text._strict)
    monkeypatch.setattr(_checks, "_are_plainly_right", lambda groups: False)
    monkeypatch.setattr(proxy, "_MOST_ATS", -1)
    monkeypatch.setattr(_parquet, "_by_columns", lambda given: None)


@pytest.mark.parametrize("form", ["JSON", "Parquet"])
def test_damaged_files_are_read_or_refused_alike(form, tmp_path, monkeypatch):
    reader, random = READERS[f"snapshot, {form}"], Random(7)
    kept = [
        path.read_bytes() for path in sorted((DATA / f"fuzz/snapshot-{form.lower()}").iterdir())
    ]
    given = kept + [reader.make(random) for _ in range(150)]
    path = tmp_path / reader.file

    def answers():
        for data in given:
            path.write_bytes(data)
            yield answer(read_snapshot, str(path))

    together = list(answers())
    piece_by_piece(monkeypatch)
    assert list(answers()) == together
    assert len(set(together)) > 10


def rows_of(snapshot=PLAIN):
    return [dict(row) for row in to_rows(snapshot)]


def table(rows, row_group_size=None, schema=_parquet.SCHEMA):
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema), out, row_group_size=row_group_size)
    return Source("s.parquet", out.getvalue(), SnapshotError)


@pytest.mark.parametrize("row_group_size", [None, 3])
def test_a_plain_table_is_read_by_columns(row_group_size, monkeypatch):
    source = table(rows_of(), row_group_size)
    read, notes = _parquet.read(source)
    monkeypatch.setattr(_parquet, "Rows", None)
    assert _parquet.read(source) == (read, notes)
    assert read == PLAIN
    assert read.topics[0].brokers is read.topics[1].brokers


ALTERED = {
    "a row again": lambda rows: [*rows, rows[-1]],
    "a group again": lambda rows: [*rows, {"consumer_group": "g", "strategy": "AVG"}],
    "a group with other settings": lambda rows: [
        *rows,
        {"consumer_group": "j", "message_model": "CLUSTERING"},
    ],
    "a topic in two places": lambda rows: [*rows[1:], rows[0]],
    "a topic again": lambda rows: [*rows, {**rows[0], "read_queue_nums": 5}],
    "backwards": lambda rows: rows[::-1],
    "by their values": lambda rows: sorted(rows, key=str),
    "empty rows": lambda rows: [{}, *rows[:3], {}, *rows[3:]],
    "empty cells": lambda rows: [{"strategy": "", "unknown": "", **row} for row in rows],
    "a cell of another row": lambda rows: [*rows, {"consumer_group": "g", "perm": 4}],
    "settings beside a client": lambda rows: [
        *rows,
        {"consumer_group": "g", "client_id": "3@a", "strategy": "AVG"},
    ],
    "a number that is too low": lambda rows: [
        *rows,
        {"topic": "W", "broker_name": "a", "read_queue_nums": -1},
    ],
    "too many queues": lambda rows: [
        *rows,
        {"topic": "W", "broker_name": "a", "read_queue_nums": 1 << 21},
    ],
    "no number of queues": lambda rows: [*rows, {"topic": "W", "broker_name": "a"}],
    "a topic alone": lambda rows: [*rows, {"topic": "W"}],
    "a queue": lambda rows: [
        *rows,
        {
            "consumer_group": "g",
            "topic": "T",
            "broker_name": "a",
            "queue_id": 1,
            "client_id": "1@a",
        },
    ],
    "a client's topic": lambda rows: [
        *rows,
        {"consumer_group": "g", "topic": "T", "client_id": "2@a"},
    ],
    "owned queues without rows": lambda rows: [
        *rows,
        {"consumer_group": "g", "client_id": "4@a", "owned_queues": 2},
    ],
    "facts of the cluster": lambda rows: [*rows, {"unknown": '{"routes": "x"}'}],
    "unknown kinds": lambda rows: [*rows, {"consumer_group": "k", "unknown": '{"x": "x"}'}],
    "what is no JSON": lambda rows: [*rows, {"consumer_group": "k", "strategy_params": "{"}],
    "a word that is none": lambda rows: [*rows, {"consumer_group": "k", "message_model": "X"}],
    "no number": lambda rows: [*rows, {"consumer_group": "k", "consume_tps": float("nan")}],
    "groups alone": lambda rows: [{"consumer_group": "g"}],
    "nothing": lambda rows: [],
}


@pytest.mark.parametrize("altered", ALTERED.values(), ids=ALTERED)
def test_a_table_is_read_or_refused_alike(altered, monkeypatch):
    source = table(altered(rows_of()))
    together = answer(_parquet.read, source)
    piece_by_piece(monkeypatch)
    assert answer(_parquet.read, source) == together


@pytest.mark.parametrize(
    "kind", [pa.large_string(), pa.binary(), pa.dictionary(pa.int8(), pa.string())]
)
def test_texts_of_other_programs_are_read_alike(kind, monkeypatch):
    schema = _parquet.SCHEMA.set(0, pa.field("consumer_group", kind))
    source = table(rows_of(), schema=schema)
    together = answer(_parquet.read, source)
    piece_by_piece(monkeypatch)
    assert answer(_parquet.read, source) == together


def test_a_table_without_a_column_is_read_alike(monkeypatch):
    for name in _parquet.SCHEMA.names:
        schema = pa.schema([field for field in _parquet.SCHEMA if field.name != name])
        source = table(rows_of(), schema=schema)
        together = answer(_parquet.read, source)
        with monkeypatch.context() as patched:
            piece_by_piece(patched)
            assert answer(_parquet.read, source) == together
