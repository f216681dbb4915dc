"""Answers of RocketMQ Console and Dashboard, as their releases 1.0.0 and 2.1.0 gave them.

The files are what RocketMQ Dashboard of these releases, compiled from its sources, answered about
brokers and clients of 5.5.0 on loopback. Of the group order-svc client m1 owned queues 0 to 2 of
broker-a, m2 queue 3 of broker-a and queues 0 and 1 of broker-b, m3 the rest.
"""

import json
from operator import attrgetter

import pytest
from checkout import DATA

import rmqalloc
from rmqalloc.snapshot.files import read_snapshots, write_snapshot
from rmqalloc.snapshot.plain_data import SnapshotError

FOLDER = DATA / "console"
RELEASES = ("1.0.0", "2.1.0")
by_name = attrgetter("name")
M1, M2, M3 = (f"192.0.2.2@m{number}" for number in (1, 2, 3))
OWNED = {M1: 3, M2: 3, M3: 2}


def answer(release, name):
    return (FOLDER / release / name).read_text()


def data_of(text):
    return json.loads(text)["data"]


def read(release, *names):
    return read_snapshots([str(FOLDER / release / name) for name in names])


def read_text(tmp_path, text, name="all.txt"):
    path = tmp_path / name
    path.write_text(text)
    return read_snapshots([str(path)])


def owned(group, topic="orders"):
    return {
        client.client_id: sum(queue.topic == topic for queue in client.owned)
        for client in group.clients
    }


ALL = ("route.orders.json", "consumerConnection.order-svc.json", "queryTopicByConsumer.order-svc.json")  # fmt: skip


@pytest.mark.parametrize("release", RELEASES)
def test_route_clients_and_owners(release):
    snapshot, warnings = read(release, *ALL)
    (group,) = snapshot.groups
    assert (
        snapshot.topic("orders").brokers
        == rmqalloc.read(str(FOLDER / release / ALL[0])).topic("orders").brokers
    )
    assert {(client.language, client.version) for client in group.clients} == {("JAVA", "5.5.0")}
    assert (owned(group), len(group.lags), dict(group.unknown)) == (OWNED, 10, {})
    assert all(lag.last_timestamp > 0 for lag in group.lags if lag.queue.topic == "orders")
    assert [words for words in warnings if "several clients run at" in words] == []
    errors = {fault.rule for fault in rmqalloc.check(snapshot) if fault.severity == "error"}
    assert errors == set()


@pytest.mark.parametrize("release", RELEASES)
def test_all_groups(release):
    snapshot, warnings = read(release, "groupList.json")
    unknown = {group.name: group.unknown["clients"] for group in snapshot.groups}
    assert unknown.keys() - {"idle"} == {"order-svc", "popper", "audit", "off"}
    assert unknown["order-svc"] == "groupList gives only their number, 3"
    assert "count 0: it owns none, or did not answer" in unknown["off"]
    assert "order-svc 0" in warnings[0]


@pytest.mark.parametrize("release", RELEASES)
def test_groups_of_a_topic(release):
    snapshot, _ = read(release, "queryConsumerByTopic.orders.json")
    groups = {group.name: group for group in snapshot.groups}
    assert owned(groups["order-svc"]) == OWNED
    assert owned(groups["audit"]) == {"192.0.2.2@a1": 8}
    assert sum(lag.messages for lag in groups["off"].lags) == 8
    assert "shows no client both for an unowned queue" in groups["off"].unknown["owners"]


@pytest.mark.parametrize("release", RELEASES)
def test_running_info(release):
    (group,) = read(release, "consumerRunningInfo.m3.json")[0].groups
    (client,) = group.clients
    assert (group.name, client.client_id, client.strategy) == ("order-svc", M3, "AVG")
    assert owned(group) == {M3: 2}


def test_clients_that_pop():
    (group,) = read("2.1.0", "consumerRunningInfo.p1.json")[0].groups
    assert (group.name, group.server_assignment) == ("popper", "POP")


def test_a_console_that_does_not_know_pop_does_not_show_queues():
    (group,) = read("1.0.0", "consumerRunningInfo.p1.json")[0].groups
    assert [client.owned for client in group.clients] == [None]
    assert "does not show those that it pops" in group.unknown["owners"]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    "name",
    [*ALL, "groupList.json", "queryConsumerByTopic.orders.json", "consumerRunningInfo.m3.json"],
)
def test_bare_and_in_another_order(release, name, tmp_path):
    """As ``jq -S``, ``jq -S .data`` and ``python -m json.tool`` print it."""
    text = answer(release, name)
    expected = read(release, name)[0]
    for content in (json.loads(text), data_of(text)):
        for indent in (2, 4, None):
            printed = json.dumps(content, indent=indent, sort_keys=True)
            found, _ = read_text(tmp_path, f"{printed}\n", name)
            assert found.topics == expected.topics
            assert sorted(found.groups, key=by_name) == sorted(expected.groups, key=by_name)


def pretty(text):
    return json.dumps(json.loads(text), indent=2)


SEVERAL = """\
[root@mq ~]# curl -s 'http://10.0.0.9:8080/topic/route.query?topic=orders'
{route}[root@mq ~]# curl -s -d consumerGroup=order-svc http://10.0.0.9:8080/consumer/consumerConnection.query | jq .
{connection}
[root@mq ~]# curl -s "localhost:8080/consumer/queryTopicByConsumer.query?consumerGroup=order%2Dsvc" | jq .data
{progress}
[root@mq ~]# curl -s localhost:8080/consumer/groupList.query
{groups}[root@mq ~]# curl -s localhost:8080/consumer/consumerConnection.query?consumerGroup=off
{error}[root@mq ~]# curl -s localhost:8080/topic/route.query?topic=pay > route.pay.json
[root@mq ~]# """


def test_several_answers_in_one_file(tmp_path):
    text = SEVERAL.format(
        route=answer("2.1.0", "route.orders.json").strip(),
        connection=pretty(answer("2.1.0", "consumerConnection.order-svc.json")),
        progress=json.dumps(
            data_of(answer("2.1.0", "queryTopicByConsumer.order-svc.json")), indent=2
        ),
        groups=answer("2.1.0", "groupList.json").strip(),
        error=answer("2.1.0", "consumerConnection.off.json").strip(),
    )
    snapshot, warnings = read_text(tmp_path, text)
    groups = {group.name: group for group in snapshot.groups}
    assert owned(groups["order-svc"]) == OWNED
    assert len(groups) == 5
    assert (
        len([words for words in warnings if "this is an error of RocketMQ Console" in words]) == 1
    )
    assert not any("no answer of RocketMQ Console" in words for words in warnings)


def test_an_error_is_repeated():
    with pytest.raises(
        SnapshotError, match=r"json:1: this is an error of RocketMQ Console: .*CODE: 206"
    ):
        read("2.1.0", "consumerConnection.off.json")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"timestamp":"2026-11-30","status":404,"error":"Not Found","path":"/consumer/x.query"}',
         "this is an error of RocketMQ Console: Not Found"),
        ('{"status":0,"data":{"groupList":["order-svc"]},"errMsg":null}',
         "the answer of RocketMQ Console to topic/queryTopicConsumerInfo.query, which is not read"),
        ('{"status":0,"data":[],"errMsg":null}', "JSON of neither .*: it is empty"),
        ('{"status":0,"data":[{"topic":"t","diffTotal":0,"queueStatInfoList":[{"brokerName":7}]}],"errMsg":null}',
         "brokerName: a string was expected"),
        ('{"properties":{"consumerGroup":"g"},"mqTable":{"MessageQueue t":{}}}', "a message queue was expected"),
        ('{"status":0,"data":{"connectionSet":[', "not JSON of mqadmin or RocketMQ Console"),
    ],
)  # fmt: skip
def test_what_is_not_read_is_named(text, said, tmp_path):
    with pytest.raises(SnapshotError, match=said):
        read_text(tmp_path, text, "queries.json")


def test_an_answer_without_offsets_leaves_them_open():
    snapshot, warnings = read("2.1.0", "queryTopicByConsumer.nothere.json")
    (group,) = snapshot.groups
    assert "shows no offsets" in group.unknown["lags"]
    assert "nothere" in warnings[0]


def test_offsets_of_one_broker_are_known_in_part(tmp_path):
    """Dashboard 2.0.0 asks one broker."""
    rows = data_of(answer("2.1.0", "queryTopicByConsumer.order-svc.json"))
    first = [row for row in rows if row["queueStatInfoList"][0]["brokerName"] == "broker-a"]
    snapshot, _ = read_text(tmp_path, json.dumps(first), "queryTopicByConsumer.order-svc.json")
    (group,) = snapshot.groups
    assert "the remaining brokers may not have been queried" in group.unknown["lags"]
    assert "the remaining brokers may not have been queried" in group.unknown["owners"]


def test_a_total_that_its_queues_do_not_have(tmp_path):
    text = answer("2.1.0", "queryTopicByConsumer.order-svc.json").replace(
        '"diffTotal":0', '"diffTotal":3', 1
    )
    snapshot, warnings = read_text(tmp_path, text, "queryTopicByConsumer.order-svc.json")
    words = "has diffTotal 3 of topic %RETRY%order-svc, its queues have 0"
    assert words in warnings[0]
    assert words in snapshot.groups[0].unknown["lags"]


def test_offsets_that_stand_twice(tmp_path):
    rows = data_of(answer("2.1.0", "queryTopicByConsumer.order-svc.json"))
    name = "queryTopicByConsumer.order-svc.json"
    same, _ = read_text(tmp_path, json.dumps([*rows, rows[0]]), name)
    assert len(same.groups[0].lags) == 10
    changed = json.loads(json.dumps(rows[0]))
    changed["queueStatInfoList"][0]["brokerOffset"] = 9
    with pytest.raises(
        SnapshotError, match=r":\d{3}: the offsets of %RETRY%order-svc/broker-a:0 .* differ"
    ):
        read_text(tmp_path, json.dumps([*rows, changed], indent=1), name)


PROGRESS = """\
$ mqadmin consumerProgress -g order-svc -s true
#Topic    #Broker Name    #QID  #Broker Offset  #Consumer Offset  #Client IP    #Diff  #LastTime
"""


def test_an_address_of_mqadmin_and_an_id_of_the_console_are_one_client(tmp_path):
    rows = [
        f"orders    broker-a        {number}     16              16                {host}     0      N/A\n"
        for number, host in enumerate(["192.0.2.2"] * 3)
    ]
    text = PROGRESS + "".join(rows) + "\nConsume TPS: 0.00\nDiff Total: 0\n"
    path = tmp_path / "consumerProgress.txt"
    path.write_text(text)
    files = [str(FOLDER / "2.1.0" / name) for name in ALL]
    (group,) = read_snapshots([str(path), *files])[0].groups
    assert owned(group) == OWNED


def test_clients_share_an_id_and_stay_open(tmp_path):
    text = answer("2.1.0", "consumerConnection.order-svc.json").replace("@m2", "@m1")
    path = tmp_path / "consumerConnection.order-svc.json"
    path.write_text(text)
    progress = str(FOLDER / "2.1.0" / ALL[2])
    (group,) = read_snapshots([str(path), progress])[0].groups
    shown = {(client.client_id, client.owned is None) for client in group.clients}
    assert {(M1, True), (M3, False)} <= shown


@pytest.mark.parametrize("name", ["route.query?topic=orders", "route.query.json", "route.json"])
def test_names_of_files(name, tmp_path):
    text = answer("2.1.0", "route.orders.json")
    if "?" in name:
        assert read_text(tmp_path, text, name)[0].topics[0].name == "orders"
    else:
        with pytest.raises(SnapshotError, match="topicRoute does not print its topic"):
            read_text(tmp_path, text, name)


def test_a_snapshot_of_ours_is_none_of_the_console(tmp_path):
    snapshot = rmqalloc.read("example:orders")
    path = tmp_path / "s.json"
    write_snapshot(snapshot, str(path))
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content, indent=2, sort_keys=True))
    assert rmqalloc.read(str(path)).groups == snapshot.groups


def test_owners_by_id_beside_what_a_client_reports(tmp_path):
    info, progress = "consumerRunningInfo.m3.json", ALL[2]
    snapshot, warnings = read("2.1.0", ALL[0], ALL[1], info, progress)
    assert owned(snapshot.groups[0]) == OWNED
    assert not any("reports it" in words for words in warnings)
    path = tmp_path / progress
    path.write_text(answer("2.1.0", progress).replace("@m2", "@m4").replace("@m3", "@m2"))
    files = [str(FOLDER / "2.1.0" / name) for name in (ALL[0], ALL[1], info)]
    (group,) = read_snapshots([*files, str(path)])[0].groups
    assert f"at {M2}, {M3} reports it" in group.unknown["owners"]
    assert "shows 192.0.2.2@m4, consumerConnection" in group.unknown["clients"]
