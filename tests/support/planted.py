"""Defects that are planted in the functions that a command reaches: a call of one of them raises
what only a defect raises.
"""

import sys
from pathlib import Path

import rmqalloc

PACKAGES = Path(rmqalloc.__file__).parents[1]
KINDS = (TypeError, ValueError, KeyError, AttributeError)
SAID = "planted"


def _traced(run, on_call):
    """Run with a call of ``on_call`` for the code of every call of ours in this thread."""

    def trace(frame, event, _argument):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(
            (f"{PACKAGES}/rmqalloc/", f"{PACKAGES}/spark_udfs/")
        ):
            on_call(frame.f_code)

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return run()
    finally:
        sys.settrace(before)


def _name(code):
    return (
        Path(code.co_filename).relative_to(PACKAGES).as_posix(),
        code.co_qualname,
        code.co_firstlineno,
    )


def reached(run, room):
    """Names of the functions in the folder of a room that are called, in the order of their first
    calls.
    """
    found = {}
    _traced(run, lambda code: found.setdefault(_name(code)))
    return [
        name
        for name in found
        if name[0].startswith(f"{room}/") and "<" not in name[1].split(".")[-1]
    ]


def planted(run, name, kind):
    """Run with an error of that kind in the first call of a function, by its name of `reached`."""
    left = [kind(SAID)]

    def on_call(code):
        if left and _name(code) == name:
            raise left.pop()

    result = _traced(run, on_call)
    assert not left, f"{name} is not reached again"
    return result
