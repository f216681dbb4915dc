"""What a cluster does not say: groups without clients, clients and brokers that do not answer,
connections that are dead.
"""

import json

from loopback import TOPIC, SimulatedLoopback, running_info

from rmqalloc.audit import check_snapshot
from rmqalloc.cli import main
from rmqalloc.model import MessageQueue
from rmqalloc.remoting.frames import RESPONSE, Command
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.snapshot.live._take import Wanted, take_snapshot

CODE = ReadCode
NOT_ONLINE = 206


def not_online(_server, request):
    """What a broker answers that knows no client of a group."""
    return Command(
        NOT_ONLINE, request.opaque, {}, b"", "the consumer group[g] not online", RESPONSE
    )


def stats(lags_of):
    """Consume stats by broker: a lag for every queue of the topic there."""

    def answer(server, _request):
        entries = ",".join(
            f'{{"brokerName":"{server}","queueId":{i},"topic":"{TOPIC}"}}:'
            f'{{"brokerOffset":{n + 100},"consumerOffset":100,"lastTimestamp":1,"pullOffset":100}}'
            for i, n in enumerate(lags_of.get(server, ()))
        )
        return f'{{"consumeTps":0.0,"offsetTable":{{{entries}}}}}'

    return answer


def route(n):
    """The route of the topic, with so many queues on both brokers."""
    queues = {"readQueueNums": n, "writeQueueNums": n, "perm": 6}
    return json.dumps({"queueDatas": [{"brokerName": f"broker-{i}", **queues} for i in range(2)]})


def listed(**clients):
    """Clients by broker, as (client id, language, version ordinal)."""

    def answer(server, _request):
        found = [
            dict(zip(("clientId", "language", "version"), one, strict=True))
            for one in clients[server.replace("-", "_")]
        ]
        return json.dumps({
            "connectionSet": found, "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING",
            "subscriptionTable": {TOPIC: {"subString": "*", "topic": TOPIC}},
        })  # fmt: skip

    return answer


def owning(**queues):
    """Running info by client id: the queues of the topic that each owns, by broker; who is not
    named does not answer.
    """

    def answer(_server, request):
        name = request.ext_fields["clientId"].replace("-", "_")
        if name not in queues:
            return None
        body = running_info([])
        process = '{"droped":false}'
        table = ",".join(
            f'{{"brokerName":"{broker}","queueId":{i},"topic":"{TOPIC}"}}:{process}'
            for broker, i in queues[name]
        )
        return body.replace('"mqTable":{}', f'"mqTable":{{{table}}}')

    return answer


def checked(servers, *arguments):
    return main(["check", "-n", servers.name_server, *arguments])


# --- Groups without clients ---

DEAD = {"broker-0": (60, 60, 60, 70), "broker-1": (60, 60, 60, 70)}


def test_a_group_whose_clients_all_died_is_a_fault_with_its_backlog(capsys):
    """Brokers know no topic of a group without clients but those of its offsets, so all are asked
    for these.
    """
    more = {
        CODE.GET_CONSUMER_CONNECTION_LIST: not_online,
        CODE.GET_CONSUME_STATS: stats(DEAD),
        CODE.GET_ROUTE_INFO_BY_TOPIC: lambda *_: route(4),
    }
    with SimulatedLoopback(groups={"g": []}, more=more) as servers:
        snapshot = take_snapshot([servers.name_server])
        assert checked(servers) == 2
    (group,) = snapshot.groups
    assert group.subscriptions == (TOPIC,) and group.clients == () and snapshot.errors == ()
    assert "subscriptions" in group.unknown
    (finding,) = check_snapshot(snapshot)
    assert (finding.rule, finding.severity, finding.topic) == ("no-consumer", "error", TOPIC)
    assert len(finding.queues) == 8 and "500 messages wait there" in finding.message
    said = capsys.readouterr().out
    assert "500 messages waiting" in said and "Every written queue" not in said


def test_a_group_that_never_committed_or_broadcasts_is_not_known_to_be_empty(capsys):
    more = {
        CODE.GET_CONSUMER_CONNECTION_LIST: not_online,
        CODE.GET_CONSUME_STATS: stats({}),
        CODE.GET_ROUTE_INFO_BY_TOPIC: lambda *_: route(4),
    }
    with SimulatedLoopback(groups={"g": []}, more=more) as servers:
        assert checked(servers) == 4
        assert not check_snapshot(take_snapshot([servers.name_server])).at_least("warning")
        assert checked(servers, "--allow-unknown", "subscriptions") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "subscriptions of g (it has no client and brokers have no offsets of it" in said
    assert (
        "the past subscriptions of g, without a client now, are not known" in said
        and "Every written queue" not in said
    )


# --- Clients by their ids and their answers ---

GO_OF_5 = ("10.0.0.7@41", "GO", 413)


def test_a_client_of_release_5_that_is_no_java_is_asked_and_its_queues_are_looked_at(capsys):
    """Only its id says that a client is a proxy's; language and release say nothing."""
    more = {
        CODE.GET_CONSUMER_CONNECTION_LIST: listed(broker_0=[GO_OF_5], broker_1=[GO_OF_5]),
        CODE.GET_CONSUMER_RUNNING_INFO: lambda *_: owning(c=[("broker-0", i) for i in range(3)])(
            "", Command(307, 0, {"clientId": "c"})
        ),
        CODE.GET_CONSUME_STATS: stats({}),
        CODE.GET_ROUTE_INFO_BY_TOPIC: lambda *_: route(4),
    }
    with SimulatedLoopback(groups={"g": []}, more=more) as servers:
        snapshot = take_snapshot([servers.name_server])
        assert servers.count(CODE.GET_CONSUMER_RUNNING_INFO) == 1
        assert checked(servers, "--rule", "actual-unowned", "--fail-on", "note") == 2
    (group,) = snapshot.groups
    assert not group.is_shared and len(group.clients[0].owned) == 3
    found = {one.rule: one for one in check_snapshot(snapshot)}
    assert "shared-queues" not in found and len(found["actual-unowned"].queues) == 5


def test_a_client_of_release_5_that_does_not_answer_is_not_known(capsys):
    more = {
        CODE.GET_CONSUMER_CONNECTION_LIST: listed(broker_0=[GO_OF_5], broker_1=[GO_OF_5]),
        CODE.GET_CONSUMER_RUNNING_INFO: lambda *_: None,
        CODE.GET_CONSUME_STATS: stats({}),
    }
    servers = SimulatedLoopback(groups={"g": []}, silent=[GO_OF_5[0]], more={})
    servers.more = {
        code: answer for code, answer in more.items() if code is not CODE.GET_CONSUMER_RUNNING_INFO
    }
    with servers:
        snapshot = take_snapshot([servers.name_server])
        code = checked(servers)
        allowed = checked(servers, "--allow-partial", "--fail-on", "error")
    (group,) = snapshot.groups
    assert not group.is_shared and group.clients[0].owned is None
    found = check_snapshot(snapshot)
    assert "silent-client" in {one.rule for one in found} and not found.at_least("error")
    assert {one.reason for one in found.who_reads.answers} == {"unknown"}
    assert (code, allowed) == (2, 4)
    said = " ".join(capsys.readouterr().out.split())
    assert "through a proxy" not in said and "Every written queue" not in said


# --- Brokers that answer nothing ---


def test_a_broker_that_answers_nothing_is_a_finding_and_its_queues_are_not_known(capsys):
    both = [("c-0", "JAVA", 399)]
    more = {
        CODE.GET_CONSUMER_CONNECTION_LIST: listed(broker_0=both, broker_1=both),
        CODE.GET_CONSUMER_RUNNING_INFO: owning(
            c_0=[(f"broker-{i}", j) for i in range(2) for j in range(8)]
        ),
        CODE.GET_CONSUME_STATS: stats(dict.fromkeys(("broker-0", "broker-1"), (0,) * 8)),
    }
    with SimulatedLoopback(groups={"g": []}, frozen=["broker-1"], more=more) as servers:
        snapshot = take_snapshot([servers.name_server])
        codes = [
            checked(servers, *options)
            for options in ((), ("--allow-partial", "--fail-on", "error"), ("--fail-on", "error"))
        ]
    assert [one.broker_name for one in snapshot.brokers if one.is_silent] == ["broker-1"]
    found = check_snapshot(snapshot)
    assert not found.at_least("error")
    (silent,) = (one for one in found if one.rule == "silent-broker")
    assert "broker-1" in silent.message and silent.severity == "warning"
    state = {queue: one.state for one in found.who_reads.answers for queue in one.queues}
    assert {state[MessageQueue(TOPIC, "broker-1", i)] for i in range(8)} == {"unknown"}
    assert codes == [2, 4, 4], "an unread queue is never an all-clear"
    assert "Every written queue" not in capsys.readouterr().out


# --- Connections that are dead ---


def test_connections_of_a_broker_that_was_frozen_are_not_counted_as_clients():
    """The broker that was stopped for a while lists every client once for every time that it came
    back.
    """
    ids = ("c-0", "c-1", "c-2")
    once = [(one, "JAVA", 399) for one in ids]
    queues = [(f"broker-{i}", j) for i in range(2) for j in range(8)]
    owned = {one.replace("-", "_"): queues[i::3] for i, one in enumerate(ids)}
    more = {
        CODE.GET_CONSUMER_CONNECTION_LIST: listed(broker_0=once, broker_1=once * 6),
        CODE.GET_CONSUMER_RUNNING_INFO: owning(**owned),
        CODE.GET_CONSUME_STATS: stats({}),
    }
    with SimulatedLoopback(groups={"g": []}, more=more) as servers:
        snapshot = take_snapshot([servers.name_server], wanted=Wanted(lag=False))
    (group,) = snapshot.groups
    assert group.client_ids == list(ids) and group.broker_client_ids is None
    found = check_snapshot(snapshot)
    assert not found.at_least("error") and "duplicate-client-id" not in {one.rule for one in found}
    assert "18 clients" not in found.text()


def test_an_id_that_every_broker_lists_twice_is_two_clients():
    twice = [("c-0", "JAVA", 399)] * 2
    more = {CODE.GET_CONSUMER_CONNECTION_LIST: listed(broker_0=twice, broker_1=twice)}
    with SimulatedLoopback(groups={"g": []}, more=more) as servers:
        (group,) = take_snapshot(
            [servers.name_server], wanted=Wanted(lag=False, running_info=False)
        ).groups
    assert group.client_ids == ["c-0", "c-0"]
