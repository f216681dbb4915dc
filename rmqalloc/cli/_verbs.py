"""The verbs, each registered once: the question that it answers, which is its section of the help,
and what exit codes mean for it alone. Help, completion and pages take them from here.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from importlib import import_module

import click

from rmqalloc.cli._exit_codes import DIFFERENCE, DONE, FAILURE, GATE, PARTIAL

_REFUSED = "failed, or a group is refused: its strategy is in doubt, or cannot be computed"
_REQUIRED = "a group is left out because its strategy rests on less than --require asks for"
_PARTIAL = "the snapshot is partial, or a group is left out because a fact is missing, and --allow-partial is not given"
_WEAK = "a strategy rests on less than --require asks for"
_SHOWN = "the snapshot is partial; what is known is shown, and --allow-partial ends with 0"

QUESTIONS: dict[str, dict[str, Mapping[int, str]]] = {
    "What is?": {
        "groups": {
            DONE: "done, also where something is not known: the table says so",
            GATE: _WEAK,
            PARTIAL: _SHOWN,
        },
        "show": {
            DONE: "done, also where owners are not known: the table says so",
            GATE: _WEAK,
            PARTIAL: _SHOWN,
        },
        "explain": {FAILURE: _REFUSED, GATE: _REQUIRED, PARTIAL: _PARTIAL},
        "allocate": {},
        "snapshot": {
            FAILURE: "failed: no name server answers, it knows no broker, or nothing could be read",
            PARTIAL: "the snapshot lacks something; it is written anyway, and says what",
        },
    },
    "What if?": {
        "plan": {
            FAILURE: f"{_REFUSED}, or what the change leaves cannot be assigned",
            DIFFERENCE: "a client gains or loses a queue, with --detailed-exitcode",
            GATE: "a gate is not kept (--max-moved and others, --gates, --require), or --undo is refused",
            PARTIAL: _PARTIAL,
        },
        "rollout": {
            FAILURE: _REFUSED,
            GATE: "a gate is not kept (--max-moved-per-queue, --max-unowned and others, --require), or the change is refused",
            PARTIAL: _PARTIAL,
        },
        "compare": {
            FAILURE: f"{_REFUSED}, or a strategy cannot assign a topic of a group",
            GATE: _REQUIRED,
            PARTIAL: _PARTIAL,
        },
        "recommend": {FAILURE: _REFUSED, GATE: _REQUIRED, PARTIAL: _PARTIAL},
        "simulate": {FAILURE: _REFUSED, PARTIAL: _PARTIAL},
        "bulk": {FAILURE: "failed, or more rows are bad than --max-bad-fraction allows"},
    },
    "What went wrong?": {
        "check": {
            DONE: "nothing as grave as --fail-on was found",
            DIFFERENCE: "something was found that is as grave as --fail-on, or graver",
            GATE: "nothing was found, but a strategy rests on less than --require asks for",
            PARTIAL: "nothing was found as far as is known, and --allow-unknown does not name all that is not known",
        },
        "diff": {
            FAILURE: "failed, or the owners of a group are not compared because its strategy is in doubt, or cannot "
            "be computed",
            DIFFERENCE: "there is a difference, with --detailed-exitcode",
            PARTIAL: "a snapshot is partial, and --allow-partial is not given",
        },
        "history": {},
        "guard": {
            DONE: "yes: the client may stop; with --after, it has left and its queues have new owners",
            FAILURE: "failed: no client matches --client, or the cluster or a file cannot be read",
            GATE: "no: the previous change has not settled, or nobody would read some queues",
            PARTIAL: "unknown: what decides is not known",
        },
        "verify": {
            DONE: "all that can be recomputed was, and is equal; what cannot is named",
            FAILURE: "failed: a file cannot be read or would take too long",
            DIFFERENCE: "the plan is rejected: not what follows from its inputs, or a gate not kept",
            PARTIAL: "not verified: something, which is named, could not be recomputed",
        },
        "doctor": {},
    },
    "Clusters, files and pages": {
        "serve": {},
        "mcp": {},
        "context": {},
        "report": {},
        "convert": {},
        "example": {},
        "schema": {},
        "generate": {},
        "completion": {},
        "help": {},
    },
}
"""Verbs by the question that they answer, in the order of the help, with codes that a verb has besides those of all, or for
which it has its own words."""

VERBS: Mapping[str, Mapping[int, str]] = dict(sorted(ChainMap(*QUESTIONS.values()).items()))
"""All verbs by name, with their own codes."""


def command_of(verb: str) -> click.Command:
    """Import the file of a verb, so that each pays only for its own needs, and return its command."""
    command: click.Command = getattr(import_module(f"rmqalloc.cli._{verb}_command"), verb)
    return command
