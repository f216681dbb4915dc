"""The rules by which a directory of Parquet becomes units: each once as it reads, and once as it
refuses.
"""

import os
import pickle
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checkout import ROOT

from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evaluation.parquet_plan import plan_files, strategies_of
from rmqalloc.evaluation.unit_files import Piece, cut, read_piece, unit_files

BROKERS = pa.list_(pa.struct([("broker_name", pa.string()), ("read_queue_nums", pa.int32())]))
SCHEMA = pa.schema(
    {
        "consumer_group": pa.string(),
        "topic": pa.string(),
        "brokers": BROKERS,
        "client_ids": pa.list_(pa.string()),
    }
)
SPEC = PlanSpec("AVG", output="owners")


CASES = ROOT / "tests" / "data" / "cases" / "spark-2"


def units(*groups, **columns):
    """A unit for each group, and other columns, each of one value or of an array."""
    broker = {"broker_name": "b", "read_queue_nums": 3}
    rows = [
        {"consumer_group": one, "topic": "t", "brokers": [broker], "client_ids": ["c1", "c2"]}
        for one in groups
    ]
    table = pa.Table.from_pylist(rows, SCHEMA)
    for name, value in columns.items():
        array = value if isinstance(value, pa.Array) else pa.array([value] * len(groups))
        table = (
            table.append_column(name, array)
            if name not in table.column_names
            else retyped(table, name, array)
        )
    return table


def retyped(table, name, array):
    return table.set_column(table.column_names.index(name), name, array)


@pytest.fixture
def put(tmp_path):
    """Write files below a directory: tables as Parquet, texts as they are."""
    root = tmp_path / "fleet"

    def write(**files):
        for name, what in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(what, path) if isinstance(what, pa.Table) else path.write_text(what)
        root.mkdir(exist_ok=True)
        return root

    return write


def rows(source, columns=None):
    """All rows, as workers read them."""
    files, schema = unit_files(source)
    found = [batch for piece in cut(files, 1)[0] for batch in read_piece(piece, schema)]
    assert all(batch.schema == schema for batch in found)
    table = pa.Table.from_batches(found, schema)
    table.validate(full=True)
    return table.select(columns or table.column_names).to_pylist()


def groups(source):
    return [row["consumer_group"] for row in rows(source)]


def refused(source, *said, kind=ArgumentError):
    """Both who read refuse, in the same words."""
    with pytest.raises(kind) as workers:
        unit_files(source)
    with pytest.raises(kind) as bulk:
        plan_files(source, Path(source).parent / "out", SPEC)
    assert str(bulk.value) == str(workers.value)
    assert all(text in str(bulk.value) for text in said), str(bulk.value)


# --- 1: a file, or a directory ---


def test_a_file_is_read_whatever_its_name_and_directories_above_it(put):
    root = put(**{"topic=x/units": units("a", "b")})
    assert groups(root / "topic=x" / "units") == ["a", "b"]
    assert rows(root / "topic=x" / "units", ["topic"])[0] == {"topic": "t"}, (
        "directories above a file that is given say nothing"
    )
    assert groups(f"{root}/topic=x/") == ["a", "b"]
    assert groups((root / "topic=x").as_uri()) == ["a", "b"]


def test_what_is_not_there_or_holds_nothing(put):
    root = put(_SUCCESS="", **{"_x.parquet": units("a"), "none.parquet": ""})
    refused(root / "nowhere", "nowhere does not exist", kind=FileNotFoundError)
    refused(root, "fleet holds no Parquet file", kind=FileNotFoundError)
    refused(root / "_x.parquet", "is hidden by its name", kind=FileNotFoundError)
    refused(root / "none.parquet", "holds no Parquet file", kind=FileNotFoundError)
    with pytest.raises(ArgumentError, match="cannot open nosuch://x/y"):
        unit_files("nosuch://user:secret@x/y")


@pytest.mark.parametrize(
    "name", ["x[1]", "x*", "x?", "x{a,b}", "x%20y", "x y", "x#1", "x=1", "x\\y", "[x]/part-[0]"]
)
def test_what_is_there_is_no_pattern(put, name):
    root = put(**{name: units("a"), "x1": units("b"), "xa": units("c"), "x/part-0": units("d")})
    assert groups(root / name) == ["a"]
    assert groups((root / name).as_uri()) == groups(f"file:{quote(str(root / name))}") == ["a"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("x?", "123"),
        ("x*", "123"),
        ("x[12]", "12"),
        ("x[^12]", "3"),
        ("x[!12]", "3"),
        ("{x3,x1,y}", "31"),
        ("x{[12],3}", "123"),
        ("*/x*", "45"),
        ("{k=1/x4,x2}", "42"),
        ("k=?", "45"),
        ("[k]/x?", "6"),  # a directory of that very name
        (r"\[k\]/x[0-9]", "6"),
    ],
)
def test_what_is_not_there_is_a_pattern(put, pattern, found):
    """Hidden names and files of no bytes are passed over, also by patterns."""
    files = {f"x{i}": units(str(i)) for i in (1, 2, 3)}
    files |= {f"k=1/x{i}": units(str(i)) for i in (4, 5)}
    root = put(**files, **{"[k]/x6": units("6"), "_t/x7": units("7"), ".x": units("8"), "x9": ""})
    if pattern == "*/x*":
        (root / "[k]" / "x6").unlink()
    assert groups(f"{root}/{pattern}") == [*found]
    plan_files(f"{root}/{pattern}", root.parent / "out", SPEC, threads=1)
    assert pq.read_table(root.parent / "out")["consumer_group"].to_pylist() == [*found]


def test_patterns_are_refused_as_directories_are(put):
    root = put(**{"a/k=1/x": units("a"), "b/x": units("b"), "c/sub/x": units("c"), "d/y": ""})
    refused(
        f"{root}/[e-z]*", "does not exist, and matches nothing as a pattern", kind=FileNotFoundError
    )
    refused(f"{root}/d/*", "d/* matches no Parquet file", kind=FileNotFoundError)
    refused(f"{root}/[ab]", "lies in directories of no name=")
    refused(
        f"{root}/[bc]",
        "fleet/c holds no Parquet file",
        "give a subdirectory, such as",
        kind=FileNotFoundError,
    )
    assert groups(f"{root}/[bd]") == ["b"]


# --- 2 to 4: which files ---


@pytest.mark.parametrize(
    "name",
    [
        "_x",
        ".x",
        "_metadata",
        "x.parquet._COPYING_",
        "_temporary/0/x.parquet",
        ".git/x",
        "_d/k=1/x",
    ],
)
def test_hidden_names_are_passed_over(put, name):
    root = put(**{"a.parquet": units("a"), name: "no Parquet"})
    assert groups(root) == ["a"]


def test_every_other_file_is_parquet_whatever_its_name(put):
    root = put(**{"b": units("b"), "a.txt": units("a"), "_c=d": units("c"), "empty": ""})
    assert groups(root) == ["c", "a", "b"]
    put(**{"notes.md": "# Notes on the fleet"})
    refused(root, "notes.md cannot be read", "magic bytes")


# --- 5 and 6: directories ---


def test_directories_are_columns_and_their_values_texts(put):
    names = ["001", "a%20b", "%C3%zz%2", "100%", "x=y", "__HIVE_DEFAULT_PARTITION__", "é"]
    root = put(
        **{f"Topic={name}/x": units(f"g{i}").drop_columns("topic") for i, name in enumerate(names)}
    )
    found = {row["consumer_group"]: row["topic"] for row in rows(root)}
    assert [found[f"g{i}"] for i in range(len(names))] == [
        "001",
        "a b",
        "Ã%zz%2",
        "100%",
        "x=y",
        None,
        "é",
    ]
    assert unit_files(root).schema.field("topic").type == pa.string()
    assert {file.partition[0][0] for file in unit_files(root).files} == {"Topic"}


def test_a_strategy_can_be_a_directory(put):
    root = put(**{"strategy=AVG/x": units("a", "b"), "strategy=AVG_BY_CIRCLE/day=1/x": units("c")})
    refused(
        root,
        "strategy=AVG_BY_CIRCLE/day=1/x lies in directories of strategy=, day=",
        "all files must lie below the same",
    )
    (root / "strategy=AVG" / "day=2").mkdir()
    (root / "strategy=AVG" / "x").rename(root / "strategy=AVG" / "day=2" / "x")
    assert [row["strategy"] for row in rows(root)] == ["AVG", "AVG", "AVG_BY_CIRCLE"]
    assert strategies_of(root, "X") == ["AVG", "AVG_BY_CIRCLE"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("x", "x lies in directories of no name=, and"),
        ("k=1/x", "k=1/x of k=: all files must lie below the same names"),
        pytest.param(
            "region=b/sub/x",
            "region=b/sub lies beside or below directories of region= and would not be read",
            id="region=b/sub/x",
        ),
        ("sub/x", "sub lies beside or below directories of region="),
        ("=b/x", "=b lacks a name"),
        ("region=/x", "region= lacks a value"),
        ("region=a/Region=b/x", "region=a/Region=b lies in another directory of Region="),
    ],
)
def test_what_lies_beside_partitions_is_refused(put, name, said):
    refused(put(**{"region=a/y": units("a"), name: units("b")}), said)


def test_other_directories_are_not_read(put):
    root = put(**{"a": units("a"), "sub/b": units("b"), "sub/k=1/c": "no Parquet"})
    assert groups(root) == ["a"]
    (root / "a").unlink()
    refused(
        root,
        "fleet holds no Parquet file; its subdirectories are not read: give a subdirectory, such as",
        "fleet/sub",
        kind=FileNotFoundError,
    )


# --- 7 to 10: columns ---


def test_a_column_of_a_directory_is_no_column_of_the_file(put):
    root = put(**{"TOPIC=a/x": units("a"), "TOPIC=b/x": units("b").drop_columns("topic")})
    refused(
        root,
        "TOPIC=a/x has 2 columns for topic (topic, TOPIC), one of them of a directory: keep one",
    )
    assert groups(put(**{"note=a/y": units("c", note=1)}).joinpath("note=a")) == ["c"]


def test_files_have_the_same_columns_among_those_that_are_read(put):
    root = put(a=units("a"), b=units("b", note="x", NOTE=1), c=units("c", note=1))
    assert rows(root)[0].keys() == set(SCHEMA.names)
    put(c=units("c", strategy="AVG"))
    refused(
        root,
        "fleet/a has no column strategy, and",
        "fleet/c has: give it to all files, or to none",
        kind=ArgumentTypeError,
    )
    put(c=units("c").drop_columns("topic"))
    refused(
        root,
        "fleet/c: the table has no column topic; it has consumer_group, brokers",
        kind=ArgumentTypeError,
    )


def test_files_have_the_same_types(put):
    wide = pa.list_(pa.struct([("broker_name", pa.string()), ("read_queue_nums", pa.int64())]))
    root = put(a=units("a"), b=units("b", brokers=pa.nulls(1, wide)))
    refused(
        root,
        "column brokers is of list<",
        "int64",
        "in",
        "fleet/b, and of",
        "int32",
        "fleet/a: write one type",
        kind=ArgumentTypeError,
    )
    put(a=units(topic=pa.array([], pa.int64())), b=units(topic=pa.array([], pa.int64())))
    with pytest.raises(ArgumentTypeError, match="column topic must hold strings, got int64"):
        plan_files(root, root.parent / "out", SPEC)  # without a row, too
    put(a=units("a"), b=units("b", topic=1))
    refused(
        root, "column topic is of int64 in", "fleet/b, and of string in", kind=ArgumentTypeError
    )


def test_forms_of_text_lists_and_dictionaries_are_one_type(put):
    names, texts = [["c1", "é"], None, [], ["c3"]], ["g1", "é", None, "g3"]
    texts_as = [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.json_(),
    ]
    lists_as = [pa.list_(pa.large_string()), pa.large_list(pa.string_view()), pa.list_view(pa.string()),
                pa.large_list_view(pa.string()), pa.list_(pa.dictionary(pa.int32(), pa.string()))]  # fmt: skip
    for i, (text, lists) in enumerate(zip(texts_as, lists_as, strict=True)):
        put(
            **{
                f"{i}": units(
                    *"abcd",
                    strategy_params=pa.array(texts, text),
                    client_ids=pa.array(names, lists),
                )
            }
        )
    pairs = pa.array([["c1", "é"], None, ["c", "d"], ["c3", "e"]], pa.list_(pa.string(), 2))
    root = put(**{"5": units(*"abcd", strategy_params=pa.array(texts), client_ids=pairs)})
    found = rows(root)
    assert [row["strategy_params"] for row in found] == texts * 6
    assert [row["client_ids"] for row in found] == names * 5 + pairs.to_pylist()


def test_text_that_is_not_utf8_passes_as_it_is(put):
    broken = pa.array([b"g\xff", b"h"]).view(pa.string())
    root = put(
        a=units("x", "y", strategy=broken.cast(pa.large_string())),
        b=units("v", "w", strategy=broken),
    )
    files, schema = unit_files(root)
    found = [
        batch["strategy"].view(pa.binary()).to_pylist()
        for file in files
        for batch in read_piece(Piece(file), schema)
    ]
    assert found == [[b"g\xff", b"h"]] * 2


def test_columns_of_nulls_have_the_type_of_the_others(put):
    inner = pa.list_(pa.struct([("broker_name", pa.null()), ("read_queue_nums", pa.int32())]))
    some = pa.array([[{"broker_name": None, "read_queue_nums": 1}]], inner)
    null = pa.nulls(1)
    root = put(
        a=units("a", client_ids=null, strategy="AVG"),
        b=units("b", client_ids=pa.array([[None]], pa.list_(pa.null())), strategy=null),
        c=units("c", strategy=null, brokers=some),
    )
    assert unit_files(root).schema.remove(4).equals(SCHEMA)
    assert [row["client_ids"] for row in rows(root)] == [None, [None], ["c1", "c2"]]
    plan_files(root, root.parent / "out", SPEC)
    said = [row["err_msg"] or "" for row in pq.read_table(root.parent / "out").to_pylist()]
    assert [text.partition(";")[0] for text in said[:2]] == [
        "client_ids is null",
        "client id at position 0 is null",
    ]
    put(**{name: units(name, strategy=null) for name in "abc"})
    assert unit_files(root).schema.field("strategy").type == pa.null()
    assert plan_files(root, root.parent / "out", SPEC)["current"].bad_units == 0
    assert strategies_of(root, "AVG") == ["AVG"]


def test_names_of_columns_match_in_any_case(put):
    upper = [name.upper() for name in SCHEMA.names]
    root = put(a=units("a"), b=units("b").rename_columns(upper), c=units("c"))
    assert unit_files(root).schema.names == SCHEMA.names
    assert groups(root) == ["a", "b", "c"]
    put(b=units("b", Topic="x"))
    refused(root, "fleet/b has 2 columns for topic (topic, Topic): keep one")
    put(
        b=pa.Table.from_arrays(
            [*units("b").columns, pa.array(["x"])], names=[*SCHEMA.names, "topic"]
        )
    )
    refused(root, "fleet/b has 2 columns for topic (topic, topic): keep one")


# --- 11 and 12: tables, order ---


@pytest.mark.parametrize(
    ("name", "kind", "mark"),
    [
        ("_delta_log/0.json", "Delta", "_delta_log"),
        ("_delta_log/10.checkpoint.parquet", "Delta", "_delta_log"),
        ("metadata/v1.metadata.json", "Iceberg", "metadata/v1.metadata.json"),
        ("metadata/00001.metadata.json.gz", "Iceberg", "metadata/00001.metadata.json.gz"),
        ("metadata/snap-1.avro", "Iceberg", "metadata/snap-1.avro"),
        ("metadata/version-hint.text", "Iceberg", "metadata/version-hint.text"),
        (".hoodie/hoodie.properties", "Hudi", ".hoodie"),
        (".hoodie_partition_metadata", "Hudi", ".hoodie_partition_metadata"),
        (".hoodie_partition_metadata.parquet", "Hudi", ".hoodie_partition_metadata.parquet"),
    ],
)
def test_tables_are_refused(put, name, kind, mark):
    refused(
        put(**{"a": units("a"), name: "{}"}),
        f"fleet is a table of {kind} or a part of it: it contains {mark}.",
        f"--spark --format {kind.lower()}, with --spark --table NAME",
    )
    assert groups(put(a=units("a")) / "a") == ["a"]


def test_a_table_is_refused_by_its_partitions_and_by_its_directories(put):
    root = put(**{"k=1/a": units("a"), "k=1/.hoodie_partition_metadata": "x"})
    refused(root, "fleet/k=1 is a table of Hudi or a part of it")
    ice = put(**{"ice/data/a": units("a"), "ice/metadata/x": "x"}) / "ice"
    refused(ice, "ice is a table of Iceberg or a part of it: it contains data and metadata")
    delta = put(**{"delta/k=1/a": units("a"), "delta/_delta_log/x": "x"}) / "delta"
    refused(f"{delta}/k=*/?", "delta is a table of Delta or a part of it", "contains _delta_log")
    (ice / "more").mkdir()
    refused(ice, "give a subdirectory, such as", kind=FileNotFoundError)


def test_the_table_of_hudi_that_was_read_as_files_is_refused():
    refused(CASES / "04-hudi" / "table", "table is a table of Hudi", "--format hudi")


def test_files_are_in_the_order_of_their_paths_and_pieces_too(put):
    root = put(
        **{
            f"k={k}/{name}": units(f"{k}{name}", f"{k}{name}'")
            for k in ("10", "9", "a")
            for name in ("b", "B", "10")
        }
    )
    order = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    assert groups(root) == [
        f"{name[2:].replace('/', '')}{tail}" for name in order for tail in ("", "'")
    ]
    plan_files(root, root.parent / "out", SPEC, threads=2)
    assert pq.read_table(root.parent / "out")["consumer_group"].to_pylist() == groups(root)


# --- Pieces ---


def test_pieces_are_of_about_equal_bytes_in_order_and_travel(put, tmp_path):
    root = put(**{f"{i}": units(*map(str, range(100))) for i in range(8)})
    pq.write_table(units(*map(str, range(4000))), root / "5", row_group_size=500)
    files, schema = unit_files(root)
    pieces = pickle.loads(pickle.dumps(cut(files, 6)))
    flat = [piece for some in pieces for piece in some]
    assert [piece.file for piece in flat if piece.stop == -1] == files[:5] + files[6:], (
        "a file that is much larger is cut"
    )
    assert [(piece.start, piece.stop) for piece in flat if piece.stop != -1] == [
        (i, i + 1) for i in range(8)
    ]
    assert 4 <= len(pieces) <= 6
    assert sum(batch.num_rows for piece in flat for batch in read_piece(piece, schema)) == 4700
    assert len(cut(files, 1)) == 1
    assert len(cut(files, 1, most_bytes=1000)) >= 8
    assert [piece.stop for piece in cut(files[:1], 4)[0]] == [1]


def test_a_file_that_changes_is_refused_before_and_after_it_is_read(put):
    root = put(a=units("a", "b"))
    files, schema = unit_files(root)
    reading = read_piece(Piece(files[0]), schema)
    assert next(reading).num_rows == 2
    os.utime(root / "a", ns=(1, 1))
    for again in (reading, read_piece(Piece(files[0]), schema)):
        with pytest.raises(ArgumentError, match="fleet/a changed since it was listed; run again"):
            list(again)
    (root / "a").unlink()
    with pytest.raises(ArgumentError, match="fleet/a is gone since it was listed"):
        list(read_piece(Piece(files[0]), schema))


def test_what_needs_no_change_is_not_copied(put):
    files, schema = unit_files(put(a=units(*map(str, range(2000)))))
    before = pa.total_allocated_bytes()
    [batch] = read_piece(Piece(files[0]), schema)
    own = pq.ParquetFile(files[0].path)
    [plain] = own.iter_batches(use_threads=False)
    assert batch.equals(plain.cast(schema))
    assert batch.nbytes == plain.nbytes
    assert pa.total_allocated_bytes() - before < 3 * batch.nbytes


def test_a_directory_that_cannot_be_listed_is_named(put, monkeypatch):
    from rmqalloc.evaluation import unit_files as module

    def entries(self, directory):
        raise PermissionError(f"{directory}: denied")

    root = put(a=units("a"))
    monkeypatch.setattr(module.ArrowTree, "entries", entries)
    refused(root, "fleet cannot be listed", "denied")
