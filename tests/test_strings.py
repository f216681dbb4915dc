"""Java's order of text against sorting by UTF-16 code units in Python, once for every instruction set of this machine."""

import random
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rmqalloc._engine import strings
from rmqalloc.fleet.columns import Strings, offsets_of
from rmqalloc.model import joined


@pytest.fixture(params=strings.available_isas())
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run a test under every instruction set, and leave the machine's own choice behind."""
    before = strings.isa()
    strings.force_isa(request.param)
    yield request.param
    strings.force_isa(before)


each_isa = pytest.mark.usefixtures("isa")


def java_key(text):
    """Code units, big end first: comparing the bytes compares the Java strings."""
    return text.encode("utf-16-be", "surrogatepass")


def check(lists):
    """Order several lists at once; Python's sort is stable as the kernel must be."""
    column = Strings.from_list([joined(text) for texts in lists for text in texts])
    list_offsets = offsets_of([len(texts) for texts in lists])
    # A copy of the exact size, so that a sanitizer or a guard page would see reading past the end.
    order = Strings(column.values.copy(), column.offsets).order(list_offsets).tolist()
    want = [sorted(range(len(texts)), key=lambda i, texts=texts: java_key(texts[i])) for texts in lists]
    assert order == [place for places in want for place in places]


few_letters = st.text("ab", max_size=12)
ids = st.builds("10.0.{}.{}@{}".format, st.integers(0, 3), st.integers(0, 300), st.integers(1, 99))
# On both sides of every boundary of the order, and of UTF-8's lengths.
odd = st.text("\x00a\x7f\x80\u07ff\u0800\ud7ff\ud800\udbff\udc00\udfff\ue000\uffff\U00010000\U0010ffff", max_size=6)


@each_isa
@pytest.mark.parametrize("texts", [few_letters, ids, odd, few_letters | odd], ids=["letters", "ids", "odd", "mixed"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_any_lists(texts, data):
    check(data.draw(st.lists(st.lists(texts, max_size=10), max_size=4)))


@each_isa
@pytest.mark.parametrize("prefix", ["", "10.", "a-prefix-of-26-characters-", "é-😀-"])
def test_lists_of_every_length(prefix):
    rng = random.Random(7)
    lengths = [*range(70), 127, 128, 129, 1000]
    check([[f"{prefix}{rng.randrange(10**6)}@{rng.randrange(3)}" for _ in range(n)] for n in lengths])
    check([[f"{prefix}{rng.randrange(3)}" for _ in range(n)] for n in lengths])
    check([sorted(f"{prefix}{rng.randrange(10**6)}" for _ in range(n)) for n in lengths])
    check([sorted((f"{prefix}{rng.randrange(10**6)}" for _ in range(n)), reverse=True) for n in lengths])


@each_isa
def test_ids_that_differ_late_or_not_at_all():
    tails = ["", "\x00", "\x00\x00", "a", "é", "\ud800", "😀", "\uffff"]
    for shared in range(20):
        check([["x" * shared + tail for tail in tails] * 2, ["same-id"] * shared, ["x" * shared, "x" * 9] * 20])
