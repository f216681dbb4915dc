"""Changes at their bounds: a star that stands for nothing, groups without clients, names that are
equal or just greater.
"""

import pyarrow as pa
import pytest

from rmqalloc import Fleet, strategy
from rmqalloc.fleet.columns import Strings
from rmqalloc.scenarios import (
    AddClients,
    RemoveBroker,
    RemoveClients,
    ScaleClients,
    Scenario,
    SetQueues,
    apply,
    ordered,
)
from rmqalloc.scenarios.lazy_strings import as_distinct
from rmqalloc.scenarios.patterns import matches


def fleet_of(*lists):
    brokers = [{"broker_name": "b", "read_queue_nums": 4}]
    rows = [
        {"consumer_group": f"g{i}", "topic": "T", "brokers": brokers, "client_ids": ids}
        for i, ids in enumerate(lists)
    ]
    return ordered(Fleet.from_arrow(pa.Table.from_pylist(rows)))


def lists_after(fleet, *changes):
    after = apply(Scenario("x", changes), fleet, strategy("AVG")).fleet
    return [after.client_ids_of(unit) for unit in range(after.n_units)]


@pytest.mark.parametrize(
    ("pattern", "name", "matched"),
    [
        ("ab*", "ab", True),
        ("*ab", "ab", True),
        ("a*b", "ab", True),
        ("*", "", True),
        ("é*", "é", True),
        ("ab*", "a", False),
        ("a*a", "a", False),  # what begins the name does not end it, too
        ("ab*ab", "abab", True),
        ("ab*ab", "aba", False),
        ("", "", True),
        ("", "a", False),
    ],
)
def test_a_star_stands_for_nothing_too(pattern, name, matched):
    assert matches((pattern,), Strings.from_list([name])).tolist() == [matched]


@pytest.mark.parametrize("lists", [([], ["b"]), (["b"], []), ([], ["b"], [], ["a"], [])])
def test_groups_without_clients_have_no_greatest_name(lists):
    assert as_distinct(fleet_of(*lists).client_lists).greatest == "b"
    assert as_distinct(fleet_of([], []).client_lists).greatest == ""


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("b", ["b", "b"]), ("a", ["a", "b"]), ("b\0", ["b", "b\0"]), ("c", ["b", "c"])],
)
def test_a_name_that_is_equal_to_the_greatest_or_just_behind_it_is_put_in_its_place(name, wanted):
    assert lists_after(fleet_of(["b"], []), AddClients(ids=[name])) == [wanted, [name]]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_clients_are_counted_down_to_none(count):
    assert lists_after(fleet_of(["a", "b"], ["a"]), RemoveClients(count=count)) == [
        ["a", "b"][: max(2 - count, 0)],
        [],
    ]


@pytest.mark.parametrize("client_id", ["a", "b", "c"])
def test_a_client_that_goes_and_comes_back_is_the_same(client_id):
    changes = RemoveClients(ids=client_id), AddClients(ids=client_id)
    after = apply(Scenario("x", changes), fleet_of(["a", "b", "c"]), strategy("AVG"))
    assert after.renamed.tolist() == [0, 1, 2]


@pytest.mark.parametrize("to", [0, 1, 2, 3])
def test_a_group_is_scaled_to_less_to_the_same_and_to_more(to):
    [ids] = lists_after(fleet_of(["a", "b"]), ScaleClients(to))
    assert len(ids) == to and ids[:2] == ["a", "b"][:to]


@pytest.mark.parametrize("change", [RemoveBroker("b"), SetQueues(0, brokers="b")])
def test_a_route_that_lost_its_last_queue_is_gone(change):
    row = {"consumer_group": "g", "topic": "T", "client_ids": ["x"]}
    brokers = [{"broker_name": name, "read_queue_nums": n} for name, n in (("a", 1), ("b", 2))]
    fleet = ordered(Fleet.from_arrow(pa.Table.from_pylist([{**row, "brokers": brokers}])))
    lists = apply(Scenario("x", [change]), fleet, strategy("AVG")).fleet.queue_lists
    assert (lists.offsets[:2].tolist(), lists.route_offsets.tolist()) == ([0, 1], [0, 1])
