"""What tells rows apart: a digest with a secret, so that nobody outside can choose the rows that
share a place.
"""

import shutil
import struct
import subprocess
import time
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from checkout import ROOT
from hypothesis import given
from hypothesis import strategies as st
from interpreter import run_python

from rmqalloc import Fleet
from rmqalloc.fleet import columns
from rmqalloc.fleet.columns import Strings, distinct_rows

WORD, HALF, PRIME = 2**64 - 1, 2**32 - 1, 2**61 - 1


# --- The digest, as rows.h promises it ---


def numbers():
    """The numbers that tests/support/c/rows_sanitize.c draws."""
    state = 1
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) & WORD
        yield state


def words(row):
    """The words of the 16 bytes at every 16th place, those of the last one ending with the row."""
    starts = [*range(0, len(row) - 16, 16), len(row) - 16]
    return [word for start in starts for word in struct.unpack_from("<QQ", row, start)]


def nh(row, secret):
    keyed = [(word + key) & WORD for word, key in zip(words(row), secret, strict=False)]
    return sum(a * b for a, b in zip(keyed[::2], keyed[1::2], strict=True)) % 2**128


def ends(row):
    if len(row) >= 4:
        half = 8 if len(row) >= 8 else 4
        return int.from_bytes(row[:half], "little"), int.from_bytes(row[-half:], "little")
    return (row[0] | row[len(row) // 2] << 8 | row[-1] << 16 if row else 0), 0


def polynomial(row, secret):
    value = 0
    for start in range(0, len(row), 1024):
        last = max(min(start + 1024, len(row)), 17)
        made = nh(row[min(start, last - 17) : last], secret[8:])
        for part in (made & 2**43 - 1, made >> 43 & 2**43 - 1, made >> 86):
            value = (value * (secret[7] >> 3) + part) % PRIME
    return value


def digest(row, number, secret):
    """The upper half of the digest."""
    if len(row) <= 16:
        low, high = ends(row)
    else:
        whole = nh(row, secret[8:]) if len(row) <= 1024 else polynomial(row, secret)
        low, high = whole & WORD, whole >> 64
    six = [low & HALF, low >> 32, high & HALF, high >> 32, number, len(row)]
    mixed = (
        secret[0] + sum(key * one for key, one in zip(secret[1:7], six, strict=True)) & WORD
    ) >> 32
    for shift, factor in ((15, 0x2C1B3C6D), (13, 0x297A2D39)):
        mixed = (mixed ^ mixed >> shift) * factor & HALF
    return mixed ^ mixed >> 15


@pytest.mark.parametrize("flags", ["-DRMQ_WITH_INT128", "-DRMQ_NO_INT128"])
def test_the_digest_is_what_is_promised_and_reads_nothing_outside(flags, tmp_path):
    compiler = shutil.which("cc")
    assert compiler
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", flags]
    source, program = ROOT / "tests/support/c/rows_sanitize.c", tmp_path / "rows"
    subprocess.run(
        [compiler, "-g1", "-O1", *sanitizers, "-I", ROOT / "pyx", source, "-o", program], check=True
    )
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    draw = numbers()
    secret = [next(draw) ^ next(draw) >> 32 for _ in range(136)]
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) > 300
    for size, found in lines:
        n = int(size)
        row = bytes(next(draw) >> 56 for _ in range(n))
        assert int(found, 16) == digest(row, n * 2654435769 & HALF, secret) << 32, n


# --- What the secret is for ---


def crafted(count):
    """Printable rows that the digest without a secret, that of the first releases, sent to one
    place of the table.

    Its last step was a product, and one of its factors the row's last word and a number that the
    length tells. So a length is sought for which that number is printable: rows that end with it
    have the digest 0 whatever stands before.
    """
    first, second = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
    for n in range(33, 20_000):
        zero = struct.pack("<Q", ((first ^ n * second) + first * -(-(n - 16) // 16)) & WORD)
        if all(0x21 <= byte < 0x7F for byte in zero):
            return [b"%0*d%s" % (n - 8, i, zero) for i in range(count)]
    raise AssertionError("there is one")


def seconds(rows):
    text, offsets = np.frombuffer(b"".join(rows), np.uint8), np.arange(len(rows) + 1) * len(rows[0])
    times = []
    for _ in range(3):
        started = time.thread_time()
        assert distinct_rows(text, offsets)[1].size == len(rows)
        times.append(time.thread_time() - started)
    return min(times)


def test_rows_crafted_to_collide_do_not():
    """Ten thousand of them took 600 to 1,000 times as long as others; with a secret they take the
    same.
    """
    rows = crafted(10_000)
    others = [row[:-8] + b"%08d" % (i * 7919) for i, row in enumerate(rows)]
    assert seconds(rows) < 25 * seconds(others)


SECRETS = [
    np.zeros(136, np.uint64),  # under which all short rows of one length share one place
    np.full(136, WORD, np.uint64),
    *(
        np.random.default_rng(seed).integers(0, WORD, 136, np.uint64, endpoint=True)
        for seed in range(4)
    ),
]


def kinds_of(rows, secret, monkeypatch):
    monkeypatch.setattr(columns, "_SECRET", secret)
    text = Strings.from_list(rows)
    return [each.tolist() for each in distinct_rows(text.values, text.offsets)]


@given(
    st.lists(
        st.one_of(st.text("ab", max_size=40), st.text("ab", min_size=1000, max_size=1100)),
        max_size=30,
    )
)
def test_no_answer_depends_on_the_secret(rows):
    firsts = {row: i for i, row in reversed(list(enumerate(rows)))}
    numbered = {row: number for number, row in enumerate(sorted(firsts, key=firsts.__getitem__))}
    expected = [[numbered[row] for row in rows], sorted(firsts.values())]
    with pytest.MonkeyPatch.context() as patch:
        for secret in SECRETS:
            assert kinds_of(rows, secret, patch) == expected


def test_a_table_that_grows_is_right_under_every_secret(monkeypatch):
    rows = [f"name {i % 3000} {i % 7}" for i in range(9000)]
    answers = [kinds_of(rows, secret, monkeypatch) for secret in SECRETS[2:]]
    assert all(one == other for one, other in pairwise(answers))
    assert len(answers[0][1]) == len(set(rows))


def test_every_process_draws_a_secret_of_its_own():
    script = "from rmqalloc.fleet.columns import _SECRET; print(_SECRET.size, hash(_SECRET.tobytes()), _SECRET[0])"
    one, other = run_python(script), run_python(script)
    assert one[0] == other[0] == "136"
    assert one[2] != other[2]
    assert np.unique(columns._SECRET).size > 130


def test_fleets_share_lists_under_every_secret(monkeypatch):
    rows = [
        {
            "consumer_group": f"g{i}",
            "topic": "t",
            "queues": [{"broker_name": "b", "queue_id": q} for q in range(i % 3 + 1)],
            "client_ids": [f"c{i % 2}", "x"],
        }
        for i in range(9)
    ]
    for secret in SECRETS:
        monkeypatch.setattr(columns, "_SECRET", secret)
        fleet = Fleet.from_arrow(pa.Table.from_pylist(rows))
        assert fleet.unit_queue_list.tolist() == [0, 1, 2] * 3
        assert fleet.unit_client_list.tolist() == [0, 1] * 4 + [0]
