"""Client ids in Java's order: a million groups of 16 random ids each, against the sorts people
would reach for.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from shapes import Shape, table

from rmqalloc import Fleet, sort_client_ids

SHAPE = Shape("1M x 1q x 16c", 1_000_000, 1, 16, 1)


def columns_of(shape: Shape, n_groups: int) -> tuple[pa.Table, pa.Array]:
    """Give the first groups, and their client ids end to end."""
    units = table(shape).slice(0, n_groups)
    return units, units["client_ids"].combine_chunks().flatten()


def by_engine(shape: Shape) -> tuple[Callable[[], object], int]:
    """Build the fleet and sort all of it, as for every batch of a job."""
    units, _ = columns_of(shape, shape.n_groups)
    return lambda: Fleet.from_arrow(units).sorted(), shape.n_groups


def by_building(shape: Shape) -> tuple[Callable[[], object], int]:
    """Build the fleet only, to be taken off the row above."""
    units, _ = columns_of(shape, shape.n_groups)
    return lambda: Fleet.from_arrow(units), shape.n_groups


def by_order(shape: Shape) -> tuple[Callable[[], object], int]:
    """Find the order of every list and move nothing: what a sort of Python objects does too, which
    moves pointers.
    """
    lists = Fleet.from_arrow(columns_of(shape, shape.n_groups)[0]).client_lists
    return lambda: lists.client_ids.order(lists.offsets), shape.n_groups


def by_moving(shape: Shape) -> tuple[Callable[[], object], int]:
    """Find the order of every list and move the text into it, in one pass."""
    lists = Fleet.from_arrow(columns_of(shape, shape.n_groups)[0]).client_lists
    return lambda: lists.client_ids.sorted(lists.offsets), shape.n_groups


def by_looking(shape: Shape) -> tuple[Callable[[], object], int]:
    """Lists that are in order already: they are looked at and not copied."""
    lists = Fleet.from_arrow(columns_of(shape, shape.n_groups)[0]).sorted().client_lists
    return lambda: lists.client_ids.sorted(lists.offsets), shape.n_groups


def by_calls(shape: Shape) -> tuple[Callable[[], object], int]:
    """`sort_client_ids`, list after list."""
    lists = columns_of(shape, 2_000)[0]["client_ids"].to_pylist()
    return lambda: [sort_client_ids(ids) for ids in lists], len(lists)


def by_list_sort(shape: Shape) -> tuple[Callable[[], object], int]:
    """Python's own sort, list after list; right as long as no id has characters beyond the basic
    plane.
    """
    lists = columns_of(shape, 2_000)[0]["client_ids"].to_pylist()
    return lambda: [sorted(ids) for ids in lists], len(lists)


def by_numpy(shape: Shape) -> tuple[Callable[[], object], int]:
    """Sort a matrix of fixed-width bytes by rows; making it is not counted, and it needs lists of
    one length.
    """
    n_groups = min(shape.n_groups, 100_000)
    ids = np.array(columns_of(shape, n_groups)[1].to_pylist(), dtype="S").reshape(
        n_groups, shape.n_clients
    )
    return lambda: np.sort(ids, axis=1), n_groups


def by_pyarrow(shape: Shape) -> tuple[Callable[[], object], int]:
    """Sort all ids by (group, id) at once and take them."""
    n_groups = min(shape.n_groups, 20_000)
    ids = columns_of(shape, n_groups)[1]
    pairs = pa.table({"unit": np.repeat(np.arange(n_groups), shape.n_clients), "client_id": ids})
    keys = [("unit", "ascending"), ("client_id", "ascending")]
    return lambda: ids.take(pc.sort_indices(pairs, sort_keys=keys)), n_groups


CONTENDERS = {
    "Strings.order": by_order,
    "Strings.sorted": by_moving,
    "Strings.sorted, in order already": by_looking,
    "Fleet.from_arrow and sorted": by_engine,
    "Fleet.from_arrow": by_building,
    "sort_client_ids, list after list": by_calls,
    "sorted(), list after list": by_list_sort,
    "numpy, fixed width": by_numpy,
    "pyarrow": by_pyarrow,
}


@pytest.mark.parametrize("contender", CONTENDERS)
def test_sort(contender: str, clock: Any, quick: bool) -> None:
    """Measure one way of sorting."""
    shape = SHAPE.small() if quick else SHAPE
    call, n_groups = CONTENDERS[contender](shape)
    clock(
        call,
        table="Sort of client ids",
        contender=contender,
        case=shape.name,
        unit="group",
        units=n_groups,
        base=contender == "Strings.order",
    )


def test_sorts_agree() -> None:
    """All ways give one order, and `sorted` of a fleet is Java's."""
    shape = SHAPE.small()
    units = columns_of(shape, shape.n_groups)[0]
    in_order = Fleet.from_arrow(units).sorted()
    assert in_order.client_lists.sorted() is in_order.client_lists
    expected = [sorted(ids) for ids in units["client_ids"].to_pylist()]
    assert [in_order.client_ids_of(u) for u in range(shape.n_groups)] == expected
    assert [sort_client_ids(ids) for ids in units["client_ids"].to_pylist()] == expected
    assert by_numpy(shape)[0]().astype(str).tolist() == expected  # type: ignore[attr-defined]
    assert by_pyarrow(shape)[0]().to_pylist() == [
        client_id for ids in expected for client_id in ids
    ]  # type: ignore[attr-defined]
