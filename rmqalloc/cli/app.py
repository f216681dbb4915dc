"""The command group: which verb is in which file."""

import sys
from collections.abc import Sequence
from importlib import import_module

import click

from rmqalloc.cli import exit_codes
from rmqalloc.cli.command_groups import Suggesting
from rmqalloc.cli.error_handler import exit_code_of, verb_of
from rmqalloc.cli.sink import guarded, say

VERBS = {
    "allocate": "rmqalloc.cli.allocate_command",
    "bulk": "rmqalloc.cli.bulk_command",
    "check": "rmqalloc.cli.check_command",
    "compare": "rmqalloc.cli.compare_command",
    "completion": "rmqalloc.cli.completion_command",
    "convert": "rmqalloc.cli.convert_command",
    "doctor": "rmqalloc.cli.doctor_command",
    "example": "rmqalloc.cli.example_command",
    "explain": "rmqalloc.cli.explain_command",
    "generate": "rmqalloc.cli.generate_command",
    "plan": "rmqalloc.cli.plan_command",
    "recommend": "rmqalloc.cli.recommend_command",
    "report": "rmqalloc.cli.report_command",
    "rollout": "rmqalloc.cli.rollout_command",
    "schema": "rmqalloc.cli.schema_command",
    "simulate": "rmqalloc.cli.simulate_command",
    "snapshot": "rmqalloc.cli.snapshot_command",
}
"""File of every verb; it is imported when the verb is used, so that each pays only for its own needs."""


class LazyGroup(Suggesting):
    """A command group whose verbs are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all verbs."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb of that name, None if there is none."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = getattr(import_module(VERBS[cmd_name]), cmd_name)
        for one in (command, *getattr(command, "commands", {}).values()):
            one.epilog = exit_codes.listed(exit_codes.codes_of(cmd_name))
        return command


def _print_version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        from rmqalloc.version import __version__

        say(f"rmqalloc {__version__}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=exit_codes.listed(exit_codes.MEANINGS),
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version."
)
def app() -> None:
    """RocketMQ queue allocation: who owns which queue, for one consumer group or for millions.

    Every option can also be given as an environment variable, such as RMQALLOC_BULK_STRATEGY for `bulk --strategy`.
    """


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command; errors become messages on standard error and an exit code, see `rmqalloc.cli.error_handler`."""

    def command() -> int:
        code = app.main(argv, prog_name="rmqalloc", standalone_mode=False, auto_envvar_prefix="RMQALLOC")
        sys.stdout.flush()
        return code if isinstance(code, int) else 0

    with guarded():
        return exit_code_of(command, verb_of(sys.argv[1:] if argv is None else argv, list(VERBS)))
