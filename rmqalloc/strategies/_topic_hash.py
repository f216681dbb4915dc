"""Numbers that follow from a topic's name, the same for every client and on every platform."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet._columns import Offsets, Strings, lengths_of, offsets_of
from rmqalloc.strategies._ordering import utf16

Numbers = NDArray[np.uint64]


def java_hashes(texts: Strings) -> Numbers:
    """Java's ``String.hashCode`` of every text, its 32 bits sign-extended to 64.

    Examples
    --------
    >>> java_hashes(Strings.from_list(["", "a", "TopicTest"])).view(np.int64).tolist()
    [0, 97, -1902610879]
    """
    units, offsets = _code_units(texts)
    hashes = np.zeros(len(texts), np.int32)
    left = np.flatnonzero(lengths_of(offsets))
    place = 0
    while left.size:  # the place-th code unit of all texts that have so many
        hashes[left] = hashes[left] * np.int32(31) + units[offsets[left] + place]
        place += 1
        left = left[offsets[left] + place < offsets[left + 1]]
    return hashes.astype(np.int64).view(np.uint64)


def _code_units(texts: Strings) -> tuple[NDArray[np.int32], Offsets]:
    """The UTF-16 code units of all texts laid end to end, and where those of each begin."""
    values = texts.values[texts.offsets[0] : texts.offsets[-1]]
    if not (values >= 0x80).any():
        return values.astype(np.int32), texts.offsets - texts.offsets[0]
    encoded = [utf16(text) for text in texts.to_list()]
    units = np.frombuffer(b"".join(encoded), np.dtype(">u2")).astype(np.int32)
    return units, offsets_of([len(one) // 2 for one in encoded])


def mix64(numbers: Numbers) -> Numbers:
    """SplitMix64's finalizer: every bit of a number decides about every bit of the result.

    Examples
    --------
    >>> mix64(np.array([0, 1], np.uint64)).tolist()
    [0, 6238072747940578789]
    """
    z = numbers
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return z ^ (z >> np.uint64(31))
