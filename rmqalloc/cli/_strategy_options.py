"""Strategies as options name them, with their parameters in the text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from rmqalloc.cli._choices import Command, TextType
from rmqalloc.cli._options import option
from rmqalloc.errors import Error
from rmqalloc.strategies.by_name import from_label, plain_strategies, rule
from rmqalloc.strategies.spelled import labels_of

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class NamedStrategy(NamedTuple):
    """A strategy as an option names it: the text that is given, and what it says."""

    label: str
    name: str
    params: dict[str, Any]


class StrategyText(TextType):
    """A strategy with its parameters, such as ``CONSISTENT_HASH:160`` or ``CANARY(share=0.05)``."""

    name = "s"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the strategy."""
        try:
            name, params = from_label(value)
            rule(name, **params)
        except Error as error:
            self.fail(str(error), param, ctx)
        return NamedStrategy(value, name, params)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return names that begin so."""
        from click.shell_completion import CompletionItem

        names = plain_strategies(rooms=True)
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


class StrategyTexts(StrategyText):
    """Several strategies with commas between them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the strategies, each once."""
        try:
            labels = labels_of(value)
        except Error as error:
            self.fail(str(error), param, ctx)
        if len(set(labels)) < len(labels):
            self.fail(f"a strategy is given twice in {value!r}", param, ctx)
        return [super(StrategyTexts, self).convert(label, param, ctx) for label in labels]


def strategy_option(more: str = "", **settings: Any) -> Callable[[Command], Command]:
    """Return the option ``--strategy``."""
    return option("strategy", more=more, type=StrategyText(), **settings)
