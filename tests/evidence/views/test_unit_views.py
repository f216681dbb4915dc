"""Which clients take which queue: `rmqalloc.evidence.views.unit_views` and ``group_views``."""

import pytest
from audited import TOPIC, group, snapshot, topic
from state_cases import CASES, Q0, Q1, by_queue, cluster

from rmqalloc.evaluation.groups_with_views import laid_groups
from rmqalloc.evidence import Known
from rmqalloc.model import RETRY_PREFIX
from rmqalloc.snapshot.snapshot import Client

UNITS = {
    # slots that take each queue by all views, and by any; queues that are double-owned; views
    "two clients": ("0 0 1 1", "0 0 1 1", "", 1),
    "more clients than queues": ("0 1 2 3", "0 1 2 3", "", 1),
    "duplicate id": ("01 01 - -", "01 01 - -", "01", 1),
    "duplicate id of three": ("0 0 12 -", "0 0 12 -", "2", 1),
    "different strategies": ("0 01 - 1", "0 01 - 1", "1", 2),
    "all report another strategy": ("0 1 0 1", "0 1 0 1", "", 1),
    "stale route": ("0 01 - -", "0 01 - -", "1", 2),
    "route with a broker that is gone": ("0 0 01 01", "0 0 01 01", "23", 2),
    "one does not subscribe": ("0 0 - -", "0 0 - -", "", 1),
    "nobody subscribes": ("- - - -", "- - - -", "", 0),
    "subscriptions not known": ("- - - -", "0 0 1 1", "", 1),
    "split client lists": ("- - 1 1", "01 01 1 1", "", 2),
    "POP, share 1": ("02 02 01 12", "02 02 01 12", "", 1),
    "POP, everybody": ("01 01 01 01", "01 01 01 01", "", 1),
    "POP, more clients than queues": ("04 1 2 3", "04 1 2 3", "", 1),
    "reported otherwise": ("0 0 1 1", "0 0 1 1", "", 1),  # reports change no view
    "silent client": ("0 0 1 1", "0 0 1 1", "", 1),
}


def units_of(made):
    known = Known.of(made)
    return known.once(laid_groups).units_of(known.snapshot.groups[0])


@pytest.mark.parametrize("case", UNITS)
def test_what_clients_take(case):
    always, perhaps, double_owned, n_views = UNITS[case]
    [unit] = units_of(CASES[case])
    assert unit.problem is None
    assert by_queue(unit.always[queue] for queue in unit.queues) == always
    assert by_queue(unit.perhaps[queue] for queue in unit.queues) == perhaps
    assert "".join(str(queue.queue_id) for queue in unit.double_owned) == double_owned
    assert len(unit.views) == n_views


@pytest.mark.parametrize(
    "case", ["nobody", "broadcast", "broadcast, stale route", "behind a proxy"]
)
def test_clients_that_divide_nothing_have_no_units(case):
    assert units_of(CASES[case]) == []


def test_lists_of_config_are_taken_as_they_are_and_without_them_nothing_is_known():
    lists = {"c1": [Q0, Q1], "c2": [Q1]}
    params = {"message_queues": lists}
    [unit] = units_of(cluster("c1", "c2", strategy="CONFIG", strategy_params=params))
    assert by_queue(unit.always[queue] for queue in unit.queues) == "0 01 - -"
    [unit] = units_of(cluster("c1", strategy="CONFIG"))
    assert unit.problem is not None
    assert unit.double_owned == ()


GROUPS = {
    # group; ids by slot, slots that subscribe, client lists
    "two clients": (group("c2", "c1"), ["c2", "c1"], [0, 1], [("c1", "c2")]),
    "one subscribes to another topic": (
        group("c1", Client("c2", subscriptions=("pay",))),
        ["c1", "c2"],
        [0],
        [("c1", "c2")],
    ),
    "one broker lists a further client": (
        group("c1", broker_client_ids={"a": ("c1",), "b": ("c1", "c9")}),
        ["c1", "c9"],
        [0, 1],
        [("c1",), ("c1", "c9")],
    ),
    "one broker lists a client twice": (
        group("c1", broker_client_ids={"a": ("c1", "c1"), "b": ("c1",)}),
        ["c1", "c1"],
        [0, 1],
        [("c1", "c1"), ("c1",)],
    ),
    "a broker without the topic lists other clients": (
        group("c1", "c2", broker_client_ids={"a": ("c1", "c2"), "z": ("c2",)}),
        ["c1", "c2"],
        [0, 1],
        [("c1", "c2")],
    ),
}


@pytest.mark.parametrize("case", GROUPS)
def test_clients_of_a_group(case):
    of_group, client_ids, subscribers, lists = GROUPS[case]
    known = Known.of(snapshot(of_group, topics=(topic(a=2, b=2),)))
    views = known.once(laid_groups).views_of(known.snapshot.groups[0])
    assert views.client_ids == client_ids
    assert list(views.subscribers(TOPIC)) == subscribers
    assert list(views.subscribers(RETRY_PREFIX + "g")) == list(range(len(client_ids)))
    assert views.client_lists(TOPIC) == lists


def test_a_route_that_shows_the_same_queues_is_no_view_of_its_own():
    seen = {TOPIC: {"a": 4}}
    [unit] = units_of(cluster("c1", Client("c2", sees_read_queue_nums=seen)))
    assert len(unit.views) == 1
