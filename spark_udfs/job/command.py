"""The planning job as a program: ``python -m spark_udfs.job --input fleet --output plans --strategy
AVG``.

See `spark_udfs.job._plan_directory` for what it writes and what readers see. The totals go to
standard output, progress to standard error. Exit codes: 0 done, 1 failed or too many bad rows, 64
wrong usage, 130 interrupted.
"""

import argparse
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from rmqalloc.errors import ArgumentError, Error, hint, is_optional
from rmqalloc.evaluation.batch_planning import OUTPUTS, PlanSpec
from rmqalloc.evaluation.totals import Totals, two_columns
from rmqalloc.scenarios import read_scenarios
from rmqalloc.strategies.by_name import from_label
from rmqalloc.text import harmless
from spark_udfs.job._plan_summary import totals_table
from spark_udfs.job._plan_table import PlanResult, plan_table
from spark_udfs.job._sources import UnitSource
from spark_udfs.job._spark_errors import spark_errors
from spark_udfs.job.job_options import JOB_ARGUMENTS, JOB_OPTIONS, JobOption
from spark_udfs.session import running_session

EXIT_FAILED = 1
EXIT_USAGE = 64
EXIT_INTERRUPTED = 130


class _JobParser(argparse.ArgumentParser):
    """A parser that leaves with the code for wrong usage."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n")


def _parser() -> _JobParser:
    parser = _JobParser(
        prog="python -m spark_udfs.job", description="Plan the queues of many consumer groups."
    )
    add = parser.add_argument
    add("--input", default="", help="file, directory or pattern of units")
    add("--output", default="", help="directory for the result; it may be left out with --into")
    add(
        "--strategy",
        required=True,
        help="name, such as AVG, perhaps with parameters: CONSISTENT_HASH:160 or 'CANARY(share=0.05)'",
    )
    add("--scenarios", help="YAML or JSON file of scenarios to try on every unit")
    add(
        "--mode",
        choices=OUTPUTS,
        help="what to write: owners unless there are scenarios, then metrics",
    )
    where = parser.add_mutually_exclusive_group()
    for place, option in enumerate(JOB_OPTIONS):
        (where if place < 2 else parser).add_argument(option.flag, **_argument(option))
    return parser


_KINDS: dict[str, dict[str, Any]] = {
    "text": {},
    "texts": {"action": "append"},
    "count": {"type": int},
    "share": {"type": float},
    "flag": {"action": "store_true"},
    "switch": {"action": argparse.BooleanOptionalAction},
}


def _argument(option: JobOption) -> dict[str, Any]:
    """Return the arguments of `argparse.ArgumentParser.add_argument` for an option."""
    default = [] if option.kind == "texts" else option.default
    named = {} if option.metavar is None else {"metavar": option.metavar}
    return {"default": default, "help": option.help, **named, **_KINDS[option.kind]}


def main(argv: list[str] | None = None) -> int:
    """Run the job from a command line and return the exit code."""
    parser = _parser()
    given = parser.parse_args(argv)
    if not given.output and not given.into:
        parser.error("give --output, --into, or both")
    try:
        source = source_of(given.input, given.table, given.format, given.option)
        name, params = from_label(given.strategy)
        PlanSpec(name, params)
    except Error as error:
        parser.error(str(error))
    try:
        with plain_errors():
            tried = read_scenarios(given.scenarios) if given.scenarios else ()
            spec = PlanSpec(name, params, tried, given.mode or ("metrics" if tried else "owners"))
    except PlainError as error:
        print(f"rmqalloc: {harmless(str(error))}", file=sys.stderr)
        return EXIT_FAILED
    how = {argument: getattr(given, name) for name, argument in JOB_ARGUMENTS.items()}
    return run_and_report(source, given.output, spec, given.remote or given.master, **how)


def source_of(path: str, table: str, form: str, options: Sequence[str]) -> UnitSource:
    """Return the source that a command line names; ArgumentError if its options do not fit
    together.
    """
    pairs = [text.partition("=") for text in options]
    for name, sign, value in pairs:
        if not name or not sign:
            raise ArgumentError(
                f"an option of the reader is K=V, such as multiLine=true, got {name + sign + value!r}"
            )
    if len({name.lower() for name, _, _ in pairs}) < len(pairs):  # Spark's options have no capitals
        raise ArgumentError(
            f"an option of the reader is given twice: {', '.join(options)}; give each once"
        )
    if bool(path) == bool(table) and (table or form == "parquet"):
        raise ArgumentError("give either an input or a table")
    return UnitSource(path, form, {name: value for name, _, value in pairs}, table)


def run_and_report(source: UnitSource, target: str, spec: PlanSpec, master: str, **how: Any) -> int:
    """Run a job (`plan_table`) in a session, print the totals or the error, and return the exit
    code.
    """
    # Unless the caller has set up logging, the Java bridge would print an interrupt with its stack
    # trace.
    logging.basicConfig(level=logging.CRITICAL)
    try:
        with plain_errors(), spark_errors(), running_session(master) as spark:
            outcome = plan_table(spark, source, spec, out=target, **how)
    except KeyboardInterrupt:
        print(
            "interrupted; nothing is complete, and the same command starts again", file=sys.stderr
        )
        return EXIT_INTERRUPTED
    except PlainError as error:
        print(f"rmqalloc: {harmless(str(error))}", file=sys.stderr)
        return EXIT_FAILED
    print(harmless(_report(outcome)))
    # Rows may name strategies of their own, which only the workers have seen.
    form = "Rows" if how.get("into") else "Parquet"
    print(
        harmless(
            f"{form} of {spec.output}, {spec.strategy} unless a row names another: {outcome.shown}"
        )
    )
    return 0


class PlainError(Error, RuntimeError):
    """An error to print as it is: the fault of a file, a server or Spark, not a defect."""


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn the errors of files, servers and Spark into `PlainError`; any other exception is a
    defect and is raised.
    """
    try:
        yield
    except (OSError, Error, MemoryError) as error:
        raise PlainError(str(error) or type(error).__name__) from error
    except Exception as error:
        if isinstance(error, ImportError) and is_optional(error):
            raise PlainError(hint(error)) from error
        print(
            "rmqalloc: this is a defect of rmqalloc; please report it with what follows",
            file=sys.stderr,
        )
        raise


def _report(outcome: PlanResult) -> str:
    """Return a report for people."""
    if outcome.was_complete:
        return f"plan {outcome.plan_id} is complete already; --overwrite plans it again"
    totals = [Totals(**figures) for figures in outcome.summary["totals"].values()]
    peaks = [
        ("peak memory, driver JVM", outcome.jvm_peak),
        ("peak memory, Python workers", outcome.workers_peak),
    ]
    lines = [(name, f"{peak / 2**20:,.0f} MiB") for name, peak in peaks if peak]
    if len(totals) <= 1:
        figures = totals[0] if totals else Totals()
        return two_columns(iter([*figures.rows(outcome.seconds), *lines]))
    lines.insert(0, ("seconds", f"{outcome.seconds:,.2f}"))
    return totals_table(outcome.summary["totals"]) + "\n\n" + two_columns(iter(lines))
