"""Hostile servers of a member that runs: answers and requests that are changed, beside right ones.

Two members of groups of their own, one in order, read eight queues each from a server on loopback
that answers everything they ask, at times wrongly. Every offset of every queue holds a message
whose body says which it is, so the server can answer any pull, and the judge knows what was sent
whole. What is wrong:

* a turn of the loop that takes more than `MOST_SECONDS` of its thread's CPU time;
* a pull that goes on anywhere but where an answer says, or from a stored offset;
* a message that was sent whole in an answer that was taken, and is not heard, unless a later answer
  moved the queue past it;
* an offset that is stored beyond such a message;
* a queue that is not read to its end once the answers are right again;
* more memory than `MOST_MEMORY`, and any error of a task that nobody expects.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import re
import selectors
import struct
import sys
import threading
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from wire_members import AT_ONCE

from fuzz import mutations
from rmqalloc.client import ConsumeFromWhere, PushConsumer, _member_remoting, _pulling
from rmqalloc.errors import Error
from rmqalloc.rebalance import Intervals
from rmqalloc.remoting import Message, encode_message
from rmqalloc.remoting.frames import ONEWAY, RESPONSE, Command, decode, encode
from rmqalloc.remoting.message import MAX_BODY, MAX_MESSAGES

MOST_SECONDS = 0.1
"""CPU time of a turn of the loop at most."""

N_MEMBERS = 2
MOST_MEMORY = N_MEMBERS * (2 * MAX_BODY + MAX_MESSAGES * 2048) + (128 << 20)
"""Bytes that the process may grow by: of each member one answer in parts and joined, its messages, and the server's own."""

ENDS_WITHIN = 120.0
NEAR = 10_000
"""Offsets that a queue is taken to reach again after answers that moved it back."""

QUEUES = [(broker, queue_id) for broker in ("broker-a", "broker-b") for queue_id in range(4)]
GROUPS = ("beside", "in-order")
FIRST, APART = 1 << 40, 1 << 32
"""Offset of the first message of the first queue, and between queues: no number that is put in stands near them."""

HOSTILE = 0.6
"""Share of the pulls that are answered wrongly; of other requests it is half as much."""

Key = tuple[str, str, int]  # group, broker and number of a queue


# --- What a turn of the loop costs ---


class TimedSelector(selectors.DefaultSelector):
    """Measures what a loop does between two waits, by its thread's CPU time and by the clock."""

    def __init__(self) -> None:
        super().__init__()
        self.worst_cpu = self.worst_wall = 0.0
        self.n_turns = self.n_slow = 0
        self._begun: tuple[float, float] | None = None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait, as the base class does."""
        if self._begun is not None:
            cpu, wall = time.thread_time() - self._begun[0], time.monotonic() - self._begun[1]
            self.n_turns += 1
            self.n_slow += cpu > MOST_SECONDS
            self.worst_cpu, self.worst_wall = max(self.worst_cpu, cpu), max(self.worst_wall, wall)
        found = super().select(timeout)
        self._begun = time.thread_time(), time.monotonic()
        return found


# --- Who knows what must be heard ---


@dataclass
class Pull:
    """A pull, and what its answer says."""

    offset: int
    code: int | None = None
    following: int | None = None
    whole: frozenset[int] = frozenset()
    kind: str = "right"


@dataclass
class QueueState:
    """What is known of one queue of one group."""

    pull: Pull | None = None
    committed: int | None = None
    due: set[int] = field(default_factory=set)
    heard: set[int] = field(default_factory=set)
    answered: set[int] = field(default_factory=set)
    end: int | None = None


class Judge:
    """Follows pulls, commits and what listeners hear; threads may call it."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.states: defaultdict[Key, QueueState] = defaultdict(QueueState)
        self.words: defaultdict[str, set[int]] = defaultdict(set)
        self.n_due = self.n_forgiven = self.n_heard = 0
        self._lock = threading.Lock()

    def says(self, group: str, text: str) -> None:
        """Note the numbers of an answer that may move a queue."""
        with self._lock:
            self.words[group].update(int(number) for number in re.findall(r"-?\d{1,19}", text))

    def pulls(self, key: Key, offset: int) -> Pull:
        """Note that a queue is pulled at an offset."""
        with self._lock:
            state = self.states[key]
            if state.pull is not None and offset != state.pull.offset:
                self._goes_on(key, state, state.pull, offset)
            state.pull = Pull(offset)
            state.heard = {number for number in state.heard if number >= offset}
            self._check_commit(key, state)
            return state.pull

    def answers_wrongly(self, key: Key, kind: str) -> None:
        """Note how the answer to a pull is wrong."""
        if (pull := self.states[key].pull) is not None:
            pull.kind = kind

    def _goes_on(self, key: Key, state: QueueState, pull: Pull, offset: int) -> None:
        follows = pull.following
        is_found = (
            pull.code == 0
            and follows is not None
            and pull.offset < offset <= follows
            and offset not in self.words[key[0]]  # else the queue may begin again there
        )
        if is_found or (pull.code in (19, 20) and offset == follows and offset > pull.offset):
            due = {number for number in pull.whole if number < offset}
            passed = {number for number in state.due if pull.offset <= number < offset}
            self.n_forgiven += len(passed - due)
            self.n_due += len(due)
            state.due = (state.due - passed) | (due - state.heard)
            return
        lost = {number for number in state.due if number < offset}
        if offset not in self.words[key[0]] and offset not in state.answered:
            self.faults.append(f"{key} is pulled at {offset} after {pull}")
        elif lost and offset not in self.words[key[0]]:
            self.faults.append(f"{key} goes on from {offset} without {sorted(lost)[:5]}")
        self.n_forgiven += len(lost)
        state.due -= lost

    def commits(self, key: Key, offset: int) -> None:
        """Note that an offset is stored."""
        with self._lock:
            state = self.states[key]
            state.committed = offset
            self._check_commit(key, state)

    def _check_commit(self, key: Key, state: QueueState) -> None:
        beyond, pull = state.committed, state.pull
        if beyond is None or pull is None:
            return
        # What the answer at hand moves the queue past is no longer due.
        lost = {
            number
            for number in state.due
            if number < beyond
            and not (pull.offset <= number < (pull.following or 0) and number not in pull.whole)
        }
        if not lost:
            return
        state.due -= lost
        if beyond in self.words[key[0]]:  # a broker moved the queue there
            self.n_forgiven += len(lost)
        else:
            self.faults.append(f"{key}: {beyond} is stored, and {min(lost)} is not consumed")

    def hears(self, group: str, text: str) -> None:
        """Note a message by its body."""
        found = text and re.fullmatch(r"(.*)/(\d+)/(\d+) (\d+)", text, re.DOTALL)
        if not found or zlib.crc32(text.partition(" ")[0].encode()) != int(found[4]):
            return
        with self._lock:
            state = self.states[group, found[1], int(found[2])]
            state.heard.add(int(found[3]))
            state.due.discard(int(found[3]))
            self.n_heard += 1

    def unfinished(self) -> list[Key]:
        """Return queues that are not consumed to their end."""
        with self._lock:
            found = []
            for group in GROUPS:
                for broker, queue_id in QUEUES:
                    state = self.states[group, broker, queue_id]
                    end = state.end
                    if (
                        end is None
                        or state.committed != end
                        or any(end - NEAR < n < end for n in state.due)
                    ):
                        found.append((group, broker, queue_id))
            return found


# --- What the server sends ---


class Answer(NamedTuple):
    """Bytes that are sent, and whether the connection ends then."""

    data: bytes
    ends: bool = False


def text_of(key: Key, offset: int) -> bytes:
    """The body of a message, with a checksum: a changed one is not taken for another."""
    text = f"{key[1]}/{key[2]}/{offset}"
    return f"{text} {zlib.crc32(text.encode())}".encode()


def message(key: Key, offset: int, body: bytes | None = None, sys_flag: int = 0) -> bytes:
    """A message as a broker sends it."""
    body = text_of(key, offset) if body is None else body
    return encode_message(
        Message(
            "orders", body, b"TAGS\1a\2KEYS\1k\2", key[2], offset, 7, sys_flag, store_timestamp=5
        )
    )


def inner(body: bytes) -> bytes:
    """A message within a batch."""
    return struct.pack(">iiiii", 22 + len(body), 0, 0, 0, len(body)) + body + b"\0\0"


BOMBS = [zlib.compress(bytes(size)) for size in (1 << 20, 8 << 20, MAX_BODY, MAX_BODY + (9 << 20))]
NESTED = [
    b"[" * 100_000,
    b'{"a":' * 20_000,
    b"[" + b"{0:{[]:0}}," * 4_000 + b"0]",
    b"[" + b"0," * 900_000 + b"0]",
]
_ASKED = {11: "pull", 14: "offset", 34: "heartbeat", 38: "client ids", 41: "locks", 105: "route"}
ODD_INTS = [-1, 0, 1, 3, 1 << 16, (1 << 31) - 1, -(1 << 31), 1 << 20]


def damaged_message(data: bytes, rng: random.Random) -> bytes:
    """A message with one of its parts wrong."""
    kind = rng.randrange(6)
    if kind == 0:
        return mutations.changed_bytes(data, rng)
    if kind == 1:  # size, magic code, flags, length of the body
        at = rng.choice((0, 4, 36, 84))
        return data[:at] + struct.pack(">i", rng.choice(ODD_INTS)) + data[at + 4 :]
    if kind == 2:
        at = rng.randrange(len(data))
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    if kind == 3:
        return data[:20] + struct.pack(">q", rng.choice([-1, 0, 1 << 62, -(1 << 63)])) + data[28:]
    if kind == 4:
        return (
            data[:36]
            + struct.pack(">i", rng.choice([192, 193, 64, 128, 1, 1 << 8 | 1, 3 << 8 | 193, 240]))
            + data[40:]
        )
    return rng.randbytes(rng.randrange(300))


class HostileServer:
    """Name server and brokers of the two members, in a thread with a loop of its own.

    Parameters
    ----------
    n : int
        Answers and requests that are changed; all others are right, and all are after that.
    seed : int
    judge : Judge
    """

    def __init__(self, n: int, seed: int, judge: Judge) -> None:
        self.kinds: Counter[str] = Counter()
        self.is_hostile = False
        self.n_right = 0
        self._most, self._rng, self._judge = n, random.Random(f"member {seed}"), judge
        self._client_ids: dict[str, str] = {}
        self._addresses: dict[str, str] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._servers: list[asyncio.Server] = []
        self.name_server = ""

    @property
    def is_over(self) -> bool:
        """Whether all further answers are right."""
        return self.kinds.total() >= self._most

    @property
    def _is_hostile_now(self) -> bool:
        return self.is_hostile and not self.is_over

    def __enter__(self) -> HostileServer:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        return self

    def __exit__(self, *_error: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _listen(self) -> None:
        for name in ("name", "broker-a", "broker-b"):
            server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
            self._servers.append(server)
            self._addresses[name] = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self.name_server = self._addresses["name"]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks: set[asyncio.Task[None]] = set()
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4))
                command = decode(await reader.readexactly(size))
                if not command.is_response:
                    task = asyncio.create_task(self._answer(command, writer))
                    tasks.add(task)
                    task.add_done_callback(tasks.discard)
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            for task in tasks:
                task.cancel()
            writer.close()

    async def _answer(self, request: Command, writer: asyncio.StreamWriter) -> None:
        right = await self._right(request)
        if request.is_oneway or right is None:
            return
        is_pull = request.code == 11
        if self._is_hostile_now and self._rng.random() < (HOSTILE if is_pull else HOSTILE / 2):
            answer = self._wrong(request, right)
        else:
            self.n_right += 1
            answer = Answer(encode(self._sent(request, right)))
        if writer.is_closing():
            return
        writer.write(answer.data)
        if self._is_hostile_now and self._rng.random() < 0.05:
            writer.write(self._asked())
        if answer.ends:
            writer.close()

    # --- Right answers ---

    async def _right(self, request: Command) -> Command | None:
        fields = request.ext_fields
        match request.code:
            case 11:
                return await self._pulled(request)
            case 14:
                return self._stored(self._key(fields))
            case 15:
                self._judge.commits(self._key(fields), int(fields["commitOffset"]))
                return Command(0)
            case 29 | 30:
                return Command(
                    0,
                    ext_fields={
                        "offset": str(self._first(self._key({"consumerGroup": "", **fields})))
                    },
                )
            case 34:
                said = json.loads(request.body)
                for consumer in said["consumerDataSet"]:
                    self._client_ids[consumer["groupName"]] = said["clientID"]
                return Command(
                    0, ext_fields={"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": "false"}
                )
            case 38:
                ids = [self._client_ids.get(fields["consumerGroup"], "nobody")]
                return Command(0, body=json.dumps({"consumerIdList": ids}).encode())
            case 41:
                return Command(
                    0, body=json.dumps({"lockOKMQSet": json.loads(request.body)["mqSet"]}).encode()
                )
            case 105:
                return (
                    self._route()
                    if fields["topic"] == "orders"
                    else Command(17, remark="no such topic")
                )
        return Command(0)

    def _route(self) -> Command:
        names = ("broker-a", "broker-b")
        held = [
            {"brokerName": name, "readQueueNums": 4, "writeQueueNums": 4, "perm": 6}
            for name in names
        ]
        served = [
            {"brokerName": name, "cluster": "c", "brokerAddrs": {"0": self._addresses[name]}}
            for name in names
        ]
        return Command(0, body=json.dumps({"queueDatas": held, "brokerDatas": served}).encode())

    def _stored(self, key: Key) -> Command:
        state = self._judge.states[key]
        offset = self._first(key) if state.committed is None else state.committed
        state.answered.add(offset)
        return Command(0, ext_fields={"offset": str(offset)})

    @staticmethod
    def _key(fields: Any) -> Key:
        return fields["consumerGroup"], fields.get("bname", ""), int(fields["queueId"])

    @staticmethod
    def _first(key: Key) -> int:
        number = QUEUES.index(key[1:]) if key[1:] in QUEUES else len(QUEUES)
        return FIRST + APART * number

    async def _pulled(self, request: Command) -> Command:
        key, offset = self._key(request.ext_fields), int(request.ext_fields["queueOffset"])
        pull = self._judge.pulls(key, offset)
        if int(request.ext_fields["sysFlag"]) & 1:
            self._judge.commits(key, int(request.ext_fields["commitOffset"]))
        if not self._first(key) <= offset < 1 << 61:
            return self._moved(key, pull, self._first(key))
        n = self._rng.randrange(1, 9)
        if self.is_over:
            state = self._judge.states[key]
            if state.end is None or offset > state.end:
                near = [number for number in state.due if abs(number - offset) < NEAR // 2]
                state.end = max([offset, *near]) + 20
            n = min(n, state.end - offset)
            if not n:
                await asyncio.sleep(0.05)
                return self._noted(pull, 19, offset)
        return self._noted(pull, 0, offset + n, range(offset, offset + n), key)

    def _moved(self, key: Key, pull: Pull, offset: int) -> Command:
        self._judge.says(key[0], str(offset))
        return self._noted(pull, 21, offset)

    @staticmethod
    def _noted(
        pull: Pull, code: int, following: int, offsets: range = range(0), key: Key = ("", "", 0)
    ) -> Command:
        """An answer to a pull, of which the judge knows."""
        pull.code, pull.following, pull.whole = code, following, frozenset(offsets)
        fields = {"nextBeginOffset": f"{following}", "minOffset": "0", "maxOffset": f"{following + 9}",
                  "suggestWhichBrokerId": "0"}  # fmt: skip
        return Command(
            code, ext_fields=fields, body=b"".join(message(key, number) for number in offsets)
        )

    @staticmethod
    def _sent(request: Command, answer: Command, **changes: Any) -> Command:
        parts = {
            "code": answer.code,
            "ext_fields": answer.ext_fields,
            "body": answer.body,
            "remark": answer.remark,
        } | changes
        return Command(parts["code"], parts.get("opaque", request.opaque), parts["ext_fields"], parts["body"], parts["remark"],
                       RESPONSE)  # fmt: skip

    # --- Wrong answers ---

    def _wrong(self, request: Command, right: Command) -> Answer:
        """A changed answer; the judge learns what it says now."""
        rng = self._rng
        kinds: list[tuple[str, int, Callable[[Command, Command], Answer]]] = [
            ("fields", 8, self._wrong_fields), ("code", 6, self._wrong_code), ("cut", 6, self._cut),
            ("frame", 6, self._frame), ("opaque", 6, self._opaque), ("long", 3, self._long),
            ("empty", 4, self._empty), ("length", 4, self._length),
        ]  # fmt: skip
        if request.code == 11 and right.code == 0:
            kinds += [("messages", 36, self._messages), ("batch", 12, self._batch),
                      ("bomb", 1, self._bomb), ("offsets", 16, self._offsets)]  # fmt: skip
        elif right.body:
            kinds += [("values", 36, self._values), ("nested", 1, self._nested)]
        name, _, called = rng.choices(kinds, [weight for _, weight, _ in kinds])[0]
        self.kinds[f"{_ASKED.get(request.code, 'others')}: {name}"] += 1
        if request.code == 11:
            self._judge.answers_wrongly(self._key(request.ext_fields), name)
        return called(request, right)

    def _judged(self, request: Command, code: int, fields: Any, whole: bool = False) -> None:
        """Tell the judge what an answer with other fields says, and that none of its messages is whole."""
        if request.code == 14 or (request.code == 11 and code == 21):
            self._judge.says(
                request.ext_fields["consumerGroup"], " ".join(map(str, fields.values()))
            )
        if request.code != 11:
            return
        pull = self._judge.states[self._key(request.ext_fields)].pull
        if pull is None or pull.offset != int(request.ext_fields["queueOffset"]):
            return
        follows = fields.get("nextBeginOffset", "")
        is_number = re.fullmatch(r"-?[0-9]{1,19}", str(follows))
        pull.code, pull.following = code, int(follows) if is_number else None
        if not whole or fields.get("offsetDelta", "0") != "0":
            pull.whole = frozenset()

    def _wrong_fields(self, request: Command, right: Command) -> Answer:
        rng, fields = self._rng, dict(right.ext_fields) or {"offset": "7"}
        name = rng.choice([*fields, "offsetDelta"])
        kind = rng.randrange(4)
        if kind == 0:
            fields.pop(name, None)
        elif kind == 1:
            fields[name] = str(rng.choice(mutations.NUMBERS))
        elif kind == 2:
            fields[name] = rng.choice([text for text in mutations.HOSTILE if text != "\ud800"])
        else:
            fields[name] = (
                str(int(fields.get(name, "0")) + rng.choice((-1, 1, 5, -40, 1_000)))
                if fields.get(name, "0").isdigit()
                else "x"
            )
        self._judged(request, right.code, fields, whole=True)
        return Answer(encode(self._sent(request, right, ext_fields=fields)))

    def _wrong_code(self, request: Command, right: Command) -> Answer:
        code = self._rng.choice(
            (1, 2, 3, 4, 14, 16, 17, 19, 20, 21, 22, 24, 25, 26, 204, 206, 207, -1, 1 << 30)
        )
        self._judged(request, code, right.ext_fields)
        return Answer(
            encode(
                self._sent(
                    request, right, code=code, remark=self._rng.choice((None, "why", "\x1b[2J\r\n"))
                )
            )
        )

    def _cut(self, request: Command, right: Command) -> Answer:
        body = right.body[: self._rng.randrange(len(right.body) + 1)]
        if request.code == 11 and right.body:
            key, number = self._key(request.ext_fields), int(request.ext_fields["queueOffset"])
            whole, left = set(), len(body)
            while (left := left - len(message(key, number))) >= 0:
                whole.add(number)
                number += 1
            self._keep_whole(request, whole)
        return Answer(encode(self._sent(request, right, body=body)))

    def _frame(self, request: Command, right: Command) -> Answer:
        """Bytes of the frame changed, so that nothing that follows on the connection can be read."""
        data = encode(self._sent(request, right))
        if request.code in (105, 220):  # an address might lead away
            return Answer(data[: self._rng.randrange(4, 40)], ends=True)
        at = self._rng.randrange(min(len(data), 40))
        self._judged(request, right.code, right.ext_fields)
        return Answer(data[:at] + bytes([self._rng.randrange(256)]) + data[at + 1 :], ends=True)

    def _opaque(self, request: Command, right: Command) -> Answer:
        """Answers to requests that were never made, before and after the right one."""
        number = self._rng.choice((request.opaque + 1, request.opaque + 999, 0, -1, -(1 << 31)))
        stray = encode(
            self._sent(request, Command(0, ext_fields={"x": "y"}, body=b"x" * 99), opaque=number)
        )
        data = encode(self._sent(request, right))
        is_next = number == request.opaque + 1  # of another request, which gets nothing whole by it
        return Answer(data + stray if not is_next else data)

    def _long(self, request: Command, right: Command) -> Answer:
        text = "n" * self._rng.choice((5_000, 70_000, 900_000))
        if self._rng.random() < 0.5:
            self._judged(request, 1, right.ext_fields)
            return Answer(encode(self._sent(request, right, code=1, remark=text)))
        return Answer(
            encode(self._sent(request, right, ext_fields={**right.ext_fields, "x": text}))
        )

    def _empty(self, request: Command, right: Command) -> Answer:
        if self._rng.random() < 0.5:
            self._judged(request, right.code, {})
            return Answer(encode(self._sent(request, right, ext_fields={})))
        self._judged(request, right.code, right.ext_fields)
        return Answer(encode(self._sent(request, right, body=b"")))

    def _length(self, request: Command, right: Command) -> Answer:
        data = encode(self._sent(request, right))
        self._judged(request, right.code, right.ext_fields)
        return Answer(struct.pack(">i", self._rng.choice(ODD_INTS)) + data[4:], ends=True)

    def _values(self, request: Command, right: Command) -> Answer:
        """A body of JSON with values changed, or bytes."""
        rng = self._rng
        if request.code != 105 and rng.random() < 0.3:
            return Answer(
                encode(self._sent(request, right, body=mutations.changed_bytes(right.body, rng)))
            )
        content = mutations.changed_data(json.loads(right.body), rng)
        self._tame(content)
        return Answer(encode(self._sent(request, right, body=json.dumps(content).encode())))

    def _tame(self, content: Any) -> None:
        """Let no address lead away from here."""
        here = [
            *self._addresses.values(),
            "127.0.0.1:1",
            "127.0.0.1",
            "",
            ":",
            "127.0.0.1:99999999",
            "127.0.0.1:x",
        ]
        if isinstance(content, dict):
            for name, value in content.items():
                if name == "brokerAddrs" and isinstance(value, dict):
                    for number, address in value.items():
                        if isinstance(address, str) and address not in here:
                            value[number] = self._rng.choice(here)
                else:
                    self._tame(value)
        elif isinstance(content, list):
            for value in content:
                self._tame(value)

    def _nested(self, request: Command, right: Command) -> Answer:
        return Answer(encode(self._sent(request, right, body=self._rng.choice(NESTED))))

    # --- Wrong pulls ---

    def _keep_whole(self, request: Command, whole: set[int]) -> None:
        """Tell the judge which messages of a pull are unchanged."""
        pull = self._judge.states[self._key(request.ext_fields)].pull
        if pull is not None and pull.offset == int(request.ext_fields["queueOffset"]):
            pull.whole &= whole

    def _messages(self, request: Command, right: Command) -> Answer:
        """Some messages of a pull damaged."""
        key, begin = self._key(request.ext_fields), int(request.ext_fields["queueOffset"])
        parts = {
            number: message(key, number)
            for number in range(begin, int(right.ext_fields["nextBeginOffset"]))
        }
        changed = self._rng.choices([*parts], k=self._rng.choice((1, 1, 1, 2, 3)))
        for number in changed:
            parts[number] = damaged_message(parts[number] or b"x", self._rng)
        self._keep_whole(request, parts.keys() - set(changed))
        return Answer(encode(self._sent(request, right, body=b"".join(parts.values()))))

    def _with(self, request: Command, right: Command, bad: bytes, n_offsets: int = 1) -> Answer:
        """A pull with one message in place of its last one, which takes some offsets."""
        key, begin = self._key(request.ext_fields), int(request.ext_fields["queueOffset"])
        last = int(right.ext_fields["nextBeginOffset"]) - 1
        fields = {**right.ext_fields, "nextBeginOffset": str(last + n_offsets)}
        body = b"".join(message(key, number) for number in range(begin, last)) + bad
        self._judged(request, 0, fields, whole=True)
        self._keep_whole(request, set(range(begin, last)))
        return Answer(encode(self._sent(request, right, ext_fields=fields, body=body)))

    def _batch(self, request: Command, right: Command) -> Answer:
        """A batch, right or not, with as many offsets as messages or not."""
        rng, key = self._rng, self._key(request.ext_fields)
        offset = int(right.ext_fields["nextBeginOffset"]) - 1
        n = rng.choice((1, 2, 5, 40, 40, 9_000) if rng.random() < 0.1 else (1, 2, 5, 40))
        body = b"".join(inner(text_of(key, offset + i)) for i in range(n))
        if rng.random() < 0.5:
            body = mutations.changed_bytes(body, rng)
        flag = 192
        if rng.random() < 0.5:
            body, flag = zlib.compress(body), 193
        return self._with(
            request, right, message(key, offset, body, flag), rng.choice((1, n, n, n + 5))
        )

    def _bomb(self, request: Command, right: Command) -> Answer:
        """A batch that becomes a thousand times as long, or several of them."""
        rng, key = self._rng, self._key(request.ext_fields)
        offset = int(right.ext_fields["nextBeginOffset"]) - 1
        chance = rng.random()
        bomb = BOMBS[0 if chance < 0.93 else 1 if chance < 0.98 else 2 if chance < 0.99 else 3]
        bad = message(key, offset, bomb, rng.choice((193, 193, 1)))
        return self._with(
            request, right, bad * rng.choice((1, 1, 3)), rng.choice((1, 1, 100, 50_000))
        )

    def _offsets(self, request: Command, right: Command) -> Answer:
        """An answer that goes on from where it should not."""
        rng, offset = self._rng, int(request.ext_fields["queueOffset"])
        code = rng.choice((0, 0, 19, 20, 20, 21))
        change = rng.choice((0, 0, -1, -100, 1, 3, 1_000, 1 << 50))
        following = (
            offset + change
            if rng.random() < 0.95
            else rng.choice((-1, 0, -(1 << 63), (1 << 63) - 1))
        )
        fields = {**right.ext_fields, "nextBeginOffset": str(following)}
        if code != 21:
            fields["maxOffset"] = str(rng.choice((following, offset, -1, 1 << 62)))
        self._judged(request, code, fields, whole=code == 0)
        return Answer(encode(self._sent(request, right, code=code, ext_fields=fields)))

    # --- Requests ---

    def _asked(self) -> bytes:
        """Requests that no broker makes, or makes at a wrong time."""
        rng, group = self._rng, self._rng.choice((*GROUPS, "another", "n" * 5000))
        broker, queue_id = rng.choice(QUEUES)
        name = rng.choice(
            (
                "notice",
                "reset",
                "reset",
                "status",
                "info",
                "direct",
                "direct",
                "unknown",
                "flood",
                "answer",
            )
        )
        self.kinds[f"asked: {name}"] += 1
        fields = {
            "consumerGroup": group,
            "group": group,
            "topic": "orders",
            "timestamp": "1",
            "clientId": "x",
        }
        flag, number, body = 0, rng.randrange(1 << 31), b""
        codes = {
            "notice": 40,
            "reset": 220,
            "status": 221,
            "info": 307,
            "direct": 309,
            "unknown": rng.choice((0, 11, -5, 9_999)),
        }
        code = codes.get(name, 40)
        if name == "reset":
            body, flag = self._reset(broker, queue_id), ONEWAY
            for named in GROUPS if len(body) < 1_000 else ():
                self._judge.says(named, body.decode(errors="replace"))
        elif name == "direct":
            good = message(("", broker, queue_id), 5, b"direct")
            body = rng.choice(
                (
                    good,
                    damaged_message(good, rng),
                    good * 2,
                    b"",
                    message(("", broker, 0), 5, BOMBS[1], 193),
                )
            )
        elif name == "answer":
            flag = RESPONSE
        if rng.random() < 0.3:
            fields.pop(rng.choice([*fields]))
        data = encode(Command(code, number, fields, body, None, flag))
        if name == "flood":
            return data * 200
        return (
            data
            if rng.random() < 0.8
            else data[:4]
            + mutations.changed_bytes(data[4:], rng)[: len(data) - 4].ljust(len(data) - 4)
        )

    def _reset(self, broker: str, queue_id: int) -> bytes:
        rng = self._rng
        offset = rng.choice((self._first(("", broker, queue_id)), 0, -1, 1 << 62))
        queue = json.dumps({"topic": "orders", "brokerName": broker, "queueId": queue_id})
        body = f'{{"offsetTable":{{{queue}:{offset}}}}}'.encode()
        kind = rng.randrange(4)
        if kind == 0:
            return mutations.changed_bytes(body, rng)
        return rng.choice(NESTED) if kind == 1 and rng.random() < 0.1 else body


# --- Members ---


class Outcome(NamedTuple):
    """What a run comes to.

    Attributes
    ----------
    kinds : dict of str to int
        Answers and requests that were changed.
    faults : list of str
        What is wrong.
    figures : dict of str to str
        Counts, times and memory.
    """

    kinds: dict[str, int]
    faults: list[str]
    figures: dict[str, str]


class Lines(logging.Handler):
    """Counts lines of the log; an error with a traceback is a fault."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__()
        self.lines: Counter[str] = Counter()
        self.longest = 0
        self._faults = faults

    def emit(self, record: logging.LogRecord) -> None:
        """Count one."""
        self.lines[record.levelname] += 1
        self.longest = max(self.longest, len(record.getMessage()))
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not isinstance(error, Error) and len(self._faults) < 20:
            self._faults.append(logging.Formatter().format(record)[-3000:])


def attacked(n: int, seed: int) -> Outcome:
    """Run two members against ``n`` changed answers and requests."""
    judge, selector = Judge(), TimedSelector()
    lines = Lines(judge.faults)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(2e-4)  # the server, a thread, is no part of what is measured
    try:
        with _quick(lines), HostileServer(n, seed, judge) as server:
            before = memory_now()
            most, n_undecodable = _run(server, judge, selector)
    finally:
        sys.setswitchinterval(interval)
    if selector.worst_cpu > MOST_SECONDS:
        judge.faults.append(
            f"{selector.n_slow} turns of the loop took up to {selector.worst_cpu:.3f} s"
        )
    if (grown := most - before) > MOST_MEMORY:
        judge.faults.append(f"memory has grown by {grown >> 20:,} MiB")
    figures = {
        "right answers beside them": f"{server.n_right:,}",
        "turns of the loop": f"{selector.n_turns:,}",
        "slowest, of its thread's CPU time": f"{selector.worst_cpu * 1e3:.0f} ms",
        "slowest, by the clock": f"{selector.worst_wall * 1e3:.0f} ms",
        "memory grown by": f"{grown >> 20:,} MiB of {MOST_MEMORY >> 20:,}",
        "messages that had to be heard": f"{judge.n_due:,}",
        "passed by a later answer": f"{judge.n_forgiven:,}",
        "messages that cannot be read": f"{n_undecodable:,}",
        "lines of the log, longest": f"{lines.lines.total():,}, {lines.longest:,} characters",
    }
    return Outcome(dict(server.kinds), judge.faults, figures)


def _run(server: HostileServer, judge: Judge, selector: TimedSelector) -> tuple[int, int]:
    """Run the members in a loop that is measured; return the most memory, and messages not read."""
    loop = asyncio.SelectorEventLoop(selector)
    loop.set_exception_handler(
        lambda _loop, context: judge.faults.append(f"unexpected: {context}"[:3000])
    )
    try:
        asyncio.set_event_loop(loop)
        return loop.run_until_complete(_members(server, judge))
    finally:
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
        asyncio.set_event_loop(None)


@contextmanager
def _quick(lines: Lines) -> Iterator[None]:
    """Pauses and limits of time that suit a run, and a log that is counted."""
    log = logging.getLogger("rmqalloc")
    propagates, level = log.propagate, log.level
    log.propagate = False
    log.setLevel(logging.INFO)
    log.addHandler(lines)
    try:
        with (
            patch.object(_pulling, "AFTER_ERROR", 2),
            patch.object(_pulling, "BETWEEN_EMPTY", 2),
            patch.object(_member_remoting, "PULL_WITHIN", 3.0),
        ):
            yield
    finally:
        log.removeHandler(lines)
        log.propagate = propagates
        log.setLevel(level)


async def _members(server: HostileServer, judge: Judge) -> tuple[int, int]:
    members = [_member(server, judge, group, group == "in-order") for group in GROUPS]
    most = 0
    for member in members:
        await member.start()
    server.is_hostile = True
    try:
        end = None
        while True:
            await asyncio.sleep(0.05)
            most = max(most, memory_now())
            if server.is_over:
                end = end or time.monotonic() + ENDS_WITHIN
                if not (left := judge.unfinished()):
                    break
                if time.monotonic() > end:
                    judge.faults += [
                        f"{key} has stopped: {judge.states[key]}"[:600] for key in left
                    ]
                    break
        return most, sum(member._member.tally.undecodable for member in members)
    finally:
        for member in members:
            await member.close()


def _member(server: HostileServer, judge: Judge, group: str, orderly: bool) -> PushConsumer:
    def heard(messages: Any) -> None:
        for message in messages:
            if not message.sys_flag & 1:  # a listener pays for what it decompresses
                judge.hears(group, message.raw_body.decode("latin-1"))

    async def heard_in_loop(messages: Any) -> None:
        heard(messages)

    intervals = Intervals(rebalance=200, route_poll=100, heartbeat=100, persist=50, lock=100)
    consumer = PushConsumer(
        group, name_server=server.name_server, listener=heard if orderly else heard_in_loop, orderly=orderly,
        intervals=intervals, profile=AT_ONCE, consume_from_where=ConsumeFromWhere.FIRST_OFFSET, close_within=5,
    )  # fmt: skip
    consumer.subscribe("orders")
    return consumer


def memory_now() -> int:
    """Bytes of this process in memory; 0 where the system does not say it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) << 12
    except OSError:
        return 0
