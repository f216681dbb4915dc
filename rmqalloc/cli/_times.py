"""Times that options take."""

from __future__ import annotations

import click

from rmqalloc.errors import Error


def seconds(_ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """An option's time, such as ``20s``, ``500ms`` or ``2m``, in seconds; a number alone is seconds."""
    from rmqalloc.documents.fields import Duration

    if value is None:
        return None
    try:
        return Duration().read(f"{value}s" if value.isdigit() else value) / 1000
    except Error as error:
        raise click.BadParameter(str(error), param=param) from error
