"""Groups of commands that suggest which command was perhaps meant."""

from __future__ import annotations

import click

from rmqalloc.cli._environment import Verb
from rmqalloc.cli._help_sections import write_commands
from rmqalloc.text import did_you_mean, message

__all__ = ["Suggesting"]

_GROUPS = "`rmqalloc groups` lists consumer groups, `rmqalloc show` lists owners of queues"
_MEANT = dict.fromkeys(("list", "ls", "get", "top", "status"), _GROUPS) | dict.fromkeys(
    ("describe", "desc", "who", "owners", "lag"),
    "`rmqalloc show` lists owners and lag of queues",
)
"""What to say of verbs that other tools have."""


class Suggesting(click.Group):
    """A command group; a command that it does not have is wrong usage, with the one that is near."""

    command_class = Verb

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what stands before the command; an option of a command that is not named yet says
        so.
        """
        if (
            ctx.parent is not None
            and args
            and args[0].startswith("-")
            and args[0] not in ctx.help_option_names
        ):
            *others, last = self.list_commands(ctx)
            path, first = ctx.command_path, next(iter(self.commands))
            kinds = f"{', '.join(others)} or {last}"
            ctx.fail(
                f"{path} needs {kinds} before its options, such as {path} {first} {args[0]} ..."
            )
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, each with all of its first sentence."""
        write_commands("Commands", self, self.list_commands(ctx), ctx, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is named, and what is left for it."""
        name = args[0]
        if (
            self.get_command(ctx, name) is None
            and not name.startswith("-")
            and not ctx.resilient_parsing
        ):
            known = self.list_commands(ctx)
            meant = _MEANT.get(name, "") if ctx.parent is None else ""
            near = f"; {meant}" if meant else did_you_mean(name, known)
            ctx.fail(f"No such command {message(name, 200)!r}{near or '.'}")
        return super().resolve_command(ctx, args)
