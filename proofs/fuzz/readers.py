"""Every reader of files that people give: what a file of it is like, how it is changed, and what
may be raised.
"""

import contextlib
import csv
import gzip
import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.parquet as pq
from checkout import DATA
from document_kinds import KEYS, SCENARIOS, SIMULATION

from fuzz import mutations as change
from rmqalloc.cli._allocate_command import _parse_clients
from rmqalloc.documents import DocumentError
from rmqalloc.model import MessageQueue
from rmqalloc.plans import GatesError, PlanError, load_plan, plan_snapshot, read_gates
from rmqalloc.plans._plan import canonical
from rmqalloc.rebalance._offset_file import OffsetFileError, read_offsets, write_offsets
from rmqalloc.remoting.credentials import CredentialsError, read_credentials
from rmqalloc.scenarios import ScenarioError, read_scenarios, scenarios_of
from rmqalloc.simulation import read_script
from rmqalloc.snapshot.directory import check_replaceable
from rmqalloc.snapshot.files import read_snapshot
from rmqalloc.snapshot.files._to_rows import to_rows
from rmqalloc.snapshot.plain_data import SnapshotError, to_document
from rmqalloc.snapshot.snapshot import (
    Broker,
    Client,
    Group,
    Lag,
    Snapshot,
    SourceError,
    Topic,
    TopicBroker,
)

MQADMIN = DATA / "mqadmin"
QUEUES = [MessageQueue("orders", "b-1", i) for i in range(3)]
SNAPSHOT = Snapshot(
    (
        Topic("orders", (TopicBroker("b-1", 3, 3, 6, machine_room="hz"), TopicBroker("b-2", 2))),
        Topic("%RETRY%g"),
    ),
    (
        Group(
            "g",
            ("orders",),
            (
                Client("1@a", "hz", "JAVA", "5.3.0", owned=tuple(QUEUES[:2])),
                Client("2@b", owned=(QUEUES[2],)),
            ),
            strategy="CONSISTENT_HASH",
            strategy_params={"virtual_nodes": 7},
            lags=(Lag(QUEUES[0], 9, 4, 1_700_000_000_000),),
        ),
        Group(
            "h",
            ("orders",),
            (Client("3@c", subscriptions=("orders",)),),
            strategy="CONFIG",
            strategy_params={"message_queues": [queue._asdict() for queue in QUEUES]},
        ),
    ),
    brokers=(Broker("b-1", "10.0.0.1:10911"),),
    fetched_at="2026-01-01T00:00:00Z",
    source="by hand",
    errors=(SourceError("10.0.0.1:10911", "GET_ALL", "timed out"),),
)


@dataclass(frozen=True)
class Reader:
    """A reader: the file that it is given, the bytes of one, what reads it, and the errors that are
    its own.
    """

    file: str
    make: Callable[[Any], bytes]
    read: Callable[[str], Any]
    errors: tuple[type[Exception], ...]


def _json_of(data):
    return lambda random: change.encoded(
        change.json_text(change.changed_data(data, random), random), random
    )


def _yaml_of(data):
    """JSON is YAML too, and block style is made of it by hand: PyYAML's own writing is slow."""

    def make(random):
        changed = change.changed_data(data, random)
        text = _block(changed) if random.random() < 0.5 else json.dumps(changed)
        if random.random() < 0.7:
            text = change.changed_lines(text, random, [*change.TOKENS, *change.YAML_TOKENS])
        return change.encoded(text, random)

    return make


def _block(data, indent=""):
    if isinstance(data, dict) and data:
        return "".join(
            f"\n{indent}{json.dumps(key)}: {_block(inner, indent + ' ')}"
            for key, inner in data.items()
        )
    if isinstance(data, list) and data:
        return "".join(f"\n{indent}- {_block(inner, indent + '  ')}" for inner in data)
    return json.dumps(data)


def _either(*makers):
    return lambda random: random.choice(makers)(random)


ROWS = list(to_rows(SNAPSHOT))
COLUMNS = list({name: None for row in ROWS for name in row})


def _csv(random):
    header, rows = list(COLUMNS), change.changed_data(ROWS, random)
    if random.random() < 0.3:
        header = (
            [str(one) for one in change.changed_data(header, random)]
            if random.random() < 0.5
            else header[::-1]
        )
    out = io.StringIO()
    delimiter = random.choice(",,,;\t")
    writer = csv.writer(out, delimiter=delimiter, lineterminator=random.choice(("\n", "\r\n")))
    rows = rows if isinstance(rows, list) else [rows]
    cells = [
        [row.get(name, "") if isinstance(row, dict) else row for name in header] for row in rows
    ]
    with contextlib.suppress(csv.Error):
        writer.writerows([header, *cells])
    text = out.getvalue()
    if random.random() < 0.6:
        text = change.changed_lines(
            text, random, [*change.TOKENS, delimiter, '""', "\r", delimiter * 9, "x" * 140_000]
        )
    return change.encoded(text, random)


def _packed_rows(rows, random):
    table = pa.Table.from_pylist(rows)
    if random.random() < 0.5:
        table = _odd_columns(table, random)
    out = io.BytesIO()
    pq.write_table(
        table,
        out,
        compression=random.choice(("zstd", "snappy", "gzip", "none")),
        use_dictionary=random.random() < 0.6,
        data_page_version=random.choice(("1.0", "2.0")),
        row_group_size=random.choice((1, 2, 1000)),
        write_statistics=random.random() < 0.5,
    )
    return out.getvalue()


ODD_COLUMNS = [
    lambda n: pa.array([[1, 2]] * n),
    lambda n: pa.array([{"a": 1}] * n),
    lambda n: pa.nulls(n),
    lambda n: pa.array([b"\xff"] * n),
    lambda n: pa.array([1.5] * n),
    lambda n: pa.array([-1] * n),
    lambda n: pa.array([2**63] * n, pa.uint64()),
    lambda n: pa.array(["x"] * n).dictionary_encode(),
    lambda n: pa.array([float("nan")] * n),
    lambda n: pa.array([True] * n),
    lambda n: pa.array([0] * n, pa.timestamp("ms")),
    lambda n: pa.array(["7"] * n),
    lambda n: pa.array(["x" * 100_000] * n),
    lambda n: pa.array([b"ab"] * n, pa.binary(2)),
    lambda n: pa.array(["g"] * n, pa.large_string()),
    lambda n: pa.array([0] * n, pa.date32()),
]


def _odd_columns(table, random):
    at = random.randrange(table.num_columns)
    column = random.choice(ODD_COLUMNS)(table.num_rows)
    name = random.choice((table.column_names[at], "Queue ID", "", "unknown", "topic"))
    return (
        table.set_column(at, name, column)
        if random.random() < 0.7
        else table.append_column(name, column)
    )


_PARQUET_SEEDS: list[bytes] = []


def _parquet(random):
    """One in four written anew with odd columns or rows, the others damaged."""
    if len(_PARQUET_SEEDS) < 60 or random.random() < 0.25:
        rows = change.changed_data(ROWS, random) if random.random() < 0.4 else ROWS
        try:
            data = _packed_rows(rows, random)
        except (
            pa.ArrowException,
            TypeError,
            ValueError,
            AttributeError,
            OverflowError,
            IndexError,
        ):
            data = _packed_rows(ROWS, random)
        if len(_PARQUET_SEEDS) < 60:
            _PARQUET_SEEDS.append(data)
        return data
    return change.changed_bytes(random.choice(_PARQUET_SEEDS), random)


_MQADMIN = [
    path.read_text()
    for path in sorted(MQADMIN.rglob("*"))
    if path.is_file() and path.name != "owns.json"
]
_MQADMIN_TOKENS = [
    *change.TOKENS,
    "#Topic",
    "#QID",
    "Consume TPS:",
    "MessageModel: ",
    "N/A",
    "mqadmin topicRoute -t x\n",
    "mqadmin consumerProgress -g g\n",
    "#Consumer Properties#\n",
    "#Consumer MQ Detail#\n",
    "droped=true",
    "V5_5_0",
    "{" * 50,
    "-1",
    "9" * 30,
    "#Index  #ClientId  \n",
    "queueDatas",
]


def _mqadmin(random):
    text = random.choice(_MQADMIN)[:6000]
    if text.lstrip().startswith("{") and random.random() < 0.5:
        try:
            return change.json_text(change.changed_data(json.loads(text), random), random).encode(
                "utf-8", "replace"
            )
        except ValueError:
            pass
    text = change.changed_lines(text, random, _MQADMIN_TOKENS)
    if random.random() < 0.2:
        text += "\n" + random.choice(_MQADMIN)[:3000]
    return change.encoded(text, random)


PLANNED = Snapshot(
    SNAPSHOT.topics, (replace(SNAPSHOT.groups[0], clients=(Client("1@a", "hz"), Client("2@b"))),)
)
PLAN = json.loads(
    "".join(plan_snapshot(PLANNED, scenarios_of(SCENARIOS["scenarios"][:1]), ("g",)).text())
    + ',"digest":""}'
)


def _columns_text(columns):
    return ",".join(
        f"{json.dumps(column)}:{canonical(values)}" for column, values in columns.items()
    )


def hash_of(plan):
    """The hash that the document of a plan must say, if its texts are coded as they are written."""
    behind = ("inputs", "undo")
    head = {key: value for key, value in plan.items() if key not in (*behind, "tables", "digest")}
    parts = "".join(
        f',"{name}":{json.dumps(plan[name], separators=(",", ":"))}'
        for name in behind
        if name in plan
    )
    tables = (f'"{name}":{{{_columns_text(columns)}}}' for name, columns in plan["tables"].items())
    return hashlib.sha256(
        f'{canonical(head)[:-1]}{parts},"tables":{{{",".join(tables)}}}'.encode()
    ).hexdigest()


PLAN["digest"] = hash_of(PLAN)


def _plan(random):
    """One in two says the hash of what it holds, as a plan does that was not damaged but made so."""
    data = change.changed_data(PLAN, random)
    if random.random() < 0.5:
        with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):
            data["digest"] = hash_of(data)
        return json.dumps(data).encode()
    return change.encoded(change.json_text(data, random), random)


def _plan_packed(random):
    plan = _plan(random) if random.random() < 0.8 else json.dumps(PLAN).encode()
    data = gzip.compress(plan, 1, mtime=0)
    if random.random() < 0.1:
        data += random.choice((data, b"\0" * 100, b"x", data[:20]))
    return change.changed_bytes(data, random) if random.random() < 0.7 else data


def _offsets_seed():
    import tempfile

    path = Path(tempfile.mkdtemp()) / "offsets.json"
    write_offsets(path, {queue: 7 + queue.queue_id for queue in QUEUES})
    return path.read_text()


_OFFSETS = _offsets_seed()


def _offsets(random):
    return change.encoded(
        change.changed_text(_OFFSETS, random, [*change.TOKENS, '"topic"', '{"topic":"t"}:1,']),
        random,
    )


def _backup_too(path):
    """As it stands, and as the backup of a file that is not there."""
    read_offsets(Path(path))
    read_offsets(Path(path.removesuffix(".bak")))


def _clients(random):
    return change.changed_bytes("10.0.0.1@1\n订单@2\r\n3\n".encode(), random)


def _marker(random):
    return _json_of({"tool": "rmqalloc", "kind": "plans"})(random)


def _own(path):
    check_replaceable(Path(path).parent, "plans")


DOCUMENT = to_document(SNAPSHOT)
GATES = {"max_moved": 5, "max_moved_share": 0.2, "max_skew": 1.5, "fail_if_worse": True}
SNAPSHOT_OR_DOCUMENT = (SnapshotError, DocumentError)
READERS = {
    "snapshot, JSON": Reader("s.json", _json_of(DOCUMENT), read_snapshot, SNAPSHOT_OR_DOCUMENT),
    "snapshot, YAML": Reader("s.yaml", _yaml_of(DOCUMENT), read_snapshot, SNAPSHOT_OR_DOCUMENT),
    "snapshot, CSV": Reader("s.csv", _csv, read_snapshot, SNAPSHOT_OR_DOCUMENT),
    "snapshot, Parquet": Reader("s.parquet", _parquet, read_snapshot, SNAPSHOT_OR_DOCUMENT),
    "mqadmin's text": Reader(
        "consumerProgress.g.txt", _mqadmin, read_snapshot, SNAPSHOT_OR_DOCUMENT
    ),
    "any form, told by content": Reader(
        "s",
        _either(_json_of(DOCUMENT), _csv, _parquet, _mqadmin),
        read_snapshot,
        SNAPSHOT_OR_DOCUMENT,
    ),
    "plan": Reader("p.json", _plan, load_plan, (PlanError,)),
    "plan, packed": Reader("p.json.gz", _plan_packed, load_plan, (PlanError,)),
    "scenarios, JSON": Reader("s.json", _json_of(SCENARIOS), read_scenarios, (ScenarioError,)),
    "scenarios, YAML": Reader("s.yaml", _yaml_of(SCENARIOS), read_scenarios, (ScenarioError,)),
    "simulation": Reader("s.json", _json_of(SIMULATION), read_script, (ScenarioError,)),
    "simulation, YAML": Reader("s.yaml", _yaml_of(SIMULATION), read_script, (ScenarioError,)),
    "gates": Reader("g.json", _json_of(GATES), read_gates, (GatesError,)),
    "gates, YAML": Reader("g.yaml", _yaml_of(GATES), read_gates, (GatesError,)),
    "credentials": Reader("tools.yml", _yaml_of(KEYS), read_credentials, (CredentialsError,)),
    "offsets": Reader("offsets.json.bak", _offsets, _backup_too, (OffsetFileError,)),
    "list of clients": Reader(
        "clients",
        _clients,
        lambda path: _parse_clients(f"@{path}"),
        (DocumentError, click.UsageError),
    ),
    "marker of a directory": Reader("_rmqalloc.json", _marker, _own, (FileExistsError,)),
}
