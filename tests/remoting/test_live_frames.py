"""Frames and the JSON of RocketMQ's servers: what is right is read, whatever else is refused and
never hangs.
"""

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_values import JSON_VALUES, TEXTS

from rmqalloc.remoting import loose_json
from rmqalloc.remoting.credentials import Credentials, read_credentials, tls_context
from rmqalloc.remoting.frames import Command, FrameError, decode, encode
from rmqalloc.remoting.read_codes import ForbiddenRequestError, ReadCode, check_code


def read_or_refused(read, data, error):
    """Read; only the named error may come, and it says something."""
    try:
        read(data)
    except error as refused:
        return len(str(refused)) > 10
    return True


def binary(code, opaque, flag, remark, fields, body=b""):
    """A frame with RocketMQ's own binary header, as a server set to it answers."""
    pairs = b"".join(
        struct.pack(">h", len(k.encode()))
        + k.encode()
        + struct.pack(">i", len(v.encode()))
        + v.encode()
        for k, v in fields.items()
    )
    header = struct.pack(">hbhii", code, 0, 479, opaque, flag)
    header += (
        struct.pack(">i", len(remark.encode()))
        + remark.encode()
        + struct.pack(">i", len(pairs))
        + pairs
    )
    return struct.pack(">i", 1 << 24 | len(header)) + header + body


@given(
    st.integers(0, 2**15 - 1),
    st.integers(0, 2**31 - 1),
    st.dictionaries(TEXTS, TEXTS, max_size=4),
    st.binary(max_size=40),
)
def test_what_is_encoded_is_decoded(code, opaque, fields, body):
    frame = encode(Command(code, opaque, fields, body))
    assert struct.unpack(">i", frame[:4])[0] == len(frame) - 4
    assert decode(frame[4:]) == Command(code, opaque, fields, body)


@given(
    st.integers(0, 2**15 - 1),
    st.integers(0, 3),
    TEXTS,
    st.dictionaries(TEXTS, TEXTS, max_size=4),
    st.binary(max_size=40),
)
def test_binary_headers_are_decoded(code, flag, remark, fields, body):
    got = decode(binary(code, 7, flag, remark, fields, body))
    assert got == Command(code, 7, fields, body, remark or None, flag)


def test_a_json_header_needs_a_code_alone():
    assert decode(b'\x00\x00\x00\x0a{"code":9}') == Command(9, 0, {}, b"", None, 0)


@given(st.binary(max_size=80))
def test_garbage_is_a_frame_or_an_error(data):
    assert read_or_refused(decode, data, FrameError)


@given(st.dictionaries(TEXTS, TEXTS, max_size=3), st.data())
def test_a_cut_or_changed_binary_frame_is_a_frame_or_an_error(fields, data):
    whole = binary(5, 6, 1, "why", fields)
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    changed = bytearray(whole)
    changed[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    for frame in (cut, bytes(changed)):
        assert read_or_refused(decode, frame, FrameError)


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        pytest.param(b"", "at least 4 bytes", id="empty"),
        pytest.param(b"\x00\x00\x00\x09ab", "does not fit", id="a length that does not fit"),
        pytest.param(b"\x02\x00\x00\x00", "serialisation 2 is unknown", id="serialisation 2"),
        pytest.param(b"\x00\x00\x00\x02[]", "not the JSON of a command", id="a list"),
        pytest.param(b"\x01\x00\x00\x02ab", "cut or damaged", id="cut"),
    ],
)
def test_what_is_no_frame_says_why(frame, said):
    with pytest.raises(FrameError, match=said):
        decode(frame)


@given(JSON_VALUES)
def test_the_loose_reader_reads_standard_json(value):
    text = json.dumps(value, ensure_ascii=False)
    assert loose_json.loads(text.encode()) == json.loads(text)
    # The same text through the loose reader itself: a bare key in front keeps the standard one from
    # taking it.
    assert loose_json.loads(b"{0:%s}" % text.encode())["0"] == json.loads(text)


@given(
    st.lists(
        st.tuples(st.dictionaries(TEXTS, st.integers(), min_size=1, max_size=3), JSON_VALUES),
        min_size=1,
        max_size=4,
    )
)
def test_objects_as_keys_become_pairs(pairs):
    text = ",".join(f"{json.dumps(key)}:{json.dumps(value)}" for key, value in pairs)
    assert loose_json.loads(f"{{{text}}}".encode()) == pairs


@given(st.text(st.sampled_from('{}[]:,"\\0-.eE truefalsn'), max_size=30))
def test_garbage_is_json_or_an_error(text):
    assert read_or_refused(loose_json.loads, text.encode(), loose_json.JsonError)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(b"\xff{", "not UTF-8", id="not UTF-8"),
        pytest.param(b'{0:"a"', "ends too early", id="cut"),
        pytest.param(b'{0:"a"} x', "continues after its end", id="more after its end"),
        pytest.param(b'{0 "a"}', "no colon", id="no colon"),
        pytest.param(b"{0:nope}", "no value", id="no value"),
        pytest.param(b"{0:1;}", "neither a comma", id="a semicolon"),
        pytest.param(b"[" * 100_000, "nested deeper|midst", id="100000 lists"),
        pytest.param(b"{0:" * 100_000, "nested deeper", id="100000 mappings"),
    ],
)
def test_what_is_no_json_says_why(body, said):
    with pytest.raises(loose_json.JsonError, match=said):
        loose_json.loads(body)


def test_only_reads_are_allowed():
    for code in ReadCode:
        check_code(code)
    reads = set(map(int, ReadCode))
    for code in set(range(500)) - reads:
        with pytest.raises(ForbiddenRequestError, match=f"code {code} "):
            check_code(code)
    assert not reads & {34, 35, 15, 41, 42, 40, 17, 217, 401}, (
        "heartbeats, commits, locks and settings are not reads"
    )


def test_signatures_of_java():
    """What ``AclClientRPCHook`` of RocketMQ 5.5.0 adds to the same requests."""
    signed = Credentials("ak", "sk").signed({"topic": "T", "a": "1"}, b"body")
    assert signed == {
        "AccessKey": "ak",
        "a": "1",
        "topic": "T",
        "Signature": "125GBZarJR86lKsOc4oGAFbz9t4=",
    }
    signed = Credentials("ak", "sk", "tok").signed({"topic": "订单"}, b"")
    assert signed["Signature"] == "wZE3jG3KtjEk6RQ0MrusiUL1ZmI=", "the security token is signed too"


def test_secrets_are_not_shown():
    assert "hidden" not in repr(Credentials("ak", "hidden", "hidden"))


def test_credentials_come_from_a_file_or_the_environment(tmp_path, monkeypatch):
    for name in ("ACCESS_KEY", "SECRET_KEY", "SECURITY_TOKEN"):
        monkeypatch.delenv(f"RMQALLOC_{name}", raising=False)
    assert read_credentials() is None
    monkeypatch.setenv("RMQALLOC_ACCESS_KEY", "env")
    with pytest.raises(ValueError, match="both an access key and a secret key"):
        read_credentials()
    monkeypatch.setenv("RMQALLOC_SECRET_KEY", "s")
    assert read_credentials() == Credentials("env", "s")
    file = tmp_path / "tools.yml"
    file.write_text("accessKey: rocketmq2\nsecretKey: '12345678'\n# a comment\n")
    assert read_credentials(file) == Credentials("rocketmq2", "12345678")
    file.write_text("accessKey: a\n")
    with pytest.raises(ValueError, match=r"tools\.yml must give both"):
        read_credentials(file)


def test_tls_verifies_unless_told_otherwise():
    assert tls_context().check_hostname
    assert not tls_context(verify=False).check_hostname
