"""Histories that are damaged by byte, by value, by table and by made-up bodies: the file of a
`Recorder`, changed in one to three places.
"""

import json
import sqlite3
import tempfile
import zlib
from contextlib import closing, suppress
from pathlib import Path

from watched_snapshots import Watched, cluster

from rmqalloc.audit import Finding
from rmqalloc.history import Recorder
from rmqalloc.watching import Change

START, EVERY = 1_795_000_000.0, 30.0
LAST = START + 20 * EVERY
FINDING = Finding("unowned", "error", "billing", "orders", (), (), "2 queues", "start")
TABLES = ("texts", "subjects", "states", "events", "raised", "spans", "gaps", "notes")
PAGE = 4096

VALUES = [
    None,
    "",
    "x",
    "7",
    "\ud7ff",
    "n" * 20_000,
    b"",
    b"\x00",
    b"\x01",
    b"\xff\xfe",
    b"x" * 20_000,
    0,
    1,
    2,
    3,
    -1,
    127,
    1 << 20,
    1 << 31,
    1 << 42,
    (1 << 42) - 1,
    1 << 62,
    (1 << 63) - 1,
    -(1 << 63),
    0.5,
    -1e308,
    float("inf"),
]
"""What a column may hold, though none has all of it."""

SCHEMAS = [
    "CREATE TABLE more(a)",
    "CREATE VIEW more AS SELECT * FROM texts",
    "CREATE VIEW more AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i FROM n",
    "CREATE TRIGGER more AFTER INSERT ON states BEGIN DELETE FROM states; END",
    "CREATE TRIGGER more BEFORE INSERT ON spans BEGIN SELECT zeroblob(1000000000); END",
    "CREATE INDEX more ON states(length(hex(body)))",
    "ALTER TABLE states ADD COLUMN more AS (hex(body))",
    "ALTER TABLE texts ADD COLUMN more",
    "ALTER TABLE gaps RENAME TO holes",
    "DROP TABLE notes",
    "DROP INDEX states_by_subject",
    "PRAGMA user_version=2",
    "PRAGMA user_version=0",
    "PRAGMA application_id=0",
    "PRAGMA journal_mode=DELETE",
    "CREATE VIRTUAL TABLE more USING fts5(a)",
]


def seeds():
    """Files of recorders: changes and findings, a restart and a group that was not read, and a
    group of many queues.
    """
    folder = Path(tempfile.mkdtemp())
    return [_changes(folder / "1"), _restarts(folder / "2"), _many_queues(folder / "3")]


def _changes(path):
    watched = Watched()
    with Recorder(path) as recorder:
        for i in range(20):
            now = cluster(("billing", "c1", f"c{i // 4}-2"), ("pay", f"p{i // 6}"))
            raised = (Change(FINDING, None, FINDING, START, START),) if i == 3 else ()
            settled = {"billing": 31.5} if i % 5 == 4 else {}
            observation = watched.observe(
                now, START + EVERY * i, raised=raised, lasting=(), settled=settled
            )
            recorder.record(observation)
    return path.read_bytes()


def _restarts(path):
    for begin in (0, 6, 12):
        watched = Watched()
        with Recorder(path) as recorder:
            for i in range(begin, begin + 5):
                now = cluster(("billing", "c1", f"c{begin}"), ("pay", "p1"))
                not_read = {"pay"} if i > begin + 2 else ()
                recorder.record(watched.observe(now, START + EVERY * i, not_read=not_read))
    return path.read_bytes()


def _many_queues(path):
    watched = Watched()
    with Recorder(path) as recorder:
        for i in range(20):
            clients = [f"client-{number}" for number in range(3 + i // 4)]
            now = cluster(("billing", *clients), n_queues=400)
            recorder.record(watched.observe(now, START + EVERY * i))
    return path.read_bytes()


# --- By byte ---


def by_byte(data, random):
    """Bytes or pages of a file overwritten, swapped, cut off or added."""
    data = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 3))):
        kind = random.randrange(8)
        at = random.randrange(len(data))
        page = at - at % PAGE
        if kind == 0:
            data[at] ^= 1 << random.randrange(8)
        elif kind == 1:
            for _ in range(random.choice((8, 200))):
                data[random.randrange(len(data))] = random.randrange(256)
        elif kind == 2:
            end = min(len(data), at + random.choice((4, 64, 1000)))
            data[at:end] = random.randbytes(end - at)
        elif kind == 3:
            data[page : page + PAGE] = random.choice((bytes(PAGE), random.randbytes(PAGE)))
        elif kind == 4:
            source = random.randrange(max(1, len(data) // PAGE)) * PAGE
            data[page : page + PAGE] = data[source : source + PAGE]
        elif kind == 5:
            del data[random.choice((at, page)) :]
        elif kind == 6:
            data += random.choice((b"\0" * PAGE, random.randbytes(PAGE), data[page:], b"x"))
        else:
            head = page + 12 if page else 100 + 8  # where a page says where its cells begin
            for cell in range(head, min(head + 8, len(data))):
                data[cell] = random.randrange(256)
        if not data:
            return b""
    return bytes(data)


# --- By value, by table, by made-up bodies: in a file of right pages ---


class Opened:
    """A file that is changed by SQL, in which no column must have a value."""

    def __init__(self, data, path):
        path.write_bytes(data)
        self._path = path
        self._schema = self._loosened()
        self._connection = sqlite3.connect(path, isolation_level=None)

    def _loosened(self):
        with closing(sqlite3.connect(self._path, isolation_level=None)) as connection:
            schema = connection.execute("SELECT rowid, sql FROM sqlite_schema").fetchall()
            connection.execute("PRAGMA synchronous=OFF")
            connection.execute("PRAGMA journal_mode=MEMORY")
            connection.execute("PRAGMA writable_schema=ON")
            connection.execute("UPDATE sqlite_schema SET sql=replace(sql, ' NOT NULL', '')")
        return schema

    def run(self, query, values=()):
        """Run a statement; one that the database refuses changes nothing."""
        with suppress(sqlite3.Error, OverflowError):
            return self._connection.execute(query, values).fetchall()
        return []

    def restore_tables(self):
        """Write the statements of the tables as they were."""
        self.run("PRAGMA writable_schema=ON")
        for row, sql in self._schema:
            self.run("UPDATE sqlite_schema SET sql=? WHERE rowid=?", (sql, row))

    def closed(self):
        """Close the file, and return its bytes."""
        self._connection.close()
        with suppress(sqlite3.Error), closing(sqlite3.connect(self._path)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
        return self._path.read_bytes()


def by_value(file, random):
    """Change values of rows, leave rows out, and repeat them."""
    for _ in range(random.choice((1, 1, 2, 3))):
        table = random.choice(TABLES)
        columns = [row[1] for row in file.run(f"PRAGMA table_info({table})")]
        rows = file.run(f"SELECT * FROM {table}")
        if not rows:
            continue
        row = dict(zip(columns, random.choice(rows), strict=True))
        where = " AND ".join(f"{name} IS ?" for name in columns)
        kind = random.randrange(6)
        if kind == 0:
            file.run(f"DELETE FROM {table} WHERE {where}", tuple(row.values()))
        elif kind == 1:
            _insert(file, table, {**row, columns[0]: random.choice(VALUES)})
        else:
            column = random.choice(columns)
            value = random.choice([*VALUES, *random.choice(rows)])
            file.run(f"UPDATE {table} SET {column}=? WHERE {where}", (value, *row.values()))
    file.restore_tables()


def _insert(file, table, row):
    marks = ", ".join("?" for _ in row)
    file.run(f"INSERT INTO {table} VALUES ({marks})", tuple(row.values()))


def by_table(file, random):
    """Change tables, or add some that do more than hold rows."""
    file.restore_tables()
    for _ in range(random.choice((1, 1, 2))):
        file.run(random.choice(SCHEMAS))


def number(value):
    """A number as a state has it."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


LARGE = [1, 2, 100, 127, 5000, 1 << 20, 2_000_000_000, 1 << 62, 1 << 69]


def _document(**content):
    return {"apiVersion": "rmqalloc/v2", "kind": "Snapshot", **content}


def hostile_text(random):
    """A text that stands for much, or is of another kind."""
    n = random.choice(LARGE[:6])
    clients = [{"client_id": "a", "strategy": "AVG"}] * min(n, 20_000)
    return random.choice(
        [
            json.dumps([["orders", "broker-a", 0, random.choice(LARGE)]] * random.choice((1, 3))),
            json.dumps([["orders", "broker-a", i, 1] for i in range(min(n, 20_000))]),
            json.dumps(random.choice([[["t", "b", 0]], [["t", "b", "0", 1]], [[0, 0, 0, 0]], {}])),
            json.dumps([["t", "b", random.choice((-1, True, 1.5, None)), 2]]),
            "[" * min(n, 5000) + "]" * min(n, 5000),
            "[" + "[]," * n + "[]]",
            "[" + "{}," * n + "1]",
            json.dumps(_document(groups=[{"name": "billing"}] * min(n, 20_000))),
            json.dumps(_document(groups=[{"name": "billing", "clients": clients}])),
            json.dumps(_document(groups=[{"name": "billing", "subscriptions": ["t"] * n}])),
            json.dumps(_document(topics=[{"name": "orders", "brokers": []}])),
            json.dumps(_document(brokers=[{"name": "b" * n, "address": "b"}])),
            json.dumps({"rule": 7, "severity": [], "message": None, "topic": {}}),
            "x" * (16 * n),
            "😀" + "x" * (4 * n),
            "NaN",
            "9" * 5000,
            '"\\ud800"',
        ]
    )


def _body_of_text(text, random):
    """A text as it is kept; at times cut, or of a kind that there is not."""
    data = text.encode("utf-8", "surrogatepass")
    kind = random.randrange(12)
    if kind == 0:
        return b"\x01" + zlib.compress(data)[:-3]
    if kind == 1:
        return bytes([random.randrange(256)]) + data[:5000]
    return b"\x01" + zlib.compress(data) if len(data) > 99 else b"\0" + data


def by_body(file, random):
    """Write bodies of texts and states that are framed as they should be."""
    texts = [row[0] for row in file.run("SELECT id FROM texts")]
    states = [row[0] for row in file.run("SELECT moment FROM states")]
    for _ in range(random.choice((1, 1, 2, 3))):
        if random.random() < 0.6:
            body = _body_of_text(hostile_text(random), random)
            values = body, zlib.crc32(body), random.choice(texts)
            file.run("UPDATE texts SET body=?, hash=? WHERE id=?", values)
        else:
            values = _body_of_state(texts, random), random.choice(states)
            file.run("UPDATE states SET body=? WHERE moment=?", values)
    if random.random() < 0.3:
        _repeat_states(file, random)
    file.restore_tables()


def _body_of_state(texts, random):
    """A state of random numbers, most of which name texts."""
    n = random.choice((0, 1, 3, 10, 200))
    numbers = [random.choice((0, 1, random.choice(texts), *LARGE[:2])) for _ in range(n)]
    if random.random() < 0.3:
        numbers.insert(random.randrange(len(numbers) + 1), random.choice(LARGE))
    tail = bytes(random.choice((0, 0, 5000, 40_000)))
    return bytes([random.choice((0, 0, 0, 1, 2, 255))]) + b"".join(map(number, numbers)) + tail


def _repeat_states(file, random):
    """Repeat a state a thousand times, as a hostile file would: it costs a row each."""
    rows = file.run("SELECT subject, since, body FROM states")
    if rows:
        subject, since, body = random.choice(rows)
        begin = int(LAST * 1000) << 20
        for i in range(1000):
            row = begin + (i << 20), subject, since, body[:2000]
            file.run("INSERT OR IGNORE INTO states VALUES (?, ?, ?, ?)", row)


BY_SQL = {"value": by_value, "table": by_table, "body": by_body}
KINDS = ("byte", *BY_SQL)


def damaged(kind, data, random, path):
    """The bytes of a damaged history; ``path`` is a place to work in."""
    if kind == "byte":
        return by_byte(data, random)
    file = Opened(data, path)
    BY_SQL[kind](file, random)
    return file.closed()
