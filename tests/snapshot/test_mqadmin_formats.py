"""Every form of every command, as the tools of that release print it: all say the same of one
group.

The files of 4.0.0 to 5.3.3 are what ``rocketmq-tools`` of these releases printed of servers on
loopback that gave the same answers to all; ports and times were made equal. Those of 3.2.6 are
written by hand after its format strings.
"""

import pytest
from checkout import DATA

from rmqalloc import MessageQueue
from rmqalloc.documents import Source
from rmqalloc.snapshot.files import read_snapshots
from rmqalloc.snapshot.files.outputs._formats import FORMATS
from rmqalloc.snapshot.files.outputs._sections import sections
from rmqalloc.snapshot.plain_data import SnapshotError

FOLDER = DATA / "mqadmin" / "formats"
RELEASES = sorted(
    (path.name for path in FOLDER.iterdir()), key=lambda name: [*map(int, name.split("."))]
)
CLIENTS = ["10.1.0.11@4121", "10.1.0.12@3982"]
FILES = {
    "topicRoute": "topicRoute.orders.json",
    "topicRoute -l": "topicRoute.orders.txt",
    "consumerConnection": "consumerConnection.order-svc.txt",
    "consumerStatus": "consumerStatus.order-svc.txt",
    "consumerStatus -i": "consumerStatus-i.txt",
    "consumerProgress -g": "consumerProgress.order-svc.txt",
    "consumerProgress": "consumerProgress.txt",
    "allocateMQ": "allocateMQ.json",
    "brokerConsumeStats": "brokerConsumeStats.txt",
    "getConsumerStatus": "getConsumerStatus.txt",
}


def order(release):
    return [*map(int, release.split("."))]


def given(name):
    return [release for release in RELEASES if (FOLDER / release / name).exists()]


def read(release, name):
    return read_snapshots([str(FOLDER / release / name)])


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: f"{form.command} {form.since}")
def test_each_form_has_a_file_that_begins_so(form):
    files = [
        FOLDER / release / FILES[form.command]
        for release in given(FILES[form.command])
        if order(form.since) <= order(release) <= order(form.until)
    ]
    assert files, f"no file of {form.command} of {form.since} to {form.until}"
    for path in files:
        (section,) = sections(Source(str(path), path.read_bytes(), SnapshotError))
        assert section.kind == form.kind


@pytest.mark.parametrize("release", given("consumerConnection.order-svc.txt"))
def test_consumer_connection(release):
    snapshot, warnings = read(release, "consumerConnection.order-svc.txt")
    (group,) = snapshot.groups
    assert (group.client_ids, group.subscriptions, warnings) == (
        CLIENTS,
        ("%RETRY%order-svc", "orders"),
        (),
    )
    assert {(one.language, one.version is not None) for one in group.clients} == {("JAVA", True)}


@pytest.mark.parametrize("release", given("consumerStatus.order-svc.txt"))
def test_consumer_status(release):
    (group,) = read(release, "consumerStatus.order-svc.txt")[0].groups
    assert (group.client_ids, "clients" in group.unknown) == (CLIENTS, False)


@pytest.mark.parametrize("release", given("failed/consumerStatus.order-svc.txt"))
def test_consumer_status_where_a_client_does_not_answer(release):
    """Its stack trace stands above the first row, or between the rows."""
    snapshot, warnings = read(release, "failed/consumerStatus.order-svc.txt")
    (group,) = snapshot.groups
    assert (group.client_ids, "1 client did not answer" in group.unknown["clients"]) == (
        CLIENTS,
        True,
    )
    assert "1 client did not answer" in warnings[0]


@pytest.mark.parametrize("release", given("consumerStatus-i.txt"))
def test_running_info(release):
    (client,) = read(release, "consumerStatus-i.txt")[0].groups[0].clients
    owned = {MessageQueue("orders", "broker-a", 0), MessageQueue("orders", "broker-a", 1)}
    assert set(client.owned) == owned | {MessageQueue("%RETRY%order-svc", "broker-a", 0)}


@pytest.mark.parametrize("release", given("consumerProgress.order-svc.txt"))
def test_consumer_progress(release):
    (group,) = read(release, "consumerProgress.order-svc.txt")[0].groups
    assert (len(group.lags), sum(one.messages for one in group.lags), group.client_ids) == (
        6,
        2,
        [],
    )
    assert group.consume_tps == (0 if release == "3.2.6" else 0.8)


@pytest.mark.parametrize("release", given("with-clients/consumerProgress.order-svc.txt"))
def test_consumer_progress_with_clients(release):
    (group,) = read(release, "with-clients/consumerProgress.order-svc.txt")[0].groups
    assert {one.client_id: len(one.owned) for one in group.clients} == {
        "10.1.0.11": 3,
        "10.1.0.12": 3,
    }


@pytest.mark.parametrize("release", given("brokerConsumeStats.txt"))
def test_offsets_of_groups_at_a_broker(release):
    groups = read(release, "brokerConsumeStats.txt")[0].groups
    assert {group.name: [lag.messages for lag in group.lags] for group in groups} == {
        "order-svc": [0, 0],
        "audit": [1, 1],
    }


@pytest.mark.parametrize("release", given("getConsumerStatus.txt"))
def test_queues_of_clients(release):
    (group,) = read(release, "getConsumerStatus.txt")[0].groups
    assert [client.client_id for client in group.clients] == CLIENTS
    assert [{queue.broker_name for queue in client.owned} for client in group.clients] == [
        {"broker-a"},
        {"broker-b"},
    ]


@pytest.mark.parametrize("release", given("consumerProgress.txt"))
def test_all_groups(release):
    snapshot, warnings = read(release, "consumerProgress.txt")
    assert sorted(one.name for one in snapshot.groups) == ["audit", "order-svc"]
    assert "audit 0, order-svc 2" in warnings[0]


@pytest.mark.parametrize("release", given("topicRoute.orders.json"))
@pytest.mark.parametrize("name", ["topicRoute.orders.json", "topicRoute.orders.txt"])
def test_topic_route(release, name):
    if name in {path.name for path in (FOLDER / release).iterdir()}:
        (topic,) = read(release, name)[0].topics
        assert [
            (b.broker_name, b.read_queue_nums, b.write_queue_nums, b.perm) for b in topic.brokers
        ] == [
            ("broker-a", 2, 2, 6),
            ("broker-b", 2, 2, 6),
        ]
