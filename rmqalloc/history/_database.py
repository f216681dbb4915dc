"""The file of a history: its tables, how it is opened, and what its errors mean.

Times are milliseconds of the Unix clock. The key of a state or an event is its time with 20 bits
behind it that number what has the same time, so that rows lie in the order of their times: new ones
are appended, old ones are dropped from the front.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from rmqalloc.documents.store import create_file
from rmqalloc.history._reading_budget import MOST_VALUE, OverBudgetError
from rmqalloc.history._rows import KEY_BITS, MOST_MS, DamageError, HistoryConnection
from rmqalloc.history.history_errors import HistoryError
from rmqalloc.text import message

APPLICATION_ID, VERSION = 0x726D7161, 1
"""What marks the file (``rmqa``), and the version of its tables."""
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
    """Return a moment in milliseconds; one before 1970 or after 2109 is the first or the last that
    there is.
    """
    return round(max(0.0, min(seconds * 1000, MOST_MS)))


def key_of(ms: int) -> int:
    """Return the least key of a moment."""
    return ms << KEY_BITS


def ms_of(key: int) -> int:
    """Return the moment of a key."""
    return key >> KEY_BITS


LAST_KEY = key_of(MOST_MS + 1)
"""Behind all keys."""


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn errors of the database and of what it holds into a `HistoryError` that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise HistoryError(f"{path}: {_said(error)}") from error
    except UnicodeDecodeError as error:  # of sqlite's own message, which quotes the file
        raise HistoryError(f"{path}: the history is damaged; {_MOVE_AWAY}") from error
    except DamageError as error:
        raise HistoryError(f"{path}: the history is damaged: {error}; {_MOVE_AWAY}") from error
    except OverBudgetError as error:
        raise HistoryError(
            f"{path}: this takes more {error} than the limit of one read for a history of this size; request"
            " fewer groups or a shorter time, unless the history is damaged"
        ) from error


_MOVE_AWAY = "move it away to begin a new one"


def _said(error: sqlite3.Error) -> str:
    text = message(str(error))
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith("SQLITE_FULL"):
        return f"the disk is full, or the history has reached its maximum size ({text})"
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return f"this is not a history of rmqalloc, or it is damaged ({text}); {_MOVE_AWAY}"
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"another program has been writing here for more than {BUSY_SECONDS:g} s ({text})"
    if name.startswith("SQLITE_INTERRUPT"):
        return f"this takes more steps than a history of this size needs; unless it is damaged, request less ({text})"
    return text


# --- Opening ---

_AS_IT_LIES = "mode=ro&immutable=1"
"""How sqlite reads a file and nothing beside it, takes no lock, and makes no file."""


def opened(path: Path) -> HistoryConnection:
    """Open a history to write, made if there is none.

    Nothing is written to a file before it is known to be a history, nor through a link.
    """
    _check_place(path)
    if not path.exists():
        _create(path, _new_history())
    opened_to_read(path).close()
    with told(path):
        connection = _opened_as(path, "mode=rw")
        try:
            _configure(connection)
        except BaseException:
            connection.close()
            raise
    return connection


def opened_to_read(path: Path) -> HistoryConnection:
    """Open a history to read, also while it is written and where nothing can be written beside it.

    The file alone says whether it is a history, before sqlite looks at what lies beside it. Where
    no log does, nobody writes it.
    """
    if _mode_of(path, follows=True) is None:
        raise HistoryError(f"{path}: there is no such file; a recorder creates it")
    target = os.path.realpath(path)
    _check_beside(Path(target))
    with told(path):
        connection = _opened_as(path, _AS_IT_LIES)
        if os.path.exists(f"{target}-wal"):
            connection.close()
            connection = _opened_as(path, "mode=ro")
    return connection


def _opened_as(path: Path, how: str) -> HistoryConnection:
    """Open a database in a mode of sqlite, and check that it is a history."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}",
        timeout=BUSY_SECONDS,
        isolation_level=None,
        uri=True,
        check_same_thread=False,
        factory=HistoryConnection,
    )
    try:
        connection.guard(path)
        _check(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _create(path: Path, content: bytes) -> None:
    try:
        create_file(path, content)
    except OSError as error:
        raise HistoryError(f"{path}: {message(str(error))}") from error


def _check_place(path: Path) -> None:
    """Refuse to write where something else lies than a file and what stands beside it."""
    for suffix in ("", ".lock"):
        _mode_of(Path(f"{path}{suffix}"), follows=False)
    _check_beside(path)


def _check_beside(path: Path) -> None:
    """Refuse links, pipes and the like in the places of files that sqlite opens by itself."""
    for suffix in ("-wal", "-shm", "-journal"):
        _mode_of(Path(f"{path}{suffix}"), follows=False)


def _mode_of(path: Path, follows: bool) -> int | None:
    """Return the mode of a regular file, None if nothing is there; anything else is refused."""
    try:
        mode = os.stat(path, follow_symlinks=follows).st_mode
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise HistoryError(f"{path}: {message(str(error))}") from error
    if stat.S_ISLNK(mode):
        raise HistoryError(
            f"{path}: this is a link, and a history is never written through a link; give the file itself"
        )
    if not stat.S_ISREG(mode):
        raise HistoryError(f"{path}: this is not a file; give a path of its own to a history")
    return mode


def _check(connection: HistoryConnection, path: Path) -> None:
    """Refuse a database that is no history, one of another version, and one with any other tables,
    indexes, triggers or views.
    """
    if _number(connection, "application_id") != APPLICATION_ID:
        raise HistoryError(
            f"{path}: this database is not a history of rmqalloc; give a path of its own"
        )
    version = _number(connection, "user_version")
    if version != VERSION:
        whose = "a newer" if version > VERSION else "another"
        raise HistoryError(
            f"{path}: written by {whose} rmqalloc (version {version} of its tables, this one has {VERSION})"
        )
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_SCHEMA)
    found = connection.execute(f"{_SCHEMA} LIMIT {len(_schema()) + 1}").fetchall()
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_VALUE)
    if len(found) != len(_schema()) or set(found) != _schema():
        raise HistoryError(
            f"{path}: the tables are not those of a history; another program changed them"
        )


def _number(connection: HistoryConnection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_schema"
_MOST_SCHEMA = 1 << 20


@cache
def _schema() -> frozenset[tuple[str | None, ...]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in TABLES:
            connection.execute(statement)
        return frozenset(connection.execute(_SCHEMA))


def _new_history() -> bytes:
    """Return the file of an empty history, whose header says from the first moment what it is."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "history"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
            connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
            for statement in TABLES:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={VERSION}")
            connection.execute("PRAGMA journal_mode=WAL")
        return path.read_bytes()


def _configure(connection: HistoryConnection) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA journal_size_limit=4194304")


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
    beside = Path(f"{path}.lock")
    _check_place(path)
    if not beside.exists():
        _create(beside, b"")
    if beside.stat().st_size:
        raise HistoryError(
            f"{beside}: this is not the lock of a history, which is an empty file; move it away"
        )
    with told(path):
        lock = sqlite3.connect(
            f"{beside.absolute().as_uri()}?mode=rw",
            timeout=0,
            isolation_level=None,
            uri=True,
            check_same_thread=False,
        )
    with closing(lock):
        try:
            lock.execute("PRAGMA journal_mode=MEMORY")
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
                raise HistoryError(
                    f"{path}: another recorder is writing this history; a file has at most one recorder"
                ) from None
            raise HistoryError(f"{path}.lock: {message(str(error))}") from error
        except sqlite3.DatabaseError as error:
            raise HistoryError(f"{path}.lock: {message(str(error))}") from error
        yield
