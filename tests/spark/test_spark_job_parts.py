"""What the planning job is made of, without Spark: bad rows set aside, the worst units, directories of ours."""

import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import random_units as units
from hypothesis import given
from hypothesis import strategies as st
from rmqalloc.evaluation.quarantine import plan_and_quarantine, quarantine_schema
from spark_udfs.job._by_file import cut_files, listed_files, plan_file_bucket
from spark_udfs.job._output_layout import DiskBuckets, begin_run, complete_records, publish_and_show
from spark_udfs.job.plan_reader import files_of_plan

from rmqalloc.evaluation.batch_planning import PLAN_SCHEMA, PlanSpec, plan_stream
from rmqalloc.evaluation.worst import merged, worst_columns, worst_of
from rmqalloc.snapshot.directory import MARKER, own_directory, replaced_result
from rmqalloc.snapshot.synthetic import FLEET_SCHEMA
from spark_udfs.job._plan_summary import kept_worst

TRIED = [{"name": "four", "changes": [{"scale_clients": {"to": 4}}]}]


def rows_of(batches):
    return [row for batch in batches for row in batch.to_pylist()]


# --- Bad rows ---


@pytest.mark.parametrize("output", ["metrics", "owners", "best"])
@pytest.mark.parametrize("max_queues", [1 << 24, 40])
def test_the_bad_rows_are_those_of_the_plan_however_it_is_cut(output, max_queues):
    batch, words = units.mixed()
    spec = PlanSpec("AVG", scenarios=TRIED, output=output)
    planned, bad = zip(*plan_and_quarantine([batch, batch], spec, max_queues), strict=True)
    assert len(planned) == 2 if max_queues > 40 else len(planned) > 4
    assert rows_of(planned) == rows_of(plan_stream([batch, batch], spec, max_queues))
    given = [(row, said) for row, said in zip(batch.to_pylist(), words, strict=True) if said is not None] * 2
    if output == "best":  # which is never that of a row without clients: the scenario gives it some
        given = [(row, said) for row, said in given if not said.startswith("cidAll")]
    for row, (unit, said) in zip(rows_of(bad), given, strict=True):
        assert said in row.pop("err_msg")
        assert row.pop("err_code") > 0
        assert row.pop("scenario") == (None if output == "best" else "current")
        assert row == unit


def test_a_quarantine_can_be_planned_again_once_it_is_mended():
    batch, _ = units.mixed()
    [(_, bad)] = plan_and_quarantine([batch], PlanSpec("AVG"))
    [(planned, again)] = plan_and_quarantine([bad], PlanSpec("AVG"))
    assert again.schema == bad.schema == quarantine_schema(batch.schema)
    assert again.to_pylist() == bad.to_pylist()
    assert planned.num_rows == len(units.BAD)


def test_no_bad_row_no_quarantine():
    batch = pa.RecordBatch.from_pylist(units.GOOD, schema=FLEET_SCHEMA)
    [(_, bad)] = plan_and_quarantine([batch], PlanSpec("AVG"))
    assert bad.num_rows == 0


# --- The worst ---

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
    spec = PlanSpec("AVG", scenarios=TRIED, best_by=("moved", "cross_room", "skew"))
    parts = [pa.RecordBatch.from_pylist(part, PLAN_SCHEMA) for part in (rows[:cut], rows[cut:])]
    found = worst_of(parts, spec, n)
    keys = [*spec.best_by, "consumer_group", "topic"]
    for name in ("current", "four"):
        mine = [row for row in rows if row["scenario"] == name and not row["err_code"]]
        mine.sort(
            key=lambda row: (
                [math.inf if row[k] is None else -row[k] for k in spec.best_by],
                row["consumer_group"],
                row["topic"],
            )
        )
        assert [[row[k] for k in keys] for row in found[name]] == [[row[k] for k in keys] for row in mine[:n]]
        assert all(list(row) == worst_columns(spec) for row in found[name])
    together = merged([worst_of([part], spec, n) for part in parts], spec, n)
    assert {name: [[row[k] for k in keys] for row in some] for name, some in together.items()} == {
        name: [[row[k] for k in keys] for row in some] for name, some in found.items()
    }


@pytest.mark.parametrize(
    ("output", "n", "is_kept"), [("metrics", 3, True), ("best", 3, True), ("metrics", 1001, False)]
)
def test_records_hold_the_worst_of_their_buckets_and_manifests_do_not(tmp_path, output, n, is_kept):
    spec = PlanSpec("AVG", scenarios=TRIED, output=output)
    for number in range(3):
        rows = units.synthetic(40, seed=number).to_pylist()
        pq.write_table(pa.Table.from_pylist(rows, schema=FLEET_SCHEMA), tmp_path / f"{number}.parquet")
    out = str(tmp_path / "plans")
    _, run, _ = begin_run(out, "p1", force=False)
    buckets = cut_files(listed_files(str(tmp_path)), n_buckets=3)
    for number, pieces in enumerate(buckets):
        plan_file_bucket(spec, number, pieces, DiskBuckets(out), run, n)
    records = complete_records(out, run)
    kept = kept_worst([*records.values()], spec, n)
    assert (kept is not None) == is_kept
    won, manifest = publish_and_show(out, run, len(buckets), [*records.values()], {}, "")
    assert won and not any("worst" in one for one in manifest["buckets"])
    if is_kept:
        plan = [part for path in files_of_plan(out) for part in pq.read_table(path).to_batches()]
        assert kept == worst_of(plan, spec, n) and any(kept.values())
        assert kept_worst([*records.values()], spec, n + 1) is None


# --- Directories ---


def test_a_directory_is_ours_if_it_was_empty(tmp_path):
    for path in (tmp_path / "new", tmp_path / "a" / "b"):
        own_directory(path, "plans")
        (path / "thesis.txt").write_text("")
        own_directory(path, "plans")
        assert sorted(one.name for one in path.iterdir()) == [MARKER, "thesis.txt"]
    with pytest.raises(FileExistsError, match="holds 'plans' and would be replaced by 'fleet'"):
        own_directory(tmp_path / "new", "fleet")
    with replaced_result(tmp_path / "fleet", "fleet"):
        pass
    with pytest.raises(FileExistsError, match="holds 'fleet'"):
        own_directory(tmp_path / "fleet", "plans")
    with pytest.raises(FileExistsError, match="rmqalloc did not write"):
        own_directory(tmp_path, "plans")
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError, match="is a file"):
        own_directory(tmp_path / "file", "plans")
