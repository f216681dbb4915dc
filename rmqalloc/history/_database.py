"""The file of a history: its tables, how it is opened, and what its errors mean.

Times are milliseconds of the Unix clock. The key of a state or an event is its time with 20 bits
behind it that number what has the same time, so that rows lie in the order of their times: new ones
are appended, old ones are dropped from the front.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from rmqalloc.history.history_errors import HistoryError
from rmqalloc.text import message

APPLICATION_ID, VERSION = 0x726D7161, 1
"""What marks the file (``rmqa``), and the version of its tables."""
KEY_BITS = 20
PAGE_BYTES = 4096
BUSY_SECONDS = 30.0

TABLES = (
    "CREATE TABLE texts(id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, used_until INTEGER, body BLOB NOT NULL)",
    "CREATE INDEX texts_by_hash ON texts(hash)",
    "CREATE TABLE subjects(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, name BLOB NOT NULL, is_gone INTEGER NOT NULL,"
    " UNIQUE(kind, name))",
    "CREATE TABLE states(moment INTEGER PRIMARY KEY, subject INTEGER NOT NULL, since INTEGER, body BLOB NOT NULL)",
    "CREATE INDEX states_by_subject ON states(subject)",
    "CREATE TABLE events(moment INTEGER PRIMARY KEY, subject INTEGER NOT NULL, kind INTEGER NOT NULL, since INTEGER,"
    " value INTEGER NOT NULL)",
    "CREATE INDEX events_by_subject ON events(subject)",
    "CREATE TABLE raised(fault TEXT PRIMARY KEY, subject INTEGER NOT NULL, finding INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE spans(began INTEGER PRIMARY KEY, previous INTEGER, last INTEGER NOT NULL, reason TEXT NOT NULL)",
    "CREATE TABLE gaps(subject INTEGER NOT NULL, since INTEGER NOT NULL, until INTEGER, reason INTEGER NOT NULL,"
    " PRIMARY KEY(subject, since)) WITHOUT ROWID",
    "CREATE TABLE notes(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
)
GROUP, TOPIC, BROKERS = range(3)
"""Kinds of subjects: what has states."""
RAISED, CLEARED, SETTLED = range(3)
"""Kinds of events; the value is a text, or milliseconds."""


def in_ms(seconds: float) -> int:
    """Return a moment in milliseconds."""
    return round(seconds * 1000)


def key_of(ms: int) -> int:
    """Return the least key of a moment."""
    return ms << KEY_BITS


def ms_of(key: int) -> int:
    """Return the moment of a key."""
    return key >> KEY_BITS


LAST_KEY = key_of(1 << 42)
"""Behind all keys."""


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn errors of the database into a `HistoryError` that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise HistoryError(f"{path}: {_said(error)}") from error
    except UnicodeDecodeError as error:  # of sqlite's own message, which quotes the file
        raise HistoryError(
            f"{path}: the history is damaged; move it away to begin another"
        ) from error


def _said(error: sqlite3.Error) -> str:
    text = message(str(error))
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith("SQLITE_FULL"):
        return f"the disk is full, or the history has the size that it may have ({text})"
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return f"this is no history of rmqalloc, or a damaged one ({text}); move it away to begin another"
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"another program has been writing here for more than {BUSY_SECONDS:g} s ({text})"
    return text


def opened(path: Path) -> sqlite3.Connection:
    """Open a history to write, made if there is none."""
    with told(path):
        connection = _connected(str(path))
        try:
            _configure(connection)
            if (
                not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
                and not _mark(connection)[0]
            ):
                _make(connection)
            check(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def opened_to_read(path: Path) -> sqlite3.Connection:
    """Open a history to read, also while it is written and where nothing can be written beside it."""
    if not path.is_file():
        raise HistoryError(f"{path}: there is no such file; a recorder makes it")
    uri = f"{path.absolute().as_uri()}?mode=ro"
    has_log = os.path.exists(f"{path}-wal")
    with told(path):
        for one in (uri,) if has_log else (uri, f"{uri}&immutable=1"):
            connection = _connected(one)
            try:
                check(connection, path)
            except sqlite3.OperationalError as error:
                connection.close()
                if (
                    getattr(error, "sqlite_errorname", "") != "SQLITE_CANTOPEN"
                    or "immutable" in one
                    or has_log
                ):
                    raise
            except BaseException:
                connection.close()
                raise
            else:
                return connection
    raise HistoryError(f"{path}: the file cannot be opened")


def _connected(where: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        where,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        uri=where.startswith("file:"),
        check_same_thread=False,
    )
    connection.text_factory = lambda data: data.decode(
        "utf-8", "replace"
    )  # a damaged file may hold anything
    connection.execute("PRAGMA trusted_schema=OFF")
    return connection


def _configure(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
    connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA journal_size_limit=4194304")


def _mark(connection: sqlite3.Connection) -> tuple[int, int]:
    return tuple(
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("application_id", "user_version")
    )


def _make(connection: sqlite3.Connection) -> None:
    with transaction(connection):
        for statement in TABLES:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version={VERSION}")


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is no history, or one of another version."""
    mark, version = _mark(connection)
    if mark != APPLICATION_ID:
        raise HistoryError(
            f"{path}: this database is no history of rmqalloc; give a path of its own"
        )
    if version != VERSION:
        whose = "a newer" if version > VERSION else "another"
        raise HistoryError(
            f"{path}: written by {whose} rmqalloc (version {version} of its tables, this one has {VERSION})"
        )
    rows = connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")
    if sorted(sql for (sql,) in rows) != sorted(TABLES):
        raise HistoryError(f"{path}: the tables are not those of a history; somebody changed them")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit what the block writes, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a history for one recorder; the lock ends with its process.

    It is a transaction of an empty database beside the history, which is never committed: closing
    the history itself in the same process would lose locks of the system that were taken on its
    file.
    """
    with told(path):
        lock = sqlite3.connect(
            f"{path}.lock", timeout=0, isolation_level=None, check_same_thread=False
        )
    with closing(lock):
        try:
            lock.execute("PRAGMA journal_mode=MEMORY")
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
                raise HistoryError(
                    f"{path}: another recorder is writing this history; one file has one recorder"
                ) from None
            raise HistoryError(f"{path}.lock: {message(str(error))}") from error
        except sqlite3.DatabaseError as error:
            raise HistoryError(f"{path}.lock: {message(str(error))}") from error
        yield
