"""The command group, and how a command line is run."""

import sys
from collections.abc import Sequence
from typing import Any

import click

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli._closing_notes import forget_notes, print_closing_notes
from rmqalloc.cli._command_groups import Suggesting
from rmqalloc.cli._error_handler import exit_code_of, verb_of
from rmqalloc.cli._help_sections import write_commands
from rmqalloc.cli._sink import guarded, pipe_watched, say
from rmqalloc.cli._verbs import QUESTIONS, VERBS, command_of


class LazyGroup(Suggesting):
    """A command group whose verbs are imported when they are asked for."""

    def make_context(self, *given: Any, **more: Any) -> click.Context:
        """Parse a command line; help and versions are printed meanwhile."""
        with pipe_watched():
            return super().make_context(*given, **more)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb."""
        with pipe_watched():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return names of all verbs."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the verb of that name, None if there is none."""
        if cmd_name not in VERBS:
            return None
        command = command_of(cmd_name)
        codes = exit_codes.listed(exit_codes.codes_of(VERBS[cmd_name]))
        for with_help in (command, *getattr(command, "commands", {}).values()):
            with_help.epilog = codes
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs by the question that they answer."""
        for question, verbs in QUESTIONS.items():
            write_commands(question, self, verbs, ctx, formatter)


def _print_version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        from rmqalloc.version import __version__

        say(f"rmqalloc {__version__}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    epilog=exit_codes.listed(exit_codes.MEANINGS),
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version.",
)
def app() -> None:
    """RocketMQ queue allocation: show, check and plan the owners of queues.

    \b
    rmqalloc groups -f FILE                          groups, worst first
    rmqalloc show -f FILE                            unowned queues
    rmqalloc show -f FILE -t orders --queue 7        owner of a queue
    rmqalloc show -f FILE --by client                lag by client
    rmqalloc show -f FILE --by client -c 10.0.0.1    clients of a host
    rmqalloc show -f FILE --by client --where is_idle=yes
    rmqalloc show -f FILE --where known=unknown      unknown owners
    rmqalloc plan -f FILE --remove-broker broker-b   effect of a change
    rmqalloc plan -f FILE -g GROUP --remove-client ID
    rmqalloc diff SAVED FILE                         changes since SAVED

    FILE may be example:orders. To read a running cluster, give -n HOST:9876 instead of -f FILE.
    """


_WITHOUT_ANSWER = (
    exit_codes.USAGE,
    exit_codes.DEFECT,
    exit_codes.PIPE,
    exit_codes.INTERRUPTED,
)


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command; errors become messages on standard error and an exit code, see
    `rmqalloc.cli._error_handler`.
    """

    def command() -> int:
        forget_notes()
        code = app.main(argv, prog_name="rmqalloc", standalone_mode=False)
        with pipe_watched():
            sys.stdout.flush()
        return code if isinstance(code, int) else 0

    with guarded():
        verb = verb_of(sys.argv[1:] if argv is None else argv, list(VERBS))
        code = exit_code_of(command, verb)
        has_answer = code not in _WITHOUT_ANSWER
        return (exit_code_of(print_closing_notes, verb) if has_answer else 0) or code
