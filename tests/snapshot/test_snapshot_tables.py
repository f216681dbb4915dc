"""Long tables: what rows say of queues, owners, clients and groups, however a spreadsheet or
another program wrote them.
"""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checkout import ROOT

from rmqalloc import MessageQueue
from rmqalloc.snapshot.files import (
    losses,
    read_snapshot,
    read_snapshot_with_warnings,
    write_snapshot,
)
from rmqalloc.snapshot.files._from_rows import from_rows
from rmqalloc.snapshot.files._table_columns import COLUMNS
from rmqalloc.snapshot.files._to_rows import to_rows
from rmqalloc.snapshot.plain_data import SnapshotError
from rmqalloc.snapshot.snapshot import Client, Group, Lag, Snapshot, Topic, TopicBroker

ORDERS = ROOT / "examples" / "snapshots" / "orders.yaml"


def given_text(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, newline="")
    return str(path)


TABLE = """group,topic,broker,queue_id,client_id,room,lag
g,t,a,0,c1,hz,5
g,t,a,1,c2,sh,6
g,t,b,0,c1,,7
g,t,b,0,c3,,7
g,,,,c4,hz,
"""


def test_one_row_for_every_queue_and_owner(tmp_path):
    snapshot, warnings = read_snapshot_with_warnings(given_text(tmp_path, "s.csv", TABLE))
    guessed = {
        "routes": "read_queue_nums is not given; its read queues are counted by the highest queue_id"
    }
    assert snapshot.topics == (Topic("t", (TopicBroker("a", 2), TopicBroker("b", 1)), guessed),)
    (group,) = snapshot.groups
    assert group.subscriptions == ("t",)
    assert {one.client_id: (one.machine_room, one.owned) for one in group.clients} == {
        "c4": ("hz", ()),
        "c1": ("hz", (MessageQueue("t", "a", 0), MessageQueue("t", "b", 0))),
        "c2": ("sh", (MessageQueue("t", "a", 1),)),
        "c3": (None, (MessageQueue("t", "b", 0),)),
    }
    assert [lag.messages for lag in group.lags] == [5, 6, 7]
    assert warnings == ()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "\ufeffGroup;Topic;Broker Name;Queue ID;Client ID;;\r\ng;t;a;3.0;c;;\r\n;;;;;;\r\n",
            id="semicolons",
        ),
        "consumerGroup\ttopic\tbrokerName\tqid\tclient\ng\tt\ta\t3\tc\n",
        'group, topic, broker, "queue", client-id\ng, t, a, 3, c\n\n',
    ],
)
def test_tables_as_spreadsheets_save_them(text, tmp_path):
    snapshot = read_snapshot(given_text(tmp_path, "s.txt", text))
    assert snapshot.groups[0].clients == (Client("c", owned=(MessageQueue("t", "a", 3),)),)
    assert snapshot.topics[0].brokers == (TopicBroker("a", 4),)


def test_rows_of_clients_alone():
    rows = [
        {"topic": "t", "broker_name": "a", "read_queue_nums": 8, "broker_room": "hz"},
        {"consumer_group": "g", "strategy": "CONSISTENT_HASH", "virtual_nodes": 160},
        {"consumer_group": "g", "topic": "t", "client_id": "c1"},
        {"consumer_group": "g", "client_id": "c2"},
        {"consumer_group": "g", "client_id": "c2"},
    ]
    snapshot, warnings = from_rows(rows)
    (group,) = snapshot.groups
    assert warnings == ()
    assert snapshot.topics[0].brokers == (TopicBroker("a", 8, machine_room="hz"),)
    assert (group.strategy, group.strategy_params, group.subscriptions) == (
        "CONSISTENT_HASH",
        {"virtual_nodes": 160},
        ("t",),
    )
    assert sorted(group.client_ids) == ["c1", "c2", "c2"]
    assert all(client.owned is None for client in group.clients)


@pytest.mark.parametrize(
    ("offsets", "lag"),
    [
        ({"lag": 7}, Lag(MessageQueue("t", "a", 0), 7, 0)),
        ({"lag": 7, "consumer_offset": 10}, Lag(MessageQueue("t", "a", 0), 17, 10)),
        ({"lag": 7, "broker_offset": 10}, Lag(MessageQueue("t", "a", 0), 10, 3)),
        ({"broker_offset": 9, "consumer_offset": 4}, Lag(MessageQueue("t", "a", 0), 9, 4)),
    ],
)
def test_a_lag_or_offsets(offsets, lag):
    row = {"consumer_group": "g", "topic": "t", "broker_name": "a", "queue_id": 0, **offsets}
    assert from_rows([row])[0].groups[0].lags == (lag,)


def test_parquet_of_other_programs(tmp_path):
    """Numbers that became floats for their blanks, large and dictionary texts, columns that are all
    null.
    """
    table = pa.table(
        {
            "group": pa.array(["g", "g"]).dictionary_encode(),
            "topic": pa.array(["t", None], pa.large_string()),
            "broker": ["a", None],
            "queue_id": [1.0, None],
            "client_id": ["c", "d"],
            "room": pa.nulls(2),
        }
    )
    path = str(tmp_path / "s")
    pq.write_table(table, path)
    (group,) = read_snapshot(path).groups
    assert {one.client_id: one.owned for one in group.clients} == {
        "c": (MessageQueue("t", "a", 1),),
        "d": (),
    }


def test_without_a_column_of_clients_nobody_knows_them(tmp_path):
    """A table of lags alone looked like a group whose clients are all gone."""
    lags = "group,topic,broker,queue_id,lag\ng,t,a,0,5\n"
    (group,) = read_snapshot(given_text(tmp_path, "lags.csv", lags)).groups
    assert group.unknown == {"clients": "the table has no column client_id"}
    with_column = read_snapshot(
        given_text(tmp_path, "none.csv", lags.replace("lag\n", "lag,client_id\n"))
    )
    assert with_column.groups[0].unknown == {}


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_what_is_not_known_stays_so_in_a_table(tmp_path, form):
    whole = Snapshot(
        (Topic("t", (TopicBroker("a", 2),), {"routes": "guessed"}), Topic("u")),
        (Group("g", ("t",), unknown={"clients": 'a "reason"'}), Group("h", ("t",))),
        unknown={"subscriptions": "only g and h were read"},
    )
    assert losses(whole, form) == ()
    write_snapshot(whole, path := str(tmp_path / f"s.{form}"))
    assert read_snapshot(path) == whole


def test_other_kinds_of_unknown_facts_are_refused(tmp_path):
    text = 'group,unknown\ng,"{""client"": ""why""}"\n'
    with pytest.raises(SnapshotError, match=r"kind of facts client is not known; .*clients"):
        read_snapshot(given_text(tmp_path, "s.csv", text))


def test_rows_name_known_columns_only():
    snapshot = read_snapshot(str(ORDERS))
    assert {name for row in to_rows(snapshot) for name in row} <= COLUMNS.keys()


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (
            {"group": ["g"], "topic": ["t"], "broker": ["b"], "queue_id": ["one"]},
            "column queue_id holds text; int is needed",
        ),
        (
            {"topic": ["t"], "broker": ["b"], "queue_id": [1.5]},
            "column queue_id cannot be read as int64",
        ),
        (
            {"topic": ["t"], "broker": ["b"], "read_queue_nums": [-4]},
            "read_queue_nums must be from 0",
        ),
        (
            {"topic": ["t", "t"], "broker": ["b", None], "read_queue_nums": [4, 4]},
            "row 2: read_queue_nums is filled",
        ),
        ({"tpoic": ["t"]}, "column tpoic is not known"),
    ],
)
def test_parquet_columns_of_the_wrong_kind(columns, said, tmp_path):
    path = str(tmp_path / "s.parquet")
    pq.write_table(pa.table(columns), path)
    with pytest.raises(SnapshotError, match=said):
        read_snapshot(path)


def test_rows_without_a_cell_are_counted_whatever_batch_they_fill(tmp_path):
    path, n = str(tmp_path / "s.parquet"), 1 << 17
    topics = pa.array([None] * n + ["t"], pa.string())
    pq.write_table(
        pa.table({"topic": topics, "queue_id": pa.array([None] * n + [1], pa.int64())}), path
    )
    with pytest.raises(SnapshotError, match=f"row {n + 1}: queue_id is filled"):
        read_snapshot(path)


def test_a_row_that_names_a_broker_and_no_queue():
    row = {"consumer_group": "g", "topic": "t", "broker_name": "b", "client_id": "c"}
    with pytest.raises(
        SnapshotError, match="a row of a group names broker b and no queue_id; give both or neither"
    ):
        from_rows([row])
    assert from_rows([row | {"queue_id": 0}])[0]
