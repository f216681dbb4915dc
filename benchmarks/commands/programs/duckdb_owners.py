"""Owners in DuckDB's SQL: closed forms without order, checks or figures.

Under AVG the first r clients have one queue more. The larger of two quotients is the owner, which
takes less time than a CASE.
"""

import sys

import duckdb

OWNER = {"AVG": "greatest(i // (q + 1), (i - r) // greatest(q, 1))", "AVG_BY_CIRCLE": "i % n"}
source, target, strategy = sys.argv[1:]
duckdb.sql(f"""
    COPY (
        SELECT consumer_group, topic, list_transform(range(m), lambda i: ({OWNER[strategy]})::INT) AS owners
        FROM (
            SELECT *, m // n AS q, m % n AS r
            FROM (
                SELECT consumer_group, topic, len(client_ids)::INT AS n,
                    list_sum(list_transform(brokers, lambda b: b.read_queue_nums))::INT AS m
                FROM read_parquet('{source}/*.parquet')
            )
        )
    ) TO '{target}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1)
""")
