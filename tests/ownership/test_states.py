"""Who reads which queue before and after a change, and the figures that follow:
`rmqalloc.ownership.states`, ``_mixed_units``, ``unit_figures`` and ``between``.
"""

from functools import cache

import pytest
from audited import TOPIC
from state_cases import CASES

from rmqalloc.evidence import known
from rmqalloc.ownership.between import clients_between, queues_between
from rmqalloc.ownership.present_states import present_states
from rmqalloc.ownership.states import numbered
from rmqalloc.plans._plan_snapshot import planned
from rmqalloc.snapshot.matching import ALL

SCENARIOS = (
    {"name": "d joins", "changes": [{"add_clients": {"ids": "d"}}]},
    {"name": "c2 leaves", "changes": [{"remove_clients": {"ids": ["c2"]}}]},
)


@cache
def read(case):
    found = planned(known(CASES[case], assume=True), SCENARIOS, ALL, ALL)
    states = numbered(found.evaluation.states, found.views.n_units, found.views.mixed)
    return found.plan, states


def readers(states, number):
    """Client ids that read each queue in a state, as text: ``"c1 c1+c2 -"``."""
    numbers = states.numbers
    names, sets = numbers.clients.to_list(), numbers.sets
    members = map(sets.members, states.states[number].owners.tolist())
    return " ".join("+".join(names[client] for client in clients) or "-" for clients in members)


JOINS = {
    # readers before, and after client d joins; unowned, double-owned, moved, least moves, clients affected
    "nobody": ("- - - -", "d d d d", (0, 0, 4, 4, 1)),
    "two clients": ("c1 c1 c2 c2", "c1 c1 c2 d", (0, 0, 1, 1, 2)),
    "more clients than queues": ("c1 c2 c3 c4", "c1 c2 c3 c4", (0, 0, 0, 0, 0)),
    # The list is c1, c1, d: queue 2 is that of the second place.
    "duplicate id": ("c1 c1 - -", "c1 c1 - d", (1, 2, 1, 2, 1)),
    "different strategies": ("c1 c1+c2 - c2", "c1 c1+c2 - d", (1, 1, 1, 2, 2)),
    "stale route": ("c1 c1+c2 - -", "c1 c1+c2 - d", (1, 1, 1, 3, 1)),
    "one does not subscribe": ("c1 c1 - -", "c1 c1 - d", (1, 0, 1, 2, 1)),
    "nobody subscribes": ("- - - -", "- - - d", (3, 0, 1, 4, 1)),
    # By broker a's list c1 has the first two queues, by b's c2 has them: neither by both.
    "split client lists": ("c1+c2 c1+c2 c2 c2", "c1+c2 c1+c2 c2+d d", (0, 0, 2, 2, 2)),
    "broadcast": ("c1+c2 c1+c2 c1+c2 c1+c2", "c1+c2+d c1+c2+d c1+c2+d c1+c2+d", (0, 0, 4, None, 1)),
    "broadcast, stale route": (
        "c1+c2 c1+c2 c1 c1",
        "c1+c2+d c1+c2+d c1+d c1+d",
        (0, 0, 4, None, 1),
    ),
    "POP, share 1": ("c1+c3 c1+c3 c1+c2 c2+c3", "c1+d c1+c2 c2+c3 c3+d", (0, 0, 4, None, 4)),
    "POP, more clients than queues": ("c1+c5 c2 c3 c4", "c1+c5 c2+d c3 c4", (0, 0, 1, None, 1)),
    "reported as computed": ("c1 c1 c2 c2", "c1 c1 c2 d", (0, 0, 1, 1, 2)),
    # What clients report is before, what they compute is after.
    "reported otherwise": ("c1 c1 c1 c1", "c1 c1 c2 d", (0, 0, 2, 2, 3)),
    "reported twice": ("c1 c1+c2 c2 c2", "c1 c1 c2 d", (0, 0, 2, 1, 2)),
    "reported by nobody": ("c1 c1 c2 -", "c1 c1 c2 d", (0, 0, 1, 1, 1)),
    # One process of c1 reports 0, 1 and 2 for both; the other takes 0 and 1 as well.
    "one of two with one id is silent": ("c1 c1 c1 -", "c1 c1 - d", (1, 2, 2, 2, 2)),
    # Where some clients are silent, a plan starts from what is computed.
    "silent client": ("c1 c1 c2 c2", "c1 c1 c2 d", (0, 0, 1, 1, 2)),
}
OPEN = {"split client lists", "silent client"}
"""Cases in which it is not known who owns some queue."""
FIGURES = ("unowned", "double_owned", "moved", "least_moves", "clients_affected")


@pytest.mark.parametrize("case", JOINS)
def test_who_reads_before_and_after_a_client_joins(case):
    before, after, figures = JOINS[case]
    plan, states = read(case)
    assert (readers(states, 0), readers(states, 1)) == (before, after)
    row = plan.units.to_pylist()[1]
    assert tuple(row[name] for name in FIGURES) == figures


@pytest.mark.parametrize("case", sorted(set(JOINS) - OPEN))
def test_a_plan_starts_from_the_owners_that_other_verbs_show(case):
    made = known(CASES[case], assume=True)
    [group] = made.snapshot.groups
    states = made.once(present_states).of(group)
    shown = [states.ids(state.slots) for state in states.of_unit(TOPIC).values()]
    _, found = read(case)
    assert " ".join("+".join(client_ids) or "-" for client_ids in shown) == readers(found, 0)


NOW = {
    # queues that are unowned and double-owned before any change
    "two clients": (0, 0),
    "duplicate id": (2, 2),
    "different strategies": (1, 1),
    "stale route": (2, 1),
    "one does not subscribe": (2, 0),
    "reported otherwise": (0, 0),
    "reported twice": (0, 1),
    "one of two with one id is silent": (1, 2),
    "broadcast": (0, 0),
}


@pytest.mark.parametrize("case", NOW)
def test_queues_of_nobody_and_of_two_before_a_change(case):
    plan, _ = read(case)
    row = plan.units.to_pylist()[0]
    assert (row["unowned"], row["double_owned"]) == NOW[case]


LEAVES = {
    # readers after client c2 leaves
    "two clients": "c1 c1 c1 c1",
    "different strategies": "c1 c1 c1 c1",
    "stale route": "c1 c1 c1 c1",
    "broadcast, stale route": "c1 c1 c1 c1",
    "split client lists": "c1 c1 c1 c1",  # by broker b's list, which is empty then, c1 has nothing
    "POP, share 1": "c1+c3 c1+c3 c1+c3 c1+c3",  # two clients of share 1 read everything
    "reported otherwise": "c1 c1 c1 c1",
}


@pytest.mark.parametrize("case", LEAVES)
def test_who_reads_after_a_client_leaves(case):
    _, states = read(case)
    assert readers(states, 2) == LEAVES[case]


LOADS = {
    # after d joins: clients, idle ones, least, mean and greatest load, skew
    "two clients": (3, 0, 1, 4 / 3, 2, 1.5),
    # The first of an id has what the id reads.
    "duplicate id": (3, 1, 0, 4 / 3, 2, 1.5),
    "one does not subscribe": (3, 1, 0, 4 / 3, 2, 1.5),
    "split client lists": (3, 0, 2, 4 / 3, 3, 2.25),
    # A shared queue counts once for each reader: 4, 2 and 4 queues.
    "broadcast, stale route": (3, 0, 2, 10 / 3, 4, 1.2),
    "POP, share 1": (4, 0, 2, 2.0, 2, 1.0),
}


@pytest.mark.parametrize("case", LOADS)
def test_loads_after_a_client_joins(case):
    plan, _ = read(case)
    row = plan.units.to_pylist()[1]
    names = ("n_clients", "idle", "min_load", "mean_load", "max_load", "skew")
    assert [row[name] for name in names] == pytest.approx(LOADS[case])


STRATEGIES = {
    "two clients": "AVG",
    "different strategies": "AVG+AVG_BY_CIRCLE",
    "stale route": "AVG",
    "broadcast": "BROADCASTING",
    "behind a proxy": "PROXY",
    "POP, share 1": "POP",
    "nobody subscribes": "AVG",
}


@pytest.mark.parametrize("case", STRATEGIES)
def test_a_unit_names_the_strategies_of_its_clients(case):
    plan, _ = read(case)
    assert plan.units.to_pylist()[0]["strategy"] == STRATEGIES[case]


CLIENTS = {
    # client, queues before and after, gained and lost, by d's joining
    "two clients": ["c1 2 2 0 0", "c2 2 1 0 1", "d 0 1 1 0"],
    "duplicate id": ["c1 2 2 0 0", "d 0 1 1 0"],  # an id is one client
    "different strategies": ["c1 2 2 0 0", "c2 2 1 0 1", "d 0 1 1 0"],
    "reported otherwise": ["c1 4 2 0 2", "c2 0 1 1 0", "d 0 1 1 0"],
    "broadcast": ["c1 4 4 0 0", "c2 4 4 0 0", "d 0 4 4 0"],
    "POP, share 1": ["c1 3 2 0 1", "c2 2 2 1 1", "c3 3 2 1 2", "d 0 2 2 0"],
}


@pytest.mark.parametrize("case", CLIENTS)
def test_what_each_client_gains_and_loses(case):
    _, (states, numbers, _) = read(case)
    between = queues_between(states[0], states[1], numbers)
    flows = between.flows(numbers.rows_of(between.keys), len(numbers.clients))
    found = clients_between(states[0], states[1], flows, numbers)
    names = numbers.clients.to_list()
    columns = (found.clients, found.before, found.after, found.gained, found.lost)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    assert [" ".join(map(str, (names[client], *counts))) for client, *counts in rows] == CLIENTS[
        case
    ]
    assert found.is_.all()
    assert found.was.tolist() == [not row.startswith("d") for row in CLIENTS[case]]
