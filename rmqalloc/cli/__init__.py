"""The command line: ``rmqalloc VERB``. One file per verb; a verb parses, calls and prints.

Results go to standard output; notes, progress and errors to standard error.

Exit codes, what each means and which a verb can end with: `rmqalloc.cli._exit_codes`.
"""

from collections.abc import Sequence

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.extras import needs


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; what the console script calls."""
    try:
        import click  # noqa: F401
    except ImportError:
        from rmqalloc.cli._sink import say

        say(f"the rmqalloc command needs click: {needs('click')}", err=True)
        return exit_codes.USAGE
    from rmqalloc.cli._app import run

    return run(argv)
