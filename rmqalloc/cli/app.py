"""The command group: which verb is in which file, and which error has which exit code."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from rmqalloc.cli import exit_codes

VERBS = {
    "allocate": "rmqalloc.cli.allocate",
    "bulk": "rmqalloc.cli.bulk",
    "check": "rmqalloc.cli.check",
    "compare": "rmqalloc.cli.compare",
    "completion": "rmqalloc.cli.completion",
    "convert": "rmqalloc.cli.convert",
    "doctor": "rmqalloc.cli.doctor",
    "explain": "rmqalloc.cli.explain",
    "generate": "rmqalloc.cli.generate",
    "plan": "rmqalloc.cli.plan",
    "recommend": "rmqalloc.cli.recommend",
    "report": "rmqalloc.cli.report",
    "rollout": "rmqalloc.cli.rollout",
    "simulate": "rmqalloc.cli.simulate",
    "snapshot": "rmqalloc.cli.snapshot",
}
"""File of every verb; it is imported when the verb is used, so that each pays only for its own needs."""


class LazyGroup(click.Group):
    """A command group whose verbs are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all verbs."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb of that name, None if there is none."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = getattr(import_module(VERBS[cmd_name]), cmd_name)
        return command


def _print_version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        from rmqalloc import __version__

        click.echo(f"rmqalloc {__version__}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version."
)
def app() -> None:
    """RocketMQ queue allocation: who owns which queue, for one consumer group or for millions.

    Every option can also be given as an environment variable, such as RMQALLOC_BULK_STRATEGY for `bulk --strategy`.
    """


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command; errors become one message on standard error and an exit code."""
    try:
        code = app.main(argv, prog_name="rmqalloc", standalone_mode=False, auto_envvar_prefix="RMQALLOC")
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.UsageError as error:
        error.show()
        return exit_codes.USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("rmqalloc: interrupted", err=True)
        return exit_codes.INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe (head, say) has gone: nothing to tell, and Python must not flush again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exit_codes.FAILURE
    except ImportError as error:
        package = (error.name or "a package").partition(".")[0]
        click.echo(f'rmqalloc: {package} is not installed: pip install "rmqalloc[all]"', err=True)
    except click.ClickException as error:
        click.echo(f"rmqalloc: {error.format_message()}", err=True)
    except (OSError, ValueError, MemoryError) as error:
        click.echo(f"rmqalloc: {_said(error)}", err=True)
    return exit_codes.FAILURE


def _said(error: Exception) -> str:
    """What an error says, without the numbers that Python puts before errors of files."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__
