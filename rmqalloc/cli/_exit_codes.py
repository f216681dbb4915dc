"""Exit codes of the command line, and what each means; what they mean for one verb is in
`rmqalloc.cli._verbs`.
"""

from collections.abc import Mapping

__all__ = [
    "DEFECT",
    "DIFFERENCE",
    "DONE",
    "FAILURE",
    "GATE",
    "INTERRUPTED",
    "MEANINGS",
    "PARTIAL",
    "PIPE",
    "USAGE",
    "codes_of",
    "listed",
]

DONE = 0
FAILURE = 1
DIFFERENCE = 2
"""Something moves or differs (``plan`` and ``diff --detailed-exitcode``), or ``check`` finds a fault."""
GATE = 3
"""A gate such as ``--max-moved`` is not kept."""
PARTIAL = 4
"""A fact is missing: some broker or client did not answer, or not before the deadline."""
USAGE = 64
DEFECT = 70
"""An exception that nothing given should cause: a defect of rmqalloc; the traceback is printed."""
INTERRUPTED = 130
PIPE = 141
"""Whoever read standard output has gone, so neither the result nor a gate has been seen whole: as a shell names SIGPIPE."""

MEANINGS: Mapping[int, str] = {
    DONE: "done",
    FAILURE: "failed: a file, a server, the data, or a package that is not installed",
    DIFFERENCE: "a difference or a finding (plan and diff --detailed-exitcode, check, verify)",
    GATE: "a gate is not kept, or the change is refused",
    PARTIAL: "a fact is missing, so the result is not reliable; --allow-partial continues anyway",
    USAGE: "wrong usage: a verb, an option, or its value",
    DEFECT: "a defect of rmqalloc; the traceback is printed",
    INTERRUPTED: "interrupted",
    PIPE: "the reader of the output closed the pipe early, as head does",
}
"""What every code means, whatever the verb."""

_OF_ALL = (DONE, FAILURE, USAGE, DEFECT, INTERRUPTED, PIPE)


def codes_of(own: Mapping[int, str]) -> dict[int, str]:
    """Return the codes that a verb can end with, and what they mean, given its own ones.

    Examples
    --------
    >>> list(codes_of({PARTIAL: "the snapshot is incomplete"}))
    [0, 1, 4, 64, 70, 130, 141]
    """
    return {
        code: own.get(code, MEANINGS[code]) for code in MEANINGS if code in _OF_ALL or code in own
    }


def listed(codes: Mapping[int, str]) -> str:
    """Return codes with their meanings as the end of a help text, which click leaves in its lines."""
    return "\n".join(
        ["\b", "Exit codes:", *(f"  {code:<3}  {meaning}" for code, meaning in codes.items())]
    )
