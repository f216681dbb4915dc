"""The lines of the protocol: what is no message is answered by the rules of JSON-RPC, and the next
line is read; all output is ASCII.
"""

import io
import json
import subprocess
import sys

import pytest
import tied
from hypothesis import given
from hypothesis import strategies as st
from json_values import JSON_VALUES
from programs import environment

from rmqalloc.service.mcp._stdio import MOST_LINE, AsciiLines, CheckedLines, refusal
from rmqalloc.snapshot import Group, Snapshot, Topic, TopicBroker
from rmqalloc.snapshot.files import write_snapshot

PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS = -32700, -32600, -32602
PING = b'{"jsonrpc": "2.0", "id": 7, "method": "ping"}\n'


@pytest.mark.parametrize(
    ("line", "code", "number"),
    [
        (b"nonsense", PARSE_ERROR, None),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "ping"', PARSE_ERROR, None),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "\xff"}', PARSE_ERROR, None),
        (b"[" * 100_000, PARSE_ERROR, None),
        (b" " * MOST_LINE + PING, INVALID_REQUEST, None),
        (b"[" + PING.strip() + b"]", INVALID_REQUEST, None),
        (b"7", INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": 7}', INVALID_REQUEST, 7),
        (b'{"jsonrpc": "1.0", "id": "a", "method": "ping"}', INVALID_REQUEST, "a"),
        (b'{"jsonrpc": "1.0", "method": "ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "\\ud800"}', INVALID_REQUEST, 7),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": [1]}', INVALID_PARAMS, 7),
    ],
)
def test_a_line_that_is_no_message_is_answered_with_its_id_or_null(line, code, number):
    found = refusal(line)
    assert (found["jsonrpc"], found["error"]["code"], found["id"]) == ("2.0", code, number)


@pytest.mark.parametrize(
    "line",
    [
        PING,
        b"\r\n",
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        b'{"jsonrpc": "2.0", "method": "none/such", "params": [1]}',
        b'{"jsonrpc": "2.0", "id": 7, "result": {}}',
    ],
)
def test_requests_reach_the_server_and_notifications_get_no_answer(line):
    assert refusal(line) is None


def test_lines_after_a_wrong_one_are_read():
    wrong = [b"nonsense\n", b"x" * (3 * MOST_LINE) + b"\n", b"\n", b"[]\n"]
    written = io.BytesIO()
    lines = CheckedLines(io.BytesIO(b"".join([*wrong, PING, *wrong])), AsciiLines(written))
    assert [lines.readline(), lines.readline()] == [PING.decode(), ""]
    codes = [json.loads(line)["error"]["code"] for line in written.getvalue().splitlines()]
    assert codes == [PARSE_ERROR, INVALID_REQUEST, INVALID_REQUEST] * 2


@given(st.text())
def test_what_is_written_is_ascii_and_means_the_same(text):
    written = io.BytesIO()
    AsciiLines(written).write(json.dumps(text, ensure_ascii=False) + "\n")
    line = written.getvalue()
    assert line.isascii() and line[:-1].decode().isprintable() and json.loads(line) == text


FIELDS = st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error"])
VALUES = st.sampled_from(["2.0", "ping", 7, None, {}, []]) | JSON_VALUES


@given(st.dictionaries(FIELDS, VALUES))
def test_every_object_is_answered_or_has_a_method_or_an_outcome(fields):
    found = refusal(json.dumps(fields).encode())
    if found is None:
        assert fields["jsonrpc"] == "2.0"
        assert fields.keys() & {"method", "result", "error"}
    else:
        assert found["id"] in (fields.get("id"), None)


@pytest.mark.thorough
def test_a_real_process_answers_wrong_lines_and_escapes_names(tmp_path):
    name, path = "g\u202e\U0001f600\x7f", str(tmp_path / "cluster.json")
    topic = Topic("T", (TopicBroker("b", 3),))
    write_snapshot(Snapshot((topic,), (Group(name, ("T",), strategy="AVG"),)), path)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
    hello["clientInfo"] = {"name": "x", "version": "1"}
    call = {"name": "groups", "arguments": {}}
    requests = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
    lines = [b"nonsense\n", *(json.dumps(request).encode() + b"\n" for request in requests)]
    command = [sys.executable, "-m", "rmqalloc", "mcp", "-f", path]
    with tied.popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    ) as program:
        program.stdin.write(b"".join(lines))
        program.stdin.flush()
        answered = [program.stdout.readline() for _ in lines]
        program.stdin.close()
        assert program.wait(120) == 0
    assert all(line.isascii() and line[:-1].decode().isprintable() for line in answered)
    answers = {found["id"]: found for found in map(json.loads, answered)}
    assert answers[None]["error"]["code"] == PARSE_ERROR
    [row] = answers[2]["result"]["structuredContent"]["document"]["groups"]
    assert row["consumer_group"] == name
