"""``rmqalloc help``: the help of a verb, as its ``--help`` prints it."""

from __future__ import annotations

import click

from rmqalloc.cli._environment import Verb
from rmqalloc.cli._sink import say
from rmqalloc.text import did_you_mean


@click.command(cls=Verb)
@click.argument("words", nargs=-1, metavar="[VERB [KIND]]")
@click.pass_context
def help(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Print the help of a verb.

    \b
    rmqalloc help plan
    rmqalloc help rollout restart
    """
    root = ctx.find_root()
    command, at = root.command, root
    for word in words:
        names = command.list_commands(at) if isinstance(command, click.Group) else []
        found = command.get_command(at, word) if isinstance(command, click.Group) else None
        if found is None:
            raise click.UsageError(
                f"there is no {at.command_path} {word}{did_you_mean(word, names)}"
            )
        command, at = found, click.Context(found, parent=at, info_name=word)
    say(command.get_help(at))
