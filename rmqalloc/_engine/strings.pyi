"""Text as columns, in Java's order (UTF-16 code units); string ``i`` is
``values[offsets[i]:offsets[i + 1]]``.

Scratch is as long as the longest list. ``irregular`` becomes 1 for the lists in which a string is
empty or there twice.
"""

import numpy as np
from numpy.typing import NDArray

def order(
    values: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    list_offsets: NDArray[np.int64],
    keys: NDArray[np.uint64],
    spare: NDArray[np.int32],
    irregular: NDArray[np.uint8],
    out: NDArray[np.int32],
) -> None:
    """Write the stable order of every list as places in it; ``keys`` and ``spare`` are scratch."""

def in_order(
    values: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    list_offsets: NDArray[np.int64],
    keys: NDArray[np.uint64],
    irregular: NDArray[np.uint8],
    out: NDArray[np.int64],
) -> None:
    """Write to ``out[0]`` how many lists are in order before the first one that is not."""

def sort(
    values: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    list_offsets: NDArray[np.int64],
    first: int,
    keys: NDArray[np.uint64],
    spare: NDArray[np.int32],
    order: NDArray[np.int32],
    irregular: NDArray[np.uint8],
    out_values: NDArray[np.uint8],
    out_offsets: NDArray[np.int64],
) -> None:
    """Write all strings with every list in order, as a column that begins at 0; the lists before
    ``first`` are in order.
    """

def first_of(
    values: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    list_offsets: NDArray[np.int64],
    order: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Write the first place in its list of each string."""

def measure(offsets: NDArray[np.int64], rows: NDArray[np.int64], out: NDArray[np.int64]) -> None:
    """Write the offsets of the strings at the given rows when they are laid end to end."""

def take_lists(
    values: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    list_offsets: NDArray[np.int64],
    lists: NDArray[np.int32],
    out_values: NDArray[np.uint8],
    out_offsets: NDArray[np.int64],
) -> None:
    """Copy the strings of the given lists, list after list."""

def find_surrogate(values: NDArray[np.uint8], out: NDArray[np.uint8]) -> None:
    """Write to ``out[0]`` whether there is a lone surrogate anywhere."""

def replace_surrogates(
    values: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    out_values: NDArray[np.uint8],
    out_offsets: NDArray[np.int64],
) -> None:
    """Copy the strings with every lone surrogate as one question mark."""

def isa() -> str:
    """Name the instruction set in use: ``avx512``, ``avx2``, ``neon``, ``scalar`` or ``plain``."""

def available_isas() -> tuple[str, ...]:
    """Name the instruction sets this machine can run, widest first."""

def force_isa(name: str) -> None:
    """Use one instruction set from now on in this module. ``ValueError`` if this machine lacks it."""
