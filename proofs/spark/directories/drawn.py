"""Random directories of Parquet: hidden names, partitions, other directories, columns that differ
from file to file.
"""

import random

import pyarrow as pa
import pyarrow.parquet as pq

CLIENT_IDS = pa.list_(pa.string())
STRATEGIES = ["AVG", "AVG_BY_CIRCLE", "NO"]
VALUES = [
    "001",
    "1",
    "eu",
    "a b",
    "a%20b",
    "%C3",
    "100%",
    "x%3D1",
    "é",
    "__HIVE_DEFAULT_PARTITION__",
    "2026-11-27",
    "1e3",
]
NAMES = [
    "part-{}.parquet",
    "part-{}",
    "{}.parq",
    "units {}.txt",
    "[{}].parquet",
    "_n={}",
    "Z%20{}.parquet",
    "a{{{}}}",
]


HOMES = ["fleet", "fleet[1]", "fl*t", "fl?et", "a{b,c}", "a%20b", "a b", "k=1", "x#y", "day=a%2Fb"]
"""Names of the directory; beside it lie directories that the name matches as a pattern."""
BESIDE = ["fleet1", "fleet", "a", "ab", "ac"]


def brokers_of(kind):
    return pa.list_(pa.struct([("broker_name", pa.string()), ("read_queue_nums", kind)]))


def units(rng, first, n, least=-1):
    """Rows by column; a few are bad."""
    rows = []
    for i in range(first, first + n):
        clients = [f"c{j}" for j in range(rng.randint(0, 4))] if rng.random() < 0.9 else None
        brokers = [
            {"broker_name": f"b{j}", "read_queue_nums": rng.randint(least, 6)}
            for j in range(rng.randint(0, 3))
        ]
        rows.append(
            {
                "consumer_group": f"g{i}",
                "topic": f"t{i % 3}",
                "brokers": brokers,
                "client_ids": clients,
            }
        )
    kinds = {
        "consumer_group": pa.string(),
        "topic": pa.string(),
        "brokers": brokers_of(pa.int32()),
        "client_ids": CLIENT_IDS,
    }
    return pa.Table.from_pylist(rows, pa.schema(kinds))


def home(seed, folder):
    """Make the place of a directory; returns it, how it is asked for, and what is special about it."""
    rng = random.Random(f"home {seed}")
    where = folder / rng.choice(HOMES)
    for name in {*BESIDE} - {where.name}:
        (folder / name).mkdir()
        pq.write_table(units(rng, 500, 2), folder / name / "part-0.parquet")
    where.mkdir()
    asked = {
        "a path": str(where),
        "a URI": where.as_uri(),
        "a pattern of files": f"{where}/*",
        "a pattern of directories": f"{folder}/{{{where.name},nothing}}",
    }
    how = rng.choice(["a path", *asked])
    return where, asked[how], sorted({f"named {where.name}", f"asked for as {how}"})


def directory(seed, where):
    """Fill a directory; returns what is special about it."""
    rng = random.Random(seed)
    said = set()
    partitions = rng.choice(
        [[], [], [], ["region"], ["topic"], ["Topic"], ["strategy"], ["region", "topic"], ["_kind"]]
    )
    said |= {f"partitions {name}" for name in partitions}
    optional = rng.random() < 0.3
    kind = rng.choice(
        [pa.int32()] * 4 + [pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
    )
    said |= {str(kind)} - {"int32"}
    at = 0
    for number in range(rng.randint(1, 4)):
        table = retyped(
            units(rng, at, rng.randint(0, 5), least=-pa.types.is_signed_integer(kind)),
            "brokers",
            brokers_of(kind),
        )
        at += table.num_rows
        if optional and "strategy" not in partitions:
            table = table.append_column(
                "strategy", pa.array(rng.choices([*STRATEGIES, None], k=len(table)), pa.string())
            )
            said.add("strategy")
        home = where
        for name in partitions:
            table = without(table, name.lower())
            home = home / f"{name}={rng.choice(STRATEGIES if name == 'strategy' else VALUES)}"
        if rng.random() < 0.35:
            change = rng.choice(CHANGES)
            table = change(rng, table)
            said.add(change.__name__)
        home.mkdir(parents=True, exist_ok=True)
        pq.write_table(
            table, home / rng.choice(NAMES).format(number), row_group_size=rng.choice([2, 100])
        )
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        extra = rng.choice(EXTRAS)
        extra(
            rng,
            where,
            rng.choice([where, *sorted(one for one in where.rglob("*=*") if one.is_dir())]),
        )
        said.add(extra.__name__)
    return sorted(said)


def without(table, name):
    return table.drop_columns(name) if name in table.column_names else table


# --- A file that differs ---


def retyped(table, name, kind):
    if name not in table.column_names:
        return table
    at = table.column_names.index(name)
    return table.set_column(at, name, pa.array(table.column(at).to_pylist(), kind))


def column_of_nulls(rng, table):
    name = rng.choice(table.column_names)
    return table.set_column(table.column_names.index(name), name, pa.nulls(len(table)))


def lists_of_nulls(rng, table):
    nulls = [None if one is None else [None] * len(one) for one in table["client_ids"].to_pylist()]
    return table.set_column(
        table.column_names.index("client_ids"), "client_ids", pa.array(nulls, pa.list_(pa.null()))
    )


def names_of_nulls(rng, table):
    number = table.schema.field("brokers").type.value_type.field(1)
    kind = pa.struct([("broker_name", pa.null()), number])
    rows = [[{**each, "broker_name": None} for each in one] for one in table["brokers"].to_pylist()]
    return table.set_column(
        table.column_names.index("brokers"), "brokers", pa.array(rows, pa.list_(kind))
    )


def other_case(rng, table):
    change = rng.choice([str.upper, str.title, str.capitalize])
    return table.rename_columns([change(name) for name in table.column_names])


def other_forms(rng, table):
    large, view = pa.large_string(), pa.string_view()
    table = retyped(table, "consumer_group", rng.choice([large, view]))
    if "topic" in table.column_names and rng.random() < 0.5:
        at = table.column_names.index("topic")
        table = table.set_column(at, "topic", table.column(at).dictionary_encode())
    lists = [
        pa.large_list(large),
        pa.list_(view),
        pa.list_view(pa.string()),
        pa.large_list_view(pa.string()),
    ]
    return retyped(table, "client_ids", rng.choice(lists))


def other_integers(rng, table):
    kind = pa.list_(
        pa.struct(
            [
                ("broker_name", pa.string()),
                ("read_queue_nums", rng.choice([pa.int64(), pa.int16()])),
            ]
        )
    )
    return retyped(table, "brokers", kind)


def numbers_for_texts(rng, table):
    return table.set_column(0, table.column_names[0], pa.array(range(len(table)), pa.int64()))


def more_columns(rng, table):
    array = pa.array([rng.choice([1, None])] * len(table), pa.int32())
    return table.append_column(rng.choice(["note", "NOTE", "region"]), array)


def one_more_that_is_read(rng, table):
    name, kind = rng.choice([("strategy", pa.string()), ("virtual_nodes", pa.int32())])
    return (
        table
        if name in table.column_names
        else table.append_column(name, pa.nulls(len(table), kind))
    )


def two_of_a_name(rng, table):
    name = rng.choice(table.column_names)
    return table.append_column(name.upper(), table[name])


def one_less(rng, table):
    return table.drop_columns(rng.choice(table.column_names))


def other_order(rng, table):
    return table.select(rng.sample(table.column_names, len(table.column_names)))


CHANGES = [
    column_of_nulls, column_of_nulls, lists_of_nulls, names_of_nulls, other_case, other_case, other_forms, other_forms,
    other_integers, numbers_for_texts, more_columns, one_more_that_is_read, two_of_a_name, one_less, other_order,
]  # fmt: skip


# --- What else lies there ---


def hidden_file(rng, where, at):
    (at / rng.choice(["_SUCCESS", ".part.crc", "_metadata", "part-9._COPYING_"])).write_text(
        "no Parquet"
    )


def hidden_directory(rng, where, at):
    home = at / rng.choice(["_temporary", ".git", "_x"])
    home.mkdir(exist_ok=True)
    pq.write_table(units(rng, 100, 2), home / "part-0.parquet")


def empty_file(rng, where, at):
    (at / rng.choice(["empty.parquet", "empty"])).touch()


def empty_partition(rng, where, at):
    (at / "region=none").mkdir(exist_ok=True)


def subdirectory(rng, where, at):
    (at / "sub").mkdir(exist_ok=True)
    pq.write_table(units(rng, 200, 3), at / "sub" / "part-0.parquet")


def other_file(rng, where, at):
    (at / rng.choice(["notes.txt", "part-8.parquet"])).write_text("no Parquet")


def file_beside(rng, where, at):
    pq.write_table(units(rng, 300, 2), where / "part-7.parquet")


def partition_beside(rng, where, at):
    home = at / rng.choice(["day=1", "Region=x"])
    home.mkdir(exist_ok=True)
    pq.write_table(units(rng, 400, 2), home / "part-0.parquet")


def no_name(rng, where, at):
    (at / rng.choice(["=x", "x="])).mkdir(exist_ok=True)


def table_of_delta(rng, where, at):
    (where / "_delta_log").mkdir(exist_ok=True)
    (where / "_delta_log" / "00000000000000000000.json").write_text("{}")


def table_of_hudi(rng, where, at):
    (at / ".hoodie_partition_metadata").write_text("commitTime=1")


EXTRAS = [
    hidden_file, hidden_file, hidden_directory, empty_file, empty_file, empty_partition, subdirectory, other_file, file_beside,
    partition_beside, no_name, table_of_delta, table_of_hudi,
]  # fmt: skip
