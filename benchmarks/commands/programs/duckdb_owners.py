"""Owners in DuckDB's SQL, as its users write them: the closed forms, without order, checks or
figures.
"""

import sys

import duckdb

OWNER = {
    "AVG": "CASE WHEN i < (m % n) * (m // n + 1) THEN i // (m // n + 1) "
    "ELSE m % n + (i - (m % n) * (m // n + 1)) // (m // n) END",
    "AVG_BY_CIRCLE": "i % n",
}
source, target, strategy = sys.argv[1:]
duckdb.sql(f"""
    COPY (
        SELECT consumer_group, topic, list_transform(range(m), lambda i: ({OWNER[strategy]})::INT) AS owners
        FROM (
            SELECT consumer_group, topic, len(client_ids) AS n,
                list_sum(list_transform(brokers, lambda b: b.read_queue_nums))::BIGINT AS m
            FROM read_parquet('{source}/*.parquet')
        )
    ) TO '{target}' (FORMAT parquet, COMPRESSION zstd)
""")
