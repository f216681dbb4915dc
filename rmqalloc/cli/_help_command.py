"""``rmqalloc help``: the help of a verb, as its ``--help`` prints it, or as manual pages."""

from __future__ import annotations

from pathlib import Path

import click

from rmqalloc.cli._environment import Verb
from rmqalloc.cli._sink import say
from rmqalloc.text import did_you_mean


@click.command(cls=Verb)
@click.argument("words", nargs=-1, metavar="[VERB [KIND]]")
@click.option(
    "--man",
    metavar="DIR",
    help="Write manual pages of it, and of all below it, to a directory instead.",
)
@click.pass_context
def help(ctx: click.Context, words: tuple[str, ...], man: str | None) -> None:
    """Print the help of a verb, such as `rmqalloc help plan` or `rmqalloc help rollout restart`.

    \b
    rmqalloc help plan
    rmqalloc help --man ~/.local/share/man/man1
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
    if man is None:
        say(command.get_help(at))
        return
    from rmqalloc.cli._man_pages import pages
    from rmqalloc.store import make_folder, write_file

    folder = Path(man)
    make_folder(folder)
    for name, text in pages(command, at):
        write_file(folder / name, text)
