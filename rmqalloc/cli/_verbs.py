"""The verbs, each registered once: the question that it answers, which is its section of the help,
and what exit codes mean for it alone. Help, completion and pages take them from here.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from importlib import import_module

import click

from rmqalloc.cli._exit_codes import DIFFERENCE, DONE, FAILURE, GATE, PARTIAL

_REFUSED = "failed, or a group is refused: its strategy is in doubt or cannot be computed"
_REQUIRED = "a group is left out: its strategy has less evidence than --require demands"
_PARTIAL = (
    "the snapshot is partial, or a group is left out for lack of a fact, and "
    "--allow-partial is not given"
)
_WEAK = "a strategy has less evidence than --require demands"
_SHOWN = "the snapshot is partial; known facts are shown, and --allow-partial exits with 0"

QUESTIONS: dict[str, dict[str, Mapping[int, str]]] = {
    "Current state": {
        "groups": {
            DONE: "done; the table marks unknown values",
            GATE: _WEAK,
            PARTIAL: _SHOWN,
        },
        "show": {
            DONE: "done; the table marks unknown owners",
            GATE: _WEAK,
            PARTIAL: _SHOWN,
        },
        "explain": {FAILURE: _REFUSED, GATE: _REQUIRED, PARTIAL: _PARTIAL},
        "allocate": {},
        "snapshot": {
            FAILURE: "failed: no name server answers, it lists no broker, or nothing could be read",
            PARTIAL: "the snapshot is incomplete; it is written and lists what is missing",
        },
    },
    "Planned changes": {
        "plan": {
            FAILURE: f"{_REFUSED}, or queues cannot be assigned after the change",
            DIFFERENCE: "with --detailed-exitcode: a client gains or loses a queue",
            GATE: "a gate is not kept (such as --max-moved, --gates or --require), or --undo "
            "is refused",
            PARTIAL: _PARTIAL,
        },
        "rollout": {
            FAILURE: _REFUSED,
            GATE: "a gate is not kept (such as --max-moved-per-queue, --max-unowned or "
            "--require), or the change is refused",
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
    "Faults and history": {
        "check": {
            DONE: "no finding has the severity of --fail-on or higher",
            DIFFERENCE: "a finding has the severity of --fail-on or higher",
            GATE: "no finding, but a strategy has less evidence than --require demands",
            PARTIAL: "no finding, but facts are unknown that --allow-unknown does not list",
        },
        "diff": {
            FAILURE: "failed, or the owners of a group are not compared: its strategy is in "
            "doubt or cannot be computed",
            DIFFERENCE: "with --detailed-exitcode: there is a difference",
            PARTIAL: "a snapshot is partial, and --allow-partial is not given",
        },
        "history": {},
        "guard": {
            DONE: "yes: the client may stop; with --after, it has left and its queues have "
            "new owners",
            FAILURE: "failed: no client matches --client, or the cluster or a file cannot be read",
            GATE: "no: the previous change has not settled, or some queues would have no reader",
            PARTIAL: "unknown: a deciding fact is missing",
        },
        "verify": {
            DONE: "every value that can be recomputed is equal; the remaining values are listed",
            FAILURE: "failed: a file cannot be read or would take too long",
            DIFFERENCE: "the plan is rejected: it does not follow from its inputs, or a gate "
            "is not kept",
            PARTIAL: "not verified: some values, which are listed, could not be recomputed",
        },
        "doctor": {},
    },
    "Clusters, files and services": {
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
