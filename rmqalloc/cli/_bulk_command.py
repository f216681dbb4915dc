"""``rmqalloc bulk``: plan every unit of a Parquet table, on threads or with Spark."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import click

from rmqalloc.cli._change_options import scenario_option
from rmqalloc.cli._choices import Amount, Choice, Count
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._options import option
from rmqalloc.cli._sink import ChangingLine, draw, say
from rmqalloc.cli._strategy_options import NamedStrategy, strategy_option
from rmqalloc.errors import ArgumentError
from rmqalloc.results.and_more import named
from rmqalloc.text import printable, without_secrets
from spark_udfs.job.job_options import JOB_ARGUMENTS, JOB_OPTIONS

if TYPE_CHECKING:
    from rmqalloc.evaluation.batch_planning import PlanSpec
    from rmqalloc.evaluation.totals import ByScenario
    from rmqalloc.scenarios import Scenario

Command = Callable[..., Any]

_KINDS: dict[str, dict[str, Any]] = {
    "text": {},
    "texts": {"multiple": True},
    "count": {"type": Count(min=0)},
    "share": {"type": Amount(0, 1)},
    "flag": {"is_flag": True},
    "switch": {},
}
_SHOWN = ("metrics", "owners", "best")


def _spark_options(command: Command) -> Command:
    """Add the options of a run on Spark; they stay None unless they are given."""
    for given in reversed(JOB_OPTIONS):
        flag = f"{given.flag}/--no-{given.flag[2:]}" if given.kind == "switch" else given.flag
        made = click.option(
            flag, default=None, metavar=given.metavar, help=given.help, **_KINDS[given.kind]
        )
        command = made(command)
    return click.option(
        "--spark", is_flag=True, help="Run as a Spark job; the options after this one need it."
    )(command)


@click.command(cls=Verb)
@option(
    "file",
    "source",
    more=": a Parquet file or directory of units, also s3://bucket/fleet",
    type=click.Path(),
)
@option(
    "out",
    "target",
    more="; a directory, with --spark also in a store; not needed with --into",
    type=click.Path(),
)
@strategy_option(more="; ROTATED-AVG is one over another", default="AVG", show_default=True)
@scenario_option
@option(
    "show",
    more=": figures of the present state and of every scenario, the same with owners, or "
    "each unit's best scenario; owners unless there are scenarios, then metrics",
    type=Choice(_SHOWN),
)
@click.option(
    "--threads", type=Count(min=1), help="Threads to work on; by default one per processor."
)
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
    """Assign the queues of many consumer groups, now and in scenarios, from Parquet to Parquet.

    Queues and clients are sorted as RocketMQ sorts them. A row that cannot be planned says why in
    its column `err_msg`. With --spark, OUT is a plan when it has `_SUCCESS`; a complete plan of the
    same input is left alone.
    """
    given = {name: value for name, value in on_spark.items() if value not in (None, ())}
    if spark and threads is not None:
        raise click.UsageError(
            "--threads is for a run without --spark; with Spark, give --master 'local[N]'"
        )
    if not spark and given:
        raise click.UsageError(f"--{next(iter(given)).replace('_', '-')} needs --spark")
    if source is None and not ({"table", "format"} & given.keys()):
        raise click.UsageError("Missing option '--file'.")
    if target is None and "into" not in given:
        raise click.UsageError("Missing option '--out'.")
    if spark:
        return _with_spark(
            source or "", target or "", lambda: _spec(strategy, scenario, show), given
        )
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


def _with_spark(
    source: str, target: str, spec: Callable[[], PlanSpec], given: dict[str, Any]
) -> int:
    from spark_udfs.job.command import run_and_report, source_of

    if "master" in given and "remote" in given:
        raise click.UsageError("--master and --remote exclude each other")
    try:
        read = source_of(
            source, given.get("table", ""), given.get("format", "parquet"), given.get("option", ())
        )
    except ArgumentError as error:
        raise click.UsageError(str(error)) from error
    how = {argument: given[name] for name, argument in JOB_ARGUMENTS.items() if name in given}
    return run_and_report(
        read, target, spec(), given.get("remote") or given.get("master", "local[*]"), **how
    )


class ProgressLine(ChangingLine):
    """Pieces done of all."""

    def __call__(self, done: int, in_all: int) -> None:
        """Show that ``done`` pieces of ``in_all`` are done."""
        self.put(f"{100 * done // in_all:3d} %  {done} of {in_all} pieces", is_last=done == in_all)


def _on_threads(source: str, target: str, spec: PlanSpec, threads: int | None) -> None:
    from rmqalloc.evaluation.parquet_plan import plan_files, strategies_of

    if "://" in target:
        raise click.UsageError("--out is a directory on a disk; --spark writes to a store")
    started = time.perf_counter()
    totals = plan_files(source, target, spec, threads, ProgressLine())
    shown = printable(without_secrets(target))
    draw(partial(_summary, totals, time.perf_counter() - started))
    say(
        f"Parquet of {printable(named(strategies_of(source, spec.strategy), 7))} {spec.output}: {shown}"
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
