"""Bodies of servers: what they may cost, and that both ways of reading them answer the same."""

import asyncio
import json
import re
import sys
import threading
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis_budget import examples
from json_values import JSON_VALUES, TEXTS
from loopback import SimulatedLoopback, consume_stats, running_info

from rmqalloc.remoting import loose_json
from rmqalloc.remoting.client import Access, Remote
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.snapshot.live import _answers as answers
from rmqalloc.snapshot.live._take import take_snapshot

M = 1_000_000
HOSTILE = {
    "nested empties": b"[" + b",".join([b"{}"] * (8 * M)) + b"]",
    "empties as keys": b"{" + b",".join([b"{}:{}"] * (4 * M)) + b"}",
    "brackets": b"[" * (24 * M),
    "braces": b"{" * (24 * M),
    "objects in keys": b"{" * (2 * M),
    "quotes that never end": b'{0:"' + b'\\"' * M,
    "a key that never ends": b'{"a' + b'\\"' * M,
    "digits": b"{" + b"1" * (2 * M),
    "digits that are no key": b"{0:1," + b"1" * (2 * M) + b"}",
    "blanks": b"{1" + b" " * (2 * M),
    "blanks after an object": b'{"a":{"b":1}' + b" " * (2 * M) + b"x",
    "halves of objects": b'{"a":1' * 400_000,
    "halves of keys": b'{"{",' * 400_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_body_is_refused_in_linear_time(name):
    """Each took from seconds to minutes, or would for an expression that looks at a character again
    and again.
    """
    body = HOSTILE[name]
    started = time.process_time()
    with pytest.raises(loose_json.JsonError):
        loose_json.loads(body)
    assert time.process_time() - started < 60, (
        "a tenth of a second, or one; its square would be an hour and more"
    )


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"[NaN]", id="a list of NaN"),
        pytest.param(b"{0:NaN}", id="a key of NaN"),
        pytest.param(b"[-Infinity]", id="a list of -Infinity"),
        pytest.param(b"{0:Infinity}", id="a key of Infinity"),
        pytest.param(b"[" + b"1" * 5000 + b"]", id="a list of 5000 digits"),
        pytest.param(b"{0:" + b"1" * 5000 + b"}", id="a key of 5000 digits"),
        pytest.param(b"{0:01}", id="a leading zero"),
        pytest.param(b'{0:"\xed\xa0\x80"}', id="half a surrogate pair"),
    ],
)
def test_what_is_no_number_or_text_of_json(body):
    with pytest.raises(loose_json.JsonError):
        loose_json.loads(body)


def test_real_answers_fit_into_the_budget():
    """Of 200,000 queues, be they owned or consumed: the count alone, not the reading."""
    for one in (consume_stats(100), running_info(range(100))):
        per_queue = len(re.findall(r"[][{},]", one)) / 100
        assert per_queue * 200_000 < loose_json.MAX_MARKS or len(one) * 2000 > 64 << 20, per_queue
    loose_json._weighed(b"[" + b"," * (loose_json.MAX_MARKS - 2) + b"]")
    with pytest.raises(
        loose_json.JsonError,
        match="a body has 3,000,001 brackets and commas; the limit is 3,000,000",
    ):
        loose_json._weighed(b"[" + b"," * (loose_json.MAX_MARKS - 1) + b"]")


def depth_of(text):
    return loose_json.loads(text.encode())


def test_nesting_has_a_bound_on_every_way_and_brackets_in_texts_do_not_count():
    for key in ('"a"', "0"):
        assert depth_of(f"{{{key}:" + "[" * 63 + "]" * 63 + "}")
        assert loose_json.tolerant(f"{{{key}:" + "[" * 63 + "]" * 63 + "}")
        with pytest.raises(loose_json.JsonError, match="nested deeper than 64 levels"):
            depth_of(f"{{{key}:" + "[" * 64 + "]" * 64 + "}")
        assert depth_of(f'{{{key}:"{"[{" * 500}"}}') == {key.strip('"'): "[{" * 500}


# --- Both ways ---

SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | TEXTS
FLAT = st.dictionaries(TEXTS, SCALARS, min_size=1, max_size=3)
TRICKY = st.sampled_from(
    ['{"a":1}:', "{0:", ",1:", '\\"{', "}", '{"x":"y"}:{', "\0", "\\u0000", '"', "\\"]
)


def written(value):
    """JSON as RocketMQ writes it: keys of `Pairs` bare, and numbers as keys, too."""
    if isinstance(value, loose_json.Pairs):
        return "{" + ",".join(f"{written(key)}:{written(one)}" for key, one in value) + "}"
    if isinstance(value, dict):
        inner = (
            f"{key if re.fullmatch('0|[1-9][0-9]{0,8}', key) else json.dumps(key)}:{written(one)}"
            for key, one in value.items()
        )
        return "{" + ",".join(inner) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    return json.dumps(value)


LOOSE = st.recursive(
    SCALARS | TRICKY,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(TEXTS | TRICKY | st.integers(0, 99).map(str), inner, max_size=4)
        | st.lists(
            st.tuples(FLAT | st.dictionaries(TRICKY, TRICKY, min_size=1, max_size=2), inner),
            min_size=1,
            max_size=3,
        ).map(loose_json.Pairs)
    ),
    max_leaves=15,
)


@examples(100)
@given(LOOSE)
def test_what_is_rewritten_is_what_the_tolerant_parser_reads(value):
    """Texts that look like keys, quotes and all, included."""
    text = written(value)
    assert loose_json.loads(text.encode()) == loose_json.tolerant(text) == value
    with_types = [type(one) for one in (loose_json.loads(text.encode()), loose_json.tolerant(text))]
    assert with_types[0] is with_types[1]


@pytest.mark.parametrize(
    "body",
    [
        '{{"a":"{0:1}"}:"{{\\"a\\":1}:2,{0:"}',
        '{0:"{\\"x\\":1}:",1:",2:3",2:"\\\\"}',
        '{"\\u00000":1,{"a":1}:2}',
        '{{"a":1}:{{"b":"}:"}:{0:[{"c":",0:"}]}}}',
        '{"a":{"b":1} , {"c":"{"} : 3, 7 :[]}',
    ],
)
def test_texts_that_look_like_keys_are_none(body):
    value = loose_json.loads(body.encode())
    assert value == loose_json.tolerant(body) and json.loads(json.dumps(value))
    texts = re.findall(r'"((?:[^"\\]|\\.)*)"', body)
    assert all(json.dumps(json.loads(f'"{text}"')) in json.dumps(value) for text in texts)


@examples(60)
@given(JSON_VALUES)
def test_standard_json_is_the_same_on_every_way(value):
    text = json.dumps(value, ensure_ascii=False)
    assert loose_json.loads(text.encode()) == loose_json.tolerant(text) == json.loads(text)


@examples(100)
@given(LOOSE, st.data())
def test_a_damaged_body_is_the_same_on_every_way_or_refused_by_all(value, data):
    """The quick ways never read what the tolerant parser refuses, nor anything else than it."""
    text = written(value)
    at = data.draw(st.integers(0, len(text)))
    damaged = (
        text[:at]
        + data.draw(st.sampled_from(["", ":", ",", "{", "}", '"', "0", "[", "]", " "]))
        + text[at + 1 :]
    )
    assume("\\u0000" not in damaged)
    found = []
    for read in (lambda: loose_json.loads(damaged.encode()), lambda: loose_json.tolerant(damaged)):
        try:
            found.append(read())
        except loose_json.JsonError:
            found.append("refused")
    assert found[0] == found[1]


def steps(read, n):
    """Calls that reading ``n`` queues takes, of Python's and of C's functions."""
    body = consume_stats(n)
    count = 0

    def on_event(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(on_event)
    try:
        read(body)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    ("read", "most"),
    [(lambda body: loose_json.loads(body.encode()), 16), (loose_json.tolerant, 22)],
    ids=["rewritten", "tolerant"],
)
def test_a_queue_takes_a_few_calls_however_many_there_are(read, most):
    """For 200,000 queues in three seconds; it was some 100 calls."""
    few, many = steps(read, 500), steps(read, 4000)
    assert (many - few) / 3500 < most
    assert many / 4000 < 1.1 * few / 500


@pytest.mark.parametrize("key", ["-0", "-7", "1e5", "0.50", "true"])
def test_a_bare_key_is_the_text_that_is_written(key):
    """Whether its object is rewritten or read by the tolerant parser."""
    assert loose_json.loads(f"{{{key}:{{}},0:{{}}}}".encode()) == {key: {}, "0": {}}
    assert loose_json.tolerant(f"{{{key}:{{}},0:{{}}}}") == {key: {}, "0": {}}


@pytest.mark.parametrize("blank", ["\f", "\v", "\u00a0", "\u2028"])
@pytest.mark.parametrize(
    "body", ["{{{0}0:1}}", "{{0{0}:1}}", '{{{{"a":1}}{0}:1}}', "{{0:1,{0}1:2}}"]
)
def test_a_blank_that_json_has_not_is_none_beside_a_bare_key(body, blank):
    with pytest.raises(loose_json.JsonError):
        loose_json.loads(body.format(blank).encode())
    for good in (" ", "\t\r\n"):
        assert loose_json.loads(body.format(good).encode()) == loose_json.tolerant(body.format(""))


def test_consume_stats_are_read_by_the_standard_decoder(monkeypatch):
    monkeypatch.setattr(loose_json, "tolerant", None)
    for body in (consume_stats(50), running_info(range(50)), '{0:"a,1:b",1:"{2:"}'):
        assert loose_json.loads(body.encode()), "also where a text looks like a key"
    lags, tps = answers.lags(loose_json.loads(consume_stats(50).encode()))
    assert (len(lags), tps) == (50, 0.5)


# --- On a thread, within a time ---


def test_a_long_body_is_read_on_a_thread_and_a_short_one_at_once():
    names = {}

    def read(body):
        names[len(body["offsetTable"])] = threading.current_thread().name
        return body

    async def main(servers):
        async with Remote([servers.name_server]) as remote:
            for n in (2, 2000):
                await remote.ask(
                    servers.addresses["broker-0"],
                    ReadCode.GET_CONSUME_STATS,
                    {"topic": str(n)},
                    read=read,
                )

    answer = {
        ReadCode.GET_CONSUME_STATS: lambda _server, request: consume_stats(
            int(request.ext_fields["topic"])
        )
    }
    with SimulatedLoopback(more=answer) as servers:
        asyncio.run(main(servers))
    assert names[2] == "MainThread" and names[2000].startswith("rmqalloc-reader")


def test_a_body_that_takes_too_long_is_given_up(monkeypatch):
    with pytest.raises(loose_json.JsonError, match="takes too long"):
        loose_json.tolerant("[" + "0," * 5000 + "0]", lambda: True)
    assert len(loose_json.tolerant("[" + "0," * 5000 + "0]", lambda: False)) == 5001
    monkeypatch.setattr(
        "rmqalloc.remoting.client._READ_WITHIN", -1.0
    )  # the clock stands still meanwhile
    slow = '{"a":"\\u0000",0:[' + "0," * 40_000 + "0]}"
    with SimulatedLoopback(more={ReadCode.GET_CONSUME_STATS: slow}) as servers:
        snapshot = take_snapshot([servers.name_server], Access(retries=0))
    assert len(snapshot.errors) == 2 and len(snapshot.groups[0].clients) == 2
    assert all(
        "a body that is not JSON: a body takes too long to read" in error.message
        for error in snapshot.errors
    )


def test_a_hostile_body_is_an_error_of_its_request():
    with SimulatedLoopback(more={ReadCode.GET_CONSUME_STATS: HOSTILE["nested empties"]}) as servers:
        snapshot = take_snapshot([servers.name_server])
    assert {error.request for error in snapshot.errors} == {"GET_CONSUME_STATS g"}
    assert servers.count(ReadCode.GET_CONSUME_STATS) == 2, (
        "each broker is asked once: it would say the same again"
    )
    assert all("24,000,001 brackets and commas" in error.message for error in snapshot.errors), (
        snapshot.errors
    )
