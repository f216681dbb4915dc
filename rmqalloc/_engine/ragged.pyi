"""Rows of differing length laid end to end; row ``r`` is ``values[offsets[r]:offsets[r + 1]]``."""

import numpy as np
from numpy.typing import NDArray

def distinct(
    values: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    other_values: NDArray[np.uint8],
    other_offsets: NDArray[np.int64],
    table: NDArray[np.int32],
    first_rows: NDArray[np.int32],
    n_distinct: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Number the distinct rows of two columns taken together, in order of appearance.

    ``table`` is all -1, its length a power of two above the number of rows; ``first_rows`` receives the first row of
    each kind, ``n_distinct[0]`` their number.
    """

def gather(
    values: NDArray[np.uint8],
    starts: NDArray[np.int64],
    out_offsets: NDArray[np.int64],
    out: NDArray[np.uint8],
) -> None:
    """Copy stretches of bytes, row ``r`` from ``starts[r]`` into ``out[out_offsets[r]:out_offsets[r + 1]]``."""

def order_keys(
    keys: NDArray[np.uint64],
    list_offsets: NDArray[np.int64],
    spare: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Write the stable order of every list of numbers as places in it; ``spare`` is as long as the longest list."""
