"""Options that name a history and moments of it, and the snapshot that a history "
"holds of a moment."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli._choices import Command
from rmqalloc.cli._environment import HISTORY
from rmqalloc.cli._options import option
from rmqalloc.cli._sink import print_notes, tell
from rmqalloc.errors import ArgumentError

if TYPE_CHECKING:
    from rmqalloc.snapshot.snapshot import Snapshot

_TIMES = "HH:MM[:SS] of the last 24 hours, ISO 8601, or 2h ago"

_HEADER = b"SQLite format 3\0"
"""What a history begins with, and no snapshot."""


def is_history(path: str) -> bool:
    """Return whether a file is a history, by its beginning; what can be read only once is none."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(_HEADER)) == _HEADER


def history_of(path: str | None) -> str | None:
    """Return the history that -f or the environment names, None for neither."""
    path = path or os.environ.get(HISTORY) or None
    if path is not None and os.path.isfile(path) and not is_history(path):
        raise click.UsageError(
            f"{path} is not a history, and --at selects a time of a history; give -f HISTORY"
        )
    return path


def at_option(multiple: bool = False) -> Callable[[Command], Command]:
    """Return the option ``--at``."""
    if multiple:
        return option("at", "moments", more="; give it twice", multiple=True, callback=_read_all)
    return option("at", "moment", callback=_read)


def time_option(flag: str, name: str, what: str) -> Callable[[Command], Command]:
    """Return an option that is a moment."""
    return click.option(flag, name, callback=_read, metavar="TIME", help=f"{what}: {_TIMES}.")


def _read(ctx: click.Context, param: click.Parameter, text: str | None) -> float | None:
    if text is None:
        return None
    from rmqalloc.history.moments import moment_of

    try:
        return moment_of(text)
    except ArgumentError as error:
        raise click.BadParameter(str(error), ctx, param) from error


def _read_all(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> tuple[float | None, ...]:
    return tuple(_read(ctx, param, text) for text in texts)


def past_snapshot(path: str, moment: float) -> Snapshot:
    """Return the cluster as a history has it at a moment; ends with `exit_codes.PARTIAL` where it
    is not known.
    """
    from rmqalloc.history import History, MomentUnknownError
    from rmqalloc.history.moments import moment_text

    try:
        found = History(path).snapshot_at(moment)
    except MomentUnknownError as error:
        tell("rmqalloc", str(error))
        raise click.exceptions.Exit(exit_codes.PARTIAL) from error
    print_notes(
        [
            f"the cluster is shown as of {moment_text(moment)}, from the history {path}; a "
            "history contains no lag"
        ]
    )
    return found
