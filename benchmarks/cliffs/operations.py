"""Counts the operations of a Python call: lines that run, and stretches of 64 bytes of memory that
these lines ask for.

Python's own loops, comprehensions among them, show in lines; loops in numpy and in kernels show in
the arrays that they write. What C reads without writing (`x in some_list`) shows in neither:
instructions, which callgrind counts, show that too, but take some ten times as long to count.
Nothing here looks at a clock.
"""

import gc
import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any

STRETCH = 64  # bytes: what a processor fetches at once


def operations(function: Callable[[], object]) -> int:
    """Lines that run in a call, and stretches of memory that they ask for."""
    lines = stretches = held = 0
    memory, forget = tracemalloc.get_traced_memory, tracemalloc.reset_peak

    def step(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines, stretches, held
        lines += 1
        now, most = memory()
        if most - held > STRETCH:  # since the line before
            stretches += (most - held) // STRETCH
        if most > now:
            forget()
        held = now
        return step

    gc.collect()
    gc.disable()
    before = sys.gettrace()
    tracemalloc.start()
    sys.settrace(step)
    try:
        function()
    finally:
        sys.settrace(before)
        tracemalloc.stop()
        gc.enable()
    return lines + stretches
