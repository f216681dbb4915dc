"""Verbs and readers: operations per doubling of the input."""

from cliffs.row import Row


def rows(quick: bool) -> list[Row]:
    """Count every shape; with `quick`, those alone that take little."""
    return []
