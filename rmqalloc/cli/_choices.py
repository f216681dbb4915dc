"""Values of options and arguments, with what is near them when they are wrong: words of a list, files, and examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from rmqalloc.text import did_you_mean

if TYPE_CHECKING:
    _Choice = click.Choice[str]
    TextType = click.ParamType[str]
else:  # before click 8.2 these take no type
    _Choice = click.Choice
    TextType = click.ParamType


class Choice(_Choice):
    """One of some words."""

    def __init__(self, choices: Sequence[str]) -> None:
        super().__init__(choices)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The word."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            meant = did_you_mean(str(value), self.choices)
            if not meant:
                raise
            raise click.BadParameter(error.message.rstrip(".") + meant, error.ctx, error.param) from None


class FileOrExample(TextType):
    """A file, or ``example:NAME``, which becomes the path of that example."""

    name = "file"

    def __init__(self, kind: str, must_exist: bool = False) -> None:
        self._kind = kind
        self._path = click.Path(exists=True, dir_okay=False) if must_exist else None

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        from rmqalloc.examples import PREFIX, ExampleError, find

        if isinstance(value, str) and value.startswith(PREFIX):
            try:
                return str(find(value, self._kind).path)
            except ExampleError as error:
                self.fail(str(error), param, ctx)
        return value if self._path is None else self._path.convert(value, param, ctx)
