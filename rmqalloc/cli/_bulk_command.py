"""``rmqalloc bulk``: plan every unit of a Parquet table, on threads or with Spark."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import click

from rmqalloc import lazy
from rmqalloc.cli._change_options import scenario_option
from rmqalloc.cli._choices import Amount, Choice, Count
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._options import option
from rmqalloc.cli._sink import ChangingLine, draw, say
from rmqalloc.cli._strategy_options import NamedStrategy, strategy_option
from rmqalloc.errors import check_installed
from rmqalloc.results.and_more import named
from rmqalloc.text import printable, without_secrets

if TYPE_CHECKING:
    from rmqalloc.evaluation.batch_planning import PlanSpec
    from rmqalloc.evaluation.totals import ByScenario
    from rmqalloc.scenarios import Scenario
    from spark_udfs.job import UnitSource

Command = Callable[..., Any]

_SHOWN = ("metrics", "owners", "best")

_ON_SPARK = (
    click.option(
        "--spark", is_flag=True, help="Run as a Spark job; required by the options below."
    ),
    click.option("--master", help="Spark master. Default: local[*]."),
    click.option("--remote", metavar="sc://HOST", help="Spark Connect server."),
    click.option(
        "--table",
        metavar="NAME",
        help="Read this table instead of files, such as catalog.schema.table.",
    ),
    click.option(
        "--format",
        metavar="NAME",
        help="Spark's name of the input format. Default: parquet.",
    ),
    click.option(
        "--option",
        "options",
        multiple=True,
        metavar="K=V",
        help="Option of Spark's reader; repeatable.",
    ),
    click.option(
        "--into",
        metavar="NAME",
        help="Append the plan to this Delta or Iceberg table in one commit; with --out, the "
        "rows are taken from that directory.",
    ),
    click.option("--bad", metavar="DIR", help="Write bad rows to this directory."),
    click.option(
        "--file-job/--no-file-job",
        "in_workers",
        default=None,
        help="Let workers read Parquet themselves, or not. Default: they do if every worker "
        "can access the files.",
    ),
    click.option(
        "--max-bad-fraction",
        type=Amount(0, 1),
        metavar="F",
        help="Fail and write no plan if a larger fraction of the rows is bad.",
    ),
    click.option(
        "--worst",
        "n_worst",
        type=Count(min=0),
        metavar="N",
        help="Show the N worst groups of each scenario in the summary.",
    ),
    click.option(
        "--overwrite",
        is_flag=True,
        default=None,
        help="Replace an existing plan; it is removed before the new plan is complete.",
    ),
)
"""Options of a run on Spark, which stay None or empty unless they are given."""

_FLAGS = {"options": "option", "in_workers": "file-job", "n_worst": "worst"}
"""Flags of arguments of other names."""


def _spark_options(command: Command) -> Command:
    """Add the options of a run on Spark."""
    for decorate in reversed(_ON_SPARK):
        command = decorate(command)
    return command


@click.command(cls=Verb)
@option(
    "file",
    "source",
    more=": a Parquet file or directory of units, or s3://bucket/fleet",
    type=click.Path(),
)
@option(
    "out",
    "target",
    more="; a local directory, or with --spark also an object store; optional with --into",
    type=click.Path(),
)
@strategy_option(more="; ROTATED-AVG combines two strategies", default="AVG", show_default=True)
@scenario_option
@option(
    "show",
    more=": metrics of the present state and of every scenario, the same with owners, or the "
    "best scenario of each unit. Default: owners; with scenarios, metrics",
    type=Choice(_SHOWN),
)
@click.option("--threads", type=Count(min=1), help="Number of threads. Default: one per processor.")
@_spark_options
def bulk(
    source: str | None,
    target: str | None,
    strategy: NamedStrategy,
    scenario: str | None,
    show: str | None,
    threads: int | None,
    spark: bool,
    **on_spark: Any,
) -> int:
    """Compute owners of many consumer groups, now and in scenarios, from Parquet to Parquet.

    \b
    rmqalloc bulk -f fleet/ --out owners/
    rmqalloc bulk -f fleet/ --out plan/ --scenario example:what-if
    rmqalloc bulk --spark -f s3a://bucket/fleet --out s3a://bucket/plan

    The column `err_msg` states why a row cannot be planned. With --spark, a plan is complete when
    its directory has `_SUCCESS`; a complete plan of the same input is kept.
    """
    given = {name: value for name, value in on_spark.items() if value not in (None, ())}
    if spark and threads is not None:
        raise click.UsageError(
            "--threads is for a run without --spark; with Spark, give --master 'local[N]'"
        )
    if not spark and given:
        first = next(iter(given))
        flag = _FLAGS.get(first, first.replace("_", "-"))
        raise click.UsageError(f"--{flag} needs --spark")
    if source is None and not ({"table", "format"} & given.keys()):
        raise click.UsageError("Missing option '--file'.")
    if target is None and "into" not in given:
        raise click.UsageError("Missing option '--out'.")
    if spark:
        return _with_spark(
            source or "", target or "", lambda: _spec(strategy, scenario, show), given
        )
    if lazy.is_command:
        # The C library keeps what a batch has freed for the next one; Arrow's own allocator gives
        # it back to the system, page by page. Arrow looks here once, when it is first imported.
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    _on_threads(source or "", target or "", _spec(strategy, scenario, show), threads)
    return 0


def _spec(strategy: NamedStrategy, scenarios: str | None, show: str | None) -> PlanSpec:
    """Return what to plan; a wrong file of scenarios is said as such."""
    from rmqalloc.evaluation.batch_planning import PlanSpec

    tried = () if scenarios is None else _tried(scenarios)
    return PlanSpec(
        strategy.name, strategy.params, tried, show or ("metrics" if tried else "owners")
    )


def _tried(file: str) -> Sequence[Scenario]:
    from rmqalloc.scenarios import ScenarioError, read_scenarios

    try:
        return read_scenarios(file)
    except ScenarioError as error:
        raise click.ClickException(str(error)) from error


def _with_spark(path: str, target: str, spec: Callable[[], PlanSpec], given: dict[str, Any]) -> int:
    from spark_udfs.requirements import PACKAGES

    check_installed(*PACKAGES)  # PySpark would report a missing pandas only after Java has started
    from spark_udfs.job import plan_table
    from spark_udfs.job.command import job_session

    if "master" in given and "remote" in given:
        raise click.UsageError("--master and --remote exclude each other")
    source = _source(path, given.pop("table", ""), given.pop("format", "parquet"), given)
    master = given.pop("remote", None) or given.pop("master", "local[*]")
    planned = spec()
    with job_session(master) as spark:
        done = plan_table(spark, source, planned, out=target, **given)
        if done.was_complete:
            say(f"plan {done.plan_id} is already complete; --overwrite plans it again")
        else:
            draw(partial(_summary, done.totals, done.seconds))
        # Rows may name strategies of their own, which only the workers have seen.
        form = "Rows" if "into" in given else "Parquet"
        strategy = f"{planned.strategy} unless a row names another"
        say(f"{form} of {planned.output}, {strategy}: {done.shown}")
    return 0


def _source(path: str, table: str, form: str, given: dict[str, Any]) -> UnitSource:
    """Return what to read; the options of Spark's reader are taken out of those that are given."""
    from spark_udfs.job import UnitSource

    options = given.pop("options", ())
    pairs = [text.partition("=") for text in options]
    for text, (name, sign, _) in zip(options, pairs, strict=True):
        if not name or not sign:
            raise click.UsageError(f"--option: give K=V, such as multiLine=true, got {text!r}")
    if len({name.lower() for name, _, _ in pairs}) < len(pairs):  # Spark's options have no capitals
        raise click.UsageError(
            f"--option is given twice for the same key: {', '.join(options)}; give each key once"
        )
    if bool(path) == bool(table) and (table or form == "parquet"):
        raise click.UsageError("give either --file or --table")
    return UnitSource(path, form, {name: value for name, _, value in pairs}, table)


class ProgressLine(ChangingLine):
    """Pieces done of all."""

    def __call__(self, done: int, in_all: int) -> None:
        """Show that ``done`` pieces of ``in_all`` are done."""
        self.put(f"{100 * done // in_all:3d} %  {done} of {in_all} pieces", is_last=done == in_all)


def _on_threads(source: str, target: str, spec: PlanSpec, threads: int | None) -> None:
    from rmqalloc.evaluation.parquet_plan import plan_files, strategies_of

    if "://" in target:
        raise click.UsageError(
            "--out must be a local directory; with --spark it may be an object store"
        )
    started = time.perf_counter()
    totals = plan_files(source, target, spec, threads, ProgressLine())
    shown = printable(without_secrets(target))
    draw(partial(_summary, totals, time.perf_counter() - started))
    say(
        f"Parquet of {printable(named(strategies_of(source, spec.strategy), 7))} "
        f"{spec.output}: {shown}"
    )


def _summary(totals: ByScenario, seconds: float, file: IO[str]) -> list[str]:
    """Return figures of the run: one below the other, or a line for every scenario."""
    from rmqalloc.evaluation.totals import Totals, two_columns
    from rmqalloc.results.renderer import skew_text, text_table

    if len(totals) <= 1:
        return two_columns(next(iter(totals.values()), Totals()).rows(seconds)).splitlines()
    header = ("scenario", "units", "bad units", "queues", "unowned", "idle", "moved", "max skew")
    lines = [
        (name or "(bad units)", *map("{:,}".format, one[:-1]), skew_text(one.max_skew))
        for name, one in totals.items()
    ]
    return text_table(header, lines, header[1:], file)
