"""``spark.read.format("rmqalloc")``: what it gives is what rmqalloc says of the snapshot without
Spark.
"""

import re
from collections import Counter

import pyarrow as pa
import pytest
from checkout import ROOT
from loopback import Loopback

import rmqalloc
from rmqalloc.evidence import with_strategies
from rmqalloc.snapshot.units import read_units
from spark_udfs import _snapshot_tables
from spark_udfs._snapshot_tables import TABLES, SnapshotTableError, TableRequest, rows_of_part

SNAPSHOTS = sorted((ROOT / "examples" / "snapshots").iterdir())
ORDERS = str(ROOT / "examples" / "snapshots" / "orders.yaml")


def table(**options):
    request = TableRequest(options)
    return pa.concat_tables(parts_of(request))


def parts_of(request):
    return [
        pa.Table.from_batches(rows_of_part(part), request.schema)
        for part in request.parts(request.schema)
    ]


# --- Without Spark ---


@pytest.mark.parametrize("path", SNAPSHOTS, ids=lambda path: path.stem)
def test_tables_are_what_rmqalloc_says_of_the_snapshot(path):
    snapshot = rmqalloc.read(path)
    given = str(path)
    units = read_units(with_strategies(snapshot))
    assert table(snapshot=given).to_pylist() == units.batch.to_pylist()
    assert table(snapshot=given).schema.names == units.batch.schema.names, (
        "machine rooms only where some are known"
    )
    assert table(snapshot=given, table="left_out")["reason"].to_pylist() == list(units.warnings)
    assert table(snapshot=given, table="findings").equals(rmqalloc.check(snapshot).main_table())
    clients = Counter(
        (group.name, one.client_id) for group in snapshot.groups for one in group.clients
    )
    rows = table(snapshot=given, table="clients").to_pylist()
    assert Counter((row["consumer_group"], row["client_id"]) for row in rows) == clients
    queues = Counter(
        {topic.name: sum(one.read_queue_nums for one in topic.brokers) for topic in snapshot.topics}
    )
    found = Counter()
    for row in table(snapshot=given, table="routes").to_pylist():
        found[row["topic"]] += row["read_queue_nums"]
    assert found == queues
    wanted = [(group.name, topic) for group in snapshot.groups for topic in group.subscriptions]
    assert [
        tuple(row.values()) for row in table(snapshot=given, table="subscriptions").to_pylist()
    ] == wanted


def test_parts_divide_no_group(monkeypatch):
    monkeypatch.setattr(_snapshot_tables, "ROWS_PER_PART", 4)
    request = TableRequest({"snapshot": ORDERS, "table": "clients"})
    parts = parts_of(request)
    groups = [set(part["consumer_group"].to_pylist()) for part in parts]
    assert len(parts) > 1
    assert all(part.num_rows >= 4 for part in parts[:-1])
    assert sum(map(len, groups)) == len(set.union(*groups))
    assert pa.concat_tables(parts).equals(request.read().select(request.schema.names))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "give snapshot, the path of a snapshot, or name_server"),
        ({"snapshot": "a", "name_server": "b:1"}, "give snapshot (a file) or name_server (a running cluster), not both"),
        ({"snapshot": "a", "path": "b"}, "as the option snapshot or as the path of load, not both"),
        pytest.param({"snapshot": "a", "table": "unit"},
                     "table must be one of units, clients, routes, subscriptions, findings, left_out", id="table unit"),
        ({"snapshto": "a"}, "unknown option 'snapshto'; near it is 'snapshot'; options are"),
        ({"snapshot": "a", "timeout": "5s"}, "timeout is an option of name_server, which is not given"),
        ({"name_server": "a:1", "form": "json"}, "form is an option of snapshot, which is not given"),
        ({"name_server": "a:1", "timeout": "5"}, 'timeout must be a time such as 500ms, 30s or 2m'),
        ({"name_server": "a:1", "tls": "yes"}, "tls must be true or false, got 'yes'"),
        ({"name_server": "a:1", "parallel": "0"}, "parallel must be an integer from 1 to 64, got '0'"),
        ({"name_server": "a:1", "secretkey": "s3cret"}, "secretkey is no option, as options show in plans and logs"),
    ],
)  # fmt: skip
def test_wrong_options_are_refused_by_name(options, reason):
    with pytest.raises(SnapshotTableError, match=re.escape(reason)) as raised:
        TableRequest(options)
    assert "s3cret" not in str(raised.value)


def test_a_snapshot_that_is_not_there_is_named(tmp_path):
    with pytest.raises(OSError, match=r"none\.yaml"):
        TableRequest({"snapshot": str(tmp_path / "none.yaml")}).schema  # noqa: B018


@pytest.fixture
def keys(tmp_path):
    """A file of keys, where the driver runs."""
    path = tmp_path / "tools.json"
    path.write_text('{"accessKey": "ak", "secretKey": "s3cret"}')
    return str(path)


def signed(servers):
    """Servers that were asked with a signature."""
    return {name for name, _, fields in servers.asked if "Signature" in fields}


REFUSED = r"name_server 'localhost:\d+' would get requests signed .* not in rmqalloc\.name_servers of the session: set it"


@pytest.mark.parametrize("allowed", ["", "localhost:1", "localhost"])
def test_keys_go_to_no_name_server_that_the_session_does_not_allow(keys, monkeypatch, allowed):
    with Loopback() as servers:
        server = servers.name_server.replace("127.0.0.1", "localhost")
        with pytest.raises(SnapshotTableError, match=REFUSED) as raised:
            TableRequest({"name_server": server, "acl_file": keys}, allowed)
        assert "s3cret" not in str(raised.value)
        monkeypatch.setenv("RMQALLOC_ACCESS_KEY", "ak")
        monkeypatch.setenv("RMQALLOC_SECRET_KEY", "s3cret")
        with pytest.raises(SnapshotTableError, match=REFUSED):
            TableRequest(
                {"name_server": f"{servers.name_server};{server}"},
                f"{allowed}, {servers.name_server}",
            )
    assert servers.asked == []


@pytest.mark.filterwarnings("ignore:keys are used without TLS")
def test_keys_go_to_name_servers_that_the_session_allows_and_are_not_needed_elsewhere(keys):
    with Loopback() as servers:
        options = {"name_server": servers.name_server, "table": "clients"}
        request = TableRequest(options | {"acl_file": keys}, f"a:1, {servers.name_server}")
        assert request.read().num_rows == 2 and signed(servers) == {"name server", *servers.names}
        del servers.asked[:]
        assert table(**options).num_rows == 2 and signed(servers) == set()


@pytest.mark.filterwarnings("ignore:keys are used without TLS")
def test_brokers_to_sign_for_are_an_option(keys):
    with Loopback() as servers:
        server = servers.name_server.replace("127.0.0.1", "localhost")
        options = {
            "name_server": server,
            "acl_file": keys,
            "acl_address": servers.addresses["broker-1"],
        }
        TableRequest(options, server).read()
    assert signed(servers) == {"name server", "broker-1"}


@pytest.mark.cluster
def test_a_running_cluster_is_read_as_fetch_reads_it(cluster):
    rows = table(name_server=cluster.name_server, table="routes", running_info="false", lag="false")
    wanted = {
        topic.name
        for topic in rmqalloc.fetch(cluster.name_server, running_info=False, lag=False).topics
    }
    assert set(rows["topic"].to_pylist()) == wanted


# --- On Spark ---


@pytest.mark.spark
def test_units_go_straight_into_transforms(spark):
    from spark_udfs.datasource import register
    from spark_udfs.transforms import assign

    register(spark)
    rows = spark.read.format("rmqalloc").load(ORDERS).transform(assign()).toArrow().to_pylist()
    units = read_units(with_strategies(rmqalloc.read(ORDERS))).batch.to_pylist()
    assert len(rows) == len(units) == 5
    for row, unit in zip(rows, units, strict=True):
        queues = [
            (unit["topic"], one["broker_name"], i)
            for one in unit["brokers"]
            for i in range(one["read_queue_nums"])
        ]
        params = {"virtual_nodes": unit["virtual_nodes"]} if unit["virtual_nodes"] else {}
        made = rmqalloc.strategy(unit["strategy"], **params)
        queues, ids = rmqalloc.sort_queues(queues), rmqalloc.sort_client_ids(unit["client_ids"])
        assert row["owners"] == made.assign(queues, ids).owners.tolist()
    for name in TABLES:
        found = spark.read.format("rmqalloc").options(snapshot=ORDERS, table=name).load()
        assert found.toArrow().to_pylist() == table(snapshot=ORDERS, table=name).to_pylist()


@pytest.mark.spark
def test_what_is_wrong_is_said_when_the_table_is_loaded(spark):
    from spark_udfs.datasource import register

    register(spark)
    with pytest.raises(Exception, match="not both"):
        spark.read.format("rmqalloc").options(snapshot=ORDERS, name_server="a:1").load()
    with pytest.raises(Exception, match=r"none\.yaml"):
        spark.read.format("rmqalloc").load("none.yaml")


@pytest.mark.spark
def test_a_session_names_the_name_servers_that_keys_go_to_before_the_source_is_registered(
    spark, keys
):
    from spark_udfs.datasource import register

    def load(server):
        found = (
            spark.read.format("rmqalloc")
            .options(name_server=server, acl_file=keys, table="clients")
            .load()
        )
        return [row.client_id for row in found.collect()]

    try:
        with Loopback() as servers:
            register(spark)
            spark.conf.set("rmqalloc.name_servers", servers.name_server)
            with pytest.raises(Exception, match=r"is not in rmqalloc\.name_servers of the session"):
                load(servers.name_server)
            assert servers.asked == [], "set after it was registered, as SQL can"
            register(spark)
            assert load(servers.name_server) == ["c-0", "c-1"]
            assert signed(servers) == {"name server", *servers.names}
            with pytest.raises(Exception, match=r"is not in rmqalloc\.name_servers of the session"):
                load(f"{servers.name_server};127.0.0.1:1")
    finally:
        spark.conf.unset("rmqalloc.name_servers")
        register(spark)


@pytest.mark.spark
def test_tables_that_are_streams_are_refused_at_once(spark):
    from spark_udfs.joins import units

    rates = spark.readStream.format("rate").load()
    with pytest.raises(TypeError, match=r"routes is a stream.*live_plans.*foreachBatch"):
        units(rates, rates, rates)
