"""Text as columns, in Java's order (UTF-16 code units); string ``i`` is ``values[offsets[i]:offsets[i + 1]]``."""

import numpy as np
from numpy.typing import NDArray

def order(
    values: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    list_offsets: NDArray[np.int64],
    keys: NDArray[np.uint64],
    spare: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Write the stable order of every list as places in it; ``keys`` and ``spare`` are as long as the longest list."""

def first_of(
    values: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    list_offsets: NDArray[np.int64],
    order: NDArray[np.int32],
    irregular: NDArray[np.uint8],
    out: NDArray[np.int32],
) -> None:
    """Write the first place in its list of each string; mark lists with repeats or empty strings."""

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
    """Name the instruction set in use: ``avx512``, ``avx2``, ``neon`` or ``scalar``."""

def available_isas() -> tuple[str, ...]:
    """Name the instruction sets this machine can run, widest first."""

def force_isa(name: str) -> None:
    """Use one instruction set from now on in this module. ``ValueError`` if this machine lacks it."""
