"""The program of docs/data/tables.md plans a stream of batches from DuckDB and from Polars."""

import pyarrow as pa
import pyarrow.parquet as pq
from checkout import ROOT
from page_blocks import blocks_of

from rmqalloc.evaluation import PlanSpec, plan_batch

[PROGRAM] = [
    block.text
    for block in blocks_of((ROOT / "docs" / "data" / "tables.md").read_text(encoding="utf-8"))
    if block.language == "python" and "import duckdb" in block.text
]
ROWS = [
    {
        "consumer_group": f"g{number}",
        "topic": "orders",
        "brokers": [{"broker_name": "b", "read_queue_nums": number}],
        "client_ids": ["c1", "c2"],
    }
    for number in range(4)
]


def test_engines_pass_batches_and_take_plans(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fleet").mkdir()
    pq.write_table(pa.Table.from_pylist(ROWS), "fleet/part-0.parquet")
    exec(compile(PROGRAM, "tables.md", "exec"), {})
    wanted = plan_batch(pa.RecordBatch.from_pylist(ROWS), PlanSpec("AVG", output="owners"))
    owners = {row["consumer_group"]: row["owners"] for row in wanted.to_pylist()}
    by_polars = pq.read_table("owners-by-polars.parquet").to_pylist()
    assert {row["consumer_group"]: row["owners"] for row in by_polars} == owners
    by_duckdb = pq.read_table("owners-by-duckdb.parquet").to_pylist()
    good = {group: found for group, found in owners.items() if found is not None}
    assert len(good) == 3
    assert {row["consumer_group"]: row["owners"] for row in by_duckdb} == good
