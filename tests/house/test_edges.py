"""Limits at their edge: one below, exactly there, one above; and ties."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from rmqalloc.advice._config_lists import balanced_owners
from rmqalloc.documents.fields import FieldError, Text, Whole
from rmqalloc.evaluation import batch_sizes
from rmqalloc.evaluation.batch_planning import PlanSpec, plan_batch
from rmqalloc.evaluation.batch_sizes import MAX_CLIENTS_PER_BATCH, Sizes
from rmqalloc.evaluation.row_check import MAX_CLIENT_ID_BYTES, ErrCode
from rmqalloc.evaluation.row_strategies import kinds_of
from rmqalloc.evidence.fit import Fit
from rmqalloc.evidence.method import Method
from rmqalloc.limits import MAX_OF_ROW, MAX_OWNERS, MAX_TEXT_BYTES
from rmqalloc.model import MessageQueue
from rmqalloc.rollouts._subscribe import change_subscription
from rmqalloc.rollouts.rollout_gates import violated_gates
from rmqalloc.scenarios import scenarios_of
from rmqalloc.snapshot.files._from_rows import from_rows
from rmqalloc.snapshot.plain_data import SnapshotError
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.views.reported import ReportedOwners


def sized(queues=(0,), clients=(0,), all_queues=(0,)):
    return Sizes(*(np.array(one, np.int64) for one in (queues, clients, all_queues)))


def test_rows_at_their_bounds_are_not_too_large():
    three = np.zeros(3, np.int64)
    edge = np.array([-1, 0, 1], np.int64)
    assert [*Sizes(8 + edge, three, three).too_large(8)] == [2]
    assert [*Sizes(three, MAX_OF_ROW + edge, three).too_large(8)] == [2]
    assert [*Sizes(three, three, MAX_OWNERS + edge).too_large(8, with_owners=True)] == [2]
    assert Sizes(three, three, MAX_OWNERS + edge).too_large(8) == {}


def test_as_many_owners_as_a_column_holds_may_be_put_in_one():
    sized(all_queues=[MAX_OWNERS - 1, 1]).check_owners({})
    sized(all_queues=[MAX_OWNERS, 1]).check_owners({1: "left out"})
    with pytest.raises(
        ValueError, match=f"may have {MAX_OWNERS + 1} queues in all scenarios together"
    ):
        sized(all_queues=[MAX_OWNERS, 1]).check_owners({})


@pytest.mark.parametrize(
    ("queues", "cuts"), [([4, 4, 1], [(0, 2), (2, 3)]), ([4, 5, 4], [(0, 1), (1, 2), (2, 3)])]
)
def test_a_piece_is_cut_behind_the_row_that_fills_it(queues, cuts):
    none = [0, 0, 0]
    assert [*sized(queues, none, none).pieces(8, False, 1)] == cuts


def test_a_row_at_its_bound_fills_a_piece_and_one_above_counts_nothing():
    none = [0, 0, 0]
    assert [*sized([8, 1, 0], none, none).pieces(8, False, 1)] == [(0, 1), (1, 3)]
    assert [*sized([9, 8, 0], none, none).pieces(8, False, 1)] == [(0, 3)]
    many = [MAX_CLIENTS_PER_BATCH, 1, 0]
    assert [*sized(none, many, none).pieces(8, False, 1)] == [(0, 1), (1, 3)]


def test_a_piece_has_as_many_rows_as_an_output_batch(monkeypatch):
    monkeypatch.setattr(batch_sizes, "MAX_ROWS", 4)
    four = sized([0] * 4, [0] * 4, [0] * 4)
    assert [*four.pieces(8, False, 2)] == [(0, 2), (2, 4)]
    assert [*four.pieces(8, False, 1)] == [(0, 4)]


def unit(client_ids, n_queues=4):
    brokers = [[{"broker_name": "b", "read_queue_nums": n_queues}]]
    return pa.RecordBatch.from_pydict(
        {"consumer_group": ["g"], "topic": ["T"], "brokers": brokers, "client_ids": [client_ids]}
    )


def test_a_broker_that_joins_gets_its_share_of_a_later_number_of_queues():
    changes = [
        {"add_broker": {"broker_name": "c", "read_queue_nums": 1}},
        {"set_queues": {"read_queue_nums": 10}},
    ]
    scenarios = scenarios_of([{"name": "s", "changes": changes}])
    assert Sizes.of(unit(["c"]), scenarios).queues.tolist() == [4 + 1 + 2 * 10]
    assert Sizes.of(unit(["c"]), scenarios).all_queues.tolist() == [4 + 25]


@pytest.mark.parametrize(
    ("n_bytes", "code"), [(-1, ErrCode.GOOD), (0, ErrCode.GOOD), (1, ErrCode.TOO_LARGE)]
)
@pytest.mark.parametrize("letter", ["x", "ü"])
def test_the_longest_client_id(n_bytes, code, letter):
    wide = MAX_CLIENT_ID_BYTES // len(letter.encode()) - 1
    client_id = letter * wide
    client_id += "y" * (MAX_CLIENT_ID_BYTES + n_bytes - len(client_id.encode()))
    assert plan_batch(unit([client_id]), PlanSpec(scenarios=())).column("err_code").to_pylist() == [
        code
    ]


def test_the_longest_text_of_a_scenario():
    for text in ("x" * (MAX_TEXT_BYTES - 1), "x" * MAX_TEXT_BYTES, "ü" * (MAX_TEXT_BYTES // 2)):
        assert Text().read(text) == text
    for text in ("x" * (MAX_TEXT_BYTES + 1), "ü" * (MAX_TEXT_BYTES // 2) + "x"):
        with pytest.raises(
            FieldError, match=f"at most {MAX_TEXT_BYTES} bytes long, got {MAX_TEXT_BYTES + 1}"
        ):
            Text().read(text)


def test_whole_numbers_at_both_ends():
    assert [Whole(1, 3).read(n) for n in (1, 3)] == [1, 3]
    for n in (0, 4):
        with pytest.raises(FieldError, match=f"must be a whole number from 1 to 3, got {n}"):
            Whole(1, 3).read(n)


def test_all_strategies_that_explain_most_are_the_best():
    avg, circle, ring = (
        Method("AVG"),
        Method("AVG_BY_CIRCLE"),
        Method("CONSISTENT_HASH", {"virtual_nodes": 10}),
    )
    assert Fit({avg: 3, circle: 4, ring: 4}, 4).best == [circle, ring]
    assert Fit({avg: 4, circle: 3, ring: 4}, 5).best == [avg, ring]
    assert [Fit({avg: n}, 4).explains_all for n in (3, 4)] == [False, True]
    assert Fit({}, 0).best == []


def subscribing():
    """Of 8 queues all are unread before, then 6, 4, 2 and none."""
    clients = tuple(Client(f"c{i}") for i in range(4))
    return change_subscription(
        Snapshot((Topic("T", (TopicBroker("b", 8),)),), (Group("g", (), clients, strategy="AVG"),)),
        "T",
    )


def test_a_gate_does_not_count_the_state_before():
    steps = subscribing().steps["unowned_written"].to_pylist()
    assert steps[0] == 8 > max(steps[1:])
    most = max(steps[1:])
    assert [*violated_gates(subscribing(), max_unowned=most)] == []
    (said,) = violated_gates(subscribing(), max_unowned=most - 1)
    assert f"{most} queues without a reader at the worst moment of step " in said
    assert "step 0" not in said


def test_a_gate_of_moves_is_kept_at_its_bound():
    rollout = subscribing()
    (moved,) = rollout.totals["moved_per_queue"].to_pylist()
    assert [*violated_gates(rollout, max_moved_per_queue=moved)] == []
    assert len([*violated_gates(rollout, max_moved_per_queue=np.nextafter(moved, 0))]) == 1


def test_of_clients_that_have_equally_many_the_one_with_less_elsewhere_gets_more():
    now = np.array([0, 1, 2, -1])
    assert balanced_owners(now, 3, np.array([2, 1, 2])).tolist() == [0, 1, 2, 1]
    assert balanced_owners(now, 3, np.array([2, 2, 1])).tolist() == [0, 1, 2, 2]
    assert balanced_owners(now, 3).tolist() == [0, 1, 2, 0]  # the first where that is equal too
    assert balanced_owners(np.array([0, 0, 1, -1]), 2, np.array([9, 0])).tolist() == [0, 0, 1, 1]
    assert balanced_owners(np.array([0, 0, 1]), 2, np.array([9, 0])).tolist() == [
        0,
        0,
        1,
    ]  # who has most keeps most


def test_a_row_that_names_a_broker_and_no_queue():
    row = {"consumer_group": "g", "topic": "t", "broker_name": "b", "client_id": "c"}
    with pytest.raises(
        SnapshotError, match="a row of a group names broker b and no queue_id; give both or neither"
    ):
        from_rows([row])
    assert from_rows([row | {"queue_id": 0}])[0]


class OneUnit(NamedTuple):
    """A topic as `ReportedOwners` looks at it."""

    queue: MessageQueue
    client_ids: tuple[str, ...]
    topic: str = "T"
    problem: None = None
    is_pop: bool = False

    @property
    def queues(self):
        return (self.queue,)

    @property
    def always(self):
        return {self.queue: tuple(range(len(self.client_ids)))}

    perhaps = always

    def ids(self, slots):
        return tuple(self.client_ids[slot] for slot in slots)


def told(owned):
    """The queues that are elsewhere by what holders of one shared queue say of it; None where they
    say nothing.
    """
    queue = MessageQueue("T", "b", 0)
    clients = [
        Client(name, owned=None if has is None else (queue,) * has) for name, has in owned.items()
    ]
    return ReportedOwners(clients).elsewhere([OneUnit(queue, tuple(owned))])


def test_a_client_that_says_nothing_is_not_missed():
    assert told({"a": 1, "b": None}) == {}
    assert told({"a": 1, "b": 0}) == {MessageQueue("T", "b", 0): ("a", ("a", "b"))}
    assert told({"a": 1}) == {}


def test_lists_with_null_elements_are_told_apart():
    rooms = [["hz", None], ["sh", None], None, [None], ["null"], ["hz"], ["hz", None], [None, "hz"]]
    numbers, firsts = kinds_of([pa.array(rooms, pa.list_(pa.string()))])
    assert numbers[0] == numbers[6]
    assert np.unique(np.delete(numbers, 6)).size == firsts.size == 7
