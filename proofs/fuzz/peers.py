"""Hostile peers of programs that run: raw requests to ``rmqalloc serve``, lines to ``rmqalloc mcp``.

A request is answered or its connection ends, never with a 500 and never with a traceback in the
log, and ``/healthz`` is answered throughout, beside connections that are left open. A line is
answered once or not at all, as JSON-RPC has it, in ASCII.
"""

from __future__ import annotations

import contextlib
import json
import queue
import random
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import tied
from programs import environment

from fuzz.outcome import Outcome

PATIENCE = 60.0
_HEALTHY_EVERY = 20
_MOST_LEFT_OPEN = 600
_PROBE = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


# --- Requests ---

_METHODS = (
    b"GET",
    b"GET",
    b"HEAD",
    b"POST",
    b"POST",
    b"PUT",
    b"OPTIONS",
    b"CONNECT",
    b"get",
    b"X" * 99,
    b"",
)
_TARGETS = (
    b"/", b"/healthz", b"/metrics", b"/v1/groups", b"/v1/groups/order-svc", b"/v1/groups/%2e%2e",
    b"/v1/plan?assume=yes&scale=3", b"/v1/diff", b"/v1/guard?stop=10.1.0.11",
    b"/v1/groups/order-svc/guard?stop=%ff", b"/static/../web_app.py", b"*",
    b"http://evil/v1/groups", b"/v1/groups?top=" + b"9" * 5000, b"/" + b"a" * 5000, b"/\x00", b"/\xff",
    b"//", b"/v1/schema/plan",
)  # fmt: skip
_HEADERS = (
    b"Host: 127.0.0.1", b"Host: 127.0.0.1", b"Host: 127.0.0.1", b"Host: [::1]evil", b"Host: evil", b"Host:",
    b"Connection: close",
    b"Content-Type: application/json", b"Content-Type: application/yaml", b"Content-Length: 2", b"Content-Length: 99999999",
    b"Content-Length: -1", b"Transfer-Encoding: chunked", b"Transfer-Encoding: x", b"Expect: 100-continue",
    b"Upgrade: websocket",
    b"Connection: upgrade", b"Upgrade: h2c", b"X: " + b"y" * 20_000, b" folded", b"no colon", b"\x00: \x00", b"Accept: \xff",
    b"Sec-Fetch-Site: cross-site", b"Authorization: Bearer x", b"Range: bytes=0-1", b"Origin: http://evil",
)  # fmt: skip
_BODIES = (
    b"", b"{}", b"[" * 3000, b'{"scenarios": []}', b'{"scenarios": [{"name": "x", "changes": [{"scale_clients": {"to": 2}}]}]}',
    b"2\r\n{}\r\n0\r\n\r\n", b"ZZ\r\n", b"ffffffffffffffff\r\nx", b"2\r\n{}", b"\xff\xfe", b"&a [*a, *a]", b"x" * 70_000,
    _PROBE,
)  # fmt: skip


def requests(rng: random.Random) -> Iterator[bytes]:
    """Raw requests without end: right parts in any order, some of them damaged."""
    while True:
        head = [b" ".join((rng.choice(_METHODS), rng.choice(_TARGETS), b"HTTP/1.1"))]
        head += rng.sample(_HEADERS, rng.randrange(6))
        if rng.random() < 0.7:
            head.append(_HEADERS[0])
        data = b"\r\n".join(head) + b"\r\n\r\n" + rng.choice(_BODIES)
        if rng.random() < 0.4:
            target = rng.choice(_TARGETS[:11])
            data = b"GET " + target + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        if rng.random() < 0.2:
            at = rng.randrange(len(data))
            data = data[:at] + rng.randbytes(rng.randrange(4)) + data[at + rng.randrange(4) :]
        if rng.random() < 0.2:
            data = data[: rng.randrange(len(data) + 1)]
        yield data


def served(n: int, seed: int) -> Outcome:
    """Send requests to a service of its own; a few connections are closed, many are left open."""
    rng = random.Random(f"requests {seed}")
    counts: Counter[str] = Counter()
    faults: list[str] = []
    worst, left_open = (0.0, b""), []
    command = ["serve", "-f", "example:orders", "--port", "0"]
    with _program(command, stderr=subprocess.PIPE) as program:
        log = _lines_of(program.stderr)
        port = int(log.get(timeout=PATIENCE).partition(b"127.0.0.1:")[2].partition(b"/")[0])
        for number, data in zip(range(n), requests(rng), strict=False):
            begun = time.perf_counter()
            made = socket.create_connection(("127.0.0.1", port), PATIENCE)
            status = _answered(made, data, rng)
            counts[status] += 1
            if status not in _RIGHT:
                faults.append(f"{status} to {data[:300]!r}")
            left_open.append(made)
            if len(left_open) > _MOST_LEFT_OPEN:
                left_open.pop(rng.randrange(len(left_open))).close()
            worst = max(worst, (time.perf_counter() - begun, data[:3000]))
            if number % _HEALTHY_EVERY == 0:
                with socket.create_connection(("127.0.0.1", port), PATIENCE) as probe:
                    probe.sendall(_PROBE)
                    if not probe.recv(99).startswith(b"HTTP/1.1 200 "):
                        faults.append(f"/healthz is not answered after {number:,} requests")
        memory = _high_water(program.pid)
        for made in left_open:
            made.close()
        program.terminate()
        program.wait(PATIENCE)
    said = b"".join(_rest(log)).decode(errors="replace")
    if "Traceback" in said:
        faults.append(f"{said.count('Traceback')} tracebacks in the log: {said[:3000]}")
    counts["read"] = counts.pop("200", 0)
    return Outcome("requests", n, dict(counts), faults, *worst, memory, b"")


_RIGHT = {
    "no answer", "200", "100", "400", "401", "403", "404", "405", "409", "413", "414", "415", "421", "431", "503",
}  # fmt: skip


def _answered(made: socket.socket, data: bytes, rng: random.Random) -> str:
    """Send a request, sometimes in two pieces, and return the status of what comes soon."""
    made.settimeout(0.05)
    try:
        at = rng.randrange(len(data) + 1) if rng.random() < 0.3 else len(data)
        for piece in (data[:at], data[at:]):
            made.sendall(piece)
        found = made.recv(1 << 16)
    except OSError:
        return "no answer"
    status = found[9:12].decode("latin-1")
    return status if found[:9] == b"HTTP/1.1 " else f"{found[:30]!r}" if found else "no answer"


# --- Lines ---

_CALLS = (
    "ping",
    "tools/list",
    "tools/call",
    "none/such",
    "initialize",
    "resources/list",
    "",
    "é\u202e",
)
_PARAMS: tuple[Any, ...] = (
    {}, {"name": "groups", "arguments": {}}, {"name": "groups", "arguments": {"where": ["x=\u202e"]}}, {"name": 5}, [1], 7, "x",
    None, {"name": "plan", "arguments": {"scenarios": [{"name": "\u202e"}]}}, {"_meta": {"progressToken": True}}, {"cursor": 1},
)  # fmt: skip
_ODD = (
    b"",
    b"   ",
    b"\xff",
    b"{",
    b"[]",
    b"7",
    b"null",
    b'"x"',
    b"[" * 5000,
    b"x" * 5000,
    b"{}",
    b"\xef\xbb\xbf{}",
)
_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "fuzz", "version": "1"},
}
_AT_ONCE = 20


class _Line:
    """A line, and the id that its answer bears; ``answers`` is False for what gets none."""

    def __init__(self, data: bytes, answers: bool, number: Any = None) -> None:
        self.data, self.answers, self.number = data, answers, number


def lines(rng: random.Random) -> Iterator[_Line]:
    """Lines without end, each with its own id where it has a right one."""
    number = 0
    while True:
        number += 1
        if rng.random() < 0.3:
            odd = rng.choice(_ODD)
            yield _Line(odd, bool(odd.strip()))
            continue
        if rng.random() < 0.3:
            right = {"jsonrpc": "2.0", "id": number, "method": "tools/call"}
            right["params"] = rng.choice(_PARAMS[1:3])
            yield _Line(json.dumps(right).encode(), True, number)
            continue
        ident = rng.choice((number, f"{number}\u202e", number, 1.5, None, True, [number], {}))
        fields = {"jsonrpc": rng.choice(("2.0", "2.0", "2.0", "1.0", 2)), "id": ident,
                  "method": rng.choice((*_CALLS, *_CALLS, 5, None)), "params": rng.choice(_PARAMS)}  # fmt: skip
        for name in ("jsonrpc", "id", "method", "params"):
            if rng.random() < 0.15:
                del fields[name]
        data = json.dumps(fields, ensure_ascii=rng.random() < 0.5).encode()
        has_id = isinstance(fields.get("id"), (int, str)) and fields.get("id") is not True
        is_named = fields.get("jsonrpc") == "2.0" and isinstance(fields.get("method"), str)
        has_params = fields.get("params") is None or isinstance(fields["params"], (dict, list))
        if is_named and has_params and "id" not in fields:
            yield _Line(data, False)
        else:
            yield _Line(data, True, ident if has_id else None)


def spoken(n: int, seed: int) -> Outcome:
    """Write lines to a server of its own, some at once, and wait for each answer that is due."""
    rng = random.Random(f"lines {seed}")
    counts: Counter[str] = Counter()
    faults: list[str] = []
    worst = (0.0, b"")
    command = ["mcp", "-f", "example:orders"]
    with _program(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:  # fmt: skip
        out, log = _lines_of(program.stdout), _lines_of(program.stderr)
        hello = {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": _HELLO}
        _write(program, [json.dumps(hello).encode()])
        out.get(timeout=PATIENCE)
        given = lines(rng)
        for _ in range(0, n, _AT_ONCE):
            batch = [next(given) for _ in range(_AT_ONCE)]
            due = Counter(json.dumps(line.number) for line in batch if line.answers)
            begun = time.perf_counter()
            _write(program, [line.data for line in batch])
            while due.total():
                try:
                    said = out.get(timeout=PATIENCE)
                except queue.Empty:
                    faults.append(f"no answer to {[*due]} of {[line.data[:200] for line in batch]}")
                    return Outcome("lines", n, dict(counts), faults, *worst, 0, b"")
                _judge(said, due, counts, faults)
            worst = max(worst, (time.perf_counter() - begun, batch[0].data[:3000]))
        memory = _high_water(program.pid)
        program.stdin.close()
        program.wait(PATIENCE)
    faults += [f"more than is due: {said[:300]!r}" for said in _rest(out)]
    said = b"".join(_rest(log)).decode(errors="replace")
    if "Traceback" in said:
        faults.append(f"{said.count('Traceback')} tracebacks in the log: {said[:3000]}")
    counts["read"] = counts.pop("result", 0)
    return Outcome("lines", n, dict(counts), faults, *worst, memory, b"")


def _judge(said: bytes, due: Counter[str], counts: Counter[str], faults: list[str]) -> None:
    """Look whether a line of output is due, and whether it is printable ASCII."""
    if not (said.isascii() and said[:-1].decode().isprintable()):
        faults.append(f"not printable ASCII: {said[:300]!r}")
    found = json.loads(said)
    counts[f"error {found['error']['code']}" if "error" in found else "result"] += 1
    ident = json.dumps(found["id"])
    due[ident] -= 1
    if due[ident] < 0:
        faults.append(f"more than is due: {said[:300]!r}")
        del due[ident]


# --- Programs ---


@contextlib.contextmanager
def _program(arguments: list[str], **streams: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A program of the package, ended with the block."""
    command = [sys.executable, "-m", "rmqalloc", *arguments]
    program = tied.popen(command, env=environment(), **streams)
    try:
        yield program
    finally:
        program.kill()
        program.wait()


def _lines_of(stream: IO[bytes]) -> queue.SimpleQueue[bytes]:
    """The lines of a stream, read on a thread, so that its writer never waits; an empty one ends
    them.
    """
    found: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        with stream:
            for line in stream:
                found.put(line)
        found.put(b"")

    threading.Thread(target=read, daemon=True).start()
    return found


def _rest(found: queue.SimpleQueue[bytes]) -> list[bytes]:
    """All further lines, up to the end of the stream."""
    return [*iter(lambda: found.get(timeout=PATIENCE), b"")]


def _write(program: subprocess.Popen[bytes], given: list[bytes]) -> None:
    program.stdin.write(b"".join(line + b"\n" for line in given))
    program.stdin.flush()


def _high_water(pid: int) -> int:
    """Bytes that a process had in memory at most, 0 where the system does not say it."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return 0
