"""``rmqalloc bulk``: plan every unit of a Parquet table, on threads or with Spark."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from rmqalloc.cli.options import params_of, strategy_options
from rmqalloc.cli.text import Progress, table

if TYPE_CHECKING:
    from rmqalloc.whatif.plan import PlanSpec
    from rmqalloc.whatif.totals import ByScenario


@click.command()
@click.option(
    "--in",
    "source",
    envvar="RMQALLOC_BULK_IN",
    required=True,
    type=click.Path(),
    help="Parquet file or directory of units.",
)
@click.option(
    "--out", "target", envvar="RMQALLOC_BULK_OUT", required=True, type=click.Path(), help="Directory for the result."
)
@strategy_options
@click.option("--scenarios", type=click.Path(), help="YAML or JSON file of scenarios to try on every unit.")
@click.option(
    "--output",
    type=click.Choice(("metrics", "owners", "best")),
    help="Figures of the present state and of every scenario, the same with owners, or each unit's best scenario; "
    "owners unless there are scenarios, then metrics.",
)
@click.option("--threads", type=click.IntRange(min=1), help="Threads to work on; by default one per processor.")
@click.option("--spark", is_flag=True, help="Run as a Spark job.")
@click.option("--master", help="Spark master, local[*] unless given; needs --spark.")
def bulk(
    source: str,
    target: str,
    strategy: str,
    virtual_nodes: int | None,
    machine_rooms: str | None,
    scenarios: str | None,
    output: str | None,
    threads: int | None,
    spark: bool,
    master: str | None,
) -> int:
    """Assign the queues of many consumer groups, now and in scenarios, from Parquet to Parquet.

    Queues and clients are sorted as RocketMQ sorts them. A row that cannot be planned says why in its column `err_msg`.
    """
    params = params_of(strategy, virtual_nodes, machine_rooms)
    if spark and threads is not None:
        raise click.UsageError("--threads is for a run without --spark; with Spark, give --master 'local[N]'")
    if not spark and master is not None:
        raise click.UsageError("--master needs --spark")
    if spark and (scenarios is not None or output is not None):
        raise click.UsageError("--scenarios and --output are for a run without --spark")
    if spark:
        from spark_udfs.job import run_and_report

        return run_and_report(source, target, strategy, params, master or "local[*]")
    _on_threads(source, target, _spec(strategy, params, scenarios, output), threads)
    return 0


def _spec(strategy: str, params: dict[str, Any], scenarios: str | None, output: str | None) -> PlanSpec:
    """What to plan; a wrong file of scenarios is said as such."""
    from rmqalloc.whatif.plan import PlanSpec
    from rmqalloc.whatif.scenarios import ScenarioError, read_scenarios

    try:
        tried = () if scenarios is None else read_scenarios(scenarios)
    except ScenarioError as error:
        raise click.ClickException(str(error)) from error
    return PlanSpec(strategy, params, tried, output or ("metrics" if tried else "owners"))


def _on_threads(source: str, target: str, spec: PlanSpec, threads: int | None) -> None:
    from rmqalloc.whatif.bulk import plan_files

    started = time.perf_counter()
    try:
        totals = plan_files(source, target, spec, threads, Progress())
    except TypeError as error:  # a column is missing or of the wrong type
        raise click.ClickException(str(error)) from error
    click.echo(_summary(totals, time.perf_counter() - started))
    click.echo(f"Parquet of {spec.strategy} {spec.output}: {target}")


def _summary(totals: ByScenario, seconds: float) -> str:
    """Figures of the run: one below the other, or a line for every scenario."""
    from rmqalloc.whatif.totals import Totals, two_columns

    if len(totals) <= 1:
        return two_columns(next(iter(totals.values()), Totals()).rows(seconds))
    header = ("scenario", "units", "bad units", "queues", "unowned", "idle", "moved", "max skew")
    lines = [
        (name or "(bad units)", *map("{:,}".format, one[:-1]), f"{one.max_skew:,.3f}") for name, one in totals.items()
    ]
    return table(header, lines)
