"""Where pointers have 32 bits, `browser.wide_numpy.Wide` stands for NumPy: it must answer as NumPy
does where they have 64.
"""

import numpy
import pytest
from browser.cross import with_wide_indices
from browser.wide_numpy import Wide, np

WIDE = Wide()
NARROW = numpy.array([3, 1, 2], numpy.int32)
COUNTS = numpy.array([2, 0, 1], numpy.int64)

CALLS = {
    "add.reduceat": lambda np: np.add.reduceat(NARROW, numpy.array([0, 2])),
    "add.reduceat of bool": lambda np: np.add.reduceat(NARROW > 1, numpy.array([0, 2])),
    "append": lambda np: np.append(0, NARROW),
    "append of widths": lambda np: np.append(NARROW, numpy.int32(1)),
    "arange": lambda np: np.arange(2, 5),
    "arange of a narrow end": lambda np: np.arange(numpy.int32(3)),
    "arange of a width": lambda np: np.arange(3, dtype=numpy.int32),
    "argsort": lambda np: np.argsort(NARROW, kind="stable"),
    "array": lambda np: np.array([[1, 2], [3, 4]]),
    "array of a width": lambda np: np.array([1, 2], numpy.int32),
    "array of widths": lambda np: np.array([numpy.int32(1)]),
    "array of nothing": lambda np: np.array([]),
    "array of bool": lambda np: np.array([True]),
    "asarray": lambda np: np.asarray(range(3)),
    "bincount": lambda np: np.bincount(COUNTS, minlength=4),
    "bincount of weights": lambda np: np.bincount(COUNTS, weights=[0.5, 1, 2]),
    "concatenate": lambda np: np.concatenate([[0], NARROW]),
    "cumsum": lambda np: np.cumsum(NARROW),
    "cumsum of bool": lambda np: np.cumsum(NARROW > 1),
    "cumsum of float": lambda np: np.cumsum([0.5, 1]),
    "flatnonzero": lambda np: np.flatnonzero(NARROW > 1),
    "full": lambda np: np.full(3, -1),
    "full of a width": lambda np: np.full(3, -1, numpy.int32),
    "full of a narrow value": lambda np: np.full(3, numpy.int32(7)),
    "lexsort": lambda np: np.lexsort((NARROW, COUNTS)),
    "logical_or": lambda np: np.logical_or(NARROW > 1, NARROW > 2),
    "maximum.reduceat": lambda np: np.maximum.reduceat(NARROW, numpy.array([0, 1])),
    "repeat": lambda np: np.repeat(NARROW, COUNTS),
    "repeat of plain numbers": lambda np: np.repeat([1, -1, 0], [1, 2, 0]),
    "repeat of nothing": lambda np: np.repeat(np.arange(0), []),
    "searchsorted": lambda np: np.searchsorted(COUNTS, 1),
    "take": lambda np: np.take(NARROW, COUNTS),
    "where": lambda np: np.where(NARROW > 1, 1, 0),
    "where of a width": lambda np: np.where(NARROW > 1, NARROW, 0),
}
SEVERAL = {
    "nonzero": lambda np: np.nonzero(NARROW > 1),
    "unique": lambda np: np.unique(
        NARROW, return_index=True, return_inverse=True, return_counts=True
    ),
    "where of a condition": lambda np: np.where(NARROW > 1),
}


def test_a_machine_of_64_bits_uses_numpy_itself():
    assert np is numpy or numpy.dtype(numpy.intp).itemsize == 4


@pytest.mark.parametrize("name", CALLS)
def test_it_answers_as_numpy_does(name):
    got, wanted = CALLS[name](WIDE), CALLS[name](numpy)
    assert got.dtype == wanted.dtype
    numpy.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("name", SEVERAL)
def test_it_answers_with_several_arrays_as_numpy_does(name):
    pairs = list(zip(SEVERAL[name](WIDE), SEVERAL[name](numpy), strict=True))
    assert pairs
    for got, wanted in pairs:
        assert got.dtype == wanted.dtype
        numpy.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(
    ("made", "width"),
    [
        (numpy.arange(3, dtype=numpy.int32), numpy.int64),
        (numpy.arange(3.0), numpy.float64),
        (numpy.zeros(2, numpy.uint32), numpy.uint32),
    ],
)
def test_indices_of_a_machine_of_32_bits_become_wide(monkeypatch, made, width):
    monkeypatch.setattr(numpy, "argsort", lambda *_: made)
    monkeypatch.setattr(numpy, "arange", lambda *_: made)
    assert Wide().argsort([]).dtype == width
    assert Wide().arange(3).dtype == width


def test_counts_are_handed_to_numpy_as_wide_as_its_indices(monkeypatch):
    monkeypatch.setattr(numpy, "intp", numpy.int32)
    monkeypatch.setattr(numpy, "repeat", lambda a, repeats, axis: repeats)
    assert WIDE.repeat(NARROW, COUNTS).dtype == numpy.int32


def test_a_copy_of_the_rooms_takes_numpy_from_there(tmp_path):
    room = tmp_path / "rmqalloc" / "fleet"
    room.mkdir(parents=True)
    (room / "_one.py").write_text(
        "import numpy as np\nfrom numpy.typing import NDArray\n\n\ndef f():\n    import numpy as np\n"
    )
    with_wide_indices(tmp_path)
    text = (room / "_one.py").read_text()
    assert text.count("from rmqalloc._wide import np") == 2 and "import numpy as np" not in text
    assert (
        (tmp_path / "rmqalloc" / "_wide.py")
        .read_text()
        .startswith('"""NumPy with indices of 64 bits')
    )
