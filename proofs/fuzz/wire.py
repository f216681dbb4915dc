"""The wire, fuzzed by structure: frames and bodies of servers, changed where it hurts, through
every reader to a file's JSON.

Half of the inputs are frames, half are bodies; some of each go through a real socket.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import struct
import time
import traceback
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from loopback import consume_stats, running_info

from fuzz.outcome import Outcome
from rmqalloc.remoting import (
    RemotingError,
    ResponseError,
    loose_json,
)
from rmqalloc.remoting import (
    frames as frame,
)
from rmqalloc.remoting.body_fields import AnswerError
from rmqalloc.remoting.client import Access, Remote
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.snapshot.files._checks import check_values
from rmqalloc.snapshot.live import _answers as answers
from rmqalloc.snapshot.live import _members as members
from rmqalloc.snapshot.plain_data import from_document, to_document
from rmqalloc.snapshot.snapshot import Snapshot, SourceError

EXPECTED = (frame.FrameError, loose_json.JsonError, AnswerError, RemotingError, ResponseError)
_SOCKET_EVERY = 500
_MEMORY_EVERY = 20  # inputs whose memory is measured, for that makes each several times as slow
_KEPT = 4096  # bytes of an input that are kept

_QUEUES = '{{"brokerName":"b","queueId":0,"topic":"T"}:{"brokerOffset":1,"consumerOffset":1,"lastTimestamp":1}}'
SEEDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "cluster": (
        '{"brokerAddrTable":{"b":{"brokerAddrs":{0:"10.0.0.1:10911",1:"10.0.0.2:10911"},"brokerName":"b","cluster":"c",'
        '"enableActingMaster":false}},"clusterAddrTable":{"c":["b"]}}',
        lambda body: (answers.brokers(body), answers.clusters(body)),
    ),
    "topics": ('{"topicList":["T","%RETRY%g","TBW102"]}', answers.topic_names),
    "route": (
        '{"brokerDatas":[{"brokerAddrs":{"0":"10.0.0.1:10911"},"brokerName":"b","cluster":"c"}],"filterServerTable":{},'
        '"queueDatas":[{"brokerName":"b","perm":6,"readQueueNums":8,"topicSysFlag":0,"writeQueueNums":8}]}',
        lambda body: answers.route("T", body),
    ),
    "groups": (
        '{"dataVersion":{"counter":1},"subscriptionGroupTable":{"g":{"groupName":"g","retryQueueNums":1},'
        '"CID_ONSAPI_PULL":{"groupName":"CID_ONSAPI_PULL"}}}',
        answers.groups,
    ),
    "connections": (
        '{"connectionSet":[{"clientAddr":"10.0.0.9:1","clientId":"10.0.0.9@1","language":"JAVA","version":399},'
        '{"clientId":"10.0.0.9@1","language":"GO","version":317}],"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET",'
        '"consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING","subscriptionTable":{"T":{"subString":"*","topic":"T"}}}',
        answers.connections,
    ),
    "running info": (running_info([0, 1]), answers.running_info),
    "consume stats": (consume_stats(3), answers.lags),
    "request modes": (
        '{"messageRequestModeMap":{"T":{"g":{"consumerGroup":"g","mode":"POP","popShareQueueNum":2,"topic":"T"}}}}',
        answers.request_modes,
    ),
}

_DIGITS = "9" * 5000
_VALUES = (
    "null", "true", "false", "-1", "0", "1", "2147483648", "9223372036854775808", "1e999", "-1e999", "NaN", "Infinity", "1.5",
    _DIGITS,
    f"0.{_DIGITS}", '""', '"x"', '"\\ud800"', '"\\u0000"', '"\\r\\n\\u001b[2J"', '"a:99999999"', f'"{"n" * 5000}"', "[]",
    "{}", "[[]]", '{"a":1}', "{0:1}", _QUEUES, "[" * 70 + "]" * 70, '{"a":' * 70 + "1" + "}" * 70, '"{"', '"\\"}:{"',
)  # fmt: skip
_PIECES = (
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    '"',
    "\\",
    "{}:",
    "{0:",
    '{"a":1}:',
    "\x00",
    "\ufeff",
    "\u2028",
    " " * 300,
    "\\u0000",
    "é",
)


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9.]+|[a-z]+|.', re.DOTALL)


def changed(text: str, rng: random.Random) -> bytes:
    """A body with some of its parts replaced, doubled, swapped, taken out or cut; most stay JSON."""
    parts = _TOKEN.findall(text)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        words = [i for i, part in enumerate(parts) if part[0] not in "{}[]:,"]
        values = [i for i in words if parts[i + 1 : i + 2] != [":"]]
        if not values:
            break
        at, other = rng.choice(values), rng.choice(words)
        match rng.randrange(12):
            case 0 | 1 | 2 | 3 | 4:
                parts[at] = rng.choice(_VALUES)
            case 5:
                parts[other] = rng.choice(_TEXTS)
            case 6:
                parts[other] = parts[rng.choice(words)]  # also keys that are given twice
            case 7:
                parts[at], parts[other] = parts[other], parts[at]
            case 8:
                _move(parts, rng)
            case 9:
                parts[rng.randrange(len(parts))] = rng.choice(_PIECES)
            case 10:
                del parts[at : at + rng.randrange(1, 9)]
            case _:
                del parts[rng.randrange(len(parts)) :]
    data = "".join(parts).encode(errors="surrogatepass")
    if data and rng.random() < 0.03:
        at = rng.randrange(len(data))
        data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
    return data


def _move(parts: list[str], rng: random.Random) -> None:
    """Put a copy of one whole object or list in the place of another, or in place of a value."""
    spans, opened = [], []
    for i, part in enumerate(parts):
        if part in "{[":
            opened.append(i)
        elif part in "}]" and opened:
            spans.append((opened.pop(), i + 1))
    if spans:
        (a, b), (c, d) = rng.choice(spans), rng.choice(spans)
        parts[a:b] = parts[c:d] if rng.random() < 0.5 else [rng.choice(_VALUES)]


_TEXTS = [value for value in _VALUES if value[0] == '"']


def _header(rng: random.Random) -> bytes:
    """A JSON header, changed."""
    text = (
        '{"code":0,"extFields":{"offset":"7","k":null},"flag":1,"language":"JAVA","opaque":7,"remark":"why",'
        '"serializeTypeCurrentRPC":"JSON","version":479}'
    )
    return changed(text, rng)


def _binary(rng: random.Random) -> bytes:
    """A header of RocketMQ's own form, whose lengths may lie."""

    def text(width: str, data: bytes) -> bytes:
        length = rng.choice((len(data),) * 9 + (-1, 0, 1, 255, 32767, len(data) + 1))
        return struct.pack(width, length if width == ">i" else min(length, 32767)) + data

    names = (b"offset", b"", b"\xff\xfe", b"a" * 300, "é".encode())
    pairs = b"".join(
        text(">h", rng.choice(names)) + text(">i", rng.choice(names))
        for _ in range(rng.randrange(4))
    )
    number = rng.choice((0, 1, -1, 7, 2**31 - 1, -(2**31)))
    return (
        struct.pack(">hbhii", rng.choice((0, 1, -1, 17)), rng.randrange(-128, 128), 479, 7, number)
        + text(">i", rng.choice((b"", b"why\r\n\x1b[2J", b"x" * 5000)))
        + text(">i", pairs)
    )


def frames(rng: random.Random) -> Iterator[bytes]:
    """Frames without their leading length, without end."""
    while True:
        kind = rng.choice((0, 0, 0, 0, 1, 1, 1, 1, 2))
        header = _binary(rng) if kind == 1 else _header(rng)
        body = changed(rng.choice(list(SEEDS.values()))[0], rng) if rng.random() < 0.3 else b"{}"
        length = rng.choice((len(header),) * 12 + (0, 1, len(header) + 1, 0xFFFFFF))
        data = struct.pack(">I", kind << 24 | min(length, 0xFFFFFF)) + header + body
        yield data if rng.random() < 0.9 else data[: rng.randrange(len(data) + 1)]


def bodies(rng: random.Random) -> Iterator[tuple[str, bytes]]:
    """Bodies with the reader that they are for, without end."""
    while True:
        name = rng.choice(list(SEEDS))
        yield name, changed(SEEDS[name][0], rng)


def read_frame(data: bytes) -> None:
    """A frame as a connection reads it, and the text that it puts into an error."""
    command = frame.decode(data)
    if command.code:
        raise ResponseError(
            command.code, f"{command.remark or 'no reason given'} (from 10.0.0.1:1)"
        )


def read_body(name: str, data: bytes) -> None:
    """A body to what a file holds of it: written as JSON, read back, the same."""
    found = SEEDS[name][1](loose_json.loads(data))
    again = loose_json.tolerant(data.decode())
    if name != "consume stats" and SEEDS[name][1](again) != found:
        raise AssertionError("the two ways of reading differ")
    snapshot = _snapshot(name, found)
    text = json.dumps(to_document(snapshot), ensure_ascii=False, allow_nan=False).encode()
    back = from_document(json.loads(text))
    check_values(back)
    if back != snapshot:
        raise AssertionError("what was written is not what is read")


def _snapshot(name: str, found: Any) -> Snapshot:
    """The part of a snapshot that an answer comes to."""
    client = answers.ClientConnection("c", "JAVA", "5.5.0")
    view = {"b": answers.Connections((client,), frozenset({"T"}), "CLUSTERING")}
    match name:
        case "cluster":
            return Snapshot(brokers=found[0])
        case "route":
            return Snapshot(topics=(found,))
        case "connections":
            return Snapshot(groups=(members.group("g", {"b": found, "c": view["b"]}, {}, {}),))
        case "running info":
            return Snapshot(groups=(members.group("g", view, {"c": found}, {}),))
        case "consume stats":
            return Snapshot(groups=(members.group("g", view, {}, {}, tuple(found[0]), found[1]),))
        case "request modes":
            info = answers.RunningInfo((), (), ("T",), "AVG", False, False)
            modes = {"b": answers.Modes(found, None)}
            return Snapshot(groups=(members.group("g", view, {"c": info}, {}, modes=modes),))
    return Snapshot(errors=tuple(SourceError("broker b", one, "why") for one in found))


class _Run:
    """Counts what inputs come to."""

    def __init__(self, name: str) -> None:
        self.name, self.n = name, 0
        self.errors: Counter[str] = Counter()
        self.tracebacks: list[str] = []
        self.worst_time: tuple[float, bytes] = (0.0, b"")
        self.worst_memory: tuple[int, bytes] = (0, b"")

    def feed(self, data: bytes, read: Callable[[], Any]) -> None:
        """Read one input; only the named errors may come."""
        self.n += 1
        is_measured = self.n % _MEMORY_EVERY == 0
        if is_measured:
            tracemalloc.start()
        started = time.perf_counter()
        try:
            read()
            self.errors["read"] += 1
        except EXPECTED as error:
            self.errors[type(error).__name__] += 1
            if not str(error) or len(str(error)) > 20_000:
                self.tracebacks.append(f"an error of {len(str(error))} characters: {data[:200]!r}")
        except Exception:
            if len(self.tracebacks) < 20:
                self.tracebacks.append(f"{traceback.format_exc(limit=-4)}\ninput: {data[:_KEPT]!r}")
        if is_measured:
            memory = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            self.worst_memory = max(self.worst_memory, (memory, data[:_KEPT]))
        else:
            self.worst_time = max(self.worst_time, (time.perf_counter() - started, data[:_KEPT]))

    def outcome(self) -> Outcome:
        """All of it."""
        return Outcome(
            self.name,
            self.n,
            dict(self.errors),
            self.tracebacks,
            *self.worst_time,
            *self.worst_memory,
        )


async def _through_a_socket(run: _Run, inputs: list[tuple[bytes, bool]]) -> None:
    """Answer requests of a real connection with these: frames, or bodies in a frame of their own."""
    current: list[tuple[bytes, bool]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = frame.decode(
                    await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
                )
                data, is_frame = current[-1]
                if is_frame:
                    data = data.replace(b'"opaque":7', b'"opaque":%d' % request.opaque)
                    writer.write(struct.pack(">i", len(data)) + data)
                else:
                    writer.write(
                        frame.encode(
                            frame.Command(0, request.opaque, {}, data, None, frame.RESPONSE)
                        )
                    )
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    for data, is_frame in inputs:
        current.append((data, is_frame))
        async with Remote([address], Access(timeout=0.1, retries=0)) as remote:
            try:
                await asyncio.wait_for(
                    remote.ask(address, ReadCode.GET_CONSUME_STATS, read=answers.lags), 10
                )
                found: Exception | None = None
            except Exception as error:
                found = error
        run.feed(data, lambda found=found: _again(found))
    server.close()


def _again(error: Exception | None) -> None:
    if error is not None:
        raise error


def runs(n: int, seed: int) -> list[Outcome]:
    """``n`` frames and ``n`` bodies, and a few hundred of both through a socket."""
    rng = random.Random(seed)
    of_frames, of_bodies, of_socket = (
        _Run("frames"),
        _Run("bodies"),
        _Run("frames and bodies through a socket"),
    )
    through: list[tuple[bytes, bool]] = []
    for i, data in zip(range(n), frames(rng), strict=False):
        of_frames.feed(data, lambda data=data: read_frame(data))
        if i % _SOCKET_EVERY == 0:
            through.append((data, True))
    for i, (name, data) in zip(range(n), bodies(rng), strict=False):
        of_bodies.feed(data, lambda name=name, data=data: read_body(name, data))
        if i % _SOCKET_EVERY == 0:
            through.append((data, False))
    asyncio.run(_through_a_socket(of_socket, through))
    return [one.outcome() for one in (of_frames, of_bodies, of_socket)]


def run(n: int, seed: int) -> Outcome:
    """`runs` as one: ``n`` frames, ``n`` bodies, some of both through a socket."""
    made = runs(n, seed)
    errors: Counter[str] = sum((Counter(one.errors) for one in made), Counter())
    slow = max(made, key=lambda one: one.worst_seconds)
    large = max(made, key=lambda one: one.worst_memory)
    tracebacks = [f"{one.name}: {text}" for one in made for text in one.tracebacks]
    return Outcome(
        "wire", sum(one.inputs for one in made), dict(errors), tracebacks, slow.worst_seconds, slow.worst_seconds_input,
        large.worst_memory, large.worst_memory_input,
    )  # fmt: skip
