"""One bad answer among many: it is missing and named, everything else of the snapshot stands and
can be written.
"""

import asyncio
import contextlib
import json

import pytest
import simulated_time
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from loopback import TOPIC, Loopback, running_info

from rmqalloc.cli import main
from rmqalloc.model import MAX_QUEUES
from rmqalloc.remoting import RemotingError, ResponseError, one_line
from rmqalloc.remoting.address import host_and_port
from rmqalloc.remoting.body_fields import AnswerError
from rmqalloc.remoting.client import Access, Remote
from rmqalloc.remoting.connection import Connection, LostError
from rmqalloc.remoting.frames import RESPONSE, Command, FrameError, decode, encode
from rmqalloc.remoting.loose_json import Pairs
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.snapshot.files import _checks as checks
from rmqalloc.snapshot.live import _answers as answers
from rmqalloc.snapshot.live._take import Wanted, take_snapshot
from rmqalloc.snapshot.plain_data import from_document, to_document

DIGITS = "9" * 5000
HALF = "\\ud800"
GROUPS = {"bad": ["c-0", "c-1"], "good": ["c-2", "c-3"]}

CODE = ReadCode
BAD_ANSWERS = {
    "digits in offsets": (CODE.GET_CONSUME_STATS, '{"consumeTps":0,"offsetTable":{{"topic":"T","brokerName":"b","queueId":0}:'
                          f'{{"brokerOffset":{DIGITS},"consumerOffset":1,"lastTimestamp":1}}}}}}'),
    "an offset beyond Java's": (
        CODE.GET_CONSUME_STATS,
        '{"consumeTps":0,"offsetTable":{{"topic":"T","brokerName":"b","queueId":0}:'
        '{"brokerOffset":9223372036854775808,"consumerOffset":1,"lastTimestamp":1}}}',
    ),
    "an infinite rate": (CODE.GET_CONSUME_STATS, '{"consumeTps":1e999,"offsetTable":{}}'),
    "no rate at all": (CODE.GET_CONSUME_STATS, '{"consumeTps":NaN,"offsetTable":{}}'),
    "half a surrogate in a client id": (CODE.GET_CONSUMER_CONNECTION_LIST, f'{{"connectionSet":[{{"clientId":"x{HALF}"}}]}}'),
    "half a surrogate in a topic": (CODE.GET_CONSUMER_CONNECTION_LIST,
                                    f'{{"connectionSet":[],"subscriptionTable":{{"T{HALF}":{{}}}}}}'),
    "a version of many digits": (CODE.GET_CONSUMER_CONNECTION_LIST,
                                 f'{{"connectionSet":[{{"clientId":"x","version":{DIGITS}}}]}}'),
    "a message model that files do not have": (CODE.GET_CONSUMER_CONNECTION_LIST,
                                               '{"connectionSet":[],"messageModel":"BY_ITSELF"}'),
    "a table that is a number": (CODE.GET_CONSUMER_RUNNING_INFO, '{"mqTable":5}'),
    "a queue id of many digits": (CODE.GET_CONSUMER_RUNNING_INFO,
                                  f'{{"mqTable":{{{{"topic":"T","brokerName":"b","queueId":{DIGITS}}}:{{}}}}}}'),
    "an owned queue of half a surrogate": (CODE.GET_CONSUMER_RUNNING_INFO, running_info([0], f"T{HALF}")),
    "nothing but brackets": (CODE.GET_CONSUMER_RUNNING_INFO, "[" * 100_000),
}  # fmt: skip


@pytest.mark.parametrize(("code", "body"), BAD_ANSWERS.values(), ids=BAD_ANSWERS)
def test_a_bad_answer_is_missing_and_all_else_stands(code, body):
    def answer(_server, request):
        fields = request.ext_fields
        return body if "bad" in (fields.get("consumerGroup"), fields.get("topic")) else None

    with Loopback(groups=GROUPS, more={code: answer}) as servers:
        snapshot = take_snapshot([servers.name_server], Access(retries=0))
    assert {error.request.split()[0] for error in snapshot.errors} == {code.name}
    assert all("bad" in error.request for error in snapshot.errors)
    good = next(group for group in snapshot.groups if group.name == "good")
    assert [client.owned for client in good.clients] == [(), ()] and good.lags
    written = json.dumps(to_document(snapshot), ensure_ascii=False).encode()
    assert from_document(json.loads(written)) == snapshot
    checks.check_values(snapshot)


BAD_ENTRIES = {
    "a port out of range": (
        CODE.GET_BROKER_CLUSTER_INFO,
        '"evil":{"brokerAddrs":{0:"10.0.0.1:99999999"}}',
    ),
    "an address without a port": (
        CODE.GET_BROKER_CLUSTER_INFO,
        '"evil":{"brokerAddrs":{"0":"\\r\\n\\u001b[2J"}}',
    ),
    "a broker id of many digits": (
        CODE.GET_BROKER_CLUSTER_INFO,
        f'"evil":{{"brokerAddrs":{{"{DIGITS}":"a:1"}}}}',
    ),
    "a broker that is a number": (CODE.GET_BROKER_CLUSTER_INFO, '"evil":7'),
    "a broker of half a surrogate": (
        CODE.GET_BROKER_CLUSTER_INFO,
        f'"evil{HALF}":{{"brokerAddrs":{{"0":"a:1"}}}}',
    ),
    "a topic of half a surrogate": (CODE.GET_ALL_TOPIC_LIST_FROM_NAME_SERVER, f'"evil{HALF}"'),
    "a topic that is a number": (CODE.GET_ALL_TOPIC_LIST_FROM_NAME_SERVER, DIGITS[:4000]),
    "a group of half a surrogate": (CODE.GET_ALL_SUBSCRIPTION_GROUP_CONFIG, f'"evil{HALF}":{{}}'),
}


@pytest.mark.parametrize(("code", "entry"), BAD_ENTRIES.values(), ids=BAD_ENTRIES)
def test_a_bad_entry_of_a_list_is_left_out_and_named(code, entry):
    def answer(_server, request):
        usual = getattr(servers, code.name.lower())(request.ext_fields)
        for key in ('"brokerAddrTable":{', '"topicList": [', '"subscriptionGroupTable": {'):
            usual = usual.replace(key, f"{key}{entry},")
        return usual

    with Loopback(groups=GROUPS, more={code: answer}) as servers:
        snapshot = take_snapshot([servers.name_server], wanted=Wanted(lag=False))
    assert {error.request for error in snapshot.errors} == {code.name}
    assert all(
        error.message.startswith("left out, for it cannot be read: ") for error in snapshot.errors
    )
    assert all(
        error.message.isprintable() and len(error.message) < 1100 for error in snapshot.errors
    )
    assert [group.name for group in snapshot.groups] == ["bad", "good"] and len(
        snapshot.brokers
    ) == 2
    assert [topic.name for topic in snapshot.topics] == [TOPIC]
    assert all(len(group.clients) == 2 for group in snapshot.groups)


def test_groups_that_read_no_wanted_topic_are_left_out():
    def listed(_server, request):
        usual = servers.get_consumer_connection_list(request.ext_fields)
        return (
            usual.replace(TOPIC, "others")
            if request.ext_fields["consumerGroup"] == "bad"
            else usual
        )

    with Loopback(groups=GROUPS, more={CODE.GET_CONSUMER_CONNECTION_LIST: listed}) as servers:
        snapshot = take_snapshot([servers.name_server], wanted=Wanted(topics=(TOPIC,), lag=False))
    assert [group.name for group in snapshot.groups] == ["good"] and [
        one.name for one in snapshot.topics
    ] == [TOPIC]


def test_many_bad_entries_are_counted():
    body = json.dumps({"topicList": [*range(1000), TOPIC]})
    with Loopback(more={CODE.GET_ALL_TOPIC_LIST_FROM_NAME_SERVER: body}) as servers:
        snapshot = take_snapshot([servers.name_server], wanted=Wanted(lag=False))
    assert len(snapshot.errors) == 21
    assert any(error.message.endswith("and 980 more") for error in snapshot.errors)


def test_a_list_of_topics_that_cannot_be_read_is_missing():
    with Loopback(more={CODE.GET_ALL_TOPIC_LIST_FROM_NAME_SERVER: "[]"}) as servers:
        snapshot = take_snapshot([servers.name_server], wanted=Wanted(lag=False))
        assert [error.request for error in snapshot.errors] == [
            CODE.GET_ALL_TOPIC_LIST_FROM_NAME_SERVER.name
        ]
        assert len(snapshot.groups[0].clients) == 2
        servers.more[CODE.GET_BROKER_CLUSTER_INFO] = "[]"
        with pytest.raises(
            RemotingError, match="no name server lists its brokers: cluster: an object was expected"
        ):
            take_snapshot([servers.name_server])


def test_a_route_with_a_broker_twice_or_too_many_queues_is_none():
    one = {"brokerName": "b", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6}
    with pytest.raises(AnswerError, match="has broker 'b' twice"):
        answers.route("T", {"queueDatas": [one, one]})
    for key, value in (
        ("readQueueNums", MAX_QUEUES + 1),
        ("perm", -1),
        ("perm", True),
        ("readQueueNums", "x" * 9999),
    ):
        with pytest.raises(AnswerError, match="a number from 0 to"):
            answers.route("T", {"queueDatas": [one | {key: value}]})
    assert (
        answers.route("T", {"queueDatas": [one | {"readQueueNums": MAX_QUEUES}]}).brokers[0].perm
        == 6
    )


def test_connections_of_one_id_are_sorted_whatever_is_known_of_them():
    told = answers.connections(
        {"connectionSet": [{"clientId": "c", "language": "JAVA"}, {"clientId": "c"}]}
    )
    assert [one.language for one in told.connections] == [None, "JAVA"]


# Anything a JSON body can hold, with the keys that readers look at; whatever they find is read or
# an AnswerError.
_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.sampled_from(
    ["\ud800", "a:1", "0", "a:99999999", 10**4000, "POP", "true", 2**31, 2**63]
)  # fmt: skip
_NAMES = """
    brokerAddrTable brokerAddrs enableActingMaster clusterAddrTable topicList queueDatas brokerName readQueueNums writeQueueNums
    perm connectionSet clientId language version subscriptionTable messageModel properties subscriptionSet topic mqTable queueId
    mqPopTable droped offsetTable brokerOffset consumerOffset lastTimestamp consumeTps subscriptionGroupTable consumeEnable mode
    messageRequestModeMap popShareQueueNum allocateMessageQueueStrategy topicQueueMappingByBroker
"""
_KEYS = st.sampled_from([*_NAMES.split(), "\ud800"])
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.dictionaries(_KEYS | st.text(max_size=2), inner, max_size=5) | st.lists(inner, max_size=3)
    | st.lists(st.tuples(inner, inner), max_size=3).map(Pairs),
    max_leaves=20,
)  # fmt: skip
_READERS = [
    answers.brokers, answers.clusters, answers.topic_names, answers.groups, answers.connections, answers.running_info,
    answers.lags, answers.request_modes, lambda body: answers.route("T", body), lambda body: answers.default_mode(str(body)),
]  # fmt: skip


@examples(300)
@given(_VALUES)
def test_whatever_a_body_holds_is_read_or_an_answer_error(body):
    for read in _READERS:
        with contextlib.suppress(AnswerError):
            read(body)


# --- Headers ---

BAD_HEADERS = [
    '"opaque":1e999', '"opaque":NaN', '"opaque":-Infinity', pytest.param(f'"opaque":{DIGITS}', id="opaque of many digits"),
    '"opaque":true', '"opaque":"7"', '"opaque":[]',
    '"opaque":7,"code":1e999', '"opaque":7,"code":null', '"opaque":7,"flag":1e999', '"opaque":7,"flag":{}', '"opaque":7.0',
    '"opaque":2147483648', '"opaque":7,"remark":[[]]', '"opaque":7,"extFields":{"a":{}}', '"opaque":7,"extFields":"text"',
]  # fmt: skip


def framed(header):
    text = header.encode()
    return len(text).to_bytes(4) + text


@pytest.mark.parametrize("fields", BAD_HEADERS)
def test_numbers_of_a_header_are_ints_or_it_is_none(fields):
    header = fields if '"code"' in fields else f'{fields},"code":0'
    with pytest.raises(FrameError, match="not the JSON of a command") as error:
        decode(framed(f"{{{header}}}"))
    assert error.value.opaque == (7 if fields.startswith('"opaque":7,') else None)


@pytest.mark.parametrize("fields", BAD_HEADERS)
def test_a_bad_header_leaves_nobody_waiting(fields):
    """The reading task ends in order, and a request whose number can still be read is the only one
    that fails.
    """

    async def main():
        async def serve(reader, writer):
            with contextlib.suppress(asyncio.IncompleteReadError, asyncio.CancelledError):
                while True:
                    request = decode(
                        await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
                    )
                    header = fields.replace('"opaque":7,', f'"opaque":{request.opaque},')
                    more = "".join(
                        f',"{key}":{value}'
                        for key, value in {"code": 0, "flag": 1}.items()
                        if key not in header
                    )
                    frame = framed(f"{{{header}{more}}}")
                    writer.write(len(frame).to_bytes(4) + frame)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        connection = Connection(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
        asked = [connection.ask(CODE.GET_BROKER_CLUSTER_INFO, timeout=5) for _ in range(2)]
        found = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 4)
        await connection.close()
        server.close()
        return found

    errors = simulated_time.run(main())
    kind = RemotingError if '"opaque":7,' in fields else LostError
    assert len(errors) == 2 and {type(error) for error in errors} == {kind}
    assert all("not the JSON of a command" in str(one) for one in errors)


def test_a_header_has_a_bound():
    assert decode(framed('{"code":1,"remark":"' + "x" * 200_000 + '"}')).remark == "x" * 200_000
    with pytest.raises(FrameError, match="the limit is 1048576"):
        decode(framed('{"code":1,"remark":"' + "x" * (1 << 20) + '"}'))
    with pytest.raises(FrameError, match="more than 100000 values"):
        decode(framed("[" + "{}," * 100_000 + "{}]"))


# --- What servers say ---


def test_what_a_server_says_is_one_short_printable_line(capsys):
    remark = "no\r\n\x1b[2J\u202e" + "x" * 200_000

    def refuse(_server, request):
        return Command(1, request.opaque, {}, b"", remark, RESPONSE)

    assert len(str(ResponseError(1, remark))) < 1100 and str(ResponseError(1, remark)).isprintable()
    assert str(RemotingError("a\nb")) == "a\\nb" == one_line("a\\nb") and str(
        RemotingError(one_line(remark))
    ) == one_line(remark)
    assert len(one_line("\x1b" * 5000)) <= 1000
    with Loopback(more={CODE.GET_CONSUME_STATS: refuse}) as servers:
        snapshot = take_snapshot([servers.name_server])
        assert main(["snapshot", "-n", servers.name_server, "--out", "/dev/null"]) == 4
    assert all(
        error.message.isprintable() and len(error.message) <= 1000 for error in snapshot.errors
    )
    said = capsys.readouterr().err
    assert "code 1 (SYSTEM_ERROR): no" in said and max(map(len, said.splitlines())) < 1300
    assert all(line.isprintable() for line in said.splitlines())


BAD_ADDRESSES = [
    "a:0", "a:65536", "a:000001", f"a:{DIGITS}", "a:١", ":1", "a b:1", "a\x00:1", "x" * 256 + ":1", "a:", "",
]  # fmt: skip


def test_addresses_of_the_network_are_checked():
    assert host_and_port("h" * 255 + ":65535") == ("h" * 255, 65535)
    for address in BAD_ADDRESSES:
        with pytest.raises(ValueError, match="is not host:port"):
            host_and_port(address)

    async def main():
        async with Remote(["a:1"], Access(retries=0)) as remote:
            await remote.ask("127.0.0.1:99999999", CODE.GET_BROKER_CLUSTER_INFO)

    with pytest.raises(RemotingError, match="is not host:port"):
        asyncio.run(main())


def test_encoded_frames_hold_half_surrogates():
    """A name that a server told cannot end a request with an error of the encoder."""
    assert decode(encode(Command(1, 1, {"topic": "\ud800"}))[4:]).ext_fields == {"topic": "\ud800"}
