"""A member of `rmqalloc.client` is known by its running info: brokers list it as they list wrappers
of C++'s client.
"""

import json
from dataclasses import replace

import pytest
from loopback import SimulatedLoopback
from printed_outputs import PrintedClient, PrintedGroup, connection
from printed_outputs import running_info as printed_info

import rmqalloc
from rmqalloc import MessageQueue
from rmqalloc.audit import check_snapshot
from rmqalloc.evidence import UnansweredError
from rmqalloc.evidence.other_dialects import computed_otherwise, dialect_to_join
from rmqalloc.plans import plan_snapshot
from rmqalloc.remoting import loose_json
from rmqalloc.remoting.bodies import SubscriptionData
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.remoting.running_info_codec import (
    ConsumerRunningInfo,
    ProcessQueueInfo,
    is_of_rmqalloc,
    running_properties,
)
from rmqalloc.snapshot.files import read_snapshots
from rmqalloc.snapshot.live import _answers as answers
from rmqalloc.snapshot.live import _members as members
from rmqalloc.snapshot.live.rereading import Rereader
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.watching.guard import may_stop

ROUTE = Topic("orders", (TopicBroker("a", 4, 4), TopicBroker("b", 4, 4)))
JAVA, PYTHON = IDS = ("10.0.0.1@7#1", "10.0.0.2@7#2")
LIBRARY = "PROP_CLIENT_LIBRARY"


def properties(strategy="AVG"):
    return running_properties(
        start_timestamp=1, name_server="h:9876", strategy=strategy, client_version="V5_3_3"
    )


def of_a_wrapper(strategy):
    """The properties of C++'s client, which names neither its strategy nor itself."""
    given = properties(strategy)
    return {name: value for name, value in given.items() if name.startswith("PROP_CONSUME")}


def read(strategy, python, language="PYTHON", version="5.3.3"):
    """A snapshot of a Java client that divides by a strategy, and a client that says ``python``."""
    owners = rmqalloc.strategy(strategy).assign(list(ROUTE.queues()), list(IDS)).owners.tolist()
    queues = sorted(ROUTE.queues())
    infos = {}
    for place, said in enumerate((properties(strategy) | {LIBRARY: "java"}, python)):
        mine = {
            queue: ProcessQueueInfo()
            for queue, owner in zip(queues, owners, strict=True)
            if owner == place
        }
        body = ConsumerRunningInfo(said, (SubscriptionData("orders"),), mine).encode()
        infos[IDS[place]] = answers.running_info(loose_json.loads(body))
    connections = (
        answers.ClientConnection(JAVA, "JAVA", "4.9.8"),
        answers.ClientConnection(PYTHON, language, version),
    )
    view = {"a": answers.Connections(connections, frozenset({"orders"}), "CLUSTERING")}
    group = members.group("g", view, infos, {"orders": ROUTE})
    return Snapshot((ROUTE,), (group,))


def languages(snapshot):
    return {client.client_id: client.language for client in snapshot.groups[0].clients}


@pytest.mark.parametrize("strategy", ["AVG", "CONSISTENT_HASH", "AVG_BY_CIRCLE", "STABLE/1"])
def test_a_member_beside_java_divides_as_java_does(strategy):
    snapshot = read(strategy, properties(strategy))
    assert languages(snapshot) == {JAVA: "JAVA", PYTHON: "RMQALLOC"}
    assert not {finding.rule for finding in check_snapshot(snapshot)} - {"stranded-backlog"}
    [row] = plan_snapshot(snapshot, []).units.to_pylist()
    assert (row["unowned"], row["double_owned"], row["err_code"]) == (0, 0, 0)
    for queue in ROUTE.queues():
        found = rmqalloc.explain(snapshot, "g", *queue)
        owned = {client.client_id: client.owned for client in snapshot.groups[0].clients}
        assert queue in owned[found.owner]
    assert may_stop(snapshot, PYTHON).verdict == "yes"


def test_a_wrapper_of_cpp_beside_java_does_not():
    for language, said in (("PYTHON", of_a_wrapper), ("CPP", of_a_wrapper), ("CPP", properties)):
        snapshot = read("CONSISTENT_HASH", said("CONSISTENT_HASH"), language, "4.6.0")
        assert languages(snapshot)[PYTHON] == language
        strange = {finding.rule: finding.severity for finding in check_snapshot(snapshot)}
        assert strange["mixed-languages"] == "error"
    assert may_stop(read("CONSISTENT_HASH", of_a_wrapper("AVG")), JAVA).verdict == "unknown"
    with pytest.raises(UnansweredError):
        plan_snapshot(read("CONSISTENT_HASH", of_a_wrapper("AVG")), [])


def test_a_client_of_python_that_reports_nothing_is_not_known_to_be_a_member():
    [group] = read("AVG", properties()).groups
    silent = [replace(client, owned=None, strategy=None) for client in group.clients]
    listed = [answers.ClientConnection(client.client_id, "PYTHON", "5.3.3") for client in silent]
    view = {"a": answers.Connections(tuple(listed), frozenset({"orders"}), "CLUSTERING")}
    found = members.group("g", view, {}, {"orders": ROUTE})
    assert {client.language for client in found.clients} == {"PYTHON"}


@pytest.mark.parametrize(
    "value",
    [
        None, 7, [], {}, "", "rmqalloc", "rmqalloc/", "rmqalloc/x", "rmqalloc/1 2", "rmqalloc/1\n", "RMQALLOC/1",
        "xrmqalloc/1", f"rmqalloc/{'1' * 100_000}",
    ],
)  # fmt: skip
def test_other_values_of_the_property_are_harmless(value):
    assert not is_of_rmqalloc({LIBRARY: value})
    assert languages(read("AVG", properties() | {LIBRARY: value}))[PYTHON] == "PYTHON"


@pytest.mark.parametrize("language", ["GO", "CPP", "JAVA", "RUST"])
def test_no_client_of_another_language_becomes_a_member(language):
    assert languages(read("AVG", properties(), language))[PYTHON] == language


def test_releases_of_a_member_are_not_compared_with_those_of_java():
    """The member's number is that of the Java release whose heartbeats it sends."""
    snapshot = read("AVG", properties())
    assert [client.version for client in snapshot.groups[0].clients] == ["4.9.8", "5.3.3"]
    assert "mixed-versions" not in {finding.rule for finding in check_snapshot(snapshot)}


def test_sdks_are_counted_by_name_and_members_stand_with_java():
    snapshot = read("CONSISTENT_HASH", properties("CONSISTENT_HASH"))
    [group] = snapshot.groups
    go = replace(group.clients[0], client_id="10.0.0.3@7#3", language="GO", owned=None)
    mixed = replace(snapshot, groups=(replace(group, clients=(*group.clients, go)),))
    [finding] = [found for found in check_snapshot(mixed) if found.rule == "mixed-languages"]
    assert "(GO: 1 client, JAVA: 1 client, RMQALLOC: 1 client)" in finding.message
    assert finding.clients == (go.client_id,)


def test_a_strategy_to_come_is_javas_for_members_and_for_clients_of_no_language():
    clients = Client("a", language="RMQALLOC"), Client("b"), Client("c", language="JAVA")
    group = Group("g", ("orders",), clients)
    assert list(computed_otherwise([group], "CONSISTENT_HASH", None)) == []
    assert dialect_to_join(replace(group, clients=clients[::2])) == "java"


def test_a_member_that_is_silent_for_once_stays_a_member():
    member = json.dumps({"properties": properties(), "mqTable": {}})

    def listed(_server, _request):
        own = [{"clientId": "c-0", "language": "PYTHON", "version": 479}]
        return json.dumps({"connectionSet": own, "subscriptionTable": {}})

    info = ReadCode.GET_CONSUMER_RUNNING_INFO
    more = {ReadCode.GET_CONSUMER_CONNECTION_LIST: listed, info: member}
    with (
        SimulatedLoopback(more=more, groups={"g": ["c-0"]}) as servers,
        Rereader(servers.name_server, every=1) as reader,
    ):
        assert languages(reader.read().snapshot) == {"c-0": "RMQALLOC"}
        servers.silent = {"c-0"}
        del servers.more[info]
        reading = reader.read().snapshot
    assert languages(reading) == {"c-0": "RMQALLOC"}
    assert reading.errors and reading.groups[0].clients[0].owned is None


@pytest.mark.parametrize("is_listed", [True, False])
def test_outputs_of_mqadmin(is_listed, tmp_path):
    queue = MessageQueue("orders", "a", 0)
    client = PrintedClient("10.0.0.2@7#2", (queue,), version="V5_3_3")
    group = PrintedGroup("g", ("orders", "%RETRY%g"), (client,), {queue: (4, 4)})
    release = (5, 3, 3)
    info = printed_info(group, client, release)
    title = "#Consumer Properties#\n"
    assert title in info
    given = {client.client_id: info.replace(title, f"{title}{LIBRARY:<40}: rmqalloc/0.2.0\n")}
    if is_listed:
        given["consumerConnection.g.txt"] = connection(group, release).replace("JAVA", "PYTHON")
    for name, text in given.items():
        (tmp_path / name).write_text(text)
    found, _ = read_snapshots([str(tmp_path / name) for name in given])
    assert languages(found) == {client.client_id: "RMQALLOC"}
