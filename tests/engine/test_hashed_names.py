"""Hashes, numbers and slots of names against the plain meaning. Bytes that are no text have one
hash, wherever they stand.
"""

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc._engine import names

EDGES = [
    0,
    0x7F,
    0x80,
    0x7FF,
    0x800,
    0xD7FF,
    0xD800,
    0xDBFF,
    0xDC00,
    0xDFFF,
    0xE000,
    0xFFFF,
    0x10000,
    0x10FFFF,
]
CHARACTERS = st.one_of(st.integers(0, 127), st.sampled_from(EDGES), st.integers(0, 0x10FFFF)).map(
    chr
)
TEXTS = st.lists(st.lists(CHARACTERS, max_size=60).map("".join), max_size=20)


def column(texts, before=b""):
    """Values and offsets of texts given as bytes; the first begins behind a few that are not its
    own.
    """
    offsets = len(before) + np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(
        np.int64
    )
    return np.frombuffer(before + b"".join(texts) or b"-", np.uint8), offsets


def java_hash(text):
    hashed = 0
    for unit in np.frombuffer(text.encode("utf-16-le", "surrogatepass"), np.uint16).tolist():
        hashed = (hashed * 31 + unit) % 2**32
    return hashed - 2**32 if hashed >= 2**31 else hashed


def mixed(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31


def hashes(texts, before=b""):
    values, offsets = column(texts, before)
    out = np.empty(len(texts), np.int32)
    names.hash_names(values, offsets, out)
    return out.tolist()


@given(texts=TEXTS, before=st.binary(max_size=7))
def test_hashes_and_numbers(texts, before):
    utf8 = [text.encode("utf-8", "surrogatepass") for text in texts]
    assert hashes(utf8, before) == [java_hash(text) for text in texts]
    values, offsets = column(utf8, before)
    numbers = np.empty(len(texts), np.uint32)
    names.number_names(values, offsets, numbers)
    golden = 0x9E3779B97F4A7C15
    assert numbers.tolist() == [mixed((java_hash(text) + golden) % 2**64) >> 32 for text in texts]


@given(texts=st.lists(st.binary(max_size=40), max_size=20))
def test_bytes_that_are_no_text_have_one_hash_wherever_they_stand(texts):
    assert hashes(texts) == [hashes([text])[0] for text in texts]


PARTS = st.binary(max_size=3).map(lambda part: re.sub(rb"[0-9]", b"-", part))
NUMBERS = st.one_of(st.integers(0, 2**31 - 1), st.integers(0, 99)).map(
    lambda n: b"%d" % n
) | st.binary(max_size=4)
IDS = st.tuples(st.binary(max_size=9), st.booleans(), NUMBERS, st.booleans(), st.binary(max_size=3))


def slot_of(text, before, after):
    """What the instance name, between the first and the second ``@``, ends in."""
    _, at, rest = text.partition(b"@")
    found = re.search(
        rb"(?<![0-9])(0|[1-9][0-9]{0,8})" + re.escape(after) + rb"\Z",
        rest.partition(b"@")[0],
        flags=re.DOTALL,
    )
    if not at or not found or not rest.partition(b"@")[0][: found.start(1)].endswith(before):
        return -1
    return int(found[1])


@examples(300)
@given(ids=st.lists(IDS, max_size=20), before=PARTS, after=PARTS)
def test_slots_of_client_ids(ids, before, after):
    texts = [
        head
        + (b"@w" + before + number + after if with_slot else b"")
        + (b"@" + tail if with_tail else b"")
        for head, with_slot, number, with_tail, tail in ids
    ]
    values, offsets = column(texts, b"@@")
    out = np.empty(len(texts), np.int32)
    names.find_slots(
        values, offsets, np.frombuffer(before, np.uint8), np.frombuffer(after, np.uint8), out
    )
    assert out.tolist() == [slot_of(text, before, after) for text in texts]
