"""Logs of Java clients: real ones against what the cluster reported at that moment, every statement
of every release, and what lines leave open.
"""

import json
import re
from datetime import UTC, datetime

import pytest
from checkout import ROOT
from cli_commands import runner

from rmqalloc import MessageQueue
from rmqalloc.history import History
from rmqalloc.snapshot.files import read, read_logs, read_snapshots
from rmqalloc.snapshot.files.outputs._client_log import (
    Absent,
    ClientState,
    ConsumerState,
    Divided,
    ListFailed,
    Ordered,
    QueueChange,
    Result,
    events,
)
from rmqalloc.snapshot.plain_data import SnapshotError
from rmqalloc.snapshot.unknown import Unknowns

FOLDER = ROOT / "tests" / "data" / "client_logs"
"""Excerpts of logs of real clients, and what the cluster reported when so many lines were there."""
CASES = {folder.name: json.loads((folder / "live.json").read_text()) for folder in FOLDER.iterdir()}
PHASES = [
    pytest.param(name, number, id=f"{name}-{phase['phase']}")
    for name, phases in sorted(CASES.items())
    for number, phase in enumerate(phases)
]


def lines_of(case, phase):
    """The lines that each log had then, by its name."""
    found = {}
    for name, n in phase["lines"].items():
        text = (FOLDER / case / f"{name}.txt").read_bytes().decode()
        found[name] = "".join(text.splitlines(keepends=True)[:n])
    return found


def owners_of(group):
    return {
        client.client_id: [f"{q.topic} {q.broker_name} {q.queue_id}" for q in client.owned]
        for client in group.clients
    }


def without_folder(words):
    return re.sub(r"[^ (]*/", "", words)


@pytest.fixture
def given(tmp_path):
    """The snapshot of texts by file name, and its warnings."""

    def given(texts):
        for name, text in texts.items():
            (tmp_path / name).write_bytes(text.encode())
        snapshot, warnings = read_snapshots([str(tmp_path / name) for name in texts])
        return snapshot, [warning.replace(f"{tmp_path}/", "") for warning in warnings]

    return given


# --- Real logs ---


@pytest.mark.parametrize(("case", "number"), PHASES)
def test_owners_are_those_that_the_cluster_reported(case, number, given):
    phase = CASES[case][number]
    snapshot, warnings = given(lines_of(case, phase))
    (group,) = snapshot.groups
    assert {client.strategy for client in group.clients} == {
        "CONSISTENT_HASH" if "ring" in case else "AVG_BY_CIRCLE" if "pull" in case else "AVG"
    }
    assert {client.version for client in group.clients} == {case.partition("-")[0]}
    assert group.is_ordered == ("ordered" in case)
    assert group.server_assignment == {"5.5.0-pop": "POP", "5.5.0-served": "PULL"}.get(case)
    if phase["phase"] == "b-killed":  # which no line says
        assert "clients" in group.unknown
        assert len(warnings) == 2
        return
    assert owners_of(group) == phase["owners"]
    if group.server_assignment is None:  # all logs are given, from the start of each client
        assert group.unknown == {}
        assert [topic.unknown for topic in snapshot.topics] == [{}, {}][: len(snapshot.topics)]
    assert all("taken to have ended" in warning for warning in warnings)


def test_a_count_that_is_old_is_no_other_list(given):
    """The second of three clients kept its queues when the third came, and printed no line."""
    phase = CASES["5.5.0-ring-ordered"][2]
    texts = lines_of("5.5.0-ring-ordered", phase)
    last = [line for line in texts["b"].splitlines() if "rebalanced result changed" in line][-1]
    assert "cidAllSize=2," in last
    snapshot, warnings = given(texts)
    assert (snapshot.groups[0].unknown, warnings) == ({}, [])
    assert len(snapshot.groups[0].clients) == 3


def test_times_of_the_client_s_own_pattern_are_those_of_china():
    """The servers' clock said 02:52:50 UTC then; the Java machine's time zone was UTC, too."""
    text = (FOLDER / "5.5.0-avg" / "a.txt").read_text()
    first = next(event for event in events(text) if isinstance(event.fact, Result))
    assert datetime.fromtimestamp(first.at, UTC).isoformat() == "2026-11-30T02:52:50.780000+00:00"


# --- Statements ---

TIME = "2021-04-02 20:16:19,911 INFO RebalanceService - "
ORDERS = [MessageQueue("orders", "broker-a", number) for number in range(8)]


def queue_text(queue):
    topic, broker, number = queue
    return f"MessageQueue [topic={topic}, brokerName={broker}, queueId={number}]"


def result(client_id, queues, n_clients=1, n_queues=8, **more):
    """A line as clients of 3.5.8 to 4.9 print it."""
    given = {"strategy": "AVG", "group": "g", "topic": "orders", "size": len(queues)} | more
    listed = ", ".join(map(queue_text, queues))
    return (
        "rebalanced result changed. allocateMessageQueueStrategyName={strategy}, group={group}, topic={topic}, "
        "clientId={client_id}, mqAllSize={n_queues}, cidAllSize={n_clients}, rebalanceResultSize={size}, "
        "rebalanceResultSet=[{listed}]"
    ).format(client_id=client_id, n_queues=n_queues, n_clients=n_clients, listed=listed, **given)


def log(*messages, first=10):
    """A log whose lines are a minute apart."""
    lines = [
        f"2021-04-02 {first + number // 60:02}:{number % 60:02}:00,000 INFO x - {message}\n"
        for number, message in enumerate(messages)
    ]
    return "".join(lines)


def facts(text):
    return [event.fact for event in events(text)]


def created(client_id, index=0):
    return (
        f"Created a new client Instance, InstanceIndex:{index}, ClientID:{client_id}, "
        "ClientConfig:ClientConfig [x], ClientVersion:V4_9_8, SerializerType:JSON"
    )


@pytest.mark.parametrize(
    ("prefix", "suffix"),
    [
        pytest.param(TIME, "", id="log4j"),
        pytest.param("", "", id="bare"),
        pytest.param("2021-04-02T20:16:19.911+08:00  INFO 1 --- [nce] c.x.Y : client ", "", id="spring"),
        pytest.param('{"@timestamp":"2021-04-02T20:16:19.911Z","message":"client ', '","level":"INFO"}', id="json"),
        pytest.param("\x1b[33m2021-04-02 20:16:19.911\x1b[0;39m \x1b[34mINFO \x1b[0;39m - ", "\r", id="coloured"),
        pytest.param("app-1  | 2021-04-02 20:16:19,911 [main] INFO - ", " [extra]]", id="compose"),
    ],
)  # fmt: skip
def test_a_result_stands_in_any_log(prefix, suffix):
    line = result("10.8.1.7@21#1", ORDERS[:3], 2)
    before = f"{TIME}something else\n"
    (event,) = events(f"{before}{prefix}{line}{suffix}\n{before}")
    assert event.line == 2
    assert event.fact == Result(
        "AVG", "g", "orders", "10.8.1.7@21#1", 8, 2, 3, tuple(ORDERS[:3]), cut=None
    )


@pytest.mark.parametrize(
    ("prefix", "zoned"),
    [
        ("2021-04-02 20:16:19,911 INFO - ", None),
        ("[2021/04/02 20:16:19.911] [RebalanceService] ", None),
        ("02-Apr-2021 20:16:19.911 INFO [x] ", None),
        ("2021-04-02T20:16:19.911Z stdout F ", "+00:00"),
        ("2021-04-02 20:16:19,911 +0530 INFO ", "+05:30"),
        ("2021-04-02 20:16:19.911 GMT-03:00 ", "-03:00"),
        ("2021-04-02T20:16:19.911000000Z 2021-04-03 04:16:19,900 INFO ", "+00:00"),
        ("2021-04-03 04:16:19,900 x 2021-04-02T20:16:19.911Z ", "+00:00"),
        ("2021-04-02 20:16:19.911 INFO  [27770] [main] [o.a.r.c.i.c.RebalanceImpl#?:?] - ", "+08:00"),
        ("2021-04-02 20:16:19.911 INFO  [1] [a b] [RebalanceImpl#rebalanceByTopic:330] - client ", "+08:00"),
    ],
)  # fmt: skip
def test_times(prefix, zoned):
    (event,) = events(prefix + result("c", ORDERS))
    at = datetime.fromisoformat(f"2021-04-02T20:16:19.911{zoned or ''}").timestamp()
    assert event.at == pytest.approx(at)


@pytest.mark.parametrize(
    "prefix", ["", "20:16:19.911 [main] ", "2021-13-41 20:16:19 ", "12345678 "]
)
def test_no_time(prefix):
    (event,) = events(prefix + result("c", ORDERS))
    assert event.at is None


def test_the_time_of_a_pattern_of_4_2_is_known_by_the_name_of_the_file():
    line = "2018-01-02 10:11:12 INFO RebalanceService - " + result("c", ORDERS)
    (own,) = events(line, "logs/rocketmq_client.log.1")
    (other,) = events(line, "app.log")
    assert own.at == datetime.fromisoformat("2018-01-02T10:11:12+08:00").timestamp()
    assert other.at == datetime.fromisoformat("2018-01-02T10:11:12").timestamp()


def test_names_may_have_blanks_and_brackets():
    queues = [MessageQueue("orders", name, 0) for name in ("a b", "[a]", "a, b", "a]] x", "a=[b")]
    (found,) = facts(result("10.0.0.1@my app [1], x", queues, group="a [b], c"))
    assert (found.group, found.client_id) == ("a [b], c", "10.0.0.1@my app [1], x")
    assert found.queues == tuple(queues)


def test_a_line_that_is_cut_is_never_a_shorter_one():
    line = result("10.8.1.7@21#1", ORDERS[:4], 2)
    words = len("rebalanced result changed.")
    for end in range(words, len(line)):
        (found,) = facts(line[:end])
        assert (found.queues, bool(found.cut)) == (None, True)
        assert found.client_id in ("", "10.8.1.7@21#1")
    assert all(facts(line[:end]) == [] for end in range(words))


def test_a_set_that_a_log_shortens_is_not_whole():
    line = result("c", ORDERS[:4])
    short = line.replace(f", {queue_text(ORDERS[2])}", "")
    assert facts(short)[0].cut == "rebalanceResultSize is 4, and 3 are named"
    assert facts(result("c", [], size=0))[0].queues == ()


def test_what_brokers_assign():
    head = "broker rebalanced result changed. allocateMessageQueueStrategyName=AVG, group=g, topic=orders, clientId=c, "
    assigned = [
        f"MessageQueueAssignment [MessageQueue={queue_text(ORDERS[0])}, Mode=PULL]",
        f"MessageQueueAssignment [MessageQueue={queue_text(ORDERS[1]._replace(queue_id=-1))}, Mode=POP]",
    ]
    line = f"{head}assignmentSet=[{', '.join(assigned)}]"
    (found,) = facts(line)
    assert (found.queues, found.popped) == ((ORDERS[0],), (MessageQueue("orders", "broker-a", -1),))
    assert (found.n_clients, found.is_served, found.cut) == (None, True, None)
    assert facts(f"{head}assignmentSet=[]")[0].queues == ()
    cuts = {facts(line[:end])[0].cut for end in range(len(head) + 20, len(line))}
    assert cuts == {"its assignmentSet has no end"}


QUEUE = queue_text(ORDERS[3])


@pytest.mark.parametrize(
    ("message", "change"),
    [
        (f"doRebalance, g, add a new mq, {QUEUE}", "added"),
        (f"doRebalance, g, add a new pop mq, {QUEUE}", "added"),
        (f"doRebalance, g, mq already exists, {QUEUE}", "added"),
        (f"doRebalance, g, remove unnecessary mq, {QUEUE}", "removed"),
        (f"doRebalance, g, remove unnecessary pop mq, {QUEUE}", "removed"),
        (
            f"doRebalance, g, truncateMessageQueueNotMyTopic remove unnecessary mq, {QUEUE}",
            "removed",
        ),
        (
            f"[BUG]doRebalance, g, remove unnecessary mq, {QUEUE}, because pull is pause, so try to fixed it",
            "removed",
        ),
        (f"Fix Offset, g, remove unnecessary mq, {QUEUE} Droped: false", "removed"),
        (f"doRebalance, g, add a new mq failed, {QUEUE}, because lock failed", "failed"),
        (f"doRebalance, g, add new mq failed, {QUEUE}", "failed"),
        (f"doRebalance, g, compute offset failed, {QUEUE}", "failed"),
    ],
)
def test_changes_of_queues(message, change):
    assert facts(f"{TIME}{message}\n") == [QueueChange("g", ORDERS[3], change)]


@pytest.mark.parametrize(
    ("message", "fact"),
    [
        ("doRebalance, g, but the topic[absent] not exist.", Absent("g", "absent")),
        ("doRebalance, g orders, get consumer id list failed", ListFailed("g", "orders")),
        (f"the message queue lock OK, g {QUEUE}", Ordered("g")),
        (f"message queue lock Failed, g {QUEUE}", Ordered("g")),
        (f"the message queue locked OK, Group: g {QUEUE}", Ordered("g")),
        ("the consumer [g] start OK.", ConsumerState("g", False)),
        ("the consumer [g] shutdown OK", ConsumerState("g", True)),
        ("the client factory [10.0.0.1@1#2] start OK", ClientState("10.0.0.1@1#2", False)),
        ("the client factory [10.0.0.1@1#2] shutdown OK", ClientState("10.0.0.1@1#2", True)),
        (created("10.0.0.1@1", 2), ClientState("10.0.0.1@1", False, "V4_9_8", False)),
        (
            "created a new client Instance, FactoryIndex: 0 ClinetID: 10.0.0.1@1 "
            "ClientConfig [namesrvAddr=x] V4_2_0, serializeType=JSON",
            ClientState("10.0.0.1@1", False, "V4_2_0", True),
        ),
    ],
)
def test_statements_beside_results(message, fact):
    assert facts(f"{TIME}{message}\n") == [fact]


@pytest.mark.parametrize(
    "message",
    [
        f"[BUG]doRebalance, g, try remove unnecessary mq, {QUEUE}, because pull is pause, so try to fixed it",
        "the consumer [g] start beginning. messageModel=CLUSTERING, isUnitMode=false",
        "doRebalance, g, add a new mq, MessageQueue [topic=orders, brokerName=bro",
        "grep 'rebalanced result changed.' rocketmq_client.log",
        "rebalanced result changed. group=g, topic=t, clientId=c, mqAllSize=1, cidAllSize=1, rebalanceResultSize=1",
    ],
)
def test_what_states_nothing(message):
    assert facts(f"{TIME}{message}\n") == []


def test_several_messages_in_one_line():
    line = ", ".join(f'{{"m":"{result("c", ORDERS[:n])}"}}' for n in (1, 2, 3))
    assert [len(found.queues) for found in facts(f"[{line}]")] == [1, 2, 3]


# --- What logs leave ---

BOTH = {"a.log": log(result("a", ORDERS[:4], 2)), "b.log": log(result("b", ORDERS[4:], 2))}


def test_one_client_of_several(given):
    """The log of papers/java-client-log: the second line is the state, of three clients one is known."""
    snapshot, warnings = given({
        "rocketmq_client.log": log(
            result("10.8.1.7@21#1", ORDERS[:4], 2),
            f"doRebalance, g, add a new mq, {queue_text(ORDERS[0])}",
            result("10.8.1.7@21#1", ORDERS[:3], 3),
        )
    })  # fmt: skip
    (group,), (topic,) = snapshot.groups, snapshot.topics
    (client,) = group.clients
    assert (client.owned, client.strategy, client.subscriptions) == (tuple(ORDERS[:3]), "AVG", None)
    assert group.unknown["clients"] == "logs of 1 client are given, each of which counts 3"
    assert group.subscriptions == ("orders",)
    assert topic.unknown["routes"].endswith(
        "highest queue id seen: 4, and a client divides 8 ("
        + topic.unknown["routes"].partition("(")[2]
    )
    assert "rocketmq_client.log:3)" in topic.unknown["routes"]
    assert warnings == []


def test_clients_are_known_where_each_counts_as_many(given):
    snapshot, warnings = given(BOTH)
    (group,) = snapshot.groups
    assert owners_of(group) == {
        "a": [f"orders broker-a {number}" for number in range(4)],
        "b": [f"orders broker-a {number}" for number in range(4, 8)],
    }
    assert set(group.unknown) == {"subscriptions"}  # no log has the start of a client
    assert (snapshot.topics[0].unknown, warnings) == ({}, [])


def test_the_start_of_all_clients_makes_topics_known(given):
    texts = {name: log(created(name[0])) + text for name, text in BOTH.items()}
    (group,) = given(texts)[0].groups
    assert (group.unknown, group.clients[0].version) == ({}, "4.9.8")


def test_counts_that_differ_are_named(given):
    texts = {"a.log": log(result("a", ORDERS[:4], 2)), "b.log": log(result("b", ORDERS[3:], 3))}
    snapshot, warnings = given(texts)
    both = "the log of a (a.log:1) counts 2 clients, the log of b (b.log:1) counts 3 clients"
    assert without_folder(snapshot.groups[0].unknown["clients"]) == both
    assert warnings[0].startswith(f"group g: {both}: they have different lists")


def test_an_old_count_with_a_queue_of_two_owners_is_another_list(given):
    texts = {"a.log": log(result("a", ORDERS)), "b.log": log(result("b", ORDERS[4:], 2), first=11)}
    snapshot, warnings = given(texts)
    both = "the log of a (a.log:1) counts 1 client, the log of b (b.log:1) counts 2 clients"
    assert without_folder(snapshot.groups[0].unknown["clients"]) == both
    assert [client.owned for client in snapshot.groups[0].clients] == [None, tuple(ORDERS[4:])]
    assert len(warnings) == 2


def test_a_split_list_is_named_and_accuses_nobody(given, capsys, tmp_path):
    texts = {"a.log": log(result("a", ORDERS)), "b.log": log(result("b", ORDERS), first=11)}
    snapshot, warnings = given(texts)
    a, b = snapshot.groups[0].clients
    assert (a.owned, b.owned) == (None, tuple(ORDERS))
    assert (
        "logs of 2 clients are given, and the log of a (a.log:1) counts 1 client, as the"
        in warnings[0]
    )
    assert "queue orders broker-a:0 is its own at a.log:1, and that of b at b.log:1" in warnings[1]
    run = runner(capsys)
    assert (
        run("convert", tmp_path / "a.log", tmp_path / "b.log", "--out", tmp_path / "s.json")[0] == 0
    )
    code, out, _ = run("check", "-f", tmp_path / "s.json")
    assert (code, "double" in out) == (4, False)


def test_two_owners_are_reported_where_all_clients_are_known(given):
    texts = {"a.log": log(result("a", ORDERS[:5], 2)), "b.log": log(result("b", ORDERS[4:], 2))}
    snapshot, warnings = given(texts)
    a, b = snapshot.groups[0].clients
    assert set(a.owned) & set(b.owned) == {ORDERS[4]}
    assert warnings == []


def test_a_lock_that_was_not_had_takes_the_queue_off(given):
    failed = f"doRebalance, g, add a new mq failed, {QUEUE}, because lock failed"
    added = f"doRebalance, g, add a new mq, {QUEUE}"
    first = result("a", ORDERS)
    (client,) = given({"a.log": log(failed, first)})[0].groups[0].clients
    assert set(ORDERS) - set(client.owned) == {ORDERS[3]}
    (client,) = given({"a.log": log(failed, first, added, first)})[0].groups[0].clients
    assert client.owned == tuple(ORDERS)


def test_a_queue_that_was_removed_before_the_last_result_is_there(given):
    removed = f"doRebalance, g, remove unnecessary mq, {QUEUE}"
    (client,) = given({"a.log": log(removed, result("a", ORDERS))})[0].groups[0].clients
    assert client.owned == tuple(ORDERS)


@pytest.mark.parametrize(
    "message",
    [
        f"Fix Offset, g, remove unnecessary mq, {QUEUE} Droped: false",
        f"doRebalance, g, truncateMessageQueueNotMyTopic remove unnecessary mq, {QUEUE}",
    ],
)
def test_a_queue_that_is_removed_after_the_last_result(given, message):
    (client,) = given({"a.log": log(result("a", ORDERS), message)})[0].groups[0].clients
    assert set(ORDERS) - set(client.owned) == {ORDERS[3]}
    # Of a log of several clients it is not known which of them removed it.
    both = log(result("a", ORDERS[:4], 2), result("b", ORDERS[4:], 2), message)
    snapshot, warnings = given({"both.log": both})
    assert [client.owned for client in snapshot.groups[0].clients] == [None, tuple(ORDERS[4:])]
    assert warnings == [
        "group g: both.log:3: some client of it lacks queue orders broker-a:3; what a owns is not known"
    ]


def test_a_client_that_was_shut_down_is_gone(given):
    text = log(
        result("a", ORDERS[:4], 2),
        result("b", ORDERS[4:], 2),
        "the client factory [a] shutdown OK",
        "the consumer [g] shutdown OK",
        result("b", ORDERS, 1),
    )
    (group,) = given({"all.log": text})[0].groups
    assert (group.client_ids, set(group.unknown)) == (["b"], {"subscriptions"})


def test_a_consumer_that_was_shut_down_is_gone_only_if_it_is_the_only_one(given):
    shut = "the consumer [g] shutdown OK"
    (group,) = given({"a.log": log(result("a", ORDERS), shut)})[0].groups
    assert (group.client_ids, group.unknown["clients"]) == (
        [], "all of its clients whose logs are given have ended",
    )  # fmt: skip
    snapshot, warnings = given({
        "all.log": log(result("a", ORDERS[:4], 2), result("b", ORDERS[4:], 2), shut)
    })  # fmt: skip
    assert snapshot.groups[0].client_ids == ["a", "b"]
    assert "clients" in snapshot.groups[0].unknown
    assert "all.log:3: a consumer was shut down; it is not known which client's" in warnings[0]


def test_a_process_that_was_killed_is_followed_by_the_next_in_its_log(given):
    text = log(
        created("h@1"), result("h@1", ORDERS), created("h@2"), result("h@2", ORDERS), result("h@2", ORDERS)
    )  # fmt: skip
    snapshot, warnings = given({"a.log": text})
    (group,) = snapshot.groups
    assert (group.client_ids, group.unknown) == (["h@2"], {})
    assert warnings == [
        "group g: h@1 taken to have ended: no result after a.log:2, and another process begins at a.log:3"
    ]


def test_another_process_of_another_group_ends_nothing(given):
    text = log(
        created("h@1"), result("h@1", ORDERS), created("h@2"), result("h@2", ORDERS, group="other")
    )
    groups = given({"a.log": text})[0].groups
    assert [(group.name, group.client_ids) for group in groups] == [
        ("g", ["h@1"]),
        ("other", ["h@2"]),
    ]


def test_a_client_of_the_same_id_begins_anew(given):
    payments = [MessageQueue("payments", "broker-a", 0)]
    old = result("h@app", payments, topic="payments", n_queues=1)
    text = log(
        created("h@app"), old, result("h@app", ORDERS), created("h@app"), result("h@app", ORDERS)
    )
    (client,) = given({"a.log": text})[0].groups[0].clients
    assert client.owned == tuple(ORDERS)


def test_rotated_logs_are_put_in_the_order_of_their_times(given):
    old, new = log(result("a", ORDERS[:2], 4)), log(result("a", ORDERS[:4], 2), first=12)
    for texts in ({"1.log": old, "2.log": new}, {"2.log": new, "1.log": old}):
        snapshot, _ = given(texts)
        assert snapshot.groups[0].clients[0].owned == tuple(ORDERS[:4])


def test_what_3_2_6_prints(given):
    listed = ", ".join(map(queue_text, ORDERS))
    source = (
        "rebalanced allocate source. allocateMessageQueueStrategyName=AVG, group=g, topic=orders, mqAllSize=8, "
        f"cidAllSize=2, mqAll=[{listed}], cidAll=[a, b]"
    )
    head = "rebalanced result changed. allocateMessageQueueStrategyName=AVG, group=g, topic=orders"
    changed = f"{head}, ConsumerId=a, rebalanceSize=4, rebalanceMqSet=8"
    assert facts(source) == [Divided("g", "orders", tuple(ORDERS), ("a", "b"))]
    added = [f"doRebalance, g, add a new mq, {queue_text(queue)}" for queue in ORDERS[:4]]
    snapshot, warnings = given({"a.log": log(*added, source, changed)})
    (group,) = snapshot.groups
    assert [(client.client_id, client.owned) for client in group.clients] == [
        ("a", tuple(ORDERS[:4])),
        ("b", None),
    ]
    assert (set(group.unknown), warnings) == ({"subscriptions"}, [])
    assert list(snapshot.topics[0].queues()) == ORDERS
    snapshot, warnings = given({"a.log": log(*added[1:], source, changed)})
    assert snapshot.groups[0].clients[0].owned is None
    assert "a.log:5: a result of 3.2.6, which prints no queues" in warnings[0]


def test_a_cut_line_leaves_its_client_open(given):
    line = result("a", ORDERS)
    snapshot, warnings = given({"a.log": log(result("a", ORDERS[:4], 2), line[:-200])})
    assert snapshot.groups[0].clients[0].owned is None
    assert "a.log:2: the line is not whole: rebalanceResultSize is 8; what a owns" in warnings[0]
    snapshot, warnings = given({"a.log": log(line, line[:40])})  # not even the group is known
    assert snapshot.groups[0].clients[0].owned is None
    assert "a.log:2: the line is not whole: it ends before its client id" in warnings[0]
    snapshot, warnings = given({"a.log": log(line[:40], line)})
    assert (snapshot.groups[0].clients[0].owned, warnings) == (tuple(ORDERS), [])
    with pytest.raises(
        SnapshotError,
        match=r"a\.log:1: this line of a client's log is not whole: rebalanceResultSize is 8$",
    ):
        given({"a.log": log(line[:-200])})


def test_a_list_that_could_not_be_had_is_named(given):
    text = log(result("a", ORDERS), *["doRebalance, g orders, get consumer id list failed"] * 2)
    _, warnings = given({"a.log": text})
    assert warnings == [
        "group g: a.log:3: a client could not get the list of clients, 2 times since the last result, and kept its queues"
    ]


def test_own_strategies_are_not_known_by_their_names(given):
    names = {
        "MINE": None,
        "MACHINE_ROOM_NEARBY-AVG": "MACHINE_ROOM_NEARBY-AVG",
        "ORDINAL/1": "ORDINAL/1",
    }
    for name, known in names.items():
        (client,) = given({"a.log": log(result("a", ORDERS, strategy=name))})[0].groups[0].clients
        assert client.strategy == known


# --- Beside other files ---

ROUTE = '{"brokerDatas":[],"queueDatas":[{"brokerName":"broker-a","perm":6,"readQueueNums":8,"writeQueueNums":8}]}\n'
CONNECTION = (
    "#ClientId                            #ClientAddr            #Language  #Version\n"
    "a                                    10.0.0.1:1             JAVA       V5_1_4\n\nBelow is subscription:\n"
    "#Topic               #SubExpression\norders *\n\nConsumeType: CONSUME_PASSIVELY\nMessageModel: CLUSTERING\n"
)


def test_mqadmin_beside_a_log(given):
    snapshot, warnings = given({
        "topicRoute.orders.json": ROUTE,
        "consumerConnection.g.txt": CONNECTION,
        "a.log": log(result("a", ORDERS)),
    })  # fmt: skip
    (group,), (topic,) = snapshot.groups, snapshot.topics
    assert (group.clients[0].owned, group.clients[0].version) == (tuple(ORDERS), "5.1.4")
    assert (group.unknown, topic.unknown, topic.brokers[0].write_queue_nums, warnings) == (
        {},
        {},
        8,
        [],
    )


def test_a_client_that_no_list_has_is_named(given):
    snapshot, warnings = given({"consumerConnection.g.txt": CONNECTION, **BOTH})
    assert snapshot.groups[0].client_ids == ["a", "b"]
    assert warnings[0] == (
        "a log (b.log:1) shows b, consumerConnection (consumerConnection.g.txt:1) does not: "
        "the clients of group g are not known"
    )
    assert "the log of a (a.log:1) counts 2 clients, consumerConnection" in warnings[1]


def test_a_paste_of_both(given):
    paste = (
        f"$ mqadmin consumerConnection -g g\n{CONNECTION}\n$ tail rocketmq_client.log\n"
        f"{log(result('a', ORDERS))}org.apache.rocketmq.client.exception.MQClientException: CODE: 1 DESC: x\n\tat x\n"
    )
    snapshot, warnings = given({"paste.txt": paste})
    (group,) = snapshot.groups
    assert (group.clients[0].owned, group.clients[0].version) == (tuple(ORDERS), "5.1.4")
    assert [warning.partition(": ")[0] for warning in warnings] == ["paste.txt:11", "paste.txt:14"]
    assert [(read.first_line, read.last_line, read.what) for read in snapshot.sources] == [
        (2, 10, "consumerConnection"),
        (11, 12, "other lines"),
        (13, 13, "the log of a Java client"),
        (14, 16, "other lines"),
    ]


def test_a_command_without_output_above_a_log_is_named(given):
    paste = f"$ mqadmin consumerProgress -g g\nsh: mqadmin: command not found\n{log(result('a', ORDERS))}"
    snapshot, warnings = given({"paste.txt": paste})
    assert snapshot.groups[0].client_ids == ["a"]
    assert [warning.partition(": ")[0] for warning in warnings] == ["paste.txt:1"]


@pytest.mark.parametrize("name", ["rocketmq_client.log", "app", "app.txt", "app.log.2021-04-02"])
@pytest.mark.parametrize("prefix", ["", '{"message":"', "java.lang.RuntimeException: x\n\tat y\n"])
def test_the_form_is_recognised(given, name, prefix):
    snapshot, _ = given({name: prefix + log(result("a", ORDERS))})
    assert snapshot.groups[0].client_ids == ["a"]


def test_a_log_without_results(given):
    with pytest.raises(SnapshotError, match=r"a\.log:1: this is .*, which is not read"):
        given({"a.log": log(created("a"), "the client factory [a] start OK")})
    started = log(created("a"), first=9)  # but beside one with results it counts
    (group,) = given({"a.log.1": started, "a.log": log(result("a", ORDERS))})[0].groups
    assert group.unknown == {}


def test_counts_of_clients_are_kept_for_each(tmp_path):
    from rmqalloc.documents import read_source
    from rmqalloc.snapshot.files.outputs._joined import _gathered

    paths = {name: tmp_path / name for name in BOTH}
    for name, path in paths.items():
        path.write_text(BOTH[name])
    found = _gathered([read_source(path, SnapshotError) for path in paths.values()])
    assert found.groups["g"].counts == [
        (2, "the log of a", f"{paths['a.log']}:1"),
        (2, "the log of b", f"{paths['b.log']}:1"),
    ]


# --- Over time ---


@pytest.fixture
def recorded(tmp_path, capsys):
    """The history of logs, as `rmqalloc convert` writes it."""

    def recorded(texts):
        for name, text in texts.items():
            (tmp_path / name).write_bytes(text.encode())
        paths = [tmp_path / name for name in texts]
        run = runner(capsys)
        code, _, err = run("convert", *paths, "--out", tmp_path / "cluster.history")
        assert code == 0, err
        return History(tmp_path / "cluster.history")

    return recorded


def moment(text):
    return datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize("case", ["4.9.8-avg", "5.5.0-avg"])
def test_the_history_of_real_logs_has_each_phase(case, recorded):
    final = CASES[case][-1]
    history = recorded(lines_of(case, final))
    starts = [event.at for name in final["lines"] for event in events(lines_of(case, final)[name])]
    compared = 0
    for phase in CASES[case]:
        if phase["phase"] == "b-killed":
            continue
        ends = [list(events(text))[-1].at for text in lines_of(case, phase).values()]
        found = history.owners_at("g-avg", max(ends))
        owners = {}
        for queue, ids in found.owners.items():
            for client_id in ids:
                owners.setdefault(client_id, []).append(
                    f"{queue.topic} {queue.broker_name} {queue.queue_id}"
                )
        assert {name: sorted(queues) for name, queues in owners.items()} == phase["owners"]
        assert found.doubt is None
        compared += 1
    assert compared == 5
    assert history.first_reading >= min(starts)


def test_events_have_the_times_of_the_lines(recorded):
    texts = {
        "a.log": log(created("a"), result("a", ORDERS), result("a", ORDERS[:4], 2)),
        "b.log": log(*["x"] * 2, created("b"), result("b", ORDERS[4:], 2), "x", "x"),
    }
    rows = recorded(texts).events().events.to_pylist()
    moved = [row for row in rows if row["event"] == "moved" and row["owners_before"] is not None]
    assert [(row["owners_before"], row["owners_after"]) for row in moved] == [(["a"], ["b"])] * 4
    assert {moment(row["last_seen_before"]) for row in moved} == {moment("2021-04-02T10:01:59.999")}
    joined = next(row for row in rows if row["event"] == "joined" and row["client_id"] == "b")
    assert moment(joined["first_seen_after"]) == moment("2021-04-02T10:03:00")
    assert moment(joined["last_seen_before"]) == moment("2021-04-02T10:02:59.999")


def seen(history, event, name):
    """When clients joined or queues moved: last seen before, and first seen after."""
    rows = history.events().events.to_pylist()
    found = [row for row in rows if row["event"] == event and row["consumer_group"] == name]
    return [(row["last_seen_before"], row["first_seen_after"]) for row in found]


def test_a_change_lies_between_its_first_line_and_its_last(recorded):
    history = recorded(lines_of("4.9.8-avg", CASES["4.9.8-avg"][-1]))
    base = datetime.fromisoformat("2026-11-30T02:46:00").timestamp()
    joined = [
        (moment(last) - base, moment(first) - base)
        for last, first in seen(history, "joined", "g-avg")
    ]
    assert joined == [
        pytest.approx((34.294, 34.798)),  # the first line is the other's, which gives up queues
        pytest.approx((39.033, 39.179)),
        pytest.approx((47.616, 48.007), abs=0.01),
    ]


def test_a_group_that_changes_is_not_seen_meanwhile(recorded):
    """While one group changes for two seconds, another one does, and settles."""
    other = [MessageQueue("pay", "broker-a", number) for number in range(4)]
    lines = [
        ("10:00:00,000", result("a", ORDERS)),
        ("10:00:00,000", result("a", other, group="h", topic="pay", n_queues=4)),
        ("10:05:00,000", result("a", other[:3], 2, 4, group="h", topic="pay")),
        ("10:05:00,500", result("a", ORDERS[:4], 2)),
        ("10:05:00,900", result("b", other[3:], 2, 4, group="h", topic="pay")),
        ("10:05:01,800", result("b", other[2:], 2, 4, group="h", topic="pay")),
        ("10:06:00,000", "the end"),
    ]
    history = recorded({"a.log": "".join(f"2021-04-02 {at} {line}\n" for at, line in lines)})
    assert [(moment(last), moment(first)) for last, first in seen(history, "joined", "h")] == [
        (moment("2021-04-02T10:04:59.999"), moment("2021-04-02T10:05:01.800"))
    ]


def test_a_queue_has_two_owners_until_the_old_one_lets_go(recorded):
    history = recorded({
        "a.log": log(created("a"), result("a", ORDERS), "x", "x", result("a", ORDERS[:4], 2), "x"),
        "b.log": log("x", "x", created("b"), result("b", ORDERS[4:], 2), "x", "x"),
    })  # fmt: skip
    owners = history.owners_at("g", moment("2021-04-02T10:03:30")).owners
    assert owners[ORDERS[5]] == ("a", "b")
    assert history.owners_at("g", moment("2021-04-02T10:04:30")).owners[ORDERS[5]] == ("b",)


def test_a_moment_knows_what_logs_do_not_show(recorded, capsys, tmp_path):
    history = recorded(
        {"a.log": log(created("a"), result("a", ORDERS[:4], 2), result("a", ORDERS[:3], 3))}
    )
    snapshot = history.snapshot_at(moment("2021-04-02T10:01:30"))
    assert snapshot.groups[0].clients[0].owned == tuple(ORDERS[:4])
    assert {fact.kind for fact in Unknowns(snapshot)} >= {"clients", "subscriptions", "routes"}
    run = runner(capsys)
    code, out, _ = run("check", "-f", tmp_path / "cluster.history", "--at", "2021-04-02T10:01:30")
    assert (code, "error" in out) == (4, False)


def test_diff_of_two_moments(recorded, capsys, tmp_path):
    recorded({
        "a.log": log(created("a"), result("a", ORDERS), "x", result("a", ORDERS[:4], 2), "x"),
        "b.log": log("x", "x", created("b"), result("b", ORDERS[4:], 2), "x"),
    })  # fmt: skip
    run = runner(capsys)
    at = ("--at", "2021-04-02T10:01:30", "--at", "2021-04-02T10:03:30")
    code, out, _ = run("diff", tmp_path / "cluster.history", *at)
    assert (code, "4 queues change owner, 1 client joined" in out) == (0, True)


def test_lines_of_one_change_are_one_state():
    lines = [
        "2021-04-02 10:00:00,000 " + result("a", ORDERS),
        "2021-04-02 10:05:00,000 " + result("b", ORDERS[4:], 2),
        "2021-04-02 10:05:00,700 " + result("a", ORDERS[:4], 2),
        "2021-04-02 10:09:00,000 the end",
    ]
    from rmqalloc.documents import Source

    text = "\n".join(lines).encode()
    moments = list(read_logs([Source("all.log", text, SnapshotError)]).moments)
    base = moment("2021-04-02T10:00:00")
    assert [(round(moment.since - base, 3), round(moment.at - base, 3)) for moment in moments] == [
        (0, 0), (300, 300.7), (540, 540),
    ]  # fmt: skip
    assert [len(moment.snapshot.groups[0].clients) for moment in moments] == [1, 2, 2]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"a.log": result("a", ORDERS)}, "a.log:1: this line has no time"),
        ({**BOTH, "consumerConnection.g.txt": CONNECTION}, "consumerConnection.g.txt:1: a history is made of logs"),
        ({"a.log": log(result("a", ORDERS)[:-9])}, "a.log:1: this line of a client's log is not whole"),
    ],
)  # fmt: skip
def test_what_makes_no_history(texts, said, tmp_path, capsys):
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    out = tmp_path / "cluster.history"
    code, _, err = runner(capsys)("convert", *(tmp_path / name for name in texts), "--out", out)
    assert (code, said in err.replace(f"{tmp_path}/", "")) == (1, True)


def test_a_history_is_not_added_to(recorded, capsys, tmp_path):
    recorded(BOTH)
    again = ("convert", tmp_path / "a.log", "--out", tmp_path / "cluster.history")
    code, _, err = runner(capsys)(*again)
    assert (code, "the file exists already; logs are written into a new history" in err) == (
        1,
        True,
    )


def test_routes_count_for_all_the_time(tmp_path):
    (tmp_path / "topicRoute.orders.json").write_text(ROUTE)
    (tmp_path / "a.log").write_text(log(result("a", ORDERS[:4], 2)))
    found = read_logs([str(tmp_path / "topicRoute.orders.json"), str(tmp_path / "a.log")])
    assert all(moment.snapshot.topics[0].unknown == {} for moment in found.moments)


def test_text_is_read_as_a_file_is():
    assert read(log(result("a", ORDERS))).groups[0].clients[0].owned == tuple(ORDERS)
