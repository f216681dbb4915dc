"""Owners in Polars, as its users write them: the closed forms, without order, checks or figures."""

import sys

import polars as pl

source, target, strategy = sys.argv[1:]
m, n, i = pl.col("m"), pl.col("n"), pl.col("i")
big = m // n + 1
OWNER = {
    "AVG": pl.when(i < (m % n) * big)
    .then(i // big)
    .otherwise(m % n + (i - (m % n) * big) // pl.max_horizontal(m // n, 1)),
    "AVG_BY_CIRCLE": i % n,
}
sizes = pl.scan_parquet(f"{source}/*.parquet").select(
    "consumer_group",
    "topic",
    m=pl.col("brokers")
    .list.eval(pl.element().struct.field("read_queue_nums"))
    .list.sum()
    .cast(pl.Int64),
    n=pl.col("client_ids").list.len().cast(pl.Int64),
)
rows = sizes.with_row_index("row").with_columns(i=pl.int_ranges(0, m)).explode("i")
owners = rows.with_columns(owner=OWNER[strategy].cast(pl.Int32)).group_by(
    "row", maintain_order=True
)
owners.agg(pl.col("consumer_group", "topic").first(), owners=pl.col("owner")).drop(
    "row"
).sink_parquet(target)
