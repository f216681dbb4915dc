"""Exit codes of the command line: what each means, and which a verb can end with. Help and pages
say it from these tables.
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
    "OF_VERB",
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
"""An exception that nothing given should cause: a defect of rmqalloc, whose traceback is printed."""
INTERRUPTED = 130
PIPE = 141
"""Whoever read standard output has gone, so neither the result nor a gate has been seen whole: as a shell names SIGPIPE."""

MEANINGS: Mapping[int, str] = {
    DONE: "done",
    FAILURE: "failed: a file, a server, the data, or a package that is not installed",
    DIFFERENCE: "a difference or a finding (plan and diff --detailed-exitcode, check, verify)",
    GATE: "a gate is not kept, or the change is refused",
    PARTIAL: "a fact is missing, so nothing can be relied on; --allow-partial proceeds anyway",
    USAGE: "wrong usage: a verb, an option, or its value",
    DEFECT: "a defect of rmqalloc, whose traceback is printed",
    INTERRUPTED: "interrupted",
    PIPE: "whoever read the output closed the pipe before its end, as head does",
}
"""What every code means, whatever the verb."""

_OF_ALL = (DONE, FAILURE, USAGE, DEFECT, INTERRUPTED, PIPE)
_REFUSED = "failed, or a group is refused: its strategy is in doubt, or cannot be computed"
_REQUIRED = "a group is left out because its strategy rests on less than --require asks for"
_PARTIAL = "the snapshot is partial, or a group is left out because a fact is missing, and --allow-partial is not given"
_WEAK = "a strategy rests on less than --require asks for"
_SHOWN = "the snapshot is partial; what is known is shown, and --allow-partial ends with 0"

OF_VERB: Mapping[str, Mapping[int, str]] = {
    "bulk": {FAILURE: "failed, or more rows are bad than --max-bad-fraction allows"},
    "check": {
        DONE: "nothing as grave as --fail-on was found",
        DIFFERENCE: "something was found that is as grave as --fail-on, or graver",
        GATE: "nothing was found, but a strategy rests on less than --require asks for",
        PARTIAL: "nothing was found as far as is known, and --allow-unknown does not name all that is not known",
    },
    "compare": {
        FAILURE: f"{_REFUSED}, or a strategy cannot assign a topic of a group",
        GATE: _REQUIRED,
        PARTIAL: _PARTIAL,
    },
    "diff": {
        FAILURE: "failed, or the owners of a group are not compared because its strategy is in doubt, or cannot be computed",
        DIFFERENCE: "there is a difference, with --detailed-exitcode",
        PARTIAL: "a snapshot is partial, and --allow-partial is not given",
    },
    "explain": {FAILURE: _REFUSED, GATE: _REQUIRED, PARTIAL: _PARTIAL},
    "groups": {
        DONE: "done, also where something is not known: the table says so",
        GATE: _WEAK,
        PARTIAL: _SHOWN,
    },
    "guard": {
        DONE: "yes: the client may stop; with --after, it has left and its queues have new owners",
        FAILURE: "failed: no client matches --client, or the cluster or a file cannot be read",
        GATE: "no: the previous change has not settled, or nobody would read some queues",
        PARTIAL: "unknown: what decides is not known",
    },
    "plan": {
        FAILURE: f"{_REFUSED}, or what the change leaves cannot be assigned",
        DIFFERENCE: "a client gains or loses a queue, with --detailed-exitcode",
        GATE: "a gate is not kept (--max-moved and others, --gates, --require), or --undo is refused",
        PARTIAL: _PARTIAL,
    },
    "recommend": {FAILURE: _REFUSED, GATE: _REQUIRED, PARTIAL: _PARTIAL},
    "rollout": {
        FAILURE: _REFUSED,
        GATE: "a gate is not kept (--max-moved-per-queue, --max-unowned and others, --require), or the change is refused",
        PARTIAL: _PARTIAL,
    },
    "simulate": {FAILURE: _REFUSED, PARTIAL: _PARTIAL},
    "show": {
        DONE: "done, also where owners are not known: the table says so",
        GATE: _WEAK,
        PARTIAL: _SHOWN,
    },
    "snapshot": {
        FAILURE: "failed: no name server answers, it knows no broker, or nothing could be read",
        PARTIAL: "the snapshot lacks something; it is written anyway, and says what",
    },
    "verify": {
        DONE: "all that can be recomputed was, and is equal; what cannot is named",
        FAILURE: "failed: a file cannot be read or would take too long",
        DIFFERENCE: "the plan is rejected: not what follows from its inputs, or a gate not kept",
        PARTIAL: "not verified: something, which is named, could not be recomputed",
    },
}
"""What codes mean that a verb has besides those of all, or for which it has its own words."""


def codes_of(verb: str) -> dict[int, str]:
    """Return the codes that a verb can end with, and what they mean.

    Examples
    --------
    >>> list(codes_of("snapshot"))
    [0, 1, 4, 64, 70, 130, 141]
    """
    own = OF_VERB.get(verb, {})
    return {
        code: own.get(code, MEANINGS[code]) for code in MEANINGS if code in _OF_ALL or code in own
    }


def listed(codes: Mapping[int, str]) -> str:
    """Return codes with their meanings as the end of a help text, which click leaves in its lines."""
    return "\n".join(
        ["\b", "Exit codes:", *(f"  {code:<3}  {meaning}" for code, meaning in codes.items())]
    )
