"""Outputs of mqadmin as operators have them at hand: each case says in its RIGHT.txt what comes out
of it.
"""

import re
from collections import Counter

import pytest
from checkout import DATA
from cli_commands import runner

import rmqalloc
from rmqalloc.snapshot.files import read_snapshots
from rmqalloc.snapshot.plain_data import SnapshotError

WRONG, RIGHT = DATA / "cases" / "mqadmin", DATA / "cases" / "mqadmin-right"


def files_of(folder):
    return sorted(
        str(path) for path in folder.rglob("*") if path.is_file() and path.name != "RIGHT.txt"
    )


def read(folder, *names):
    return read_snapshots([str(folder / name) for name in names] or files_of(folder))


def only_group(snapshot):
    (group,) = snapshot.groups
    return group


def rules(snapshot):
    return Counter(one.rule for one in rmqalloc.check(snapshot))


def errors(snapshot):
    return {one.rule for one in rmqalloc.check(snapshot) if one.severity == "error"}


def queues(finding):
    return Counter((one.broker_name, one.queue_id) for one in finding.queues)


def found(snapshot, rule):
    (finding,) = (one for one in rmqalloc.check(snapshot) if one.rule == rule)
    return finding


# --- What used to be wrong ---


def test_connections_without_a_head():
    snapshot, warnings = read(WRONG / "connection-3.2-to-4.9.2-has-no-head")
    group = only_group(snapshot)
    assert (group.name, len(group.clients), group.subscriptions) == (
        "scan_group",
        5,
        ("%RETRY%scan_group", "scan_new"),
    )
    assert warnings == ()


def test_connections_of_one_broker_each():
    snapshot, _ = read(WRONG / "connection-b-per-broker-lists")
    group = only_group(snapshot)
    lists = {broker: [one[-1] for one in ids] for broker, ids in group.broker_client_ids.items()}
    assert lists == {"broker-a": ["1", "2", "3"], "broker-b": ["1", "4"]}
    assert len({one for ids in group.broker_client_ids.values() for one in ids}) == 4
    assert "at worst that leaves 5 queues" in found(snapshot, "split-client-list").message


def test_a_message_model_that_java_does_not_know():
    snapshot, warnings = read(WRONG / "connection-message-model-null")
    group = only_group(snapshot)
    assert (len(group.clients), group.message_model) == (2, "CLUSTERING")
    assert set(group.subscriptions) == {"orders", "%RETRY%cpp-group"}
    assert "its message model is printed as null; CLUSTERING is assumed" in warnings[0]


def test_rows_below_a_stack_trace():
    snapshot, warnings = read(WRONG / "consumerStatus-stack-trace-between-rows")
    group = only_group(snapshot)
    assert group.client_ids == ["10.5.0.1@1#811", "10.5.0.3@1#813"]
    assert "consumerStatus.grey.txt:3: group grey: 1 client did not answer" in warnings[0]
    assert "1 client did not answer" in group.unknown["clients"]
    assert errors(snapshot) == set()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("consumerConnection.json", "this output does not print its group; name the file after it"),
        (
            "queryTopicByConsumer.json",
            "this output does not print its group; name the file after it",
        ),
        ("topicRoute.orders.json", "not JSON of mqadmin or RocketMQ Console: .* at character 64"),
    ],
)
def test_json_of_the_dashboard_says_what_it_lacks(name, said):
    with pytest.raises(SnapshotError, match=rf"{name}:1: {said}"):
        read(WRONG / "dashboard-json", name)


def test_json_of_the_dashboard_is_read_once_its_group_is_known(tmp_path):
    folder = WRONG / "dashboard-json"
    for name in ("consumerConnection", "queryTopicByConsumer"):
        text = (folder / f"{name}.json").read_text()
        (tmp_path / f"{name}.order-svc.json").write_text(text)
    group = only_group(read(tmp_path)[0])
    assert group.client_ids == ["10.0.0.1@4979"]
    assert [queue.queue_id for queue in group.clients[0].owned] == [0]
    assert sum(lag.messages for lag in group.lags) == 12
    assert "clientInfo" not in group.unknown["owners"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("acl.txt",
                     r":2: this is an error of mqadmin topicRoute.*CODE: 1  DESC: .*AclException: The accessKey is not"
                     r" provided", id="acl.txt"),
        pytest.param("consumerConnection.case-sys-test.txt",
                     r":1: .*mqadmin consumerConnection.*CODE: 17  DESC: No topic route info in",
                     id="consumerConnection"),
        pytest.param("consumerProgress.case-sys-test.txt",
                     r":1: .*mqadmin consumerProgress.*CODE: 206  DESC: Not found the consumer", id="consumerProgress"),
    ],
)  # fmt: skip
def test_an_error_of_mqadmin_is_repeated(name, said):
    with pytest.raises(SnapshotError, match=re.escape(name) + said):
        read(WRONG / "error-outputs", name)


@pytest.mark.parametrize("name", ["indent.txt", "tabs.txt"])
def test_an_indented_paste(name):
    group = only_group(read(WRONG / "indented-paste", name)[0])
    assert (group.name, group.client_ids) == ("tab", ["10.18.0.1@4#1", "10.18.0.2@4#1"])


def test_several_routes_without_their_command_lines():
    with pytest.raises(
        SnapshotError,
        match=r"routes.txt:2: 2 outputs of topicRoute .* above each of them",
    ):
        read(WRONG / "loop-of-routes-in-one-file")


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("clusterList.txt", "clusterList"),
        ("statsAll.txt", "statsAll"),
        ("topicStatus.orders.txt", "topicStatus"),
    ],
)
def test_other_commands_are_named(name, command):
    said = rf"{name}:1: this is the output of {command}, which is not read; mqadmin (topicRoute|consumerProgress) -"
    with pytest.raises(SnapshotError, match=said):
        read(WRONG / "other-commands", name)


def test_offsets_of_a_broker_without_their_total():
    group = only_group(read(WRONG / "other-commands", "brokerConsumeStats.txt")[0])
    assert (group.name, sum(lag.messages for lag in group.lags)) == ("trade-wait", 3)
    assert "shows one broker" in group.unknown["lags"]


def test_the_retry_topic_of_pop_makes_no_second_group():
    snapshot, _ = read(WRONG / "progress-5x-pop-retry-topic-names-group")
    group = only_group(snapshot)
    assert (group.name, group.is_shared, sum(one.messages for one in group.lags)) == (
        "BadGroup",
        True,
        6,
    )
    assert "%RETRY%BadGroup_TopicOne" in group.subscriptions
    assert errors(snapshot) == set()


def test_a_decimal_comma():
    group = only_group(read(WRONG / "progress-decimal-comma")[0])
    assert (group.consume_tps, len(group.lags)) == (0.8, 5)


def test_the_list_of_all_groups():
    snapshot, warnings = read(WRONG / "progress-of-all-groups-is-an-empty-green-snapshot")
    assert {one.name: one.client_ids for one in snapshot.groups} == {"order-svc": [], "audit": []}
    assert {one.name: one.unknown["clients"] for one in snapshot.groups} == {
        "order-svc": "consumerProgress gives only their number, 3",
        "audit": "consumerProgress lists it as OFFLINE: it owns none, or did not answer",
    }
    assert "order-svc 12, audit -647260483" in warnings[0]
    findings = rmqalloc.check(snapshot)
    assert (len(findings), {one.kind for one in findings.missing}) == (
        0,
        {"clients", "subscriptions"},
    )


def test_status_without_a_head():
    snapshot, _ = read(WRONG / "status-4.0-to-4.9.3-has-no-head")
    group = only_group(snapshot)
    assert (group.name, len(group.clients)) == ("go_client_dev", 3)
    dry = found(snapshot, "only-dry-queues")
    assert dry.clients == ("10.4.43.3@5289",)
    assert queues(dry) == {("RaftNode01", 1): 1}


def test_a_route_without_a_master():
    snapshot, _ = read(WRONG / "topicRoute-without-master")
    assert rules(snapshot)["no-master"] == 2
    assert not any("raise the write queues" in one.advice for one in rmqalloc.check(snapshot))


# --- What has been right and stays so ---


@pytest.mark.parametrize(
    ("case", "name", "n_clients", "n_lags"),
    [
        ("c01", "push_consumer", 2, 0),
        ("c04", "parcel-res", 1, 5),
        ("c05a", "BadGroup", 0, 18),
        ("c06b", "ledger-binlog-consumer-group", 2, 5),
        ("c13b", "settle", 2, 20),
        ("c20", "canal", 1, 3),
        ("c22", "unit", 3, 0),
        ("c33", "idle", 2, 4),
        ("c37", "GID_change_feed", 4, 5),
        ("c38", "GID_mqtt", 1, 1),
    ],
)
def test_what_is_read_without_an_error(case, name, n_clients, n_lags):
    snapshot, _ = read(RIGHT / case)
    group = only_group(snapshot)
    assert (group.name, len(group.clients), len(group.lags)) == (name, n_clients, n_lags)
    assert errors(snapshot) == set()


def test_a_retry_topic_that_is_cut_gets_its_end_back():
    snapshot, warnings = read(RIGHT / "c06b")
    assert "%RETRY%ledger-binlog-consumer-group" in only_group(snapshot).subscriptions
    assert "taken for %RETRY%ledger-binlog-consumer-group" in warnings[0]


def test_an_offset_beyond_the_broker_s_is_no_backlog():
    assert sum(one.messages for one in only_group(read(RIGHT / "c20")[0]).lags) == 10


@pytest.mark.parametrize(
    ("case", "unowned", "double"),
    [
        ("c09", {("broker-b", i) for i in range(4)}, {("broker-a", i) for i in range(4)}),
        ("c35", {("broker-b", i) for i in range(4)}, {("broker-a", i) for i in range(4)}),
        (
            "c36",
            {("broker-a", 3), ("broker-b", 0), ("broker-b", 1)},
            {("broker-a", i) for i in range(3)},
        ),
    ],
)
def test_an_id_that_several_clients_have(case, unowned, double):
    snapshot, _ = read(RIGHT / case)
    assert set(queues(found(snapshot, "unowned-queue"))) == unowned
    assert set(queues(found(snapshot, "double-owned-queue"))) == double
    assert "is not unique" in found(snapshot, "unowned-queue").message
    assert ("3,200 messages wait" in found(snapshot, "unowned-queue").message) == (case == "c35")


def test_names_of_a_cloud():
    group = only_group(read(RIGHT / "c11")[0])
    assert (group.name, len(group.clients)) == ("MQ_INST_100000000000_Bxxxxxxx%GID_order_sync", 3)


def test_go_clients_and_their_dry_queue():
    assert found(read(RIGHT / "c27")[0], "only-dry-queues").clients == ("10.4.43.3@5289",)


def test_a_topic_that_nobody_may_read():
    finding = found(read(RIGHT / "c30")[0], "unreadable-broker")
    assert "Restore read permission" in finding.advice


def test_a_shaded_strategy_class_is_fitted():
    findings = rmqalloc.check(read(RIGHT / "c31")[0])
    assert findings.evidence.main_table().column("source").to_pylist() == ["fitted"]


@pytest.mark.parametrize(
    ("case", "name", "said"),
    [
        ("c14", "topicRoute.st-orders.json", "'st-orders' is a static topic"),
        ("c15", "clients.tsv", "column .* is not known; known are consumer_group"),
        ("c21", "gbk.txt", "gbk.txt:1: byte 59 .* is not UTF-8; save the file as UTF-8"),
        ("c21", "topicRoute.orders.json", "UTF-16 text; save it as UTF-8"),
        ("c29", "orders-route.txt", "name the file topicRoute.TOPIC.txt"),
        ("c29", "route.json", "name the file topicRoute.TOPIC.txt"),
        ("c29", "topicRoute_orders.txt", "name the file topicRoute.TOPIC.txt"),
        pytest.param(
            "c39",
            "consumerProgress.head.txt",
            "consumerProgress is cut: its Consume TPS is missing",
            id="c39-consumerProgress.head.txt",
        ),
        ("c39", "consumerProgress.order-svc.txt", "1: holds no output of mqadmin that is read"),
    ],
)
def test_what_is_refused_says_why(case, name, said):
    with pytest.raises(SnapshotError, match=said):
        read(RIGHT / case, name)


def test_a_file_of_windows():
    group = only_group(read(RIGHT / "c21", "crlf.txt")[0])
    assert (group.name, group.client_ids) == ("order-svc", ["10.0.0.1@4312#77"])


# --- Through the verbs ---


@pytest.fixture
def run(capsys):
    return runner(capsys)


def test_check_of_what_hides_everything_is_not_clean(run):
    hidden = WRONG / "progress-of-all-groups-is-an-empty-green-snapshot" / "consumerProgress.txt"
    code, shown, _ = run("check", "-f", hidden)
    assert code == 4
    assert "0 findings" in shown and "not known: clients of audit" in shown


def test_a_snapshot_of_nothing_is_neither_clean_nor_written(run, tmp_path):
    path, head = tmp_path / "s.yaml", tmp_path / "consumerProgress.txt"
    path.write_text("apiVersion: rmqalloc/v2\nkind: Snapshot\n")
    head.write_text("#Group    #Count  #Version  #Type  #Model  #TPS  #Diff Total\n")
    code, shown, _ = run("check", "-f", path)
    assert (code, "the snapshot has neither a topic nor a group" in shown) == (4, True)
    for given in (path, head):
        out = tmp_path / "out.json"
        code, _, shown = run("convert", given, "--out", out)
        assert (code, out.exists()) == (1, False)
        assert (
            "no topic and no group" if given is path else "neither a topic nor a group"
        ) in shown


def test_convert_repeats_the_error_of_mqadmin(run, tmp_path):
    text = WRONG / "error-outputs" / "consumerProgress.case-sys-test.txt"
    code, _, shown = run("convert", text, "--out", tmp_path / "s.yaml")
    assert code == 1
    assert "CODE: 206  DESC: Not found the consumer group consume stats" in shown
