"""The worst moment of a step: against every set of clients that may have heard, and never below it
where it is a bound.
"""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc.cli import main
from rmqalloc.ownership.transitions import _worst_moment as informed
from rmqalloc.ownership.transitions._worst_moment import Graphs, worst_moments
from rmqalloc.rollouts._maintain import maintain_broker
from rmqalloc.rollouts._subscribe import change_subscription
from rmqalloc.rollouts.restart import restart
from rmqalloc.rollouts.rollout_gates import violated_gates
from rmqalloc.rollouts.switch import change_strategy
from rmqalloc.snapshot.plain_data import to_document
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.strategies import strategy

counts = st.integers(0, 4)


@st.composite
def graphs(draw, most=8):
    """A graph as plain data: clients, const, told, untold, edges."""
    n = draw(st.integers(0, most))
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=20)) if pairs else []
    numbers = draw(st.lists(counts, min_size=2 * n + 1, max_size=2 * n + 1))
    return (
        n,
        numbers[0],
        numbers[1 : n + 1],
        numbers[n + 1 :],
        [(a, b, draw(st.integers(1, 4))) for a, b in edges],
    )


def laid(some):
    offsets = np.cumsum([0, *(one[0] for one in some)])
    edges = [
        (a + at, b + at, w) for one, at in zip(some, offsets, strict=False) for a, b, w in one[4]
    ]
    columns = np.array(edges, np.int64).reshape(-1, 3).T
    told, untold = (np.array([n for one in some for n in one[place]], np.int64) for place in (2, 3))
    return Graphs(offsets, np.array([one[1] for one in some], np.int64), told, untold, *columns)


def most(graph, needs_one=False):
    n, const, told, untold, edges = graph
    return max(
        const
        + sum(told[v] if heard[v] else untold[v] for v in range(n))
        + sum(w for a, b, w in edges if heard[a] and not heard[b])
        for heard in itertools.product([False, True], repeat=n)
        if any(heard) or not (needs_one and n)
    )


@given(st.lists(graphs(), min_size=1, max_size=6), st.booleans())
@examples(150)
def test_the_worst_of_few_clients_is_that_of_all_sets(some, needs_one):
    found = worst_moments(laid(some), np.full(len(some), needs_one))
    assert found.most.tolist() == [most(one, needs_one) for one in some]
    assert found.is_exact.all()


@given(st.lists(graphs(), min_size=1, max_size=6), st.booleans())
@examples(100)
def test_a_bound_is_never_below_the_worst(some, needs_one):
    wanted = [most(one, needs_one) for one in some]
    kept = informed.MOST_VALUES, informed.MOST_FORCED
    informed.MOST_VALUES = informed.MOST_FORCED = 0
    try:
        found = worst_moments(laid(some), np.full(len(some), needs_one))
    finally:
        informed.MOST_VALUES, informed.MOST_FORCED = kept
    assert wanted
    for bound, is_exact, want in zip(
        found.most.tolist(), found.is_exact.tolist(), wanted, strict=True
    ):
        assert bound == want if is_exact else bound >= want


def test_a_long_row_of_clients_is_solved_and_a_thicket_is_bounded():
    rng = np.random.default_rng(7)
    row = (
        300,
        0,
        [0] * 300,
        [0] * 300,
        [(i + 1, i, int(w)) for i, w in enumerate(rng.integers(1, 9, 299))],
    )
    pairs = [(a, b) for a in range(40) for b in range(40) if a != b]
    thicket = (40, 0, [0] * 40, [0] * 40, [(a, b, 1) for a, b in pairs if rng.random() < 0.5])
    found = worst_moments(laid([row, thicket]))
    assert found.is_exact.tolist() == [True, False]
    # Along a path no two edges that touch count, so the best is a plain sum over a row.
    best = [0, 0]
    for _, _, w in row[4]:
        best = [max(best), best[0] + w]
    assert found.most[0] == max(best)
    assert len(thicket[4]) / 4 <= found.most[1] <= len(thicket[4])


# --- Of whole groups ---


def pods(n_clients, n_queues, rule="AVG"):
    ids = [
        f"10.{i * 37 % 251}.{i * 101 % 241}.{i * 59 % 239}@1#{i * 7_919 + 10**9}"
        for i in range(n_clients)
    ]
    topic = Topic("T", tuple(TopicBroker(f"broker-{b}", n_queues // 4) for b in "abcd"))
    return Snapshot((topic,), (Group("g", ("T",), tuple(map(Client, ids)), strategy=rule),))


def half_told(snapshot, rule="AVG"):
    """Most unowned queues in any stop of a restart one by one under which every second client has
    heard.
    """
    queues = list(snapshot.topics[0].queues())
    ids = sorted(client.client_id for client in snapshot.groups[0].clients)
    found = 0
    for gone in ids:
        left = [one for one in ids if one != gone]
        made = strategy(rule)
        for told in (set(left[::2]), set(left[1::2])):
            read = set()
            for one in left:
                read |= set(made.allocate("g", one, queues, left if one in told else ids))
            found = max(found, len(set(queues) - read))
    return found


def test_a_restart_is_worst_when_some_have_heard():
    snapshot = pods(48, 192)
    [total] = restart(snapshot, ids="stable").totals.to_pylist()
    assert half_told(snapshot) >= 62  # four are read by nobody when the client stops
    assert total["max_unowned"] >= half_told(snapshot)
    assert total["max_unowned_is_exact"]
    [said] = violated_gates(restart(snapshot), max_unowned=62)
    assert "92 queues without a reader at the worst moment of step " in said
    assert list(violated_gates(restart(snapshot), max_unowned=92)) == []


def test_a_bound_counts_for_the_gate_and_is_called_one(tmp_path, capsys):
    snapshot = pods(48, 192, "AVG_BY_CIRCLE")
    rollout = restart(snapshot)
    [total] = rollout.totals.to_pylist()
    assert not total["max_unowned_is_exact"]
    assert total["max_unowned"] >= half_told(snapshot, "AVG_BY_CIRCLE")
    [said] = violated_gates(rollout, max_unowned=20)
    assert (
        f": up to {total['max_unowned']} queues without a reader at the worst moment of step "
        in said
    )
    assert ", which is an upper bound; the limit is 20" in said
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(to_document(snapshot)))
    assert main(["rollout", "restart", "-f", str(path), "--show", "totals"]) == 0
    header, row = (line.split() for line in capsys.readouterr().out.replace("≤ ", "≤").splitlines())
    assert dict(zip(header, row, strict=True))["max_unowned"] == f"≤{total['max_unowned']}"
    assert main(["rollout", "restart", "-f", str(path), "--show", "totals", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == rollout.totals.to_pylist()


def test_the_gate_looks_at_every_share_of_clients_with_new_routes():
    snapshot = pods(10, 64)
    gated = [
        list(violated_gates(maintain_broker(snapshot, "broker-a", refreshed=share), None, 15))
        for share in (0, 0.5, 1)
    ]
    assert gated[0] == gated[1] == gated[2] != []


def test_clients_of_a_batch_go_over_one_by_one():
    def worst(one, others):
        """Over the sets of clients that have gone over, at least one."""
        best = 0
        for heard in itertools.product([False, True], repeat=len(one)):
            read = set().union(*(b if h else a for a, b, h in zip(one, others, heard, strict=True)))
            best = max(best, 16 - len(read)) if any(heard) else best
        return best

    snapshot = pods(6, 16)
    queues, ids = (
        list(snapshot.topics[0].queues()),
        sorted(one.client_id for one in snapshot.groups[0].clients),
    )
    old, new = (
        [set(strategy(name).allocate("g", one, queues, ids)) for one in ids]
        for name in ("AVG", "AVG_BY_CIRCLE")
    )
    assert change_strategy(snapshot, "AVG_BY_CIRCLE", batch=6).steps["unowned"].to_pylist() == [
        0,
        worst(old, new),
    ]
    leaving = change_subscription(snapshot, "T", remove=True, batch=6).steps["unowned"].to_pylist()
    assert leaving == [0, 16]
    other = Snapshot(snapshot.topics, (Group("g", (), snapshot.groups[0].clients, strategy="AVG"),))
    # All but the share of the first client, which is the smallest there is at worst.
    assert change_subscription(other, "T", batch=6).steps["unowned"].to_pylist() == [
        16,
        16 - min(map(len, old)),
    ]


@pytest.mark.parametrize("rule", ["MACHINE_ROOM_NEARBY-AVG", "AVG"])
def test_machine_rooms_that_lie_in_between_are_solved_as_well(rule):
    rooms = ("hz", "sh", "bj")
    clients = tuple(Client(f"10.0.0.{i:02}@1", rooms[i % 3]) for i in range(30))
    topic = Topic("T", tuple(TopicBroker(f"b-{room}", 40, machine_room=room) for room in rooms))
    [total] = restart(
        Snapshot((topic,), (Group("g", ("T",), clients, strategy=rule),))
    ).totals.to_pylist()
    assert total["max_unowned_is_exact"] and total["max_double_owned_is_exact"]
