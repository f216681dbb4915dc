"""Outputs of getConsumerStatus and brokerConsumeStats."""

import pytest
from checkout import DATA

import rmqalloc
from rmqalloc.snapshot.files import read_snapshots
from rmqalloc.snapshot.plain_data import SnapshotError

PAPERS = DATA / "cases" / "papers"
ROUTE = """\
$ mqadmin topicRoute -t orders
{"brokerDatas":[{"brokerAddrs":{0:"10.0.0.1:10911"},"brokerName":"broker-a","cluster":"c"}],
"queueDatas":[{"brokerName":"broker-a","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}
"""
CONNECTION = """\
$ mqadmin consumerConnection -g order-svc
#ClientId                            #ClientAddr            #Language  #Version
10.1.1.1@7#1                         10.1.1.1:50000         JAVA       V5_3_0
10.1.1.2@7#1                         10.1.1.2:50000         JAVA       V5_3_0

Below is subscription:
#Topic               #SubExpression
orders               *

ConsumeType: CONSUME_PASSIVELY
MessageModel: CLUSTERING
ConsumeFromWhere: CONSUME_FROM_LAST_OFFSET
"""
STATUS = (PAPERS / "getConsumerStatus" / "getConsumerStatus.txt").read_text()
STATS = (DATA / "mqadmin" / "formats" / "5.3.3" / "brokerConsumeStats.txt").read_text()


def owned(group):
    return {
        client.client_id: None
        if client.owned is None
        else {queue.queue_id for queue in client.owned}
        for client in group.clients
    }


def test_owners_of_a_topic(read):
    snapshot, warnings = read(ROUTE + CONNECTION + STATUS)
    (group,) = snapshot.groups
    assert owned(group) == {"10.1.1.1@7#1": {0, 1}, "10.1.1.2@7#1": {2, 3}}
    assert (group.lags, dict(group.unknown), warnings) == ((), {}, ())
    assert not {fault.rule for fault in rmqalloc.check(snapshot) if fault.severity == "error"}


def test_alone_it_names_group_topic_and_some_clients(read):
    snapshot, _ = read(STATUS)
    (group,) = snapshot.groups
    assert (group.name, group.subscriptions) == ("order-svc", ("orders",))
    assert owned(group) == {"10.1.1.1@7#1": {0, 1}, "10.1.1.2@7#1": {2, 3}}
    assert group.unknown["clients"] == "only those that own a queue are known"
    assert "and for a client that did not answer" in group.unknown["owners"]


def test_a_queue_without_a_row_is_not_known(read):
    lost = "\n".join(
        line for line in STATUS.splitlines() if "@7#1" not in line or "1.1.2" not in line
    )
    (group,) = read(ROUTE + CONNECTION + lost)[0].groups
    assert owned(group) == {"10.1.1.1@7#1": {0, 1}, "10.1.1.2@7#1": None}
    assert "getConsumerStatus has no row of orders/broker-a:2" in group.unknown["owners"]


def test_a_queue_at_two_clients_has_no_known_owner(read):
    text = STATUS.replace("broker-a         2 ", "broker-a         1 ")
    snapshot, warnings = read(ROUTE + CONNECTION + text)
    (group,) = snapshot.groups
    assert "all.txt:20) shows queue 1 of broker-a at a second client" in warnings[0]
    assert "at a second client" in group.unknown["owners"]
    assert owned(group) == {"10.1.1.1@7#1": {0}, "10.1.1.2@7#1": {3}}


def test_a_client_that_consumerConnection_lacks(read):
    snapshot, warnings = read(ROUTE + CONNECTION + STATUS.replace("10.1.1.2@7#1", "10.1.1.3@7#1"))
    words = "getConsumerStatus (.*) shows 10.1.1.3@7#1, consumerConnection (.*) does not"
    assert any("shows 10.1.1.3@7#1, consumerConnection" in warning for warning in warnings), words
    assert "10.1.1.3@7#1" in snapshot.groups[0].unknown["clients"]


def test_an_id_as_long_as_its_column_counts_by_its_address(read):
    whole = "10.1.1.1@" + "7" * 60
    text = CONNECTION.replace("10.1.1.1@7#1", whole) + STATUS.replace("10.1.1.1@7#1", whole[:50])
    (group,) = read(ROUTE + text)[0].groups
    assert owned(group) == {whole: {0, 1}, "10.1.1.2@7#1": {2, 3}}


def test_nobody_with_an_offset(read):
    snapshot, warnings = read(STATUS[: STATUS.index("10.1.1.1")])
    assert "clients that pop" in snapshot.groups[0].unknown["owners"]
    assert "all.txt:1) shows no client with an offset of topic orders" in warnings[0]


def test_a_folded_row_is_refused(read):
    with pytest.raises(
        SnapshotError, match=r"all.txt:3: a row of getConsumerStatus is cut or folded"
    ):
        read(STATUS.replace("0                100", "0\n100", 1))


def test_offsets_of_all_groups_at_one_broker(read):
    snapshot, _ = read(STATS)
    groups = {group.name: group for group in snapshot.groups}
    assert {name: sum(lag.messages for lag in group.lags) for name, group in groups.items()} == {
        "order-svc": 0,
        "audit": 2,
    }
    assert all("shows one broker" in group.unknown["lags"] for group in groups.values())
    assert [group.client_ids for group in groups.values()] == [[], []]


def test_rows_of_one_broker_beside_the_route(read):
    groups = read(ROUTE + CONNECTION + STATS)[0].groups
    (group,) = (group for group in groups if group.name == "order-svc")
    assert group.unknown["lags"].startswith("brokerConsumeStats has no row of orders/broker-a:2")


@pytest.mark.parametrize("name", ["g" * 80, "audit"])
def test_a_group_that_sticks_out_of_its_column(name, read):
    snapshot, _ = read(STATS.replace(f"{'audit':64}", f"{name:64}"))
    assert {group.name for group in snapshot.groups} == {"order-svc", name}
    assert {lag.queue.broker_name for group in snapshot.groups for lag in group.lags} == {
        "broker-a"
    }


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("5                     1 ", "5                     2 ", r"all.txt:4: .* its Diff is 2, its offsets differ by 1"),
        ("#QID", "#\tQID", r"all.txt:1: the head has no column #QID"),
        ("audit   ", "\n", r"all.txt:\d+: a row of brokerConsumeStats is cut"),
    ],
)  # fmt: skip
def test_rows_that_are_cut_or_changed(old, new, said, read):
    with pytest.raises(SnapshotError, match=said):
        read(STATS.replace(old, new))


def test_tools_of_rust():
    folder = PAPERS / "rust-tools-tps-has-decimals"
    groups = read_snapshots([str(folder / "consumerProgress.txt")])[0].groups
    assert {group.name: group.consume_tps for group in groups} == {"rs-svc": 1.25, "rs-off": None}
    folder = PAPERS / "rust-tools-version-prefix"
    (group,) = read_snapshots([str(folder / "consumerStatus.rs-svc.txt")])[0].groups
    assert [client.version for client in group.clients] == ["5.3.0", "5.0.0"]


def test_a_group_of_rust_that_pops(read):
    text = (PAPERS / "rust-tools-tps-has-decimals" / "consumerProgress.txt").read_text()
    (group, _) = read(text.replace("PUSH   CLUSTERING", "POP              "))[0].groups
    assert (group.name, group.message_model) == ("rs-svc", "CLUSTERING")
