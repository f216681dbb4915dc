"""Metrics: parsed by the readers of Prometheus, equal to the tables that they are made of, bounded,
of the present.
"""

import re
from dataclasses import replace

import pytest
from audited import group, queues, snapshot, topic
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus
from served import reading, readings_of, served
from served_metrics import SERVED

import rmqalloc
from rmqalloc.snapshot.live.rereading import GroupAges
from rmqalloc.snapshot.snapshot import Broker, Departure, Lag, SourceError
from rmqalloc.watching import Change, Observer

HOSTILE = 'g"} evil_metric 1\n# EOF\\{\u202e'
ACCEPTS = {
    "application/openmetrics-text; version=1.0.0": openmetrics,
    "text/plain": prometheus,
    "": prometheus,
}


def lags(*numbers):
    return tuple(
        Lag(queue, n, 0) for queue, n in zip(queues(range(len(numbers))), numbers, strict=True)
    )


CLUSTER = snapshot(
    group("c1", "c1", "c2", name="twice", lags=lags(1, 20, 300)),
    group("c1", "c2", "c3", "c4", name="idle", lags=lags(5, 0, 7)),
    group("c9", name=HOSTILE),
    group(name="empty", lags=lags(4, 5, 6)),
    topics=(topic(a=3),),
)


def samples(client, accept=""):
    """Samples by name and labels, that of the cluster aside."""
    answer = client.get("/metrics", headers={"accept": accept})
    assert answer.status_code == 200
    found = {}
    for family in ACCEPTS[accept](answer.text):
        for one in family.samples:
            labels = dict(one.labels)
            assert one.name.startswith("process_") or labels.pop("cluster") == "c", one
            key = one.name, tuple(sorted(labels.items()))
            assert key not in found
            found[key] = one.value
    return found


def of_group(found, name, label="consumer_group"):
    return {dict(labels).get(label): value for (one, labels), value in found.items() if one == name}


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("accept", ACCEPTS)
def test_groups_have_the_figures_of_their_table(accept):
    table = rmqalloc.groups(CLUSTER).groups.to_pylist()
    with served(readings_of(reading(CLUSTER))) as client:
        found = samples(client, accept)
        kind = client.get("/metrics", headers={"accept": accept}).headers["content-type"]
    assert kind.startswith(
        "application/openmetrics-text" if "openmetrics" in accept else "text/plain"
    )
    columns = {
        "clients": "n_clients",
        "idle_clients": "idle",
        "queues": "n_queues",
        "unowned_queues": "unowned",
        "double_owned_queues": "double_owned",
        "unread_queues": "unread",
        "lag_messages": "messages",
        "skew": "skew",
    }
    for metric, column in columns.items():
        known = {row["consumer_group"]: row[column] for row in table if row[column] is not None}
        assert of_group(found, f"rmqalloc_group_{metric}") == known, metric
    assert known and HOSTILE in of_group(found, "rmqalloc_group_clients")


def test_findings_owners_and_what_nobody_owns_are_those_of_the_verbs():
    with served(readings_of(reading(CLUSTER))) as client:
        found = samples(client)
    findings = rmqalloc.check(CLUSTER)
    of_rules = {key[1]: value for key, value in found.items() if key[0] == "rmqalloc_findings"}
    assert sum(of_rules.values()) == len(findings) > 0
    one = findings[0]
    assert (
        ("consumer_group", one.consumer_group),
        ("rule", one.rule),
        ("severity", one.severity),
    ) in of_rules
    clients = {
        (("client_id", row["client_id"]), ("consumer_group", row["consumer_group"])): row["messages"]
        for row in rmqalloc.show(CLUSTER).clients.to_pylist() if row["messages"] is not None
    }  # fmt: skip
    assert (
        {key[1]: value for key, value in found.items() if key[0] == "rmqalloc_owner_lag_messages"}
        == clients
        != {}
    )
    unowned = {
        key[1]: value for key, value in found.items() if key[0] == "rmqalloc_unowned_lag_messages"
    }
    assert unowned[(("consumer_group", "empty"), ("topic", "orders"))] == 15


@pytest.mark.thorough
def test_beyond_the_worst_groups_all_are_summed():
    with served(readings_of(reading(CLUSTER)), most_groups=1) as client:
        few = samples(client)
    with served(readings_of(reading(CLUSTER))) as client:
        all_of_them = samples(client)
    for name in ("clients", "queues", "unowned_queues", "lag_messages"):
        one, every = (of_group(found, f"rmqalloc_group_{name}") for found in (few, all_of_them))
        assert set(one) <= {"", rmqalloc.groups(CLUSTER).groups["consumer_group"][0].as_py()}
        assert sum(one.values()) == sum(every.values()), name
    for name in (
        "rmqalloc_findings",
        "rmqalloc_owner_lag_messages",
        "rmqalloc_unowned_lag_messages",
        "rmqalloc_group_not_known",
    ):
        sums = [
            sum(value for key, value in found.items() if key[0] == name)
            for found in (few, all_of_them)
        ]
        assert sums[0] == sums[1] > 0, name
    assert few[("rmqalloc_groups_summed", ())] == 3 and few[("rmqalloc_groups", ())] == 4
    assert len(of_group(few, "rmqalloc_group_skew")) <= 1


def test_what_rules_and_dashboard_use_is_served_with_its_labels():
    with served(readings_of(reading(CLUSTER))) as client:
        text = client.get("/metrics").text
        found = samples(client)
    labels = {}
    for name, of in found:
        labels.setdefault(name, set()).update({"cluster", *dict(of)})
    types = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    assert [
        name for name in SERVED if name not in types and name.removesuffix("_total") not in types
    ] == []
    assert {name: set(of) for name, of in SERVED.items() if name in labels} == {
        n: labels[n] for n in SERVED if n in labels
    }
    assert len(labels.keys() & SERVED.keys()) > 15


@pytest.mark.thorough
def test_series_of_what_is_gone_disappear_and_counters_stay():
    class Moving(Observer):
        def observe(self, one):
            [queue] = queues([1])
            members = (
                Change(("twice", "c1"), None, 1, 0.5, 1.0),
                Change(("idle", "c2"), "x", None, 1.0, 2.0),
            )
            moves = (Change(("idle", queue), ("c1",), ("c2",), 1.0, 2.0),)
            changed = {
                "members": members,
                "moves": moves,
                "settled": {"idle": 12.5},
                "unsettled": {"twice": one.read_at - 5},
            }
            return super().observe(one)._replace(**changed)

    left = snapshot(*[one for one in CLUSTER.groups if one.name != "twice"], topics=CLUSTER.topics)
    readings = readings_of(reading(CLUSTER), reading(left), observer=Moving())
    with served(readings) as client:
        found = samples(client)
        assert found[("rmqalloc_group_last_settle_seconds", (("consumer_group", "idle"),))] == 12.5
        assert found[
            ("rmqalloc_group_unsettled_seconds", (("consumer_group", "twice"),))
        ] == pytest.approx(5)
        assert of_group(found, "rmqalloc_group_clients_joined_total")["twice"] == 1
        assert of_group(found, "rmqalloc_group_queues_moved_total")["idle"] == 1
        readings.read_once()
        found = samples(client)
    assert not any("twice" in dict(labels).values() for _, labels in found)
    assert (
        found[("rmqalloc_cluster_clients_joined_total", ())]
        == found[("rmqalloc_cluster_clients_left_total", ())]
        == 2
    )
    assert of_group(found, "rmqalloc_group_queues_moved_total")["idle"] == 2


def test_what_left_stays_as_0():
    left = (
        Departure("broker", "b", "2026-05-02T03:00:00+00:00", "dead"),
        Departure("queue", "T", "2026-05-02T03:00:00+00:00", "removed", broker_name="a"),
    )
    brokers = (Broker("a", "10.0.0.1:10911"),)
    less = replace(CLUSTER, brokers=brokers, departed=left)
    with served(readings_of(reading(less))) as client:
        found = samples(client)
    assert of_group(found, "rmqalloc_source_up", "source") == {"broker a": 1, "broker b": 0}
    rows = [dict(labels) for name, labels in found if name == "rmqalloc_present"]
    assert [(row["kind"], row["name"], row["cause"]) for row in rows] == [
        ("broker", "b", "dead"), ("queue", "T", "removed")
    ]  # fmt: skip


def test_sources_that_do_not_answer_and_what_is_not_known_are_there():
    lost = SourceError("broker b", "GET_CONSUMER_CONNECTION_LIST twice", "timeout")
    brokers = (Broker("a", "10.0.0.1:10911"), Broker("b", "10.0.0.2:10911", is_silent=True))
    partial = snapshot(*CLUSTER.groups, topics=CLUSTER.topics, errors=(lost, lost))
    partial = type(partial)(partial.topics, partial.groups, partial.errors, brokers=brokers)
    one = reading(partial, is_whole=False, not_read=frozenset(["twice"]), n_requests={"a": 12})
    with served(readings_of(one)) as client:
        found = samples(client)
    assert of_group(found, "rmqalloc_source_up", "source") == {"broker a": 1, "broker b": 0}
    assert of_group(found, "rmqalloc_source_errors", "source") == {"broker b": 2}
    assert (
        found[("rmqalloc_group_not_known", (("consumer_group", "twice"), ("kind", "clients")))] == 1
    )
    assert "twice" not in of_group(found, "rmqalloc_group_unowned_queues"), (
        "what is not known is not counted as 0"
    )
    assert (
        found[("rmqalloc_reading_whole", ())] == 0
        and found[("rmqalloc_reading_groups_not_read", ())] == 1
    )
    assert of_group(found, "rmqalloc_reading_requests", "broker") == {"a": 12}


def test_lags_that_are_not_known_whole_have_no_sample():
    lost = SourceError("broker b", "GET_CONSUME_STATS twice", "timeout")
    with served(readings_of(reading(replace(CLUSTER, errors=(lost,))))) as client:
        found = samples(client)
        rows = client.get("/v1/groups").json()["groups"]
    for name in ("group_lag", "owner_lag", "unowned_lag"):
        groups = of_group(found, f"rmqalloc_{name}_messages")
        assert "twice" not in groups and groups, name
    assert {row["consumer_group"]: row["messages"] for row in rows}["twice"] is None


def test_reports_of_owned_queues_have_their_age():
    one = reading(CLUSTER, at=1_000.0)
    ages = GroupAges(990.0, None, {"c1": 990.0, "c2": 700.0})
    with served(readings_of(one._replace(ages=one.ages | {"idle": ages}))) as client:
        found = of_group(samples(client), "rmqalloc_group_owners_age_seconds")
    assert found == {"idle": 300.0}


def test_a_label_that_is_no_text_does_not_stop_a_scrape():
    with served(readings_of(reading(CLUSTER)), cluster="c\ud800") as client:
        assert 'cluster="c\\\\ud800"' in client.get("/metrics").text
