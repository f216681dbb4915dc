"""7 of the specification: offsets in memory, at brokers and in a file."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from little_cluster import LittleCluster, manager_of, push, started

from rmqalloc import MessageQueue
from rmqalloc.documents.store import LockedError, locked
from rmqalloc.rebalance import (
    LocalOffsetStore,
    OffsetFileError,
    ReadOffsetType,
    RemoteOffsetStore,
)
from rmqalloc.rebalance import (
    _offset_file as offset_file,
)
from rmqalloc.rebalance._offset_file import merge_offsets, offset_path, read_offsets, write_offsets
from rmqalloc.remoting import (
    PROFILES,
    MessageModel,
    RemotingError,
    ResponseCode,
    ResponseError,
)

MEMORY, STORE, BOTH = (
    ReadOffsetType.READ_FROM_MEMORY,
    ReadOffsetType.READ_FROM_STORE,
    ReadOffsetType.MEMORY_FIRST_THEN_STORE,
)
Q0, Q1, Q2 = (MessageQueue("T", "broker-a", i) for i in range(3))
OTHER = MessageQueue("U", "broker-a", 0)


@pytest.fixture
def cluster():
    return LittleCluster(T=3, U=1)


@pytest.fixture
def factory(cluster):
    return started(push(cluster)).client_factory


@pytest.fixture
def remote(factory):
    return RemoteOffsetStore(factory, "g")


@pytest.fixture
def local(factory, tmp_path):
    return LocalOffsetStore(factory, "g", tmp_path)


@pytest.fixture(params=["remote", "local"])
def store(request):
    return request.getfixturevalue(request.param)


# --- Memory, the same in both ---


def test_7_a_miss_in_memory_is_minus_one(store):
    assert store._factory.finish(store.read_offset(Q0, MEMORY)) == -1


def test_7_updates_set_or_only_raise(store):
    for offset, increase_only, expected in [
        (5, True, 5),
        (3, True, 5),
        (8, True, 8),
        (2, False, 2),
    ]:
        store.update_offset(Q0, offset, increase_only)
        assert store._factory.finish(store.read_offset(Q0, MEMORY)) == expected
    store.update_offset(None, 9, increase_only=False)
    assert store.offsets() == {Q0: 2}


def test_7_a_frozen_offset_takes_no_updates_until_it_is_removed(store):
    store.update_offset(Q0, 5, increase_only=False)
    store.update_and_freeze_offset(Q0, 1)
    store.update_and_freeze_offset(Q1, 2)
    store.update_and_freeze_offset(None, 3)
    for queue in (Q0, Q1):
        store.update_offset(queue, 99, increase_only=False)
        store.update_offset(queue, 99, increase_only=True)
    assert store.offsets() == {Q0: 1, Q1: 2}
    store.update_and_freeze_offset(Q0, 7)
    assert store.offsets()[Q0] == 7, "another reset"
    store.remove_offset(Q0)
    store.update_offset(Q0, 4, increase_only=False)
    assert store.offsets()[Q0] == 4


def test_7_before_5_2_a_reset_offset_is_updated_like_any_other(cluster):
    store = RemoteOffsetStore(
        started(push(cluster, manager=manager_of(cluster, profile=PROFILES["4.9"]))).client_factory,
        "g",
    )
    store.update_and_freeze_offset(Q0, 1)
    store.update_offset(Q0, 99, increase_only=True)
    assert store.offsets() == {Q0: 99}


def test_7_removing_touches_memory_only(store):
    store.update_offset(Q0, 5, increase_only=False)
    store._factory.finish(store.persist(Q0))
    store.remove_offset(Q0)
    store.remove_offset(None)
    assert store._factory.finish(store.read_offset(Q0, MEMORY)) == -1
    assert store._factory.finish(store.read_offset(Q0, STORE)) == 5


def test_7_what_is_read_from_the_store_is_put_into_memory_over_what_was_there(store):
    store.update_offset(Q0, 5, increase_only=False)
    store._factory.finish(store.persist(Q0))
    store.update_offset(Q0, 9, increase_only=False)
    assert store._factory.finish(store.read_offset(Q0, BOTH)) == 9
    assert store._factory.finish(store.read_offset(Q0, STORE)) == 5
    assert store._factory.finish(store.read_offset(Q0, MEMORY)) == 5
    store.remove_offset(Q0)
    assert store._factory.finish(store.read_offset(Q0, BOTH)) == 5
    assert store._factory.finish(store.read_offset(Q0, MEMORY)) == 5


def test_7_a_frozen_offset_is_not_overwritten_by_reading(store):
    store.update_offset(Q0, 5, increase_only=False)
    store._factory.finish(store.persist(Q0))
    store.update_and_freeze_offset(Q0, 1)
    assert store._factory.finish(store.read_offset(Q0, STORE)) == 5
    assert store._factory.finish(store.read_offset(Q0, MEMORY)) == 1


def test_7_offsets_of_one_topic(store):
    store.update_offset(Q0, 5, increase_only=False)
    store.update_offset(OTHER, 6, increase_only=False)
    assert store.offsets("T") == {Q0: 5}
    assert store.offsets("U") == {OTHER: 6}
    assert store.offsets() == store.offsets("") == {Q0: 5, OTHER: 6}


def test_7_storing_nothing_stores_nothing_and_forgets_nothing(store, cluster):
    store.update_offset(Q0, 5, increase_only=False)
    store._factory.finish(store.persist_all(set()))
    store._factory.finish(store.persist(Q1))
    assert store.offsets() == {Q0: 5}
    assert store._factory.finish(store.read_offset(Q0, STORE)) == -1
    assert cluster.broker.asked("update_offset") == []


# --- At brokers ---


def test_7_remote_no_queue_is_minus_three(remote):
    assert [
        remote._factory.finish(remote.read_offset(None, where)) for where in ReadOffsetType
    ] == [-3, -3, -3]


def test_7_remote_not_found_is_minus_one_and_anything_else_minus_two(remote, cluster):
    assert remote._factory.finish(remote.read_offset(Q0, STORE)) == -1
    for error in (
        ResponseError(ResponseCode.SYSTEM_BUSY, "busy"),
        RemotingError("timeout"),
        OSError("reset"),
    ):
        cluster.broker.refuses["query_offset"] = error
        assert remote._factory.finish(remote.read_offset(Q0, STORE)) == -2
    assert remote._factory.finish(remote.read_offset(MessageQueue("T", "broker-z", 0), STORE)) == -2
    assert remote.offsets() == {}


def test_7_remote_persisting_all_sends_these_and_forgets_all_others(remote, cluster):
    for offset, queue in enumerate((Q0, Q1, Q2)):
        remote.update_offset(queue, offset, increase_only=False)
    remote._factory.finish(remote.persist_all({Q0, Q2, OTHER}))
    assert cluster.broker.offsets == {("g", Q0): 0, ("g", Q2): 2}
    assert remote.offsets() == {Q0: 0, Q2: 2}


def test_7_remote_errors_of_storing_are_logged_and_change_nothing(remote, cluster):
    remote.update_offset(Q0, 5, increase_only=False)
    remote.update_offset(Q1, 6, increase_only=False)
    cluster.broker.refuses["update_offset"] = RemotingError("reset")
    remote._factory.finish(remote.persist(Q0))
    remote._factory.finish(remote.persist_all({Q0, Q1}))
    assert remote.offsets() == {Q0: 5, Q1: 6}
    assert len(cluster.broker.asked("update_offset")) == 3


def test_7_remote_the_master_is_asked_or_a_slave_where_there_is_none(remote, cluster, factory):
    cluster.addresses["broker-a:slave"] = cluster.broker
    factory.routes.broker_addresses["broker-a"] = {1: "broker-a:slave"}
    asked = len(cluster.routes_asked)
    remote.update_offset(Q0, 5, increase_only=False)
    remote._factory.finish(remote.persist(Q0))
    assert cluster.broker.offsets["g", Q0] == 5
    assert len(cluster.routes_asked) == asked, "to store, any server will do"
    assert remote._factory.finish(remote.read_offset(Q0, STORE)) == 5
    assert len(cluster.routes_asked) == asked + 1, "to read, the master is looked for first"
    assert cluster.broker.asked("query_offset")[-1][3] == "broker-a:slave"


def test_7_remote_a_hand_over_reads_what_was_stored_and_never_skips(cluster):
    x = started(push(cluster, "x"))
    cluster.clock.run_for(2_000)
    last = max(x.rebalance.working_queues("T"))
    x.offset_store.update_offset(last, 40, increase_only=False)
    y = push(cluster, "y")
    y.start()
    y.offset_store.update_offset(last, 99, increase_only=False)
    cluster.clock.run_for(3_000)
    assert last in y.rebalance.working_queues("T")
    assert y.offset_store.offsets()[last] == 40
    assert last not in x.offset_store.offsets()


def test_7_the_stored_set_is_the_whole_table_dropped_queues_too(cluster):
    x = started(push(cluster))
    cluster.clock.run_for(2_000)
    x.rebalance.process_queue_table[Q0].dropped = True
    for queue in (Q0, Q1):
        x.offset_store.update_offset(queue, 1, increase_only=False)
    x.client_factory.finish(x.persist_consumer_offset())
    assert cluster.broker.offsets == {("g", Q0): 1, ("g", Q1): 1}


def test_7_a_consumer_that_does_not_run_stores_nothing(cluster):
    x = started(push(cluster))
    cluster.clock.run_for(2_000)
    x.shutdown()
    x.offset_store.update_offset(Q0, 1, increase_only=False)
    x.client_factory.finish(x.persist_consumer_offset())
    assert cluster.broker.offsets == {}


# --- In a file ---


def test_7_local_no_queue_a_missing_file_and_a_damaged_one_are_minus_one(local, tmp_path):
    assert [local._factory.finish(local.read_offset(None, where)) for where in ReadOffsetType] == [
        -1,
        -1,
        -1,
    ]
    assert local._factory.finish(local.read_offset(Q0, STORE)) == -1
    local.path.parent.mkdir(parents=True)
    for path in (local.path, local.path.with_name("offsets.json.bak")):
        path.write_text("{damaged")
    assert local._factory.finish(local.read_offset(Q0, STORE)) == -1


def test_7_local_the_path_is_directory_client_group(local, tmp_path):
    assert local.path == tmp_path / "10.0.0.1@x" / "g" / "offsets.json"


@pytest.mark.parametrize("bad", ["", ".", "..", "../g", "a/b", "a\\b", "a\0b"])
def test_7_local_names_that_would_lead_elsewhere_are_refused(tmp_path, bad):
    with pytest.raises(ValueError, match="cannot name a directory"):
        offset_path(tmp_path, "client", bad)
    with pytest.raises(ValueError, match="cannot name a directory"):
        offset_path(tmp_path, bad, "group")


def test_7_local_storing_merges_these_and_forgets_nothing(local):
    for offset, queue in enumerate((Q0, Q1, Q2)):
        local.update_offset(queue, offset, increase_only=False)
    local._factory.finish(local.persist(Q0))
    local.update_offset(Q0, 10, increase_only=False)
    local._factory.finish(local.persist_all({Q1}))
    assert read_offsets(local.path) == {Q0: 0, Q1: 1}
    assert local.offsets() == {Q0: 10, Q1: 1, Q2: 2}


def test_7_local_older_releases_replace_the_file(cluster, tmp_path):
    profile = replace(PROFILES["4.9"], merges_local_offsets=False)
    factory = started(push(cluster, manager=manager_of(cluster, profile=profile))).client_factory
    store = LocalOffsetStore(factory, "g", tmp_path)
    write_offsets(store.path, {Q2: 9})
    store.update_offset(Q0, 1, increase_only=False)
    store._factory.finish(store.persist_all({Q0}))
    assert read_offsets(store.path) == {Q0: 1}


def test_7_local_storing_over_damaged_files_leaves_them(local):
    local.path.parent.mkdir(parents=True)
    for path in (local.path, local.path.with_name("offsets.json.bak")):
        path.write_text("{damaged")
    local.update_offset(Q0, 1, increase_only=False)
    local._factory.finish(local.persist(Q0))
    local._factory.finish(local.persist_all({Q0}))
    assert local.path.read_text() == "{damaged"
    with pytest.raises(OffsetFileError, match="remove it to start over"):
        local.load()


def test_7_local_a_consumer_goes_on_after_a_restart(cluster, tmp_path):
    settings = {
        "message_model": MessageModel.BROADCASTING,
        "manager": manager_of(cluster, offset_directory=tmp_path),
    }
    first = started(push(cluster, **settings))
    cluster.clock.run_for(2_000)
    first.offset_store.update_offset(Q1, 17, increase_only=False)
    first.shutdown()
    second = started(push(cluster, **settings))
    assert second.offset_store.offsets() == {Q1: 17}
    cluster.clock.run_for(2_000)
    assert second.client_factory.finish(second.rebalance.compute_pull_from_where(Q1)) == 17
    assert cluster.broker.asked("query_offset") == cluster.broker.asked("update_offset") == []


# --- The file itself ---


def test_what_was_there_becomes_the_backup_which_is_read_when_the_file_is_not_good(tmp_path):
    path = tmp_path / "offsets.json"
    write_offsets(path, {Q0: 1})
    assert not path.with_name("offsets.json.bak").exists()
    write_offsets(path, {Q0: 2})
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["offsets.json", "offsets.json.bak"]
    assert read_offsets(path) == {Q0: 2}
    for damage in ("", "{", path.read_text() + "}", path.read_text()[:-1]):
        path.write_text(damage)
        assert read_offsets(path) == {Q0: 1}
    path.unlink()
    assert read_offsets(path) == {Q0: 1}


def test_a_damaged_file_is_no_backup(tmp_path):
    path = tmp_path / "offsets.json"
    for offset in (1, 2):
        write_offsets(path, {Q0: offset})
    for damage in ("", "{damaged"):
        path.write_text(damage)
        write_offsets(path, {Q0: 3})
        assert read_offsets(path.with_name("offsets.json.bak")) == {Q0: 1}, (
            "the last good one is kept"
        )
    assert read_offsets(path) == {Q0: 3}


def test_two_processes_that_store_offsets_wait_for_each_other(tmp_path, monkeypatch):
    path = tmp_path / "offsets.json"
    merge_offsets(path, {Q0: 1})
    monkeypatch.setattr(offset_file, "_LOCK_SECONDS", 0)
    with locked(tmp_path):
        for store_them in (merge_offsets, write_offsets):
            with pytest.raises(LockedError):
                store_them(path, {Q1: 2})
    assert read_offsets(path) == {Q0: 1}


def test_a_file_as_java_writes_it_is_read(tmp_path):
    path = tmp_path / "offsets.json"
    path.write_text(
        '{\n\t"offsetTable":{{\n\t\t\t"brokerName":"broker-a",\n\t\t\t"queueId":0,\n\t\t\t"topic":"T"\n\t\t}:15,'
        '{"topic":"T","brokerName":"broker-a","queueId":1}:16\n\t}\n}'
    )
    assert read_offsets(path) == {Q0: 15, Q1: 16}
    path.write_text('{"offsetTable":{}}')
    assert read_offsets(path) == {}


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '{"offsets":{}}',
        '{"offsetTable":[]}',
        '{"offsetTable":{"a":1}}',
        '{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:"1"}}',
        '{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:1.5}}',
        '{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:true}}',
        '{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:9223372036854775808}}',
        '{"offsetTable":{{"brokerName":"b","queueId":2147483648,"topic":"T"}:1}}',
        '{"offsetTable":{{"brokerName":"b","queueId":"0","topic":"T"}:1}}',
        '{"offsetTable":{{"brokerName":null,"queueId":0,"topic":"T"}:1}}',
        '{"offsetTable":{{"queueId":0,"topic":"T"}:1}}',
        '{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:1,}}',
        '{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:1 {"topic":"U"}:1}}',
        '{"offsetTable":{}} more',
        pytest.param('{"offsetTable":' + "[" * 100_000, id="100000 lists"),
        pytest.param('{"offsetTable":{' + "[" * 100_000, id="100000 lists as a key"),
    ],
)
def test_anything_else_is_refused(tmp_path, text):
    (tmp_path / "offsets.json.bak").write_text(text)
    with pytest.raises(OffsetFileError, match="does not contain offsets"):
        read_offsets(tmp_path / "offsets.json")


texts = st.text(st.characters(codec="utf-8"), max_size=4)
queues = st.builds(MessageQueue, texts, texts, st.integers(-(2**31), 2**31 - 1))


@given(st.dictionaries(queues, st.integers(-(2**63), 2**63 - 1), max_size=5))
def test_what_is_written_is_read(tmp_path_factory, offsets):
    path = tmp_path_factory.mktemp("offsets") / "offsets.json"
    write_offsets(path, offsets)
    assert read_offsets(path) == offsets
    text = path.read_text()
    keys = [json.loads(line.rpartition(":")[0]) for line in text.splitlines()[1:-1] if line]
    assert {MessageQueue(k["topic"], k["brokerName"], k["queueId"]) for k in keys} == offsets.keys()


def test_lone_surrogates_survive(tmp_path):
    queue = MessageQueue("T\ud800", "b", 0)
    write_offsets(tmp_path / "offsets.json", {queue: 1})
    assert read_offsets(tmp_path / "offsets.json") == {queue: 1}
