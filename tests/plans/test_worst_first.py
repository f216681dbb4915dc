"""What gets worse by a scenario stands first, held against a sort of Python tuples, and all of it
is listed and counted.
"""

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc.plans import Gates, plan_snapshot
from rmqalloc.plans._plan import GROUPS_SCHEMA, UNITS_SCHEMA, StoredDetails
from rmqalloc.plans.plan_totals import summaries
from rmqalloc.plans.worst_first import worst_groups, worst_table
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

GROWING = ("unowned", "double_owned", "idle", "skew")
GROUPS, TOPICS, STATES = "bca", "tu", ("current", "s1", "s2")
EMPTY = plan_snapshot(
    Snapshot(), [{"name": name, "changes": [{"scale_clients": {"to": 1}}]} for name in STATES[1:]]
)
small = st.integers(0, 2)
figures = st.fixed_dictionaries(
    dict.fromkeys(GROWING[:3], small) | {"skew": small.map(lambda n: 1 + n / 4), "moved": small}
)


@st.composite
def plans(draw):
    """A plan of three groups of two topics in two scenarios, of which any topic may not be assigned
    in any state.
    """
    units, groups = [], []
    for group in GROUPS:
        for topic in TOPICS:
            for state in STATES:
                bad = draw(st.booleans())
                row = {} if bad else draw(figures)
                units.append(
                    row
                    | {
                        "consumer_group": group,
                        "topic": topic,
                        "scenario": state,
                        "err_code": int(bad),
                    }
                )
    for state in STATES:
        groups += ({"consumer_group": group, "scenario": state} | draw(figures) for group in GROUPS)
    # Both are as sorted names are, so that positions of one table fit the other only by name.
    tables = (
        pa.Table.from_pylist(rows, schema)
        for rows, schema in ((units, UNITS_SCHEMA), (groups, GROUPS_SCHEMA))
    )
    units, groups = tables
    return replace(EMPTY, units=units, details=StoredDetails(groups, None, None, "", None, {}))


def key(before, after, pairs, names):
    """What a row is sorted by, as tuples; ``pairs`` are its units before and after."""
    lost = sum(was["err_code"] == 0 and is_["err_code"] != 0 for was, is_ in pairs)
    cured = any(was["err_code"] != 0 and is_["err_code"] == 0 for was, is_ in pairs)
    growth = [0 if cured else max(0, (after[name] or 0) - (before[name] or 0)) for name in GROWING]
    return lost or any(growth), (-lost, *(-n for n in growth), -(after["moved"] or 0), *names)


def keys_of_groups(plan, number):
    rows, units, n = plan.groups.to_pylist(), plan.units.to_pylist(), len(GROUPS)
    for i, group in enumerate(GROUPS):
        mine = [row for row in units if row["consumer_group"] == group]
        pairs = zip(mine[:: len(STATES)], mine[number :: len(STATES)], strict=True)
        yield key(rows[i], rows[number * n + i], list(pairs), (group,))


@examples(60, 400)
@given(plans(), st.integers(1, 2))
def test_groups_are_in_the_order_of_tuples(plan, number):
    keys = list(keys_of_groups(plan, number))
    found = worst_groups(plan, number)
    assert found.positions.tolist() == sorted(range(len(keys)), key=lambda i: keys[i][1])
    assert found.is_worse.tolist() == [bool(is_worse) for is_worse, _ in keys]
    assert found.is_worse[found.positions[: found.n_worse]].all(), "all that get worse come first"
    assert found.positions[found.ranks].tolist() == list(range(len(keys)))
    assert summaries(plan)[number - 1].groups_worse == found.n_worse


@examples(40, 200)
@given(plans())
def test_tables_are_in_the_order_of_tuples_and_rows_before_any_change_are_last(plan):
    units = plan.units.to_pylist()
    wanted = []
    for i, row in enumerate(units):
        state = i % len(STATES)
        current = units[i - state]
        names = (row["consumer_group"], row["topic"], state)
        wanted.append((not state, key(current, row, [(current, row)], names)[1]))
    assert worst_table(plan, "units").to_pylist() == [
        units[i] for i in sorted(range(len(units)), key=wanted.__getitem__)
    ]
    rows = worst_table(plan, "groups").to_pylist()
    assert sorted(map(repr, rows)) == sorted(map(repr, plan.groups.to_pylist()))
    assert [row["scenario"] == "current" for row in rows] == [False] * 6 + [True] * 3
    firsts = {number: GROUPS[worst_groups(plan, number).positions[0]] for number in (1, 2)}
    for number, scenario in ((1, "s1"), (2, "s2")):
        assert (
            next(row["consumer_group"] for row in rows if row["scenario"] == scenario)
            == firsts[number]
        )


def clients(n):
    return tuple(Client(f"c{i}") for i in range(n))


@pytest.fixture(scope="module")
def lost_broker():
    """200 groups, of which 176 move much and 24 move nothing or little, but get more idle clients."""
    large = Topic("large", (TopicBroker("broker-a", 8), TopicBroker("broker-b", 8)))
    little = Topic("little", (TopicBroker("broker-a", 1), TopicBroker("broker-b", 1)))
    groups = [Group(f"a{i:03}", ("large",), clients(4), strategy="AVG") for i in range(176)]
    groups += [
        Group(f"z{i:03}", ("little",), clients(3 if i < 16 else 2), strategy="AVG")
        for i in range(24)
    ]
    snapshot = Snapshot((large, little), tuple(groups))
    return plan_snapshot(
        snapshot, [{"name": "lost", "changes": [{"remove_broker": {"brokers": "broker-b"}}]}]
    )


def test_every_group_that_gets_worse_is_listed_and_the_summary_counts_all(lost_broker):
    lines = list(lost_broker.lines())
    worse = [line for line in lines if line.startswith("! ")]
    assert {line.split()[1] for line in worse} == {f"z{i:03}" for i in range(24)}
    assert lines[1:25] == worse and lines[25] == "  and 176 more groups (--top)"
    assert (
        sum("1 → 2" in line for line in worse) == 16 and sum("0 → 1" in line for line in worse) == 8
    )
    assert " ".join(" ".join(lines[26:]).split()).endswith(
        "; unowned 0, idle 16 → 40; 24 of 200 groups get worse (idle 24, skew 24)."
    )
    assert list(lost_broker.lines(top=5))[6] == "  and 195 more groups (--top)", (
        "fewer rows only if they are asked for"
    )


def test_rows_that_only_move_fill_the_list():
    topics = (Topic("t", (TopicBroker("broker-a", 8), TopicBroker("broker-b", 8))),)
    groups = tuple(Group(f"g{i:02}", ("t",), clients(4), strategy="AVG") for i in range(30))
    plan = plan_snapshot(
        Snapshot(topics, groups),
        [{"name": "s", "changes": [{"remove_broker": {"brokers": "broker-b"}}]}],
    )
    lines = list(plan.lines())
    assert lines[21] == "  and 10 more groups (--top)"
    assert "nothing gets worse" in " ".join(lines[22:]) and not any(
        line.startswith("!") for line in lines
    )


def test_gates_name_the_worst_group_first(lost_broker):
    broken = Gates(fail_if_worse=True, max_moved=0).broken(lost_broker)
    names = [one.consumer_group for one in broken]
    order = [f"z{i:03}" for i in range(24)]
    assert list(dict.fromkeys(names))[:24] == sorted(order, key=lambda one: names.index(one))
    assert names[0].startswith("z") and [name[0] for name in names] == sorted(
        (name[0] for name in names), reverse=True
    )
    ranks = {
        lost_broker.groups["consumer_group"][i].as_py(): rank
        for i, rank in enumerate(worst_groups(lost_broker, 1).ranks)
    }
    assert [ranks[name] for name in names] == sorted(ranks[name] for name in names)


def test_queues_that_come_to_several_owners_are_worse_to_gates():
    rules = ("AVG", "AVG_BY_CIRCLE")
    members = tuple(Client(f"c{i}", strategy=rules[i % 2]) for i in range(4))
    topics = (Topic("t", (TopicBroker("b", 8),)),)
    change = [{"name": "s", "changes": [{"remove_clients": {"ids": "c3"}}]}]
    plan = plan_snapshot(Snapshot(topics, (Group("g", ("t",), members),)), change)
    before, after = plan.groups.slice(0, 1).to_pylist()[0], plan.groups.slice(1, 1).to_pylist()[0]
    said = [one.text for one in Gates(fail_if_worse=True).broken(plan)]
    grown = after["double_owned"] > before["double_owned"]
    assert (
        f"double_owned grows from {before['double_owned']} to {after['double_owned']}" in said
    ) == grown
    assert pc.sum(plan.groups["double_owned"]).as_py() > 0
