"""The command line: ``rmqalloc VERB``. One file per verb; a verb parses, calls and prints.

Results go to standard output; notes, progress and errors to standard error.

Exit codes
----------
0 done, 1 failure (files, servers, data, Java), 64 wrong usage, 70 a defect of rmqalloc, 130 interrupted; more in
`rmqalloc.cli.exit_codes`.
"""

import sys
from collections.abc import Sequence

from rmqalloc.cli import exit_codes
from rmqalloc.extras import needs


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; what the console script calls."""
    try:
        import click  # noqa: F401
    except ImportError:
        print(f"the rmqalloc command needs click: {needs('click')}", file=sys.stderr)
        return exit_codes.USAGE
    from rmqalloc.cli.app import run

    return run(argv)
