"""Functions of Arrow that are made one by one give what those of `pyarrow.compute` give."""

import pyarrow as pa
import pyarrow.compute as of_arrow
import pytest

from rmqalloc.results import compute

NUMBERS = pa.array([3, None, 1, 3], pa.int32())
TEXTS = pa.array(["b c", None, "a", "b c"])
TABLE = pa.table({"number": NUMBERS, "text": TEXTS})
TRUTHS = pa.array([True, None, False, True])


@pytest.mark.parametrize(
    ("name", "given", "options"),
    [
        ("and_", (TRUTHS, TRUTHS), {}),
        ("binary_join_element_wise", (TEXTS, "Z", ""), {}),
        ("cast", (NUMBERS, pa.string()), {}),
        ("dictionary_encode", (TEXTS,), {"null_encoding": "encode"}),
        ("fill_null", (NUMBERS, 0), {}),
        ("filter", (TABLE, TRUTHS), {}),
        ("if_else", (TRUTHS, NUMBERS, None), {}),
        ("index_in", (NUMBERS,), {"value_set": pa.array([1, 3], pa.int32())}),
        ("is_in", (TEXTS, pa.array(["a"])), {}),
        ("rank", (TEXTS,), {"tiebreaker": "dense"}),
        ("replace_substring", (TEXTS, " ", "T"), {}),
        ("sort_indices", (TABLE,), {"sort_keys": [("text", "descending")]}),
        ("sum", (NUMBERS,), {}),
        ("take", (TABLE, pa.array([2, 0])), {}),
        ("top_k_unstable", (NUMBERS, 1), {}),
    ],
)
def test_a_function_is_the_one_of_arrow(name, given, options):
    got = getattr(compute, name)(*given, **options)
    expected = getattr(of_arrow, name)(*given, **options)
    assert got.equals(expected)
    assert type(got) is type(expected)


def test_what_is_refused_and_what_is_no_function():
    with pytest.raises(pa.ArrowInvalid, match="truncated"):
        compute.cast(pa.array([1.5]), pa.int64())
    with pytest.raises(IndexError, match="out of bounds"):
        compute.take(NUMBERS, pa.array([4]))
    assert compute.ScalarAggregateOptions is of_arrow.ScalarAggregateOptions
    with pytest.raises(AttributeError, match="no_such_function"):
        compute.no_such_function  # noqa: B018
