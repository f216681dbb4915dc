"""All commands of the command line, those of groups included, and how tests run them."""

import json

import click

from rmqalloc.cli import main
from rmqalloc.cli._app import app
from rmqalloc.cli._verbs import VERBS
from rmqalloc.snapshot.plain_data import to_document


def _commands():
    found = {}
    for verb in VERBS:
        command = app.get_command(click.Context(app), verb)
        found[verb,] = command
        found |= {(verb, name): inner for name, inner in getattr(command, "commands", {}).items()}
    return found


COMMANDS = _commands()
"""Every command by its words, such as ``("rollout", "restart")``."""


def runner(capsys, *verb):
    """Run a command, of a verb if one is given; gives exit code, standard output and standard
    error.
    """

    def run(*arguments):
        code = main([*verb, *map(str, arguments)])
        return code, *capsys.readouterr()

    return run


def saved_snapshot(path, snapshot):
    """Save a snapshot as a file of JSON, even one that no writer would write; gives its path."""
    path.write_text(json.dumps(to_document(snapshot)), encoding="utf-8")
    return path
