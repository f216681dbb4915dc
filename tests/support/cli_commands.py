"""All commands of the command line, those of groups included."""

import click

from rmqalloc.cli._app import VERBS, app


def _commands():
    found = {}
    for verb in VERBS:
        command = app.get_command(click.Context(app), verb)
        found[verb,] = command
        found |= {(verb, name): inner for name, inner in getattr(command, "commands", {}).items()}
    return found


COMMANDS = _commands()
"""Every command by its words, such as ``("rollout", "restart")``."""
