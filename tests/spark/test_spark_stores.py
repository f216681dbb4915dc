"""Object stores that workers reach by themselves: a real S3 interface on loopback, without Spark; and what settings become."""

import pickle

import pyarrow.parquet as pq
import pytest

from rmqalloc.evaluation._plan_batch import PlanSpec, plan_stream
from spark_udfs.job import _by_file as by_file
from spark_udfs.job import _manifests as manifests
from spark_udfs.job._published import files_of_plan
from spark_udfs.job._store_settings import s3_store
from spark_udfs.job._stores import Store, StoreBuckets, StoreFiles, in_store

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


def test_a_path_that_is_not_there_is_named(server):
    with pytest.raises(FileNotFoundError, match="plans/nothing does not exist"):
        by_file.listed_files("plans/nothing", store_at(server))
