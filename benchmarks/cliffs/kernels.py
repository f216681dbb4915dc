"""Strategies and kernels: instructions of an odd input over those of the plain one, counted by callgrind.

`rows` starts this module again under callgrind, where it makes the calls of all shapes in the order of `SHAPES`: for each one
the plain call and the odd one.
"""

import sys
from collections.abc import Callable
from typing import NamedTuple

from cliffs.row import Row
from instructions import count_calls, counted

Call = Callable[[], object]


class Shape(NamedTuple):
    """Two calls of which the second must not need more than `bound` times the instructions of the first."""

    what: str
    shape: str
    bound: float
    calls: Callable[[], tuple[Call, Call]]
    quick: bool = True


SHAPES: list[Shape] = []


def chosen(quick: bool) -> list[Shape]:
    """Shapes of a run."""
    return [shape for shape in SHAPES if shape.quick or not quick]


def rows(quick: bool) -> list[Row]:
    """Count every shape; with `quick`, those alone that take little."""
    shapes = chosen(quick)
    if not shapes:
        return []
    _, counts = count_calls("cliffs.kernels", ["quick"] if quick else [])
    if len(counts) != 2 * len(shapes):
        sys.exit(
            f"callgrind counted {len(counts)} calls of {2 * len(shapes)}: Python's ctypes must use the shared libffi"
        )
    pairs = zip(shapes, counts[::2], counts[1::2], strict=True)
    return [Row(s.what, s.shape, odd / plain, s.bound, "instructions") for s, plain, odd in pairs]


def main() -> None:
    """Make the calls; this is what runs under callgrind."""
    for shape in chosen("quick" in sys.argv[1:]):
        for call in shape.calls():
            counted(call)


if __name__ == "__main__":
    main()
