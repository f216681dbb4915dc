"""Rows of differing length laid end to end; row ``r`` is ``values[offsets[r]:offsets[r + 1]]``."""

import numpy as np
from numpy.typing import NDArray

def distinct(
    values: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    keys: NDArray[np.int32],
    secret: NDArray[np.uint64],
    table: NDArray[np.uint64],
    first_rows: NDArray[np.int32],
    progress: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Number the distinct rows, each with its key if ``keys`` is not empty, in order of appearance.

    ``table`` is a power of two long, 64 at least, and at first all 0; ``first_rows`` receives the
    first row of each kind. ``progress`` holds how many rows are done and how many kinds were found;
    the loop stops early when ``table`` is half full, to be called again with what `spread` makes of
    it. ``secret``, 136 random numbers, keeps whoever writes the rows from choosing their places in
    the table; a table serves one secret.
    """

def spread(table: NDArray[np.uint64], out: NDArray[np.uint64]) -> None:
    """Copy the slots of a table of `distinct` into a wider one, which is all 0."""

def agree(
    values: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    kinds: NDArray[np.int32],
    first_rows: NDArray[np.int32],
    out: NDArray[np.uint8],
) -> None:
    """Write to ``out[0]`` whether every row has the bytes of the first row of its kind."""

def gather(
    values: NDArray[np.uint8],
    starts: NDArray[np.int64],
    out_offsets: NDArray[np.int64],
    out: NDArray[np.uint8],
) -> None:
    """Copy stretches of bytes, row ``r`` from ``starts[r]`` into ``out[out_offsets[r]:out_offsets[r
    + 1]]``.
    """

def find_misfit(offsets: NDArray[np.int64], size: int, out: NDArray[np.uint8]) -> None:
    """Write to ``out[0]`` whether any offset lies below the one before it, below 0 or above
    ``size``.
    """

def runs(
    differs: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    out_runs: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """Cut every list where an element differs from the one before.

    List ``r`` has runs ``out[r]`` to ``out[r + 1]``; ``out_runs``, one longer than there are
    elements, is where they begin.
    """

def order_keys(
    keys: NDArray[np.uint64],
    list_offsets: NDArray[np.int64],
    spare: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Write the stable order of every list of numbers as places in it; ``spare`` is as long as the
    longest list.
    """

def sort_routes(
    list_routes: NDArray[np.int64],
    route_offsets: NDArray[np.int64],
    route_topic: NDArray[np.int32],
    route_broker: NDArray[np.int32],
    ranks: NDArray[np.int32],
    keys: NDArray[np.uint64],
    spare: NDArray[np.int32],
    facts: NDArray[np.uint8],
    out_places: NDArray[np.int32],
    out_broker: NDArray[np.int32],
    out_offsets: NDArray[np.int64],
) -> None:
    """Put the routes of every list in the order of their brokers' ranks; ``keys`` and ``spare`` are
    as long as the longest.

    Route ``k`` comes from ``out_places[k]``. ``facts`` says whether any list was out of order, and
    whether any has two routes of one broker, or of two topics, so that this order is not enough.
    """
