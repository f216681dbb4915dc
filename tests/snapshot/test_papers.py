"""Outputs that contradict each other, lack rows, or hold what terminals put into them."""

import pytest
from checkout import DATA

import rmqalloc
from rmqalloc.snapshot.files import read_snapshots
from rmqalloc.snapshot.plain_data import SnapshotError

PAPERS = DATA / "cases" / "papers"

ROUTE = """$ mqadmin topicRoute -t orders -l
#ClusterName  #BrokerName  #BrokerAddrs          #ReadQueue  #WriteQueue  #Perm
c             broker-a     {0=10.0.9.0:10911}    2           2            6
c             broker-b     {0=10.0.9.1:10911}    2           2            6
-----
Total:        2                                  4           4
"""
CONNECTION = """$ mqadmin consumerConnection -g order-svc
#ClientId                            #ClientAddr            #Language  #Version
10.1.1.1@7#11                        10.1.1.1:4001          JAVA       V4_9_4
10.1.1.2@8#22                        10.1.1.2:4001          JAVA       V4_9_4

Below is subscription:
#Topic               #SubExpression
orders               *

ConsumeType: CONSUME_PASSIVELY
MessageModel: CLUSTERING
ConsumeFromWhere: CONSUME_FROM_LAST_OFFSET
"""
PROGRESS = """$ mqadmin consumerProgress -g order-svc -s true
#Topic    #Broker Name   #QID  #Broker Offset  #Consumer Offset  #Client IP  #Diff  #LastTime
orders    broker-a       0     10              10                10.1.1.1    0      2023-05-11 08:00:01
orders    broker-a       1     11              10                10.1.1.1    1      2023-05-11 08:00:01
orders    broker-b       0     12              10                10.1.1.2    2      2023-05-11 08:00:01
orders    broker-b       1     13              10                10.1.1.2    3      2023-05-11 08:00:01

Consume TPS: 0.80
Consume Diff Total: 6
"""
STATUS = """$ mqadmin consumerStatus -g order-svc
#Index     #ClientId                                #Version             #ConsumerRunningInfoFile
1          10.1.1.1@7#11                            V4_9_4               1613197331645/10.1.1.1@7#11
2          10.1.1.2@8#22                            V4_9_4               1613197331645/10.1.1.2@8#22


Same subscription in the same group of consumer

Rebalance OK
"""
INFO = """$ mqadmin consumerStatus -g order-svc -i {client}
#Consumer Properties#
clientIP                                : {host}
consumerGroup                           : order-svc
instanceName                            : {instance}
messageModel                            : {model}

#Consumer Subscription#
001 Topic: orders                                   ClassFilter: false    SubExpression: *

#Consumer MQ Detail#
#Topic    #Broker Name    #QID  #ProcessQueueInfo
orders    broker-{broker}        0     ProcessQueueInfo [commitOffset=10, droped=false]
orders    broker-{broker}        1     ProcessQueueInfo [commitOffset=11, droped=false]

#Consumer RT&TPS#
"""
ALL_GROUPS = """$ mqadmin consumerProgress
#Group     #Count  #Version  #Type  #Model      #TPS  #Diff Total
order-svc  2       V4_9_4    PUSH   CLUSTERING  0     6
"""


def info(client, broker, model="CLUSTERING"):
    host, _, instance = client.partition("@")
    return INFO.format(client=client, host=host, instance=instance, broker=broker, model=model)


INFOS = info("10.1.1.1@7#11", "a") + info("10.1.1.2@8#22", "b")


def read_case(name):
    paths = sorted(path for path in (PAPERS / name).rglob("*") if path.is_file())
    return read_snapshots([str(path) for path in paths])


def owners_of(group):
    return {
        f"{queue.broker_name}:{queue.queue_id}": client.client_id
        for client in group.clients
        for queue in client.owned or ()
        if queue.topic == "orders"
    }


def rules(snapshot):
    return {finding.rule for finding in rmqalloc.check(snapshot)}


def test_outputs_that_agree_are_known(read):
    for text in (
        ROUTE + CONNECTION + PROGRESS + STATUS + ALL_GROUPS,
        ROUTE + CONNECTION + INFOS + PROGRESS,
    ):
        snapshot, warnings = read(text)
        (group,) = snapshot.groups
        assert group.unknown == {}
        assert len(owners_of(group)) == 4
        assert not any("contradict" in words or "not known" in words for words in warnings)


# --- The cases ---


def test_an_owner_that_the_list_of_clients_lacks():
    snapshot, warnings = read_case("progress-s-shows-an-owner-that-connection-lacks")
    (group,) = snapshot.groups
    assert group.client_ids == ["10.1.1.1@7#11", "10.1.1.2", "10.1.1.3@9#33"]
    assert len(owners_of(group)) == 8
    assert "all.txt:27) shows 10.1.1.2, consumerConnection (" in group.unknown["clients"]
    assert group.unknown["clients"] in warnings[0]
    assert rules(snapshot) == set()


def test_a_queue_without_a_row_has_no_known_owner():
    snapshot, warnings = read_case("progress-s-without-rows-of-a-broker")
    (group,) = snapshot.groups
    assert set(group.unknown) == {"owners", "lags"}
    assert "Diff Total 86, its rows have 44" in warnings[0]
    assert "actual-unowned" not in rules(snapshot) and "idle-client" not in rules(snapshot)


def test_owners_that_are_all_not_shown_are_not_known():
    (group,) = read_case("progress-s-all-NA")[0].groups
    assert "N/A both for an unowned queue" in group.unknown["owners"]


def test_queue_minus_one_is_a_group_in_pop_mode():
    snapshot, _ = read_case("pop-tables-read-as-owners")
    (group,) = snapshot.groups
    assert group.server_assignment == "POP"
    assert (rules(snapshot), group.unknown) == (set(), {})


def test_a_command_without_its_output_is_named():
    snapshot, warnings = read_case("command-line-without-its-output")
    (warning,) = warnings
    assert "all.txt:23: no output of mqadmin consumerProgress is read here" in warning
    assert "'sh: mqadmin: command not found'" in warning
    assert len(snapshot.groups[0].clients) == 3


def test_a_table_that_is_cut_is_refused():
    with pytest.raises(
        SnapshotError, match=r"all.txt:50: .*consumerProgress -g is cut or folded: .* column 80"
    ):
        read_case("progress-cut-at-80-columns")


def test_colours_are_no_part_of_names():
    snapshot, _ = read_case("grep-colours")
    assert {topic.name for topic in snapshot.topics} == {"orders", "%RETRY%order-svc"}
    assert len(owners_of(snapshot.groups[0])) == 8


# --- What terminals, shells and web pages put into a paste ---

WHOLE = ROUTE + CONNECTION + PROGRESS + STATUS


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(lambda text: text.replace("orders", "\x1b[01;31m\x1b[Korders\x1b[m\x1b[K"), id="colours"),
        pytest.param(lambda text: text.replace(" ", "\u00a0"), id="no-break spaces"),
        pytest.param(lambda text: text.replace("orders", "or\u200bders"), id="zero-width spaces"),
        pytest.param(lambda text: "\ufeff" + text.replace("$ mqadmin", "\ufeff$ mqadmin"), id="byte order marks"),
        pytest.param(lambda text: text.replace("\n", "\r\n"), id="carriage returns"),
        *(
            pytest.param(
                lambda text, prompt=prompt: "".join(prompt + line for line in text.splitlines(keepends=True)),
                id=f"prompt {prompt}",
            )
            for prompt in ("$ ", "# ", "> ", "[root@mq-1 ~]# ", "root@mq-1:/opt/rocketmq# ", "sh-5.1$ ", "PS C:\\mq> ")
        ),
    ],
)  # fmt: skip
def test_what_is_put_into_a_paste_changes_nothing(changed, read):
    expected, _ = read(WHOLE)
    snapshot, warnings = read(changed(WHOLE))
    assert (snapshot.topics, snapshot.groups) == (expected.topics, expected.groups)
    assert all("shows one owner of a queue" in words for words in warnings)


# --- Rows that are missing ---


@pytest.mark.parametrize(
    ("row", "facts"),
    [
        ("c             broker-b     {0=10.0.9.1:10911}    2           2            6\n", "route of topic orders"),
        ("orders    broker-b       0     12              10                10.1.1.2    2      2023-05-11 08:00:01\n",
         "rows of group order-svc are missing"),
        ("orders    broker-a       0     10              10                10.1.1.1    0      2023-05-11 08:00:01\n", None),
        ("1          10.1.1.1@7#11                            V4_9_4               1613197331645/10.1.1.1@7#11\n",
         "clients of group order-svc are"),
        ("10.1.1.1@7#11                        10.1.1.1:4001          JAVA       V4_9_4\n",
         "the clients of group order-svc are not known"),
    ],
)  # fmt: skip
def test_a_row_that_is_missing_is_noticed(row, facts, read):
    assert row in WHOLE
    snapshot, warnings = read(WHOLE.replace(row, ""))
    (group,) = snapshot.groups
    if facts is None:  # nothing is printed of what is missing, but the route has that queue
        assert "has no row of orders/broker-a:0" in group.unknown["owners"]
        assert "has no row of orders/broker-a:0" in group.unknown["lags"]
    else:
        assert any(facts in words and "all.txt:" in words for words in warnings)
        assert group.unknown or snapshot.topics[0].unknown
    assert not {finding for finding in rmqalloc.check(snapshot) if finding.severity == "error"}


def test_numbered_rows_of_early_releases_that_are_missing(read):
    text = (
        "$ mqadmin consumerConnection -g g\n"
        "001  10.1.1.1@7         10.1.1.1:4001    JAVA     V4_9_0\n"
        "003  10.1.1.3@7         10.1.1.3:4001    JAVA     V4_9_0\n"
        "\nBelow is subscription:\n"
        "001  Topic: orders      SubExpression: *\n"
        "003  Topic: payments    SubExpression: *\n"
        "\nConsumeType: CONSUME_PASSIVELY\nMessageModel: CLUSTERING\n"
    )
    (group,) = read(text)[0].groups
    assert "has no row 2" in group.unknown["clients"]
    assert "has no row 2 of topics" in group.unknown["subscriptions"]


def test_folded_rows_invent_neither_topics_nor_clients(read):
    early = (
        "$ mqadmin consumerConnection -g g\n001  10.1.1.1@7    10.1.1.1:4001    JAVA     V4_9_0\n\n"
        "Below is subscription:\n001  Topic: orders         SubExp\nression: *\n"
        "ConsumeType: CONSUME_PASSIVELY\nMessageModel: CLUSTERING\n"
    )
    with pytest.raises(SnapshotError, match=r"all.txt:6: .* topics is cut or folded"):
        read(early)
    folded = STATUS.replace("/10.1.1.1@7#11\n", "\n/10.1.1.1@7#11\n")
    with pytest.raises(SnapshotError, match=r"all.txt:4: a row of consumerStatus is cut or folded"):
        read(folded)
    with pytest.raises(SnapshotError, match="row of a client's queues is cut or folded"):
        read(info("10.1.1.1@7#11", "a").replace(", droped=false", ""))


# --- Contradictions: of two sources of one fact one is changed ---


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        pytest.param(CONNECTION.replace("10.1.1.2", "10.1.1.9") + STATUS, "clients",
                     "consumerStatus (all.txt:14) shows 10.1.1.2@8#22, consumerConnection (all.txt:2) does not",
                     id="lists of clients"),
        pytest.param(CONNECTION + info("10.1.1.3@9#33", "a"), "clients",
                     "running info (all.txt:14) shows 10.1.1.3@9#33, consumerConnection (all.txt:2) does not",
                     id="running info of a client that is not listed"),
        pytest.param(CONNECTION + PROGRESS.replace("10.1.1.2", "10.1.1.3"), "clients",
                     "consumerProgress (all.txt:17) shows 10.1.1.3, consumerConnection (all.txt:2) does not",
                     id="an owner that is not listed"),
        pytest.param(CONNECTION + ALL_GROUPS.replace(" 2 ", " 3 "), "clients",
                     "consumerProgress (all.txt:15) counts 3 clients, consumerConnection (all.txt:2) lists 2 clients",
                     id="the list of all groups counts others"),
        pytest.param(CONNECTION + INFOS + PROGRESS.replace("10.1.1.1 ", "10.1.1.2 "), "owners",
                     "shows orders/broker-a:0 at 10.1.1.2, 10.1.1.1@7#11 reports it", id="owners"),
        pytest.param(CONNECTION.replace("orders  ", "payments") + INFOS, "subscriptions",
                     "consumerConnection (all.txt:2) has topics that no client reports", id="subscriptions"),
        pytest.param(CONNECTION + STATUS.replace("V4_9_4", "V5_1_4"), None,
                     "version of 10.1.1.1@7#11, 10.1.1.2@8#22: 4.9.4 in consumerConnection (all.txt:2), "
                     "5.1.4 in consumerStatus (all.txt:14)", id="versions"),
        pytest.param(CONNECTION + info("10.1.1.1@7#11", "a", "BROADCASTING"), None,
                     "message model: CLUSTERING in consumerConnection (all.txt:2), BROADCASTING in running info",
                     id="message models"),
        pytest.param(PROGRESS.replace("Diff Total: 6", "Diff Total: 7"), "lags", "prints Diff Total 7, its rows have 6",
                     id="a total"),
    ],
)  # fmt: skip
def test_what_contradicts_is_named_and_not_known(text, kind, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "all.txt").write_text(text)
    snapshot, warnings = read_snapshots(["all.txt"])
    (group,) = snapshot.groups
    assert any(words in warning and "order-svc" in warning for warning in warnings)
    if kind is not None:
        assert words in group.unknown[kind]
    assert "error" not in {finding.severity for finding in rmqalloc.check(snapshot)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ROUTE + ROUTE.replace("0:10911}    2", "0:10911}    1").replace("  4           4", "  3           4"),
         "all.txt:8: the route of topic 'orders' is given twice and is not the same as at .*all.txt:2"),
        (PROGRESS + PROGRESS.replace("10.1.1.2 ", "10.1.1.3 "),
         r"all.txt:14: orders/broker-b:0 has the client 10.1.1.3 here and 10.1.1.2 at .*all.txt:5"),
        (PROGRESS.replace("10.1.1.2    2", "10.1.1.2    1"), "all.txt:5: .*its Diff is 1, its offsets differ by 2"),
    ],
)  # fmt: skip
def test_what_contradicts_itself_is_refused(text, said, read):
    with pytest.raises(SnapshotError, match=said):
        read(text)
