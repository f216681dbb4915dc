"""Owners just outside of a group, the first unit among some, as many files as threads."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rmqalloc import Fleet, strategy
from rmqalloc.evaluation import batch_sizes
from rmqalloc.evaluation._equivalence import EquivalenceClasses
from rmqalloc.evaluation.assigner import Rules
from rmqalloc.evaluation.balance import checked_owners
from rmqalloc.evaluation.batch_planning import PlanSpec, plan_batch
from rmqalloc.evaluation.batch_sizes import MAX_CLIENTS_PER_BATCH, Sizes
from rmqalloc.evaluation.row_check import MAX_CLIENT_ID_BYTES, ErrCode
from rmqalloc.evaluation.row_strategies import kinds_of
from rmqalloc.evaluation.unit_files import UnitFile, cut
from rmqalloc.model import MAX_OF_ROW, MAX_OWNERS
from rmqalloc.scenarios import ordered, scenarios_of


def fleet_of(*sizes):
    """Units of so many queues and clients."""
    return Fleet.from_groups(
        [
            (f"g{i}", "T", [("b", n) for n in range(queues)], [f"c{n}" for n in range(clients)])
            for i, (queues, clients) in enumerate(sizes)
        ]
    )


def test_an_owner_is_a_position_below_the_number_of_clients():
    fleet = fleet_of((2, 2), (0, 3), (1, 1), (2, 0))
    assert checked_owners(fleet, np.array([0, 1, 0, -1, -1], np.int32)).tolist() == [
        0,
        1,
        0,
        -1,
        -1,
    ]
    for place, unit in ((0, 0), (1, 0), (2, 2), (4, 3)):
        owners = np.array([0, 1, 0, -1, -1], np.int32)
        owners[place] = fleet.n_clients[unit]
        with pytest.raises(
            ValueError, match=f"names client {fleet.n_clients[unit]} in unit {unit}, which"
        ):
            checked_owners(fleet, owners)


@pytest.mark.parametrize("units", [[0], [0, 1], [1, 2], [2, 0], [1], [0, 1, 2]])
def test_one_unit_stands_for_each_kind_among_some(units):
    fleet = fleet_of((4, 2), (5, 2), (4, 2))
    alike = EquivalenceClasses(ordered(fleet), Rules.same(strategy("AVG"), 3))
    chosen, kind = alike.among(np.array(units))
    stands_for = chosen[kind].tolist()
    assert set(chosen.tolist()) <= set(units) and len(chosen) == len({unit % 2 for unit in units})
    assert [unit % 2 for unit in stands_for] == [unit % 2 for unit in units]


@pytest.mark.parametrize(("wanted", "pieces"), [(1, 1), (2, 2), (3, 3), (4, 4)])
def test_files_are_read_whole_if_there_is_one_for_each_piece(tmp_path, wanted, pieces):
    for name in "ab":
        pq.write_table(pa.table({"x": [1, 2]}), tmp_path / f"{name}.parquet", row_group_size=1)
    files = [UnitFile(str(path), path.stat().st_size, 0) for path in sorted(tmp_path.iterdir())]
    found = cut(files, wanted)
    assert len(found) == pieces
    assert {piece.stop for some in found for piece in some} == ({-1} if wanted <= 2 else {1, 2})


def sized(queues=(0,), clients=(0,), all_queues=(0,), names=(0,)):
    n_rows = max(map(len, (queues, clients, all_queues, names)))
    bounds = [np.resize(bound, n_rows) for bound in (queues, clients, all_queues, names)]
    return Sizes(*(bound.astype(np.int64) for bound in bounds))


def test_rows_at_their_bounds_are_not_too_large():
    three = np.zeros(3, np.int64)
    edge = np.array([-1, 0, 1], np.int64)
    assert [*Sizes(8 + edge, three, three, three).too_large(8)] == [2]
    assert [*Sizes(three, MAX_OF_ROW + edge, three, three).too_large(8)] == [2]
    assert [*Sizes(three, three, MAX_OWNERS + edge, three).too_large(8, with_owners=True)] == [2]
    assert Sizes(three, three, MAX_OWNERS + edge, three).too_large(8) == {}


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


def test_lists_with_null_elements_are_told_apart():
    rooms = [["hz", None], ["sh", None], None, [None], ["null"], ["hz"], ["hz", None], [None, "hz"]]
    numbers, firsts = kinds_of([pa.array(rooms, pa.list_(pa.string()))])
    assert numbers[0] == numbers[6]
    assert np.unique(np.delete(numbers, 6)).size == firsts.size == 7
