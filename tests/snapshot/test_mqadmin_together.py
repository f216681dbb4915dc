"""Outputs of mqadmin put together: one group stays one, and nothing that was said is lost in
silence.
"""

import pytest

from rmqalloc import MessageQueue
from rmqalloc.snapshot.files import read_snapshots
from rmqalloc.snapshot.plain_data import SnapshotError

ROUTE = '{"brokerDatas":[%s],"filterServerTable":{},"queueDatas":[%s]}\n'


def route(**addresses):
    datas = ",".join(
        f'{{"brokerAddrs":{{0:"{one}",1:"{one}1"}},"brokerName":"{name}"}}'
        for name, one in addresses.items()
    )
    queues = ",".join(
        f'{{"brokerName":"{name}","perm":6,"readQueueNums":2,"writeQueueNums":2}}'
        for name in addresses
    )
    return ROUTE % (datas, queues)


def connection(topics, *client_ids):
    rows = "".join(f"{one:<36} 10.0.0.9:1             JAVA       V5_1_4\n" for one in client_ids)
    subscribed = "".join(f"{topic:<20} *\n" for topic in topics)
    return (
        f"#ClientId                            #ClientAddr            #Language  #Version\n{rows}\nBelow is subscription:\n"
        f"#Topic               #SubExpression\n{subscribed}\nConsumeType: CONSUME_PASSIVELY\nMessageModel: CLUSTERING\n"
    )


def progress(*rows, width=64, tps=1.0, addresses=False):
    """Rows are topic, queue id, broker offset, and with addresses a client's."""
    ip = f"{'#Client IP':<20} " if addresses else ""
    text = f"{'#Topic':<{width}}  {'#Broker Name':<32}  #QID  {'#Broker Offset':<20}  {'#Consumer Offset':<20}  "
    text += f"{ip}{'#Diff':<20}  #LastTime\n"
    for topic, number, end, *address in rows:
        ip = f"{address[0]:<20} " if address else ""
        text += f"{topic[:width]:<{width}}  {'a':<32}  {number:<4}  {end:<20}  {3:<20}  {ip}{end - 3:<20}  N/A\n"
    total = sum(end - 3 for _, _, end, *_ in rows)
    return f"{text}\nConsume TPS: {tps:.2f}\nDiff Total: {total}\n"


@pytest.fixture
def read(tmp_path):
    """The snapshot of texts by file name, and its warnings."""

    def read(texts):
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
        return read_snapshots([str(tmp_path / name) for name in texts])

    return read


def names(snapshot):
    return [one.name for one in snapshot.groups]


# --- One group, never a second one ---

LONG = "a-group-whose-name-is-longer-than-32"


@pytest.mark.parametrize(
    "topic", [f"%RETRY%{LONG}"[:32], "%RETRY%g_orders", "%RETRY%g+orders", "%RETRY%other"]
)
def test_the_name_that_the_operator_gives_wins(topic, read):
    group = LONG if topic.startswith("%RETRY%a-") else "g"
    rows = progress((topic, 0, 3), ("orders", 0, 5), width=32)
    for texts in (
        {f"consumerProgress.{group}.txt": rows},
        {"consumerProgress.wrong.txt": f"$ mqadmin consumerProgress -t orders -g {group}\n{rows}"},
    ):
        snapshot, warnings = read(
            {**texts, "c.txt": connection(["orders", f"%RETRY%{group}"], "c1")}
        )
        assert names(snapshot) == [group]
        assert any("its retry topics are others'" in one for one in warnings) == (
            topic == "%RETRY%other"
        )


def test_without_a_name_a_retry_topic_tells_the_group_only_if_it_can_be_no_other(read):
    assert names(read({"p.txt": progress(("%RETRY%g", 0, 3), ("orders", 0, 5))})[0]) == ["g"]
    assert names(read({"p.txt": progress(("%RETRY%g+orders", 0, 3), ("orders", 0, 5))})[0]) == ["g"]
    unclear = progress(("%RETRY%g_orders", 0, 3), ("orders", 0, 5))
    with pytest.raises(SnapshotError, match="this output does not print its group"):
        read({"p.txt": unclear})
    both = progress(("%RETRY%g", 0, 3), ("%RETRY%g_orders", 0, 3), ("orders", 0, 5))
    assert names(read({"p.txt": both})[0]) == ["g"]
    for group in ("g", "g_orders"):
        assert names(
            read({"p.txt": unclear, "c.txt": connection(["orders", f"%RETRY%{group}"], "c1")})[0]
        ) == [group]


def test_without_a_name_a_retry_topic_that_is_cut_tells_the_group_if_another_output_has_it_whole(
    read,
):
    rows = progress((f"%RETRY%{LONG}", 0, 3), ("orders", 0, 5), width=32)
    with pytest.raises(SnapshotError, match="this output does not print its group"):
        read({"p.txt": rows})
    snapshot, _ = read({"p.txt": rows, "c.txt": connection(["orders", f"%RETRY%{LONG}"], "c1")})
    assert names(snapshot) == [LONG]
    assert len(snapshot.groups[0].lags) == 2


@pytest.mark.parametrize(
    "head", ["", "$ for g in a b; do mqadmin consumerConnection -g $g; done\n"]
)
def test_one_name_does_not_stand_for_a_loop(head, read):
    text = head + connection(["t", "%RETRY%a"], "c1") + connection(["t", "%RETRY%b"], "c2")
    assert names(read({"consumerConnection.all.txt": text})[0]) == ["a", "b"]


# --- Several outputs of one group ---


def test_lags_of_several_topics_are_put_together(read):
    texts = {
        "1.txt": "$ mqadmin consumerProgress -g g -t orders\n"
        + progress(("orders", 0, 5), ("orders", 1, 6), tps=2),
        "2.txt": "$ mqadmin consumerProgress -t payments -g g\n"
        + progress(("payments", 0, 7), tps=0.5),
    }
    (group,) = read(texts)[0].groups
    assert {(one.queue.topic, one.queue.queue_id): one.messages for one in group.lags} == {
        ("orders", 0): 2,
        ("orders", 1): 3,
        ("payments", 0): 4,
    }
    assert group.consume_tps == 2.5


def test_one_queue_with_other_offsets_names_both_places(read):
    whole = progress(("orders", 0, 5), ("payments", 0, 7), tps=3)
    same = {"consumerProgress.g.txt": whole, "consumerProgress.g.log": progress(("orders", 0, 5))}
    (group,) = read(same)[0].groups
    assert (len(group.lags), group.consume_tps) == (2, 3)
    with pytest.raises(
        SnapshotError,
        match=r"g.txt:2: queue 0 of topic 'orders' .* offsets 5 .* and 6 .* at .*g.log:2; give",
    ):
        read(same | {"consumerProgress.g.log": progress(("orders", 0, 6))})


def test_owners_of_a_topic_that_was_not_asked_about_are_not_known(read):
    rows = "$ mqadmin consumerProgress -g g -t orders -s true\n" + progress(
        ("orders", 0, 5, "10.0.0.1"), addresses=True
    )
    texts = {
        "p.txt": rows,
        "c.txt": connection(["orders", "payments", "%RETRY%g"], "10.0.0.1@1", "10.0.0.2@1"),
    }
    (group,) = read(texts)[0].groups
    assert [one.owned for one in group.clients] == [(MessageQueue("orders", "a", 0),), None]
    assert group.unknown["owners"] == "consumerProgress has no row of payments"


# --- Lists of brokers ---


def asked(broker, *client_ids):
    return f"$ mqadmin consumerConnection -g g --brokerAddr={broker}\n" + connection(
        ["t", "%RETRY%g"], *client_ids
    )


def test_lists_go_by_the_names_that_the_route_gives_to_addresses_of_slaves_too(read):
    texts = {
        "topicRoute.t.json": route(a="x:1", b="y:1"),
        "c.txt": asked("x:1", "c1", "c2", "c3") + asked("y:11", "c1", "c4"),
    }
    snapshot, warnings = read(texts)
    (group,) = snapshot.groups
    assert group.broker_client_ids == {"a": ("c1", "c2", "c3"), "b": ("c1", "c4")}
    assert (group.client_ids, warnings) == (["c1", "c2", "c3"], ())


def test_a_broker_without_a_name_keeps_its_address(read):
    snapshot, warnings = read(
        {
            "topicRoute.t.json": route(a="x:1"),
            "c.txt": asked("x:1", "c1") + asked("y:1", "c1", "c4"),
        }
    )
    (group,) = snapshot.groups
    assert (group.broker_client_ids, group.client_ids) == (
        {"a": ("c1",), "y:1": ("c1", "c4")},
        ["c1", "c4"],
    )
    assert "no topicRoute names the broker at y:1" in warnings[0]


def test_a_client_in_a_list_of_a_broker_that_nobody_named_is_not_lost_in_silence(read):
    texts = {
        "topicRoute.t.json": route(a="x:1"),
        "c.txt": asked("x:1", "c1"),
        "d.txt": connection(["t", "%RETRY%g"], "c5"),
    }
    snapshot, warnings = read(texts)
    assert "d.txt:1) shows c5, consumerConnection (" in warnings[0]
    assert snapshot.groups[0].unknown["clients"] in warnings[0]
    assert snapshot.groups[0].client_ids == ["c1", "c5"]
    texts = {
        "c.txt": connection(["t", "%RETRY%g"], "c1", "c2"),
        "d.txt": connection(["t", "%RETRY%g"], "c5"),
    }
    snapshot, warnings = read(texts)
    assert "d.txt:1) shows c5, consumerConnection (" in warnings[0]
    assert "c.txt:1) shows c1, c2, consumerConnection (" in warnings[1]
    assert snapshot.groups[0].unknown["clients"] in warnings[0]
    assert snapshot.groups[0].client_ids == ["c1", "c2", "c5"]


# --- Among others ---

FAILED = "org.apache.rocketmq.tools.command.SubCommandException: ConsumerProgressSubCommand command failed\n\tat a.B.c\n"
CLUSTERS = "#Cluster Name     #Broker Name            #BID  #Addr\nDefaultCluster    a      0     10.0.0.1:1\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            FAILED + "Caused by: a.b.MQClientException: CODE: 206  DESC: no stats\n",
            "s.log:2: this is an error of mqadmin consumerPro",
            id="an error",
        ),
        pytest.param(CLUSTERS, "s.log:2: this is the output of clusterList", id="clusterList"),
    ],
)
@pytest.mark.parametrize("command", ["$ mqadmin consumerProgress -g g\n", "$ ./run\n"])
def test_what_is_not_read_among_outputs_that_are_is_a_warning(text, said, command, read):
    snapshot, warnings = read({"s.log": command + text + connection(["t", "%RETRY%g"], "c1")})
    assert names(snapshot) == ["g"]
    assert said in warnings[0]


def test_a_failure_below_an_output_is_told(read):
    _, warnings = read({"s.log": connection(["t", "%RETRY%g"], "c1") + FAILED})
    assert "this is an error of mqadmin consumerProgress, not its output" in warnings[0]


def test_a_route_below_a_table_is_read(read):
    text = connection(["t", "%RETRY%g"], "c1") + "$ mqadmin topicRoute -t t\n" + route(a="x:1")
    assert [one.name for one in read({"s.log": text})[0].topics] == ["t"]
    with pytest.raises(SnapshotError, match="topicRoute does not print its topic"):
        read({"s.log": connection(["t", "%RETRY%g"], "c1") + route(a="x:1")})


def test_a_name_in_the_list_of_all_groups_that_is_cut(read):
    head = f"{'#Group':<32}  #Count  #Version  #Type  #Model  #TPS  #Diff Total\n"
    row = f"{LONG[:32]:<32}  2       V4_5_2    PUSH   BROADCASTING  118     7\n"
    snapshot, _ = read(
        {"p.txt": head + row, "c.txt": connection(["t", f"%RETRY%{LONG}"], "c1", "c2")}
    )
    assert [(one.name, one.consume_tps) for one in snapshot.groups] == [(LONG, 118)]
    snapshot, warnings = read({"p.txt": head + row})
    assert (names(snapshot), snapshot.groups[0].message_model) == ([LONG[:32]], "BROADCASTING")
    assert any("it is probably cut" in one for one in warnings)


def test_an_empty_subscription_table_before_4_9_3(read):
    rows = "001  c1                               10.0.0.1:1             JAVA     V4_5_2\n"
    text = (
        f"{rows}\nBelow is subscription:ConsumeType: CONSUME_PASSIVELY\nMessageModel: CLUSTERING\n"
    )
    (group,) = read({"consumerConnection.g.txt": text})[0].groups
    assert (group.client_ids, group.subscriptions) == (["c1"], ())
