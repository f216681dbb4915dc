"""The search against an exhaustive one that knows nothing of it, and what it promises of fronts
that are not exact.
"""

from itertools import permutations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from optimisation_twin import all_ways, figures, moments_of, pareto
from reference import Avg, AvgByCircle, ConsistentHash

import rmqalloc
from rmqalloc.optimisation import _group_search
from rmqalloc.optimisation._ways import UNCOUNTED, Choices, structured_orders
from rmqalloc.snapshot import Client, Group, Snapshot, Topic, TopicBroker

RULES = {
    "AVG": Avg(),
    "AVG_BY_CIRCLE": AvgByCircle(),
    "CONSISTENT_HASH:3": ConsistentHash(3),
    "CONSISTENT_HASH:10": ConsistentHash(10),
}
ALL_GOALS = (
    "unowned",
    "moves",
    "duration",
    "double_owned",
    "batches",
    "load",
    "idle",
    "clients",
    "queues",
)
IDS = ["10.0.0.1@1#5", "10.0.0.2@1#4", "10.0.0.3@1#7", "10.0.0.4@1#1", "10.0.0.5@1#2"]


def params_of(label):
    name, _, nodes = label.partition(":")
    return {"strategy": name, "strategy_params": {"virtual_nodes": int(nodes)} if nodes else {}}


def cluster(ids, label, counts):
    topic = Topic("T", tuple(TopicBroker(name, n, n) for name, n in counts.items()))
    return Snapshot((topic,), (Group("g", ("T",), tuple(map(Client, ids)), **params_of(label)),))


def case(
    n,
    label="AVG",
    counts=None,
    restart=False,
    stable=False,
    clients=(),
    strategies=(),
    queues=(),
    goals=ALL_GOALS[:3],
):
    return {
        "ids": IDS[:n], "label": label, "counts": counts or {"a": 4, "b": 3}, "restart": restart, "stable": stable,
        "clients": clients, "strategies": strategies, "queues": queues, "goals": goals,
    }  # fmt: skip


def optimised(case, **more):
    return rmqalloc.optimise(
        cluster(case["ids"], case["label"], case["counts"]),
        ["g"],
        restart=case["restart"],
        ids="stable" if case["stable"] else "suffix",
        clients=case["clients"],
        strategies=case["strategies"],
        queues=case["queues"],
        topics=("T",),
        assume_drained=True,
        goals=case["goals"],
        **more,
    )


def figures_of(case, way, goals):
    moments = moments_of(
        case["ids"], RULES[case["label"]], case["counts"], way, case["restart"], case["stable"]
    )
    return figures(moments, goals, 60.0)


def twins_points(case, goals):
    """The figures of every way, by the twin."""
    rules = [None if one == case["label"] else RULES[one] for one in case["strategies"]] or [None]
    clients = case["clients"] or (len(case["ids"]),)
    ways = all_ways(
        case["ids"], rules, clients, case["queues"] or (None,), case["restart"], case["stable"]
    )
    return {figures_of(case, way, goals) for way in ways}


def points_of(made, goals):
    return [tuple(row[name] for name in goals) for row in made.front.to_pylist()]


def replayed(case, row, goals):
    """The figures of a row of the front, by the twin."""
    way = {
        "rule": None if row["strategy"] == case["label"] else RULES[row["strategy"]],
        "n_clients": row["n_clients"], "queues": row["broker_queues"], "surge": bool(row["surge"]), "batch": row["batch"] or 0,
        "order": row["client_ids"],
    }  # fmt: skip
    return figures_of(case, way, goals)


CASES = {
    "restart": case(4, restart=True),
    "restart, all goals": case(3, restart=True, goals=ALL_GOALS),
    "restart under the same ids": case(
        4, "AVG_BY_CIRCLE", restart=True, stable=True, goals=("moves", "unowned")
    ),
    "restart of a ring": case(
        4, "CONSISTENT_HASH:3", restart=True, goals=("unowned", "double_owned", "moves")
    ),
    "restart of one client": case(1, restart=True, goals=ALL_GOALS),
    "fewer clients": case(5, clients=(2,), goals=ALL_GOALS),
    "fewer clients of a ring": case(
        4, "CONSISTENT_HASH:10", clients=(2, 3), goals=("load", "moves", "unowned")
    ),
    "more clients": case(2, clients=(2, 4, 6), goals=ALL_GOALS),
    "another strategy": case(4, strategies=("AVG_BY_CIRCLE",), goals=ALL_GOALS),
    "strategies": case(
        4,
        strategies=("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH:3"),
        goals=("load", "double_owned", "moves"),
    ),
    "strategies and clients": case(
        3,
        strategies=("AVG", "CONSISTENT_HASH:10"),
        clients=(2, 3, 4),
        goals=("load", "unowned", "moves"),
    ),
    "more queues": case(3, counts={"a": 2, "b": 2}, queues=(2, 3, 5), goals=ALL_GOALS),
    "fewer queues and clients": case(
        4, counts={"a": 4, "b": 4}, queues=(1, 4), clients=(2, 4), goals=("load", "moves", "queues")
    ),
    "fewer clients, all restarted": case(
        4, restart=True, clients=(3,), strategies=("AVG_BY_CIRCLE",), goals=("unowned", "moves")
    ),
    "more clients than queues": case(3, counts={"a": 2}, restart=True, goals=ALL_GOALS),
}


@pytest.mark.parametrize("name", CASES)
def test_an_exact_front_is_that_of_all_permutations_batches_and_numbers(name):
    case = CASES[name]
    made = optimised(case, evaluations=20_000)
    assert made.searches["is_exact"].to_pylist() == [True]
    found = points_of(made, case["goals"])
    assert found == pareto(twins_points(case, case["goals"]))
    for row, point in zip(made.front.to_pylist(), found, strict=True):
        assert replayed(case, row, case["goals"]) == point
    assert made.front["suggested"].to_pylist() == [True] + [False] * (len(found) - 1)


@st.composite
def changes(draw):
    n = draw(st.integers(1, 4))
    label = draw(st.sampled_from(list(RULES)))
    counts = {name: draw(st.integers(1, 4)) for name in draw(st.sampled_from(["a", "ab"]))}
    restart = draw(st.booleans())
    clients = tuple(sorted(draw(st.sets(st.integers(1, 5), max_size=2))))
    others = [one for one in RULES if one != label]
    strategies = tuple(draw(st.lists(st.sampled_from(others), max_size=1)))
    if not (restart or strategies or any(one != n for one in clients)):
        restart = True
    goals = tuple(draw(st.lists(st.sampled_from(ALL_GOALS), min_size=1, max_size=4, unique=True)))
    return case(n, label, counts, restart, draw(st.booleans()), clients, strategies, (), goals)


@examples(12, nightly=200)
@given(changes())
def test_a_made_up_change_has_the_front_of_all_ways(case):
    made = optimised(case, evaluations=100_000)
    assert made.searches["is_exact"].to_pylist() == [True]
    assert points_of(made, case["goals"]) == pareto(twins_points(case, case["goals"]))


@pytest.mark.parametrize("evaluations", [1, 7, 40])
@pytest.mark.parametrize(
    "name", ["restart", "another strategy", "strategies and clients", "fewer clients"]
)
def test_a_front_that_is_not_exact_can_be_had_and_beats_no_exact_one(name, evaluations):
    case = CASES[name]
    made = optimised(case, evaluations=evaluations, seed=3)
    search = made.searches.to_pylist()[0]
    if search["n_ways"] > evaluations:
        assert not search["is_exact"] and search["searched"].startswith(
            f"heuristic: {evaluations} of {search['n_ways']}"
        )
    assert 0.9 * min(evaluations, search["n_ways"]) <= search["n_evaluated"] <= evaluations
    possible = twins_points(case, case["goals"])
    exact, found = pareto(possible), points_of(made, case["goals"])
    assert found == pareto(found) and set(found) <= possible
    assert not any(
        all(a <= b for a, b in zip(one, best, strict=True)) and one != best
        for one in found
        for best in exact
    )
    assert [replayed(case, row, case["goals"]) for row in made.front.to_pylist()] == found


def test_a_search_goes_beyond_the_orders_that_it_begins_with():
    cluster = rmqalloc.read("example:48-pods")
    best = []
    for evaluations in (40, 200):
        made = rmqalloc.optimise(
            cluster,
            ["by-average"],
            restart=True,
            surge=True,
            batches=[16],
            goals=["unowned", "moves"],
            evaluations=evaluations,
        )
        assert made.searches["n_ways"].to_pylist() == [UNCOUNTED]
        best.append(made.front.to_pylist()[0]["unowned"])
    orders = [
        rmqalloc.rollout.restart(cluster, ["by-average"], 16, True, order=order)
        for order in ("sorted", "reversed")
    ]
    assert (
        best[1] <= best[0] < min(one.totals["max_unowned_written"].to_pylist()[0] for one in orders)
    )


def test_the_same_seed_gives_the_same_answer_and_another_seed_another_search():
    snapshot = rmqalloc.read("example:48-pods")
    one, again, other = (
        rmqalloc.optimise(
            snapshot, ["by-average"], restart=True, batches=[16, 24], evaluations=40, seed=seed
        )
        for seed in (1, 1, 2)
    )
    assert one.to_dict() == again.to_dict() and one.texts == again.texts
    assert one.front.to_pylist() != other.front.to_pylist()


# --- As rollouts have it ---


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("order", ["sorted", "reversed", "shuffled"])
@pytest.mark.parametrize("batch", [5, 9])
def test_a_way_costs_what_the_rollout_says(order, batch, monkeypatch):
    from rmqalloc.optimisation import _group_search

    orders = _group_search.structured_orders
    monkeypatch.setattr(
        _group_search, "structured_orders", lambda *given: {order: orders(*given)[order]}
    )
    snapshot = rmqalloc.read("example:48-pods")
    for surge in (False, True):
        made = rmqalloc.optimise(
            snapshot,
            restart=True,
            surge=surge,
            batches=[batch],
            goals=["moves", "unowned", "double_owned"],
            evaluations=1,
        )
        rollout = rmqalloc.rollout.restart(snapshot, batch=batch, surge=surge, order=order)
        names = ["consumer_group", "moved", "max_unowned_written", "max_double_owned"]
        found = made.front.select(
            ["consumer_group", "moves", "unowned", "double_owned"]
        ).rename_columns(names)
        assert found.to_pylist() == rollout.totals.select(names).to_pylist()
    switched = rmqalloc.optimise(
        snapshot, ["by-average"], strategies=["CONSISTENT_HASH:10"], batches=[batch], evaluations=1
    )
    rollout = rmqalloc.rollout.strategy(
        snapshot, "CONSISTENT_HASH", ["by-average"], batch=batch, order=order
    )
    assert (
        switched.front["unowned"].to_pylist() == rollout.totals["max_unowned_written"].to_pylist()
    )
    assert (
        switched.front["unowned_is_exact"].to_pylist()
        == rollout.totals["max_unowned_is_exact"].to_pylist()
    )


# --- Bounds ---


def test_all_ways_of_the_front_keep_the_bounds():
    case = CASES["restart"] | {"goals": ("moves", "duration")}
    goals = ("moves", "duration", "unowned")
    possible = [one for one in twins_points(case, goals) if one[2] <= 5 and one[1] <= 480]
    made = optimised(case, bounds={"unowned": 5, "duration": 480})
    assert possible and points_of(made, case["goals"]) == pareto(one[:2] for one in possible)
    assert all(row["unowned"] <= 5 and row["duration"] <= 480 for row in made.front.to_pylist())
    assert (
        made.searches["n_within_bounds"].to_pylist()[0]
        < made.searches["n_evaluated"].to_pylist()[0]
    )


def test_a_search_finds_its_way_to_the_bounds():
    """No order that people would think of is within them."""
    snapshot = rmqalloc.read("example:48-pods")
    how = {
        "restart": True,
        "surge": True,
        "batches": [16],
        "goals": ["moves"],
        "bounds": {"unowned": 60},
    }
    few = rmqalloc.optimise(snapshot, ["by-average"], evaluations=12, **how)
    assert few.front.num_rows == 0 and not few.runbook.num_rows
    assert few.missed["by-average"].startswith(
        "consumer group 'by-average': none of the 12 ways evaluated keeps the bounds: "
    )
    made = rmqalloc.optimise(snapshot, ["by-average"], evaluations=250, **how)
    assert made.front.num_rows and not made.missed
    assert all(unowned <= 60 for unowned in made.front["unowned"].to_pylist())


def test_bounds_that_exclude_all_are_named():
    case = CASES["restart"]
    least = min(one[0] for one in twins_points(case, ("unowned",)))
    made = optimised(case, bounds={"unowned": least - 1, "moves": 1000})
    said = f"unowned is at least {least}, at most {least - 1} is allowed"
    assert (
        made.missed["g"].endswith(f"keeps the bounds: {said}") and "moves" not in made.missed["g"]
    )
    alone = {
        name: min(one[0] for one in twins_points(case, (name,))) for name in ("unowned", "moves")
    }
    together = optimised(case, bounds=alone)
    assert (
        "keeps all bounds together: unowned up to" in together.missed["g"]
        and "moves up to" in together.missed["g"]
    )
    assert together.searches["n_within_bounds"].to_pylist() == [0]


# --- Errors ---


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "nothing to choose; give restart"),
        ({"restart": True, "goals": []}, "there is no goal; give some of moves, idle"),
        ({"restart": True, "goals": ["movs"]}, "got 'movs'; did you mean moves?"),
        (
            {"strategies": ["AVG_BY_CIRCLE"], "goals": ["unowned-seconds"]},
            "goal unowned_seconds is not known: no timer says when clients follow",
        ),
        ({"restart": True, "bounds": {"move": 1}}, "got 'move'; did you mean moves?"),
        (
            {"restart": True, "bounds": {"moves": float("nan")}},
            "the bound of moves must be a number from 0 on, got nan",
        ),
        (
            {"restart": True, "ids": "other"},
            "ids must be one of suffix, stable, address, got 'other'",
        ),
        ({"restart": True, "ids": "stable", "surge": True}, "surge is for restarts under new ids"),
        ({"clients": [3], "surge": True}, "nothing restarts"),
        ({"clients": [0]}, "a number of clients is from 1 to 100000, got 0"),
        ({"clients": [3, 100_001]}, "a number of clients is from 1 to 100000, got 100001"),
        ({"queues": [65_537], "topics": ["T"]}, "a number of queues is from 1 to 65536, got 65537"),
        ({"restart": True, "batches": [-1]}, "a batch is from 1 to 100000, got -1"),
        ({"restart": True, "evaluations": 0}, "evaluations are 1 at least"),
        ({"restart": True, "step_seconds": float("nan")}, "seconds 0, got 2000 and nan"),
        ({"clients": [4]}, "consumer group 'g': nothing would change"),
        ({"strategies": ["AVG"]}, "consumer group 'g': nothing would change"),
        ({"strategies": ["NO_SUCH"]}, "NO_SUCH"),
        ({"queues": [4]}, "queues are chosen for one topic: name it in topics, got *"),
        ({"queues": [4], "topics": ["T*"]}, "name it in topics, got T*"),
        ({"queues": [4], "topics": ["U"]}, "the snapshot has no topic 'U'"),
        pytest.param(
            {"queues": [2], "topics": ["T"]},
            "no number of queues can be chosen; left out: 2 queues on each broker: the backlog",
            id="no number of queues",
        ),
        ({"groups": ["x"], "restart": True}, "x"),
        (
            {"clients": range(1, 1000), "restart": True},
            "there are more than 100,000 settings to choose from",
        ),
    ],
)
def test_what_cannot_be_searched_is_said(given, said):
    snapshot = cluster(IDS[:4], "AVG", {"a": 4, "b": 4})
    with pytest.raises((ValueError, rmqalloc.Error)) as error:
        rmqalloc.optimise(snapshot, **given)
    assert said in str(error.value)


def test_groups_are_searched_on_their_own_and_those_with_nothing_to_choose_are_left_out():
    two = cluster(IDS[:4], "AVG", {"a": 4})
    other = Group("h", ("T",), tuple(map(Client, IDS[:2])), strategy="AVG_BY_CIRCLE")
    nobody = Group("empty", ("T",), (), strategy="AVG")
    snapshot = Snapshot(two.topics, (*two.groups, other, nobody))
    made = rmqalloc.optimise(snapshot, clients=[4], goals=["moves"])
    assert made.front["consumer_group"].to_pylist() == ["h"] and list(made.texts) == ["h"]
    assert (
        "left out: consumer group 'g': nothing would change; it is as asked for already"
        in made.warnings
    )
    assert any("empty on T" in one for one in made.warnings)
    both = rmqalloc.optimise(snapshot, ["g", "h"], restart=True)
    alone = rmqalloc.optimise(snapshot, ["g"], restart=True)
    assert both.front.slice(0, alone.front.num_rows).equals(alone.front)
    assert both.searches["consumer_group"].to_pylist() == ["g", "h"]


def test_a_strategy_that_a_group_cannot_have_is_left_out():
    topic = Topic("T", (TopicBroker("a", 4, 4, machine_room="hz"),))
    clients = (Client("c1", machine_room="hz"), Client("c2"))
    snapshot = Snapshot((topic,), (Group("g", ("T",), clients, strategy="AVG"),))
    made = rmqalloc.optimise(
        snapshot, strategies=["AVG_BY_CIRCLE", "MACHINE_ROOM_NEARBY-AVG"], goals=["moves"]
    )
    assert made.front["strategy"].unique().to_pylist() == ["AVG_BY_CIRCLE"]
    said = "left out: strategy MACHINE_ROOM_NEARBY-AVG: MACHINE_ROOM_NEARBY-AVG cannot assign topic 'T' of consumer group 'g'"
    assert [one for one in made.warnings if one.startswith(said)]
    with pytest.raises(ValueError, match="MACHINE_ROOM_NEARBY-AVG cannot assign"):
        rmqalloc.optimise(snapshot, strategies=["MACHINE_ROOM_NEARBY-AVG"])


def test_a_strategy_whose_rings_would_be_too_large_is_left_out(monkeypatch):
    monkeypatch.setattr(_group_search, "MAX_POINTS", 2 * 3 * 10)
    rings = ["AVG_BY_CIRCLE", "CONSISTENT_HASH:10", "CONSISTENT_HASH:11"]
    made = rmqalloc.optimise(
        cluster(IDS[:3], "AVG", {"a": 4}), clients=[2], strategies=rings, goals=["load"]
    )
    left_out = (
        "left out: strategy CONSISTENT_HASH:11: the rings of consumer group 'g' are too large"
    )
    assert [one for one in made.warnings if "rings" in one] == [left_out]


# --- Ways ---


@pytest.mark.parametrize("choices", [
    Choices(4, True, (0,), (4,), (0,), (False, True)),
    Choices(4, False, (0, 1), (2, 4, 6), (0, 3), (False,)),
    Choices(5, True, (0,), (2,), (0,), (True,), (2, 9)),
    Choices(3, False, (0,), (3,), (0,), (False,)),
])  # fmt: skip
def test_every_way_is_there_once(choices):
    ways = list(choices.all_ways())
    assert len(ways) == len(set(ways)) == choices.n_ways
    by_hand = {
        choices.ordered(one, order)
        for one in choices.settings
        for order in permutations(range(choices.n_now))
    }
    assert set(ways) == by_hand


def test_structured_orders_are_permutations():
    orders = structured_orders([3, 1, 2, 0, 2], [4, 2, 0, 1, 3])
    assert all(
        sorted(order(batch)) == [0, 1, 2, 3, 4] for order in orders.values() for batch in range(6)
    )
    assert orders["spread"](2) == [0, 3, 1, 4, 2] and orders["fullest first"](2) == [0, 2, 4, 1, 3]


def test_what_is_found_is_a_result_like_others(tmp_path):
    made = optimised(CASES["fewer clients"])
    assert pa.table(made).equals(made.front) and str(made).startswith("Group g  exact: all ")
    made.save(tmp_path / "made.json")
    assert '"runbook"' in (tmp_path / "made.json").read_text()
