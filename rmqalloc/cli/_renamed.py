"""Options under their former names: they still work for a release, and say so."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from rmqalloc.cli._sink import tell

UNTIL = "0.3.0"
"""The first release without the former names."""


def renamed(
    old: str, new: str, into: str, declared: tuple[str, ...], **settings: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Take a former name of an option for the one of today."""
    own = declared[-1]

    def added(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def bundled(**others: Any) -> Any:
            former = others.pop(own)
            if former is not None:
                if others[into] is not None:
                    raise click.UsageError(f"{old} is the former name of {new}; give {new} alone")
                tell("note", f"{old} is called {new} now; {old} goes with release {UNTIL}")
                others[into] = former
            return command(**others)

        return click.option(*declared, hidden=True, **settings)(bundled)

    return added
