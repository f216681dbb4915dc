"""Owners just outside of a group, the first unit among some, as many files as threads."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rmqalloc import Fleet, strategy
from rmqalloc.evaluation._equivalence import EquivalenceClasses
from rmqalloc.evaluation.assigner import Rules
from rmqalloc.evaluation.balance import checked_owners
from rmqalloc.evaluation.unit_files import UnitFile, cut
from rmqalloc.scenarios import ordered


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
