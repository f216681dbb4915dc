"""A history that is damaged, hostile, foreign or a link: a `HistoryError` that says where, within
the budget of a reading, and nothing is written.
"""

import json
import os
import shutil
import sqlite3
import zlib
from contextlib import closing
from random import Random

import pytest
from fuzz import damaged_histories as damage
from fuzz import histories
from hypothesis import given
from hypothesis import strategies as st
from watched_snapshots import Watched, cluster

from rmqalloc.cli import main
from rmqalloc.history import History, HistoryError, Recorder
from rmqalloc.history._reading_budget import ReadingBudget
from rmqalloc.history._rows import COLUMNS
from rmqalloc.history._texts import BoundedCache

KEY = int(damage.START * 1000) << 20
BESIDE = ("-wal", "-shm", "-journal", ".lock")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("recorded") / "cluster.history"
    watched = Watched()
    with Recorder(path) as recorder:
        for i in range(6):
            now = cluster(("billing", "c1", f"c{i // 3}-2"), ("pay", "p1"))
            recorder.record(watched.observe(now, damage.START + 30 * i))
    return path


@pytest.fixture
def path(recorded, tmp_path):
    """A history that may be changed."""
    return shutil.copy(recorded, tmp_path / "cluster.history")


def changed(path, *statements):
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement, *values in statements:
            connection.execute(statement, values)
    return path


def put_text(path, number, text):
    body = b"\x01" + zlib.compress(text.encode())
    changed(path, ("UPDATE texts SET body=?, hash=? WHERE id=?", body, zlib.crc32(body), number))


def layout_of(path):
    """The number of the text that lists the queues."""
    with closing(sqlite3.connect(path)) as connection:
        for number, body in connection.execute("SELECT id, body FROM texts"):
            text = zlib.decompress(body[1:]) if body[0] else body[1:]
            if text.startswith(b'[["orders"'):
                return number
    raise AssertionError("no text lists queues")


def record_once(path):
    with Recorder(path) as recorder:
        recorder.record(Watched().observe(cluster(("billing", "c9")), damage.LAST + 1000))


# --- Values ---


def test_a_wrong_type_ends_the_command_with_one_line_that_names_the_place(path, capsys):
    changed(path, ("UPDATE subjects SET name='billing' WHERE name=?", b"billing"))
    assert main(["history", "-f", str(path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{path}: the history is damaged: table subjects, row with id " in line
    assert "name must be bytes, got text: 'billing'" in line


@given(st.sampled_from([(t, c) for t in COLUMNS for c in COLUMNS[t]]), st.data())
def test_a_column_takes_its_own_values_and_no_others(place, data):
    table, name = place
    column = COLUMNS[table][name]
    kinds = {
        int: st.integers(column.least, column.most),
        bytes: st.binary(min_size=column.least, max_size=50),
        str: st.text(max_size=50),
    }
    assert column.fault_of(data.draw(kinds[column.kind])) is None
    kinds[float], kinds[type(None)] = st.floats(), st.none()
    for kind, values in kinds.items():
        if kind is not column.kind and not (kind is type(None) and column.may_lack):
            assert "got" in column.fault_of(data.draw(values))
    if column.kind is int:
        assert column.fault_of(column.least - 1) and column.fault_of(column.most + 1)


def test_no_row_of_a_history_is_read_without_its_types():
    from source_modules import MODULES

    rows_are_read_in = {"rmqalloc.history._rows", "rmqalloc.history._database"}
    for name, module in MODULES.items():
        if name.startswith("rmqalloc.history.") and name not in rows_are_read_in:
            source = " ".join(module.read_text(encoding="utf-8").split())
            assert 'execute("SELECT' not in source.replace("execute( ", "execute("), name


@pytest.mark.parametrize("kind", damage.KINDS)
def test_damaged_files_are_answered_or_refused_by_every_face(kind):
    outcome = histories.run(kind, 5, 7)
    assert outcome.tracebacks == {}
    assert sum(outcome.files.values()) == 5


def test_the_proof_sees_a_traceback_and_a_command_that_fails(monkeypatch, path):
    def fails(_path):
        raise KeyError("x")

    monkeypatch.setattr(histories, "FACES", {"odd": fails})
    tracebacks = {}
    assert histories.read(path, b"", tracebacks)[0] == "traceback" and len(tracebacks) == 1
    monkeypatch.setattr(histories, "main", lambda _: 70)
    with pytest.raises(histories.CommandFailed):
        histories._command(path)


def test_a_text_is_what_its_hash_is_of(path):
    changed(path, ("UPDATE texts SET body=?", b"\0name"))
    with pytest.raises(HistoryError, match=r"texts, row with id \d+: body does not match hash"):
        History(path).snapshot_at(damage.START + 40)


# --- Bounds ---


@pytest.mark.parametrize("n_queues", [9, 2_000_000_000])
def test_a_run_of_queues_is_no_longer_than_owners_of_it(path, n_queues):
    put_text(path, layout_of(path), json.dumps([["orders", "broker-a", 0, n_queues]]))
    for read in (
        lambda: History(path).owners_at("billing", damage.START + 40),
        History(path).events,
    ):
        with pytest.raises(HistoryError, match=f"a state has {n_queues:,} queues and owners of 8"):
            read()


def test_a_packed_text_is_unpacked_within_the_budget(path):
    layout = layout_of(path)
    put_text(path, layout, "[" + "[]," * (8 << 20) + "[]]")
    with pytest.raises(HistoryError, match="this takes more bytes than the limit of one read"):
        History(path).snapshot_at(damage.START + 40)
    put_text(path, layout, "[" + "[]," * (1 << 20) + "[]]")
    with pytest.raises(HistoryError, match="this takes more memory than the limit of one read"):
        History(path).owners_at("billing", damage.START + 40)


def test_rows_that_stand_for_much_each_are_counted(path):
    """Each of 300 rows names a client of 100 kB as the owner of 400 queues."""
    with closing(sqlite3.connect(path)) as connection, connection:
        (subject,) = connection.execute(
            "SELECT id FROM subjects WHERE name=?", (b"billing",)
        ).fetchone()
        run = json.dumps([["orders", "broker-a", 0, 400]]).encode()
        numbers = []
        for text in (b"a" * 100_000, b"b" * 100_000, run):
            body = b"\x01" + zlib.compress(text)
            row = zlib.crc32(body), body
            made = connection.execute("INSERT INTO texts(hash, body) VALUES (?, ?)", row)
            numbers.append(made.lastrowid)
        *names, layout = numbers
        connection.execute("DELETE FROM states WHERE subject=?", (subject,))
        for i in range(300):
            state = bytes([0, 1, 1, names[i % 2], 1, 0, 0, layout]) + b"\x01" * 400
            connection.execute(
                "INSERT INTO states VALUES (?, ?, 0, ?)", (KEY + ((1 + i) << 20), subject, state)
            )
    with pytest.raises(HistoryError, match="this takes more memory than the limit of one read"):
        History(path).events()


def test_a_large_history_is_read_row_by_row(tmp_path):
    """A group of 2,048 queues that changes its owners 15 times; its events are put in order in
    columns.
    """
    path, watched = tmp_path / "cluster.history", Watched()
    with Recorder(path) as recorder:
        for i in range(30):
            now = cluster(("billing", "c1", f"c{i // 2}-2"), n_queues=2048)
            recorder.record(watched.observe(now, damage.START + 30 * i))
    events = History(path).events().events
    assert events["event"].to_pylist().count("moved") == 14 * 1024
    times = events["first_seen_after"].to_pylist()
    assert times == sorted(times)


def test_a_reading_of_many_groups_is_recorded_into_a_small_file(tmp_path, monkeypatch):
    monkeypatch.setattr(ReadingBudget, "__init__", with_few_rows)
    path, watched = tmp_path / "cluster.history", Watched()
    many = cluster(*((f"g{i}", f"client-{i}") for i in range(100)))
    with Recorder(path) as recorder:
        for i in range(2):
            settled = {group.name: 1.0 for group in many.groups}
            recorder.record(watched.observe(many, damage.START + 30 * i, settled=settled))
    monkeypatch.undo()
    assert len(History(path).snapshot_at(damage.START).groups) == 100


def with_few_rows(budget, size, made=ReadingBudget.__init__):
    made(budget, size)
    budget._rows = 150


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 60))))
def test_a_cache_holds_no_more_than_its_bytes(kept):
    cache, sizes = BoundedCache(100), {}
    for key, size in kept:
        if cache.get(key) is None:
            cache.keep(key, key, size)
            sizes[key] = size
    held = [key for key in sizes if cache.get(key) is not None]
    assert sum(sizes[key] for key in held) <= 100
    assert not kept or cache.get(kept[-1][0]) is not None


def test_moments_out_of_range_are_the_first_or_the_last(path, capsys):
    assert main(["history", "-f", str(path), "--since", "9999-01-01"]) == 0
    assert History(path).events(since=-1e300, until=1e300).events.num_rows > 0
    with pytest.raises(HistoryError, match="nothing is known of"):
        History(path).owners_at("billing", 1e300)


# --- Files that are not histories, and places that are not files ---


def test_a_foreign_database_stays_as_it_is(tmp_path):
    path = tmp_path / "foreign.db"
    changed(path, ("CREATE TABLE people(name)",), ("INSERT INTO people VALUES ('x')",))
    before = path.read_bytes()
    for use in (record_once, History):
        with pytest.raises(HistoryError, match="not a history"):
            use(path)
    assert path.read_bytes() == before
    assert {file.name for file in tmp_path.iterdir()} <= {"foreign.db", "foreign.db.lock"}


@pytest.mark.parametrize("statement", damage.SCHEMAS[:10])
def test_other_tables_are_refused_and_nothing_is_written(path, statement):
    changed(path, (statement,))
    before = path.read_bytes()
    for use in (record_once, History):
        with pytest.raises(HistoryError, match="another program changed them"):
            use(path)
    assert path.read_bytes() == before


def test_a_reader_leaves_nothing_beside_the_file(path):
    History(path).events()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", ["", *BESIDE])
@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "folder"])
def test_nothing_is_written_through_what_lies_in_the_way(path, tmp_path, suffix, kind):
    target = tmp_path / "target"
    if kind == "link":
        target.write_bytes(path.read_bytes())
    before = target.read_bytes() if kind == "link" else None
    place = path.with_name(path.name + suffix)
    place.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to(target)
    with pytest.raises(HistoryError, match=r"this is a link|this is not a file"):
        record_once(path)
    assert (target.read_bytes() if target.exists() else None) == before
    if suffix in ("-wal", "-shm", "-journal"):
        with pytest.raises(HistoryError, match=r"this is a link|this is not a file"):
            History(path)


def test_a_history_is_read_through_a_link(path, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(path)
    assert History(link).last_reading == History(path).last_reading is not None


def test_a_lock_that_holds_something_is_not_taken(path):
    lock = path.with_name(path.name + ".lock")
    lock.write_text("a letter")
    with pytest.raises(HistoryError, match="not the lock of a history"):
        record_once(path)
    assert lock.read_text() == "a letter"


def test_a_new_history_is_whole_before_it_has_its_name(tmp_path, monkeypatch):
    path = tmp_path / "cluster.history"
    with Recorder(path), closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as file:
        assert file.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] > 10


def test_a_file_that_is_cut_while_it_is_read_is_damaged(path):
    size, random = os.stat(path).st_size, Random(3)
    for _ in range(5):
        copy = shutil.copy(path, path.with_name("copy"))
        with pytest.raises(HistoryError):
            cut_while_it_is_read(copy, random.randrange(0, size, 4096))


def cut_while_it_is_read(path, size):
    """Cut a file between two rows of one reading, and go on."""
    with History(path)._opened() as (connection, _):
        connection.execute("PRAGMA cache_size=0")
        for table, columns in COLUMNS.items():
            rows = connection.rows(f"SELECT {', '.join(columns)} FROM {table}")
            next(rows, None)
            os.truncate(path, size)
            list(rows)
