"""Object stores that workers reach by themselves: a real S3 interface on loopback, without Spark; and what settings become."""

import logging
import pickle
import re

import pyarrow.parquet as pq
import pytest
import random_units as units
from click.testing import CliRunner
from spark_udfs.job._store_settings import s3_store
from spark_udfs.job._stores import Store, StoreBuckets, StoreFiles, in_store
from spark_udfs.job.on_threads import plan_to_store
from spark_udfs.job.plan_reader import files_of_plan

from rmqalloc.cli._app import app
from rmqalloc.evaluation.batch_planning import PlanSpec, plan_stream
from rmqalloc.evaluation.parquet_plan import plan_files
from spark_udfs.job import _by_file as by_file
from spark_udfs.job import _published as manifests
from spark_udfs.job import _stores as stores
from spark_udfs.job import on_threads

SPEC = PlanSpec("AVG", output="owners")
KEYS = {"access.key": "AKIA", "secret.key": "hush"}


def arguments(**given):
    """What pyarrow gets for settings of S3A; the reason if it cannot have them."""
    named = {name.replace("_", "."): value for name, value in given.items()}
    found = s3_store("plans", lambda name: named.get(name, ""))
    return found if isinstance(found, str) else dict(found.arguments)


HADOOP = "org.apache.hadoop.fs.s3a"
KEY = {"access_key": "a", "secret_key": "b"}
NOT_FOLLOWED = "the setting {} of plans is one that pyarrow does not follow"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, {}),
        (
            {"endpoint": "http://host:9"},
            {"scheme": "http", "endpoint_override": "host:9", "force_virtual_addressing": False},
        ),
        (
            {"endpoint": "s3.example.org", "path_style_access": "false"},
            {"endpoint_override": "s3.example.org", "force_virtual_addressing": True},
        ),
        ({"endpoint_region": "eu-central-1"}, {"region": "eu-central-1"}),
        (KEY | {"session_token": "c"}, KEY | {"session_token": "c"}),
        (KEY | {"aws_credentials_provider": f"{HADOOP}.AnonymousAWSCredentialsProvider"}, {"anonymous": True}),
        (
            KEY | {"aws_credentials_provider": f"{HADOOP}.SimpleAWSCredentialsProvider, com.Mine"},
            "the credentials of plans come from Mine, which pyarrow does not know",
        ),
        ({"assumed_role_arn": "arn:aws:iam::1:role/x"}, NOT_FOLLOWED.format("assumed.role.arn")),
        ({"encryption_algorithm": "SSE-KMS"}, NOT_FOLLOWED.format("encryption.algorithm")),
    ],
)
def test_settings_of_s3a_become_arguments_or_a_reason(given, wanted):
    assert arguments(**given) == (wanted if isinstance(wanted, str) else {"scheme": "https"} | wanted)


def test_nothing_shows_what_a_store_asks_for():
    store = s3_store("plans", lambda name: KEYS.get(name, ""))
    shown = f"{store} {store!r} {[store]} {StoreBuckets(store, 'plans/out')}"
    assert "hush" not in shown and "AKIA" not in shown
    assert pickle.loads(pickle.dumps(store)) == store and dict(store.arguments)["secret_key"] == "hush"


@pytest.fixture(scope="module")
def server():
    from publishing.s3 import Server

    running = Server()
    yield running
    running.stop()


def store_at(server):
    return Store(
        "S3FileSystem",
        (("access_key", "a"), ("endpoint_override", server.endpoint.removeprefix("http://")), ("region", "us-east-1"),
         ("scheme", "http"), ("secret_key", "b")),
    )  # fmt: skip


def planned(store, fleet, root, force=False):
    """A run of the job as its workers do it; returns whether it published."""
    files = StoreFiles(store, root)
    found = by_file.survey(fleet, SPEC, store)
    manifest, run = manifests.begin(files, "p1", force)
    if manifest is None:
        for number, pieces in enumerate(found.buckets):
            by_file.plan_file_bucket(SPEC, number, pieces, StoreBuckets(store, root), run, 2, store)
        assert len(in_store(store, root, "sizes", manifests.record_folder(run))) == len(found.buckets)
        return manifests.publish(files, run, len(found.buckets), [*manifests.records(files, run).values()], {})[0]
    return False


def test_workers_plan_in_a_store_what_they_plan_on_a_disk(server):
    store, fleet = store_at(server), server.write_fleet("in workers").removeprefix("s3a://")
    assert [one.path.rpartition("/")[2] for one in by_file.listed_files(fleet, store)] == [
        f"part-{n}.parquet" for n in range(3)
    ]
    assert planned(store, fleet, "plans/by workers")
    assert not planned(store, fleet, "plans/by workers")  # complete already
    wanted = []
    for part in range(3):
        table = pq.read_table(f"{fleet}/part-{part}.parquet", filesystem=server.files)
        wanted += [row for batch in plan_stream(table.to_batches(), SPEC) for row in batch.to_pylist()]
    names = files_of_plan("plans/by workers", filesystem=server.files)
    found = [
        row for name in names for row in pq.read_table(name, filesystem=server.files, partitioning=None).to_pylist()
    ]
    assert sorted(map(str, found)) == sorted(map(str, wanted))
    bad = files_of_plan("plans/by workers", quarantine=True, filesystem=server.files)
    assert sum(pq.read_metadata(name, filesystem=server.files).num_rows for name in bad) == 3
    assert planned(store, fleet, "plans/by workers", force=True)


def test_a_bucket_that_fails_is_in_no_manifest(server, monkeypatch):
    store, fleet = store_at(server), server.write_fleet("failing").removeprefix("s3a://")
    files = StoreFiles(store, "plans/failed")
    _, run = manifests.begin(files, "p1", False)
    monkeypatch.setattr(by_file, "totals_of", lambda _: 1 / 0)
    pieces = by_file.survey(fleet, SPEC, store).buckets[0]
    with pytest.raises(ZeroDivisionError):
        by_file.plan_file_bucket(SPEC, 0, pieces, StoreBuckets(store, "plans/failed"), run, 2, store)
    assert not manifests.records(files, run)


def test_a_small_file_is_one_request(server, monkeypatch, caplog):
    caplog.set_level(logging.INFO, "werkzeug")

    def n_requests(name):
        assert StoreFiles(store_at(server), "plans/small").create(name, "{}")
        return sum(name in message for message in caplog.messages)

    assert n_requests("whole.json") == 1
    monkeypatch.setattr(stores, "_ONE_REQUEST", {"S3FileSystem": {"an_argument_of_a_later_release": True}})
    assert n_requests("in-parts.json") == 3, "an older pyarrow writes, too"


def test_a_path_that_is_not_there_is_named(server):
    with pytest.raises(FileNotFoundError, match="plans/nothing does not exist"):
        by_file.listed_files("plans/nothing", store_at(server))


# --- Threads alone, `rmqalloc bulk` ---


def uri_at(server, path):
    """A URI that pyarrow opens without further settings."""
    where = server.endpoint.removeprefix("http://")
    return f"s3://a:hush@{path}?scheme=http&endpoint_override={where}&region=us-east-1"


def rows_in(names, system=None):
    return sorted(
        str(row) for name in names for row in pq.read_table(name, filesystem=system, partitioning=None).to_pylist()
    )


def test_threads_plan_from_store_to_store_and_go_on_after_a_kill(server, tmp_path, monkeypatch):
    server.write_fleet("by-threads")
    source, target = uri_at(server, "plans/by-threads"), uri_at(server, "plans/of-threads")
    real = on_threads.plan_file_bucket

    def killed_at_the_second(spec, number, *more):
        if number == 1:
            raise KeyboardInterrupt
        real(spec, number, *more)

    monkeypatch.setattr(on_threads, "plan_file_bucket", killed_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        plan_to_store(source, target, SPEC, 1)
    with pytest.raises(manifests.PlanNotFoundError):
        files_of_plan("plans/of-threads", filesystem=server.files)
    monkeypatch.undo()
    steps = []
    totals = plan_to_store(source, target, SPEC, 2, lambda *step: steps.append(step))
    assert 1 <= steps[-1][1] < 3, "the bucket that was done is kept"
    wanted = plan_files(source, tmp_path / "wanted", SPEC)
    assert totals == wanted == plan_to_store(source, target, SPEC)
    names = files_of_plan("plans/of-threads", filesystem=server.files)
    assert rows_in(names, server.files) == rows_in(sorted((tmp_path / "wanted").glob("*.parquet")))


def test_a_source_that_changes_meanwhile_is_not_published(server):
    server.write_fleet("changing-threads")
    source, target = uri_at(server, "plans/changing-threads"), uri_at(server, "plans/changed")

    def change(*_):
        pq.write_table(units.synthetic(7), "plans/changing-threads/part-1.parquet", filesystem=server.files)

    with pytest.raises(ValueError, match="s3://plans/changing-threads changed while it was read") as error:
        plan_to_store(source, target, SPEC, 1, change)
    assert "hush" not in str(error.value)
    with pytest.raises(manifests.PlanNotFoundError):
        files_of_plan("plans/changed", filesystem=server.files)


def test_bulk_on_a_store(server, tmp_path):
    server.write_fleet("bulk")
    source, target = uri_at(server, "plans/bulk"), uri_at(server, "plans/of-bulk")
    # By the group: click keeps the help option of the first context in which a command is used.
    run = CliRunner().invoke(app, ["bulk", "--in", source, "--out", target], catch_exceptions=False)
    assert run.exit_code == 0 and "owners: s3://plans/of-bulk" in run.output and "hush" not in run.output
    assert "600" in run.output
    assert CliRunner().invoke(app, ["bulk", "--in", source, "--out", str(tmp_path / "here")]).exit_code == 0
    assert rows_in(files_of_plan("plans/of-bulk", filesystem=server.files), server.files) == rows_in(
        sorted((tmp_path / "here").glob("*.parquet"))
    )


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("nope://me:hush@x/y", "s3://plans/x", "pyarrow cannot open nope://x/y"),
        ("fleet", "file:///plans", "file:///plans is a directory on a disk"),
        ("s3://me:hush@lake/fleet?region=x", "s3://lake/fleet/plans?region=x", "lies in the input s3://lake/fleet;"),
    ],
)
def test_what_threads_refuse(source, target, said):
    with pytest.raises(ValueError, match=re.escape(said)) as error:
        plan_to_store(source, target, SPEC)
    assert "hush" not in str(error.value)


@pytest.mark.parametrize(
    ("mark", "kind"), [("_delta_log/0.json", "Delta"), ("metadata/v1.metadata.json", "Iceberg"), ("metadata/x", "")]
)
def test_a_table_is_not_read_as_a_directory_of_files(tmp_path, mark, kind):
    fleet = tmp_path / "fleet"
    (fleet / mark).parent.mkdir(parents=True)
    (fleet / mark).write_text("{}")
    pq.write_table(units.synthetic(2), fleet / "part-0.parquet")
    for read in (lambda: by_file.survey(str(fleet), SPEC), lambda: plan_files(fleet, tmp_path / "out", SPEC)):
        if kind:
            with pytest.raises(ValueError, match=f"fleet is a table of {kind}, whose files hold rows"):
                read()
    assert kind or by_file.survey(str(fleet), SPEC) is None
