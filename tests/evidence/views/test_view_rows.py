"""Units whose clients differ, as rows of the evaluator: `rmqalloc.evidence.views.view_rows` and
``without_owners``.
"""

import pytest
from audited import TOPIC
from state_cases import CASES, by_queue, cluster

from rmqalloc.evidence import Known
from rmqalloc.evidence.views.view_rows import differ, plain_units, view_units
from rmqalloc.evidence.views.without_owners import Sharing, sharing_of
from rmqalloc.snapshot.matching import ALL
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

PLAIN = (
    "nobody",
    "two clients",
    "more clients than queues",
    "reported as computed",
    "all report another strategy",
    "silent client",
)

MIXED = {
    # by row, the main one first: slots that act on it and strategy; client lists; slots that subscribe
    "duplicate id": ("01 AVG", 1, (0, 1)),
    "duplicate id of three": ("012 AVG", 1, (0, 1, 2)),
    "different strategies": ("0 AVG, 1 AVG_BY_CIRCLE", 1, (0, 1)),
    "stale route": ("0 AVG, 1 AVG", 1, (0, 1)),
    "one does not subscribe": ("0 AVG", 1, (0,)),
    "nobody subscribes": ("- AVG", 1, ()),
    "split client lists": ("01 AVG, 01 AVG", 2, (0, 1)),
    "broadcast": ("01 AVG", 1, (0, 1)),
    "broadcast, stale route": ("0 AVG, 1 AVG", 1, (0, 1)),
    "behind a proxy": ("01 AVG", 1, (0, 1)),
    "POP, share 1": ("012 AVG", 1, (0, 1, 2)),
    "reported otherwise": ("01 AVG", 1, (0, 1)),
    "reported twice": ("01 AVG", 1, (0, 1)),
    "reported by nobody": ("01 AVG", 1, (0, 1)),
    "one of two with one id is silent": ("01 AVG", 1, (0, 1)),
}

SHARED = {
    # how clients share the queues
    "broadcast": Sharing("BROADCASTING"),
    "broadcast, stale route": Sharing("BROADCASTING"),
    "behind a proxy": Sharing("PROXY"),
    "POP, share 1": Sharing("POP", 1),
    "POP, everybody": Sharing("POP", -1),
    "POP, more clients than queues": Sharing("POP", 1),
}

REPORTED = {
    # slots that own each queue before any change, where they are not those that are computed
    "reported otherwise": "0 0 0 0",
    "reported twice": "0 01 1 1",
    "reported by nobody": "0 0 1 -",
    "one of two with one id is silent": "0 0 0 -",
}


def rows_of(made, topics=ALL, **options):
    return view_units(Known.of(made).snapshot, ALL, topics, **options)


def text_of(units):
    strategies = units.batch.column("strategy").to_pylist()
    acting = units.mixed.acting
    return ", ".join(f"{by_queue([acting[row]])} {strategies[row]}" for row in sorted(acting))


@pytest.mark.parametrize("case", PLAIN)
def test_clients_that_agree_are_one_row_and_no_more(case):
    units = rows_of(CASES[case])
    assert (units.batch.num_rows, units.n_units, units.mixed.unit_of) == (1, 1, {})


@pytest.mark.parametrize("case", MIXED)
def test_every_view_is_a_row_that_says_who_acts_on_it(case):
    text, n_lists, subscribed = MIXED[case]
    units = rows_of(CASES[case])
    mixed = units.mixed
    assert (text_of(units), units.n_units) == (text, 1)
    assert (mixed.n_lists, mixed.subscribed) == ({0: n_lists}, {0: subscribed})
    assert set(mixed.unit_of.values()) == {0}
    assert mixed.shared.get(0) == SHARED.get(case)
    assert set(mixed.shared) in (set(), set(mixed.unit_of))
    found = {row: by_queue(owners.values()) for row, owners in mixed.reported.items()}
    assert found == ({0: REPORTED[case]} if case in REPORTED else {})


def test_a_stale_route_is_the_route_of_its_row():
    units = rows_of(CASES["stale route"])
    counts = [
        [(broker["broker_name"], broker["read_queue_nums"]) for broker in brokers]
        for brokers in units.batch.column("brokers").to_pylist()
    ]
    assert counts == [[("a", 4)], [("a", 2)]]
    assert units.mixed.joining == {0}  # who joins sees the route of the name server


def test_clients_that_join_may_be_given_any_list_of_a_broker():
    mixed = rows_of(CASES["split client lists"]).mixed
    assert (mixed.joining, mixed.partial) == ({0, 1}, {1})
    assert mixed.client_ids == {0: ["c1", "c2"]}


@pytest.mark.parametrize("joining", [{"c1": 1}, {"c9": 2}], ids=["an id that is there", "twice"])
def test_an_id_that_will_be_there_twice_makes_a_plain_unit_mixed(joining):
    assert rows_of(CASES["two clients"], joining={"c9": 1}).mixed.unit_of == {}
    assert rows_of(CASES["two clients"], joining=joining).mixed.unit_of == {0: 0}


def test_brokers_do_not_share_a_retry_topic_by_pop():
    units = rows_of(CASES["POP, share 1"], with_retry=True)
    names = units.batch.column("topic").to_pylist()
    shared = {names[row]: sharing for row, sharing in units.mixed.shared.items()}
    assert shared == {TOPIC: Sharing("POP", 1)}
    assert len(names) == 2


@pytest.mark.parametrize("case", CASES)
def test_how_clients_share_the_queues(case):
    [group] = CASES[case].groups
    assert sharing_of(group) == SHARED.get(case)


def test_ordered_clients_divide_the_queues_themselves():
    made = cluster("c1", server_assignment="POP", is_ordered=True)
    assert sharing_of(made.groups[0]) is None


DIFFER = {
    "nobody": False,
    "two clients": False,
    "reported otherwise": False,  # by reports, not by views
    "duplicate id": True,
    "different strategies": True,
    "stale route": True,
    "one does not subscribe": True,
    "split client lists": True,
}


@pytest.mark.parametrize("case", DIFFER)
def test_whether_clients_of_a_group_may_have_other_views(case):
    assert differ(CASES[case].groups[0]) == DIFFER[case]


def test_plain_groups_have_the_same_rows_without_their_views():
    brokers = TopicBroker("a", 4), TopicBroker("b", 2)
    topics = Topic("T", brokers), Topic("U", brokers[:1]), Topic("none", (TopicBroker("a", 0),))
    clients = Client("c2", machine_room="x"), Client("c1", subscriptions=("T", "U"))
    groups = (
        Group("h", ("U", "absent", "none", "T", "U"), clients, strategy="CONSISTENT_HASH"),
        Group("g", ("T",), clients[:1], strategy="AVG", strategy_params={"dialect": "GO"}),
        Group("reads nothing", ("none",), clients[:1]),
    )
    plain, viewed = plain_units(groups, topics), view_units(Snapshot(topics, groups), ALL, ALL)
    assert plain.batch.equals(viewed.batch)
    assert plain.batch["topic"].to_pylist() == ["U", "T", "T"]
    assert (plain.n_units, plain.mixed, plain.dialects) == (3, viewed.mixed, viewed.dialects)
