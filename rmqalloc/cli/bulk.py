"""``rmqalloc bulk``: assign every unit of a Parquet table, on threads or with Spark."""

import time
from typing import Any

import click

from rmqalloc.cli.options import params_of, strategy_options
from rmqalloc.cli.text import Progress


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
@click.option("--threads", type=click.IntRange(min=1), help="Threads to work on; by default one per processor.")
@click.option("--spark", is_flag=True, help="Run as a Spark job.")
@click.option("--master", help="Spark master, local[*] unless given; needs --spark.")
def bulk(
    source: str,
    target: str,
    strategy: str,
    virtual_nodes: int | None,
    machine_rooms: str | None,
    threads: int | None,
    spark: bool,
    master: str | None,
) -> int:
    """Assign the queues of many consumer groups, from Parquet to Parquet.

    Queues and clients are sorted as RocketMQ sorts them. A row that cannot be assigned says why in its column `error`.
    """
    params = params_of(strategy, virtual_nodes, machine_rooms)
    if spark and threads is not None:
        raise click.UsageError("--threads is for a run without --spark; with Spark, give --master 'local[N]'")
    if not spark and master is not None:
        raise click.UsageError("--master needs --spark")
    if spark:
        from spark_udfs.job import run_and_report

        return run_and_report(source, target, strategy, params, master or "local[*]")
    _on_threads(source, target, strategy, params, threads)
    return 0


def _on_threads(source: str, target: str, strategy: str, params: dict[str, Any], threads: int | None) -> None:
    import rmqalloc
    from rmqalloc.whatif.bulk import assign_files
    from rmqalloc.whatif.totals import two_columns

    started = time.perf_counter()
    try:
        totals = assign_files(source, target, rmqalloc.strategy(strategy, **params), threads, Progress())
    except TypeError as error:  # a column is missing or of the wrong type
        raise click.ClickException(str(error)) from error
    click.echo(two_columns(totals.rows(time.perf_counter() - started)))
    click.echo(f"Parquet of {strategy} owners: {target}")
