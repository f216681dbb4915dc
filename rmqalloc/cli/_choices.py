"""Options that come as one argument, and values of options with what is near them when they are
wrong.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from rmqalloc.errors import ArgumentError, Error
from rmqalloc.text import did_you_mean

if TYPE_CHECKING:
    _Choice = click.Choice[str]
    TextType = click.ParamType[str]
else:  # before click 8.2 these take no type
    _Choice = click.Choice
    TextType = click.ParamType


Command = Callable[..., Any]


def bundle(
    name: str,
    make: Callable[..., Any],
    options: Iterable[Callable[[Command], Command]],
    command: Command,
    takes: Iterable[str] = (),
) -> Command:
    """Add options, the last one first in the help; the command gets the result of ``make`` over
    them as one argument.

    ``takes`` names them where the annotations of ``make`` do not.
    """
    takes = tuple(takes or make.__annotations__)

    @functools.wraps(command)
    def bundled(**given: Any) -> Any:
        mine = {one: given.pop(one) for one in takes if one in given}
        return command(**{name: make(**mine)}, **given)

    made: Command = bundled
    for option in options:
        made = option(made)
    return made


def is_given(name: str) -> bool:
    """Return whether an option is given."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


class Choice(_Choice):
    """One of some words."""

    def __init__(self, choices: Sequence[str]) -> None:
        super().__init__(choices)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            meant = did_you_mean(str(value), self.choices)
            if not meant:
                raise
            raise click.BadParameter(
                error.message.rstrip(".") + meant, error.ctx, error.param
            ) from None


class Count(click.IntRange):
    """A whole number within bounds."""

    name = "n"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        try:
            int(value)
        except ValueError:
            self.fail(f"{value!r} is not a whole number", param, ctx)
        number: int = super().convert(value, param, ctx)
        return number


class Amount(click.FloatRange):
    """A number within bounds; not NaN, to which every bound holds."""

    name = "x"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number."""
        try:
            is_number = float(value) == float(value)
        except ValueError:
            is_number = False
        if not is_number:
            self.fail(f"{value!r} is not a number", param, ctx)
        number: float = super().convert(value, param, ctx)
        return number


class QueueName(NamedTuple):
    """A queue as an option names it: its number, perhaps its broker, perhaps its topic."""

    topic: str | None
    broker_name: str | None
    queue_id: int

    def __str__(self) -> str:
        topic = "" if self.topic is None else f"{self.topic}/"
        broker = "" if self.broker_name is None else f"{self.broker_name}:"
        return f"{topic}{broker}{self.queue_id}"


_QUEUE = re.compile(r"(?:(?:([^/]+)/)?(.+):)?([0-9]{1,9})", re.ASCII)


class Queue(TextType):
    """A queue: ``7``, ``broker-a:7`` or ``orders/broker-a:7``."""

    name = "queue"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return its parts."""
        found = _QUEUE.fullmatch(value)
        if found is None:
            self.fail(
                f"{value!r} is not a queue: give ID, BROKER:ID or TOPIC/BROKER:ID, such as 7, "
                "broker-a:7 or orders/broker-a:7",
                param,
                ctx,
            )
        topic, broker_name, number = found.groups()
        return QueueName(topic, broker_name, int(number))


class FileOrExample(TextType):
    """A file, or ``example:NAME``, which becomes the path of that example."""

    name = "file"

    def __init__(self, kind: str, must_exist: bool = False) -> None:
        self._kind = kind
        self._path = click.Path(exists=True, dir_okay=False) if must_exist else None

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        from rmqalloc.snapshot.examples import PREFIX, ExampleError, find

        if isinstance(value, str) and value.startswith(PREFIX):
            try:
                return str(find(value, self._kind).path)
            except ExampleError as error:
                self.fail(str(error), param, ctx)
        return value if self._path is None else self._path.convert(value, param, ctx)


def read_by(
    reader: Callable[[str], object],
) -> Callable[[click.Context, click.Parameter, str], str]:
    """Return a callback that takes an option's value as it is, once the reader of that value has
    found no fault in it.
    """

    def checked(ctx: click.Context, param: click.Parameter, value: str) -> str:
        try:
            reader(value)
        except ArgumentError as error:
            raise click.BadParameter(str(error), ctx, param) from error
        return value

    return checked


def seconds(_ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Return an option's time, such as ``20s``, ``500ms`` or ``2m``, in seconds; a number alone is
    seconds.
    """
    from rmqalloc.documents.fields import Duration

    if value is None:
        return None
    try:
        return Duration().read(f"{value}s" if value.isdigit() else value) / 1000
    except Error as error:
        raise click.BadParameter(str(error), param=param) from error
