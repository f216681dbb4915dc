"""The command line: ``rmqalloc VERB``. One file per verb; a verb parses, calls and prints.

Results go to standard output; notes, progress and errors to standard error.

The verbs, and what exit codes mean for each of them: `rmqalloc.cli._verbs`.
"""

import gc
import os
import sys
from collections.abc import Sequence

from rmqalloc import lazy
from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.errors import check_installed


class _NoPandas:
    """Keep pandas from being imported: pyarrow does so for its first array, to tell a data frame
    from a list.

    That import takes longer than most verbs do, and none has data frames but what runs on Spark.
    """

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        """Refuse pandas, and leave all else to the finders that follow."""
        if name == "pandas":
            raise ModuleNotFoundError("the rmqalloc command does without pandas", name=name)


def _may_start_spark() -> bool:
    """Return whether this command may start PySpark, which refuses to work without pandas."""
    return not {"--spark", "doctor"}.isdisjoint(sys.argv)


def _start_sooner() -> None:
    """Search for cycles less often, since a command makes few, and keep numpy from starting threads
    for linear algebra.
    """
    gc.set_threshold(100_000)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; what the console script calls, without arguments."""
    if argv is None and not _may_start_spark():  # the process is rmqalloc's alone
        sys.meta_path.insert(0, _NoPandas)
        lazy.is_command = True
        _start_sooner()
    try:
        check_installed("click")
    except ModuleNotFoundError as error:
        from rmqalloc.cli._sink import tell

        tell("rmqalloc", str(error))
        return exit_codes.FAILURE
    from rmqalloc.cli._app import run

    code = run(argv)
    if lazy.is_command:
        gc.freeze()  # or Python searches for cycles in all that is there once more before it ends
    return code
