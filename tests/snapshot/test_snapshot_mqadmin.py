"""What a real mqadmin (5.5.0) printed of a real cluster becomes the snapshot of what its consumers
really owned.
"""

import json
from pathlib import Path

import pytest
from checkout import DATA

from rmqalloc import MessageQueue
from rmqalloc.snapshot.files import (
    losses,
    read_snapshot_with_warnings,
    read_snapshots,
    write_snapshot,
)
from rmqalloc.snapshot.plain_data import SnapshotError
from rmqalloc.snapshot.snapshot import Client, Topic, TopicBroker

MQADMIN = DATA / "mqadmin"
CLIENTS = sorted(MQADMIN.glob("*/192.0.2.2@*"))
BROKERS = ("hz@broker-a", "sh@broker-b")
MODEL = {
    "order-svc": ["192.0.2.2@c1", "192.0.2.2@c2", "192.0.2.2@c3"],
    "audit": ["192.0.2.2@a1", "192.0.2.2@a2"],
}


def read(*names):
    return read_snapshots([str(MQADMIN / name) for name in names])


def given_text(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def really_owned():
    """Queues of every consumer when the texts were made, as the consumers themselves said."""
    owned = json.loads((MQADMIN / "owns.json").read_text())
    return {
        f"192.0.2.2@{name}": {MessageQueue(*queue) for queue in queues}
        for name, queues in owned.items()
    }


def route(topic, count):
    return Topic(topic, tuple(TopicBroker(name, count, count) for name in BROKERS))


# --- Single outputs ---


def test_consumer_connection_names_its_group_by_the_retry_topic(tmp_path):
    snapshot, warnings = read_snapshot_with_warnings(
        given_text(tmp_path, "c.txt", (MQADMIN / "consumerConnection.order-svc.txt").read_text())
    )
    (group,) = snapshot.groups
    assert warnings == ()
    assert (group.name, group.message_model) == ("order-svc", "CLUSTERING")
    assert group.subscriptions == ("%RETRY%order-svc", "orders", "payments")
    assert group.clients == tuple(
        Client(one, language="JAVA", version="5.5.0") for one in MODEL["order-svc"]
    )


def test_consumer_progress_without_clients():
    snapshot, warnings = read("consumerProgress.order-svc.txt")
    (group,) = snapshot.groups
    lags = {(lag.queue.topic, lag.queue.broker_name, lag.queue.queue_id): lag for lag in group.lags}
    assert len(lags) == 14
    assert {
        (lag.broker_offset, lag.consumer_offset) for key, lag in lags.items() if key[0] == "orders"
    } == {(5, 5)}
    assert (group.consume_tps, group.clients) == (0.8, ())
    assert warnings == ()
    assert {topic.name for topic in snapshot.topics if "routes" in topic.unknown} == {
        "%RETRY%order-svc",
        "orders",
        "payments",
    }


def test_consumer_progress_shows_addresses_only():
    snapshot, warnings = read("with_clients.txt")
    (group,) = snapshot.groups
    assert group.client_ids == ["192.0.2.2"]
    assert len(group.clients[0].owned) == 14
    assert group.unknown["clients"].startswith("only addresses of clients that own a queue")
    assert "shows one owner of a queue even if it has two" in warnings[0]


def test_consumer_status_lists_clients():
    snapshot, warnings = read("consumerStatus.audit.txt")
    (group,) = snapshot.groups
    assert (group.name, warnings) == ("audit", ())
    assert group.clients == tuple(Client(one, version="5.5.0") for one in MODEL["audit"])


@pytest.mark.parametrize("path", CLIENTS, ids=lambda path: path.name)
def test_the_file_of_a_client_says_all_of_it(path, tmp_path):
    for place in (path, Path(given_text(tmp_path, "renamed.txt", path.read_text()))):
        snapshot, warnings = read_snapshot_with_warnings(str(place))
        (group,) = snapshot.groups
        (client,) = group.clients
        assert client.client_id in MODEL[group.name]
        assert set(client.owned) == really_owned()[client.client_id]
        assert client.strategy == {"order-svc": "AVG", "audit": "CONSISTENT_HASH"}[group.name]
        assert group.strategy is None
        assert (client.language, client.version) == ("JAVA", "5.5.0")
        assert f"%RETRY%{group.name}" in client.subscriptions
        assert "consumerStatus files are given" in group.unknown["clients"]
        assert warnings == ()


def test_allocate_mq():
    snapshot, warnings = read("allocateMQ.orders.json")
    (group,) = snapshot.groups
    assert (group.name, group.client_ids) == ("allocateMQ", ["10.0.0.1", "10.0.0.2", "10.0.0.3"])
    assert sorted(len(client.owned) for client in group.clients) == [2, 3, 3]
    assert {queue for client in group.clients for queue in client.owned} == set(
        route("orders", 4).queues()
    )
    assert "not those that real clients would have" in warnings[0]


def test_the_list_of_all_groups_names_them():
    snapshot, warnings = read("all_groups.txt")
    assert [(one.name, one.clients) for one in snapshot.groups] == [
        ("cut", ()),
        ("audit", ()),
        ("order-svc", ()),
    ]
    assert "consumerProgress -g GROUP" in warnings[0]


# --- Several outputs make one snapshot ---

WHOLE = ("topicRoute.orders.json", "topicRoute.payments.txt", "consumerConnection.order-svc.txt",
         "consumerProgress.order-svc.txt", "with_clients.txt", "consumerStatus.audit.txt")  # fmt: skip


@pytest.mark.parametrize("turned", [False, True])
def test_outputs_of_one_cluster_make_one_snapshot(turned, tmp_path):
    names = [*WHOLE, *(str(path.relative_to(MQADMIN)) for path in CLIENTS)]
    snapshot, warnings = read(*(reversed(names) if turned else names))
    groups = {group.name: group for group in snapshot.groups}
    owned = {one.client_id: set(one.owned) for group in groups.values() for one in group.clients}
    really = really_owned()
    assert owned == {
        client_id: really[client_id] for client_ids in MODEL.values() for client_id in client_ids
    }
    assert {name: group.client_ids for name, group in groups.items()} == MODEL
    assert {topic.name for topic in snapshot.topics} == {
        "orders",
        "payments",
        "%RETRY%order-svc",
        "%RETRY%audit",
    }
    assert snapshot.topic("orders") == route("orders", 4)
    assert len(groups["order-svc"].lags) == 14
    assert list(warnings) == []
    assert "no topicRoute is given" in snapshot.topic("%RETRY%audit").unknown["routes"]
    write_snapshot(snapshot, str(tmp_path / "s.csv"))
    assert losses(snapshot, "csv") == (
        "groups[].clients[].start_timestamp",
        "source",
        "brokers",
        "sources",
    )


def test_one_file_with_several_commands(tmp_path):
    parts = {
        "$ sh bin/mqadmin topicRoute -n 127.0.0.1:9876 -t orders\n": "topicRoute.orders.json",
        "$ mqadmin topicRoute -t payments -l\n": "topicRoute.payments.txt",
        "admin@host:~$ ./mqadmin consumerStatus --consumerGroup=audit\n": "consumerStatus.audit.txt",
        "$ mqadmin consumerConnection -g order-svc\n": "consumerConnection.order-svc.txt",
    }
    text = "".join(
        command + (MQADMIN / name).read_text() + "$ \n" for command, name in parts.items()
    )
    snapshot, warnings = read_snapshot_with_warnings(given_text(tmp_path, "session.log", text))
    assert snapshot.topics == (route("orders", 4), route("payments", 2))
    assert [group.name for group in snapshot.groups] == ["audit", "order-svc"]
    assert warnings == ()


def progress_row(topic, broker, queue_id, address):
    return f"{topic:<64}  {broker:<32}  {queue_id:<4}  {5:<20}  {3:<20}  {address:<20} {2:<20} {0:<20} N/A\n"


PROGRESS_HEAD = (
    f"{'#Topic':<64}  {'#Broker Name':<32}  {'#QID':<4}  {'#Broker Offset':<20}  {'#Consumer Offset':<20}  "
    f"{'#Client IP':<20} {'#Diff':<20} {'#Inflight':<20}#LastTime\n"
)
PROGRESS_END = "\nConsume TPS: 0.00\nConsume Diff Total: 0\nConsume Inflight Total: 0\n"
CONNECTION_END = (
    "\nBelow is subscription:\n#Topic               #SubExpression\n{}    *\n\n"
    "ConsumeType: CONSUME_PASSIVELY\nMessageModel: CLUSTERING\nConsumeFromWhere: CONSUME_FROM_LAST_OFFSET\n"
)


def connection(topic, *client_ids):
    rows = (
        f"{client_id:<36} {'10.0.0.9:1':<22} {'JAVA':<10} V5_3_3_SNAPSHOT\n"
        for client_id in client_ids
    )
    return (
        "#ClientId #ClientAddr #Language #Version\n" + "".join(rows) + CONNECTION_END.format(topic)
    )


def test_addresses_are_matched_with_client_ids(tmp_path):
    """Where one client runs on a host, its queues are its own; where two do, nobody can tell."""
    rows = [
        progress_row("t", "b", i, address)
        for i, address in enumerate(["10.0.0.1", "10.0.0.1", "10.0.0.2", "N/A"])
    ]
    texts = [
        given_text(
            tmp_path, "consumerProgress.g.txt", PROGRESS_HEAD + "".join(rows) + PROGRESS_END
        ),
        given_text(
            tmp_path,
            "consumerConnection.g.txt",
            connection("t", "10.0.0.1@7", "10.0.0.2@1", "10.0.0.2@2", "10.0.0.3@1"),
        ),
    ]
    snapshot, warnings = read_snapshots(texts)
    assert {one.client_id: one.owned for one in snapshot.groups[0].clients} == {
        "10.0.0.1@7": (MessageQueue("t", "b", 0), MessageQueue("t", "b", 1)),
        "10.0.0.2@1": None,
        "10.0.0.2@2": None,
        "10.0.0.3@1": None,  # it may own the queue of which no client is shown
    }
    assert snapshot.groups[0].clients[0].version == "5.3.3-SNAPSHOT"
    assert [lag.messages for lag in snapshot.groups[0].lags] == [2] * 4
    assert any("several clients run at 10.0.0.2" in one for one in warnings)


def test_a_name_that_was_cut_is_told():
    snapshot, warnings = read("consumerProgress.cut.txt")
    assert {topic.name for topic in snapshot.topics} == {"%RETRY%cut", "t" * 64}
    assert (
        f"topic {'t' * 64} is 64 characters long, where mqadmin cuts names: it is probably cut"
        in warnings[0]
    )


def test_a_name_that_was_cut_gets_its_end_back_from_its_route(tmp_path):
    whole = "t" * 64 + "-cut-off"
    text = (MQADMIN / "topicRoute.payments.txt").read_text()
    snapshot, warnings = read_snapshots(
        [
            str(MQADMIN / "consumerProgress.cut.txt"),
            given_text(tmp_path, f"topicRoute.{whole}.txt", text),
        ]
    )
    assert snapshot.topics[0] == route(whole, 2)
    assert snapshot.groups[0].subscriptions == ("%RETRY%cut", whole)
    assert {queue.topic for queue in snapshot.groups[0].clients[0].owned} == {"%RETRY%cut", whole}
    assert f"taken for {whole}" in warnings[0]


def test_a_broker_name_of_32_characters(tmp_path):
    text = (
        PROGRESS_HEAD
        + progress_row("t", "b" * 32, 0, "N/A")
        + PROGRESS_END.replace("Diff Total: 0", "Diff Total: 2")
    )
    _, warnings = read_snapshot_with_warnings(given_text(tmp_path, "consumerProgress.g.txt", text))
    assert f"broker {'b' * 32} is 32 characters long" in warnings[0]


def test_topics_were_cut_at_32_characters_once(tmp_path):
    """mqadmin before 5.0 has narrower columns and other totals."""
    head = f"{'#Topic':<32}  {'#Broker Name':<32}  #QID  #Broker Offset  #Consumer Offset  #Client IP  #Diff  #LastTime\n"
    row = f"{'t' * 32}  {'b':<32}  0     5     3     10.0.0.1     2     2020-01-01 00:00:00\n"
    text = head + row + "\nConsume TPS: 0.0\nDiff Total: 2\n"
    snapshot, warnings = read_snapshot_with_warnings(
        given_text(tmp_path, "consumerProgress.g.txt", text)
    )
    assert snapshot.groups[0].lags[0].messages == 2
    assert f"topic {'t' * 32} is 32 characters long" in warnings[0]


def test_two_lists_of_connections_that_differ_are_not_the_list_of_clients(tmp_path):
    texts = [
        given_text(tmp_path, "consumerConnection.g.txt", connection("t", "a", "b")),
        given_text(tmp_path, "consumerConnection.g.log", connection("t", "a")),
    ]
    for paths in (texts, texts[::-1]):
        snapshot, warnings = read_snapshots(paths)
        assert snapshot.groups[0].client_ids == ["a", "b"]
        assert "shows b, consumerConnection (" in warnings[0]
        assert "shows b, consumerConnection (" in snapshot.groups[0].unknown["clients"]
    given_text(tmp_path, "consumerConnection.g.log", connection("t", "c", "d"))
    for paths in (texts, texts[::-1]):
        assert read_snapshots(paths)[0].groups[0].client_ids == ["a", "b", "c", "d"]


# --- What is wrong is refused with its place ---


def cut(name, lines):
    return "".join((MQADMIN / name).read_text().splitlines(keepends=True)[:lines])


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        pytest.param("topicRoute.t.txt", cut("topicRoute.payments.txt", 2),
                     "topicRoute -l is cut: its line of dashes is missing", id="topicRoute -l cut"),
        pytest.param("topicRoute.t.json", cut("topicRoute.orders.json", 24),
                     "not JSON of mqadmin", id="topicRoute cut"),
        pytest.param("consumerConnection.g.txt", cut("consumerConnection.order-svc.txt", 4),
                     "consumerConnection is cut", id="consumerConnection cut"),
        pytest.param("consumerProgress.g.txt", PROGRESS_HEAD + "t  b  x  1  1  N/A  0  0\n",
                     "2: a whole number was expected, got 'x'", id="consumerProgress queue x"),
        pytest.param("consumerProgress.g.txt", PROGRESS_HEAD + "t  b  0  1\n",
                     "2: a row of consumerProgress is cut", id="consumerProgress cut"),
        pytest.param("consumerProgress.g.txt", PROGRESS_HEAD.replace("#Diff", "#Lag ") + progress_row("t", "b", 0, "N/A"),
                     "1: the head of consumerProgress -g lacks columns", id="consumerProgress no Diff"),
        pytest.param("x.json", '{"result": {"ip": [{"topic": "t", "brokerName": "b", "queueId": 1e999}]}}',
                     "not JSON of allocateMQ", id="allocateMQ 1e999"),
        pytest.param("192.0.2.2@c1", "\n".join(CLIENTS[0].read_text().splitlines()[:70]),
                     "the file of a client is cut", id="a client cut"),
        pytest.param("192.0.2.2@c1", CLIENTS[0].read_text().replace("Topic: orders", f"Topic: {'o' * 5000}"),
                     "a name of 5,000 char", id="a client with a long name"),
        ("x.txt", '{"result": [1]}', "not JSON of allocateMQ"),
        ("x.json", '{"result": {"ip": [{"topic": 1}]}}', "not JSON of allocateMQ"),
        pytest.param("topicRoute.t.txt", '{"queueDatas": [], "topicQueueMappingByBroker": {"a": {}}}',
                     "'t' is a static topic", id="a static topic"),
    ],
)  # fmt: skip
def test_what_is_wrong_names_its_place(name, text, said, tmp_path):
    with pytest.raises(SnapshotError, match=said):
        read_snapshots([given_text(tmp_path, name, text)], "outputs")


def test_a_text_without_any_output_is_refused(tmp_path):
    with pytest.raises(
        SnapshotError, match=r"a.txt:1: holds no output of mqadmin that is read: topicRoute"
    ):
        read_snapshots([given_text(tmp_path, "a.txt", "The command is not found\n")], "outputs")


def test_two_routes_of_one_topic_must_agree(tmp_path):
    other = given_text(
        tmp_path, "topicRoute.orders.txt", (MQADMIN / "topicRoute.payments.txt").read_text()
    )
    with pytest.raises(
        SnapshotError, match="the route of topic 'orders' is given twice and is not the same"
    ):
        read_snapshots([str(MQADMIN / "topicRoute.orders.json"), other])
