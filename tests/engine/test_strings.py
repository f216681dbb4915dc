"""Java's order of text against Python's by UTF-16 code units, under every instruction set; columns
of text and lists.
"""

import gc
import random
import weakref
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from instruction_sets import isas_of

from rmqalloc._engine import strings
from rmqalloc.fleet.columns import (
    Strings,
    distinct_lists,
    distinct_rows,
    distinct_strings,
    offsets_of,
    runs,
)
from rmqalloc.model import joined

isa = isas_of(strings)


each_isa = pytest.mark.usefixtures("isa")


def java_key(text):
    """Code units, big end first: comparing the bytes compares the Java strings."""
    return text.encode("utf-16-be", "surrogatepass")


def check(lists):
    """Order several lists at once, with room for vectors behind them and without."""
    check_column(lists)
    check_column([*lists, ["a string that lies behind all others"] * 33])


def check_column(lists):
    """Order several lists at once; Python's sort is stable as the kernel must be."""
    lists = [list(map(joined, texts)) for texts in lists]
    column = Strings.from_list([text for texts in lists for text in texts])
    list_offsets = offsets_of([len(texts) for texts in lists])
    # A copy of the exact size, so that a sanitizer or a guard page would see reading past the end.
    column = Strings(column.values.copy(), column.offsets)
    order, irregular = column.ordered(list_offsets)
    want = [
        sorted(range(len(texts)), key=lambda i, texts=texts: java_key(texts[i])) for texts in lists
    ]
    assert order.tolist() == [place for places in want for place in places]
    assert irregular.tolist() == ["" in texts or len(set(texts)) < len(texts) for texts in lists]
    in_order, still_irregular = column.sorted(list_offsets)
    assert in_order.to_list() == [
        texts[i] for texts, places in zip(lists, want, strict=True) for i in places
    ]
    assert still_irregular.tolist() == irregular.tolist()
    assert in_order.sorted(list_offsets)[0] is in_order


few_letters = st.text("ab", max_size=12)
ids = st.builds("10.0.{}.{}@{}".format, st.integers(0, 3), st.integers(0, 300), st.integers(1, 99))
# On both sides of every boundary of the order, and of UTF-8's lengths.
odd = st.text(
    "\x00a\x7f\x80\u07ff\u0800\ud7ff\ud800\udbff\udc00\udfff\ue000\uffff\U00010000\U0010ffff",
    max_size=6,
)


@each_isa
@pytest.mark.parametrize(
    "texts", [few_letters, ids, odd, few_letters | odd], ids=["letters", "ids", "odd", "mixed"]
)
@given(data=st.data())
def test_any_lists(texts, data):
    check(data.draw(st.lists(st.lists(texts, max_size=10), max_size=4)))


@pytest.mark.thorough(keep=2)
@each_isa
@pytest.mark.parametrize("prefix", ["", "10.", "a-prefix-of-26-characters-", "é-😀-"])
def test_lists_of_every_length(prefix):
    rng = random.Random(7)
    lengths = [*range(70), 127, 128, 129, 1000]
    check(
        [[f"{prefix}{rng.randrange(10**6)}@{rng.randrange(3)}" for _ in range(n)] for n in lengths]
    )
    check([[f"{prefix}{rng.randrange(3)}" for _ in range(n)] for n in lengths])
    check([sorted(f"{prefix}{rng.randrange(10**6)}" for _ in range(n)) for n in lengths])
    check(
        [
            sorted((f"{prefix}{rng.randrange(10**6)}" for _ in range(n)), reverse=True)
            for n in lengths
        ]
    )


@each_isa
def test_ids_that_differ_late_or_not_at_all():
    tails = ["", "\x00", "\x00\x00", "a", "é", "\ud800", "😀", "\uffff"]
    for shared in range(20):
        check(
            [
                ["x" * shared + tail for tail in tails] * 2,
                ["same-id"] * shared,
                ["x" * shared, "x" * 9] * 20,
            ]
        )


@each_isa
def test_ids_of_one_host_and_of_others():
    """What all ids of a list begin with is guessed from the list before, and the guess may be
    wrong.
    """
    rng = random.Random(5)

    def client_id(stray):
        host = (
            "other-hosts-of-the-same-length-"
            if stray and rng.random() < 0.1
            else "consumer-hosts-of-many-orders-"
        )
        return f"{host}{rng.randrange(10**7)}@{rng.randrange(10**4)}"

    for strays in (False, True):
        check([[client_id(strays) for _ in range(n)] for n in range(40)])


# --- Columns ---

any_texts = st.lists(st.text("ab\x00é😀", max_size=20), max_size=30)


@given(texts=any_texts, data=st.data())
def test_strings_are_taken_from_anywhere(texts, data):
    first = data.draw(st.integers(0, len(texts)))
    column, texts = Strings.from_list(texts), texts[first:]
    column = Strings(column.values, column.offsets[first:])
    rows = data.draw(st.lists(st.sampled_from(range(len(texts))), max_size=40)) if texts else []
    assert column.to_list() == texts
    assert column.take(np.array(rows, np.int32)).to_list() == [texts[row] for row in rows]
    cuts = offsets_of(
        np.diff(
            sorted([0, *data.draw(st.lists(st.integers(0, len(texts)), max_size=5)), len(texts)])
        )
    )
    lists = np.array(
        data.draw(st.lists(st.sampled_from(range(cuts.size - 1)), max_size=9)), np.int32
    )
    assert column.take_lists(lists, cuts).to_list() == [
        t for k in lists for t in texts[cuts[k] : cuts[k + 1]]
    ]


def test_java_s_bytes_of_a_part():
    column = Strings.from_list(["a\ud800", "b", "\udfffc"])
    assert column.as_java_bytes.to_list() == ["a?", "b", "?c"]
    part = Strings(column.values, column.offsets[1:3])
    assert part.as_java_bytes is part
    assert Strings(column.values, column.offsets[1:]).as_java_bytes.to_list() == ["b", "?c"]


@pytest.mark.parametrize("texts", [["a", "b"], ["a\ud800"]])
def test_a_column_is_freed_with_its_last_reference(texts):
    gc.disable()
    try:
        column = Strings.from_list(texts)
        assert len(column.as_java_bytes) == len(texts)
        freed = weakref.ref(column)
        del column
        assert freed() is None, "it holds itself, so its text stays until the next full collection"
    finally:
        gc.enable()


def kinds_of(rows):
    """Number each row by where an equal one was seen first."""
    numbers = {}
    return [numbers.setdefault(row, len(numbers)) for row in rows]


def first_rows_of(kinds):
    return [kinds.index(kind) for kind in range(len(set(kinds)))]


@given(
    rows=st.lists(st.tuples(st.integers(-1, 1), st.text("ab", max_size=40)), max_size=60),
    keyed=st.booleans(),
)
def test_distinct_rows_are_numbered_as_they_appear(rows, keyed):
    column = Strings.from_list([text for _, text in rows])
    keys = [np.array([key for key, _ in rows], np.int32)] if keyed else []
    kinds, first_rows = distinct_rows(column.values, column.offsets, *keys)
    want = kinds_of(rows if keyed else [text for _, text in rows])
    assert (kinds.tolist(), first_rows.tolist()) == (want, first_rows_of(want))
    if not keyed:
        codes, names = distinct_strings(column)
        assert [names[code] for code in codes] == [text for _, text in rows]


FORMS = [
    "{}",
    "topic-{}",
    "a-topic-{}-" + "x" * 60,
    pytest.param("a" * 40 + "{:06}" + "b" * 200, id="a number after 40 letters"),
    pytest.param("a" * 200 + "{:06}" + "b" * 70, id="a number after 200 letters"),
]


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("n_kinds", [1, 500, 513, 5_000, 20_000])
@pytest.mark.parametrize("form", FORMS)
def test_tables_grow_with_what_is_found(form, n_kinds):
    rng = random.Random(n_kinds)
    texts = [form.format(rng.randrange(n_kinds)) for _ in range(20_000)]
    codes, names = distinct_strings(Strings.from_list(texts))
    assert codes.tolist() == kinds_of(texts)
    assert names.to_list() == list(dict.fromkeys(texts))


lists_of_pairs = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=5), max_size=12
)


@given(lists=lists_of_pairs, data=st.data())
def test_distinct_lists_and_runs(lists, data):
    keys = data.draw(st.lists(st.integers(0, 1), min_size=len(lists), max_size=len(lists)))
    offsets = offsets_of([len(pairs) for pairs in lists])
    columns = [np.array([pair[i] for pairs in lists for pair in pairs], np.int32) for i in (0, 1)]
    before = kinds_of(keys)
    kinds, firsts = distinct_lists(
        np.array(before, np.int32), np.array(first_rows_of(before), np.int32), offsets, columns
    )
    want = kinds_of([(key, *pairs) for key, pairs in zip(keys, lists, strict=True)])
    assert (kinds.tolist(), firsts.tolist()) == (want, first_rows_of(want))
    list_runs, run_offsets = runs(offsets, columns)
    groups = [[len(list(group)) for _, group in groupby(pairs)] for pairs in lists]
    assert np.diff(list_runs).tolist() == [len(lengths) for lengths in groups]
    assert np.diff(run_offsets).tolist() == [n for lengths in groups for n in lengths]
