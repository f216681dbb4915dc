"""What workers hand over beside a plan, without Spark: totals and the worst units, however the rows
are cut.
"""

import math

import pyarrow as pa
import pytest
import random_units as units
from hypothesis import given
from hypothesis import strategies as st
from job_runs import SPECS, TRIED

from rmqalloc.evaluation.batch_planning import PLAN_SCHEMA, PlanSpec, plan_batch
from rmqalloc.evaluation.totals import totals_of
from rmqalloc.evaluation.worst import merged, worst_columns, worst_of
from spark_udfs.job._plan_kernels import (
    DIGEST,
    Digest,
    DigestRows,
    DigestUnits,
    PlanAndDigest,
    digest_columns,
)

small = st.integers(0, 3)
plan_rows = st.lists(
    st.fixed_dictionaries(
        {
            "consumer_group": st.sampled_from(["a", "b", "é", "😀"]), "topic": st.sampled_from(["T", "U"]),
            "scenario": st.sampled_from(["current", "four"]), "err_code": st.sampled_from([0, 0, 0, 1]),
            "unowned": small, "idle": small, "skew": st.sampled_from([1.0, 1.5]), "moved": small,
            "cross_room": st.none() | small,
        }
    ), max_size=30,
)  # fmt: skip


@given(rows=plan_rows, n=st.integers(0, 5), cut=st.integers(0, 30))
def test_the_worst_are_the_first_in_order_however_they_are_found(rows, n, cut):
    spec = PlanSpec("AVG", scenarios=TRIED[:1], best_by=("moved", "cross_room", "skew"))
    parts = [pa.RecordBatch.from_pylist(part, PLAN_SCHEMA) for part in (rows[:cut], rows[cut:])]
    found = worst_of(parts, spec, n)
    keys = [*spec.best_by, "consumer_group", "topic"]

    def rank(row):
        return (
            [math.inf if row[k] is None else -row[k] for k in spec.best_by],
            row["consumer_group"],
            row["topic"],
        )

    for name in ("current", "four"):
        mine = sorted(
            (row for row in rows if row["scenario"] == name and not row["err_code"]), key=rank
        )
        assert [[row[k] for k in keys] for row in found[name]] == [
            [row[k] for k in keys] for row in mine[:n]
        ]
        assert all(list(row) == worst_columns(spec) for row in found[name])
    together = merged([worst_of([part], spec, n) for part in parts], spec, n)
    assert {name: [[row[k] for k in keys] for row in some] for name, some in together.items()} == {
        name: [[row[k] for k in keys] for row in some] for name, some in found.items()
    }


def texts_of(kernel, *tasks):
    """The digests of tasks, and the rows beside them."""
    batches = [batch for task in tasks for batch in kernel(iter(task))]
    texts = [
        text for batch in batches for text in batch.column(DIGEST).to_pylist() if text is not None
    ]
    rows = [row for batch in batches for row in batch.to_pylist() if row[DIGEST] is None]
    return texts, [{name: row[name] for name in row if name != DIGEST} for row in rows]


@pytest.mark.parametrize("spec", SPECS, ids=["owners", "metrics", "best"])
@pytest.mark.parametrize("cut", [0, 1, 17, 30])
def test_digests_of_tasks_add_up_to_that_of_the_plan(spec, cut):
    batch, _ = units.mixed()
    tasks = [[batch.slice(0, cut)], [batch.slice(cut)], []]
    texts, rows = texts_of(PlanAndDigest(spec, 5), *tasks)
    plan = plan_batch(batch, spec)
    assert rows == plan.to_pylist()
    wanted = Digest(totals_of(plan), worst_of([plan], spec, 5))
    assert len(texts) == 3
    assert Digest.of_texts(texts, spec, 5) == wanted
    assert Digest.of_texts(texts_of(DigestUnits(spec, 5), *tasks)[0], spec, 5) == wanted
    seen = plan.select(digest_columns(spec))
    assert (
        Digest.of_texts(
            texts_of(DigestRows(spec, 5), [seen.slice(0, cut)], [seen.slice(cut)])[0], spec, 5
        )
        == wanted
    )


def test_a_plan_of_nothing_has_a_summary_of_zeros():
    assert {one.units for one in Digest.of_texts([], SPECS[1], 5).totals.values()} == {0}
    assert list(Digest.of_texts([], SPECS[1], 5).totals) == ["current", "four", "ring"]
    assert Digest.of_texts([], SPECS[2], 5).totals == {}
