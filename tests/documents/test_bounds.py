"""How many queues and channels there may be: one name for each bound, and the same number at every
face.
"""

import ast
import re

import pyarrow as pa
import pytest
from checkout import DATA, ROOT
from source_modules import MODULES

import rmqalloc
from rmqalloc.cli import main
from rmqalloc.evaluation.batch_planning import PlanSpec, plan_batch
from rmqalloc.evidence import inferred_strategies as fit
from rmqalloc.model import (
    MAX_CHANNELS,
    MAX_OF_ROW,
    MAX_QUEUES,
    MAX_READ_QUEUE_NUMS,
    MessageQueue,
    check_queue_count,
)
from rmqalloc.remoting.body_fields import AnswerError
from rmqalloc.snapshot.files import read_snapshot, read_snapshots, write_snapshot
from rmqalloc.snapshot.live import _answers as answers
from rmqalloc.snapshot.plain_data import SnapshotError
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from spark_udfs import _arrow_owners as arrow_owners

OTHER_QUESTIONS = {
    "rmqalloc.plans._gates._MOST_QUEUES": "that a gate may name, over all groups",
    "rmqalloc.plans._verification.MOST_QUEUES": "of all units and states of a plan's file together",
    "rmqalloc.simulation._settings.MAX_RETRY_QUEUES": "of a retry topic, which brokers make",
    "rmqalloc.remoting.route_codec.MAX_ROUTE_QUEUES": "of a topic, in an answer that a member reads",
}
"""Numbers of queues that bound something else."""


def cluster(*counts):
    topic = Topic("T", tuple(TopicBroker(f"b{i:02}", n) for i, n in enumerate(counts)))
    return Snapshot((topic,), (Group("g", ("T",), (Client("c"),), strategy="AVG"),))


BOUND = re.compile("_?(MAX|MOST)_(\\w*_)?(QUEUES|QUEUE_NUMS|CHANNELS|COUNT|OF_ROW)")


def named_numbers(source):
    """Bounds of queues or channels that a module states by a number of its own."""
    given = [node for node in ast.parse(source).body if isinstance(node, ast.Assign)]
    bounds = [node for node in given if BOUND.fullmatch(getattr(node.targets[0], "id", ""))]
    return [
        one.targets[0].id
        for one in bounds
        if not any(isinstance(of, ast.Name) for of in ast.walk(one.value))
    ]


@pytest.mark.thorough
def test_bounds_are_named_in_one_place():
    home = "rmqalloc.model"
    found = {
        f"{module}.{name}"
        for module, path in MODULES.items()
        for name in named_numbers(path.read_text("utf-8"))
    }
    ours = {
        f"{home}.{name}"
        for name in ("MAX_QUEUES", "MAX_OF_ROW", "MAX_READ_QUEUE_NUMS", "MAX_CHANNELS")
    }
    assert found == ours | OTHER_QUESTIONS.keys()
    assert named_numbers(
        "_MOST_QUEUES = 1 << 20\nMAX_TOPIC_QUEUES = 5\nMAX_QUEUES_OF_X = MAX_QUEUES"
    ) == [
        "_MOST_QUEUES",
        "MAX_TOPIC_QUEUES",
    ]


def test_pages_state_the_same_numbers():
    def page(name):
        return " ".join((ROOT / "docs" / name).read_text(encoding="utf-8").split())

    assert f"a topic {MAX_QUEUES:,} queues on one broker" in page("reference/snapshots.md")
    assert f"on a topic of more than {MAX_OF_ROW:,} queues" in page("operators/change.md")
    assert f"<= {MAX_READ_QUEUE_NUMS} " in page("data/live-plans.md")
    assert f"BETWEEN 1 AND {MAX_CHANNELS}" in page("data/live-plans.md")


# --- Queues of a topic ---


def as_file(n, tmp_path):
    path = tmp_path / "s.json"
    write_snapshot(cluster(7), str(path))
    path.write_text(path.read_text().replace('"read_queue_nums": 7', f'"read_queue_nums": {n}'))
    return read_snapshot(str(path)).topics[0]


def as_written(n, tmp_path):
    write_snapshot(cluster(n), str(tmp_path / "s.json"))
    return read_snapshot(str(tmp_path / "s.json")).topics[0]


def as_answered(n, _tmp_path):
    queues = {"brokerName": "b", "readQueueNums": n, "writeQueueNums": n, "perm": 6}
    return answers.route("T", {"queueDatas": [queues]})


def as_printed(n, tmp_path):
    text = (DATA / "mqadmin" / "topicRoute.orders.json").read_text()
    path = tmp_path / "topicRoute.orders.json"
    path.write_text(re.sub(r'("readQueueNums": ?)\d+', rf"\g<1>{n}", text))
    return read_snapshots([str(path)])[0].topics[0]


@pytest.mark.parametrize("read", [as_file, as_written, as_answered, as_printed])
def test_readers_of_snapshots_take_as_many_queues_of_a_broker(read, tmp_path):
    assert read(MAX_QUEUES, tmp_path).brokers[0].read_queue_nums == MAX_QUEUES
    with pytest.raises((SnapshotError, AnswerError), match=rf"{MAX_QUEUES}\b|{MAX_QUEUES + 1}\b"):
        read(MAX_QUEUES + 1, tmp_path)


def test_queues_of_a_topic_are_laid_out_up_to_the_same_number(capsys):
    check_queue_count("T", MAX_QUEUES)
    with pytest.raises(
        ValueError,
        match=f"'T' has {MAX_QUEUES + 1:,} queues; at most {MAX_QUEUES:,} can be checked",
    ):
        rmqalloc.check(cluster(MAX_QUEUES, 1))
    assert (
        main(
            [
                "allocate",
                "-s",
                "AVG",
                "-t",
                "T",
                "--clients",
                "c",
                "--queues",
                f"a:{MAX_QUEUES},b:1",
            ]
        )
        == 64
    )
    assert (
        f"{MAX_QUEUES + 1} queues; from 1 to {MAX_QUEUES} can be shown" in capsys.readouterr().err
    )


def test_what_clients_own_of_a_larger_topic_is_no_evidence(monkeypatch):
    group = Group("g", ("T",), (Client("c", owned=(MessageQueue("T", "b00", 0),)),))

    def found(*counts):
        return len(fit.OwnedReader(cluster(*counts).topics).of(group).queues)

    assert found(MAX_QUEUES, 1) == 0
    monkeypatch.setattr(fit, "MAX_QUEUES", 4)
    assert (found(3, 1), found(4, 1)) == (1, 0)


# --- Queues of a row ---


def row(*counts):
    brokers = [{"broker_name": f"b{i}", "read_queue_nums": n} for i, n in enumerate(counts)]
    return {"consumer_group": "g", "topic": "T", "brokers": brokers, "client_ids": ["c1", "c2"]}


def test_rows_of_tables_take_as_many_queues():
    rows = [row(MAX_OF_ROW), row(MAX_OF_ROW, 1), row(MAX_OF_ROW + 1)]
    planned = plan_batch(pa.RecordBatch.from_pylist(rows), PlanSpec("AVG")).to_pylist()
    assert planned[0]["n_queues"] == MAX_OF_ROW
    said = [unit["err_msg"] for unit in planned[1:]]
    assert f"{MAX_OF_ROW + 1} queues; at most {MAX_OF_ROW} can be planned" in said[0]
    assert f"must be an integer from 0 to {MAX_OF_ROW}, got {MAX_OF_ROW + 1}" in said[1]
    with pytest.raises(rmqalloc.FleetError, match=f"from 0 to {MAX_OF_ROW}, got {MAX_OF_ROW + 1}"):
        rmqalloc.Fleet.from_arrow(pa.Table.from_pylist([rows[2]]))
    counted = arrow_owners.allocate_arrays(
        "AVG", pa.array([MAX_OF_ROW, MAX_OF_ROW + 1]), pa.array([2, 2])
    )
    owners, errors = counted.field("owners"), counted.field("error").to_pylist()
    assert len(owners[0]) == MAX_OF_ROW and not owners[1].is_valid and errors[0] is None
    assert f"must be from 0 to {MAX_OF_ROW}, got {MAX_OF_ROW + 1}" in errors[1]
    brokers = pa.array([row(MAX_OF_ROW, 1)["brokers"]])
    listed = arrow_owners.allocate_arrays("AVG", brokers, pa.array([["c"]]))
    assert f"at most {MAX_OF_ROW} can be planned" in listed.field("error")[0].as_py()


def test_a_group_of_a_snapshot_is_planned_and_explained_up_to_the_same_number():
    most = [MAX_QUEUES] * (MAX_OF_ROW // MAX_QUEUES)
    more = cluster(*most, 1)
    with pytest.raises(
        ValueError, match=f"{MAX_OF_ROW + 1:,} queues; at most {MAX_OF_ROW:,} can be explained"
    ):
        rmqalloc.explain(more, "g", "T", "b00", 0)
    [error] = [one for one in rmqalloc.plan(more, []).units.to_pylist() if one["err_msg"]]
    assert f"{MAX_OF_ROW + 1} queues; at most {MAX_OF_ROW} can be planned" in error["err_msg"]
