"""The kernel of planning against its slow twin."""

import pickle
from collections import Counter
from itertools import pairwise

import drawn_units
import pyarrow as pa
import pytest
import random_units as units
from bruteforce import mixed
from bruteforce import planned as planned_units
from bruteforce import rows as rows_twin
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from plan_rows import assert_same, batch_of, good_row

from rmqalloc.evaluation import assigner, batch_sizes
from rmqalloc.evaluation.assigner import MAX_POINTS
from rmqalloc.evaluation.batch_planning import BEST_BY, ErrCode, PlanSpec, plan_batch, plan_stream
from rmqalloc.evaluation.expand import (
    LOAD_SCHEMA,
    client_load,
    expand_owners,
    expand_stream,
    load_stream,
    sum_loads,
)
from rmqalloc.evaluation.row_check import MAX_CLIENT_ID_BYTES


def planned(rows, rule, scenarios, output="owners", **more):
    spec = PlanSpec(*rule, scenarios=scenarios, output=output, **more)
    batch = plan_batch(batch_of(rows), spec)
    batch.validate(full=True)
    assert batch.schema == spec.schema
    return batch.to_pylist()


@examples(40, nightly=2000)
@given(st.data())
def test_the_kernel_says_what_the_twin_says(data):
    form, rooms = data.draw(st.sampled_from(["brokers", "queues"])), data.draw(st.booleans())
    rows = data.draw(st.lists(drawn_units.units(form, rooms), min_size=1, max_size=6))
    rule = data.draw(
        st.sampled_from(drawn_units.STRATEGIES + (drawn_units.NEARBY if rooms else []))
    )
    scenarios = data.draw(drawn_units.scenarios(rooms))
    wanted = [rows_twin.plan(row, rule, scenarios, rooms) for row in rows]
    assert_same(planned(rows, rule, scenarios), [row for unit in wanted for row in unit])
    best_by = data.draw(
        st.sampled_from([BEST_BY, ("moved",), ("n_clients", "skew"), ("cross_room", "max_load")])
    )
    best = [rows_twin.best(unit, best_by) for unit in wanted]
    assert_same(planned(rows, rule, scenarios, "best", best_by=best_by), best)


@pytest.mark.thorough
def test_many_units_are_planned_as_each_alone():
    rows = units.synthetic(150, seed=5).to_pylist()
    scenarios = [
        {"name": "less", "changes": [{"remove_clients": {"count": 1, "which": "spread"}}]},
        {"name": "four", "changes": [{"scale_clients": {"to": 4}}], "groups": "*[02468]"},
        {
            "name": "ring",
            "changes": [{"set_strategy": {"strategy": "CONSISTENT_HASH"}}],
            "topics": "order*",
        },
        {"name": "host", "changes": [{"remove_clients": {"pattern": "10.1*"}}]},
        {
            "name": "broker",
            "changes": [
                {"remove_broker": {"brokers": "*-1?"}},
                {"set_queues": {"read_queue_nums": 2}},
            ],
        },
    ]
    for rule in drawn_units.STRATEGIES[:3]:
        wanted = [row for unit in rows for row in rows_twin.plan(unit, rule, scenarios)]
        assert_same(planned(rows, rule, scenarios), wanted)


# --- Bad rows ---


LONG = "c" * 10_000_000
TWICE = [{"broker_name": "b", "read_queue_nums": 2}, {"broker_name": "b", "read_queue_nums": 1}]
VAST = [{"broker_name": f"b{i}", "read_queue_nums": 2**24} for i in range(50)]
WIDE = [f"c{i}" for i in range(300)]

BAD = [
    (good_row(consumer_group=None), ErrCode.MALFORMED, "consumer_group is null"),
    (good_row(client_ids=["c", None]), ErrCode.MALFORMED, "client id at position 1 is null"),
    (good_row(client_ids=None), ErrCode.MALFORMED, "client_ids is null"),
    (good_row(client_ids=[]), ErrCode.EMPTY, "cidAll is null or cidAll empty"),
    (good_row(brokers=[]), ErrCode.EMPTY, "mqAll is null or mqAll empty"),
    (
        good_row(brokers=TWICE),
        ErrCode.DUPLICATE_QUEUE,
        "MessageQueue [topic=T, brokerName=b, queueId=0] is there twice",
    ),
    (
        good_row(client_ids=["c", LONG]),
        ErrCode.TOO_LARGE,
        f"is 10000000 bytes long; at most {MAX_CLIENT_ID_BYTES}",
    ),
    (
        good_row(brokers=VAST),
        ErrCode.TOO_LARGE,
        "838860800 queues; at most 16777216 can be planned",
    ),
    (good_row(strategy="BEST"), ErrCode.BAD_STRATEGY, "unknown strategy 'BEST'; known are AVG"),
    (good_row(strategy="CONFIG"), ErrCode.BAD_STRATEGY, "the lists of CONFIG are not known"),
    (
        good_row(strategy="MACHINE_ROOM_NEARBY-AVG"),
        ErrCode.BAD_STRATEGY,
        "bring the column broker_rooms",
    ),
    (
        good_row(virtual_nodes=-1),
        ErrCode.BAD_STRATEGY,
        "virtual_nodes must be from 0 to 65536, got -1",
    ),
    (
        good_row(client_ids=WIDE, strategy="CONSISTENT_HASH", virtual_nodes=65536),
        ErrCode.TOO_LARGE,
        "points; at most 16777216 can be planned",
    ),
]


@pytest.mark.parametrize("output", ["metrics", "owners", "best"])
def test_bad_rows_are_reported_and_disturb_nobody(output):
    changes = [{"remove_clients": {"count": 1}}]  # which cures none of them
    spec = PlanSpec("AVG", scenarios=[{"name": "one", "changes": changes}], output=output)
    good = [good_row(), good_row(strategy="CONSISTENT_HASH"), good_row(client_ids=["c", "c", "d"])]
    rows = [row for i, (bad, _, _) in enumerate(BAD) for row in (bad, good[i % 3])]
    names = ("strategy", "virtual_nodes")
    n = 1 if output == "best" else 2
    found = plan_batch(batch_of(rows, *names), spec).to_pylist()
    alone = [plan_batch(batch_of([row], *names), spec).to_pylist() for row in good]
    assert len(found) == n * len(rows)
    for i, (bad, code, words) in enumerate(BAD):
        for row in found[2 * n * i : 2 * n * i + n]:
            assert (row["err_code"], row["consumer_group"], row["topic"]) == (
                code,
                bad["consumer_group"],
                bad["topic"],
            )
            assert words in row["err_msg"]
            kept = {"consumer_group", "topic", "scenario", "err_code", "err_msg"}
            assert all(value is None for name, value in row.items() if name not in kept)
        assert found[2 * n * i + n : 2 * n * (i + 1)] == alone[i % 3]
    assert found[0]["scenario"] == (None if output == "best" else "current")


@pytest.mark.parametrize("output", ["metrics", "owners", "best"])
def test_a_row_that_could_not_be_made_says_so_itself(output):
    why = pa.array(
        [None, "channels must be from 1 to 1024", b"\xff".decode("latin-1") * 5000], pa.string()
    )
    batch = batch_of([good_row(), good_row(client_ids=None), good_row()]).append_column(
        "unit_err_msg", why
    )
    found = plan_batch(batch, PlanSpec("AVG", output=output)).to_pylist()
    assert [row["err_code"] for row in found] == [0, ErrCode.MALFORMED, ErrCode.MALFORMED]
    assert found[1]["err_msg"] == "channels must be from 1 to 1024"
    assert len(found[2]["err_msg"]) <= 4000
    with pytest.raises(TypeError, match="column unit_err_msg must hold strings, got int64"):
        plan_batch(
            batch.set_column(batch.num_columns - 1, "unit_err_msg", pa.array([1, 2, 3])),
            PlanSpec("AVG"),
        )


def test_a_batch_of_bad_rows_only_and_of_none():
    spec = PlanSpec("AVG", scenarios=[{"name": "x", "changes": [{"scale_clients": {"to": 1}}]}])
    bad = batch_of([good_row(client_ids=[]), good_row(brokers=VAST)])
    assert plan_batch(bad, spec)["err_code"].to_pylist() == [2, 0, 4, 4]
    assert plan_batch(bad, PlanSpec("AVG"))["err_code"].to_pylist() == [2, 4]
    for batch in (bad.slice(0, 0), bad.slice(1, 0)):
        for output in ("metrics", "owners", "best"):
            out = plan_batch(batch, PlanSpec("AVG", scenarios=spec.scenarios, output=output))
            assert out.num_rows == 0
            assert [out.num_rows for out in plan_stream([batch], spec)] == [0]


def test_what_a_scenario_makes_impossible_is_said_in_its_row_alone():
    rows = [good_row(client_rooms=["hz", "sh"], broker_rooms=["hz", "sh"])]
    come = {"add_clients": {"count": 1, "name": "x{n}"}}
    ring = {"set_strategy": {"strategy": "CONSISTENT_HASH", "params": {"virtual_nodes": 65536}}}
    scenarios = [
        {"name": "no room", "changes": [come]},
        {"name": "all go", "changes": [{"scale_clients": {"to": 0}}]},
        {"name": "no queues", "changes": [{"remove_broker": {"brokers": "*"}}]},
        {
            "name": "vast ring",
            "changes": [ring, {"scale_clients": {"to": 300, "machine_room": "hz"}}],
        },
    ]
    found = planned(rows, ("MACHINE_ROOM_NEARBY-AVG", {}), scenarios)
    assert [row["err_code"] for row in found] == [0, ErrCode.REFUSED, 0, 0, ErrCode.TOO_LARGE]
    assert found[1]["err_msg"] == "Machine room is null for consumer id x000001"
    assert (found[2]["unowned"], found[2]["owners"], found[2]["n_clients"], found[2]["skew"]) == (
        5,
        [-1] * 5,
        0,
        0.0,
    )
    assert (found[3]["idle"], found[3]["owners"], found[3]["n_queues"]) == (2, [], 0)
    assert f"at most {MAX_POINTS} can be planned" in found[4]["err_msg"]
    best = planned(rows, ("MACHINE_ROOM_NEARBY-AVG", {}), [scenarios[0], scenarios[3]], "best")
    assert [(row["scenario"], row["err_code"]) for row in best] == [(None, ErrCode.REFUSED)]


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        ([{"set_queues": {"read_queue_nums": 65536}}] * 256, "queues; at most 16777216"),
        (
            [{"add_clients": {"count": 100_000, "name": f"a{i}-{{n}}"}} for i in range(200)],
            "clients; at most 16777216",
        ),
    ],
)
def test_scenarios_that_ask_for_the_sky_are_bad_rows_before_memory_is_taken(scenario, said):
    [*rows] = planned([good_row()], ("AVG", {}), [{"name": "sky", "changes": scenario}], "metrics")
    assert [row["err_code"] for row in rows] == [ErrCode.TOO_LARGE] * 2
    assert said in rows[0]["err_msg"]


def test_rings_are_made_so_many_points_at_a_time(monkeypatch):
    monkeypatch.setattr(assigner, "MAX_POINTS", 60)
    rows = [good_row(client_ids=[f"c{i}" for i in range(n)]) for n in (2, 6, 3, 7, 1, 5, 4)]
    rows += [good_row(client_ids=["c", "c", "d"]), good_row(strategy="AVG")]
    scenarios = [
        {"name": "one more", "changes": [{"add_clients": {"count": 1}}]},
        {
            "name": "less",
            "changes": [{"remove_clients": {"count": 2, "which": "first"}}],
            "topics": "T",
        },
    ]
    rule = ("CONSISTENT_HASH", {})
    found = plan_batch(
        batch_of(rows, "strategy"), PlanSpec(*rule, scenarios=scenarios, output="owners")
    ).to_pylist()
    wanted = [row for unit in rows for row in rows_twin.plan(unit, rule, scenarios)]
    too_large = [row["err_code"] == ErrCode.TOO_LARGE for row in found]
    assert too_large == [
        i in (4, 9, 10) for i in range(len(found))
    ]  # 6 clients and one more; 7 clients, and one more
    cured = found[11]  # two less than 7, from a ring that was too large: from nobody
    assert (cured["moved"], cured["owners"]) == (cured["n_queues"], wanted[11]["owners"])
    alike = [i for i, bad in enumerate(too_large) if not bad and i != 11]
    assert_same([found[i] for i in alike], [wanted[i] for i in alike])


# --- Strategies by row ---


def test_a_row_may_name_its_own_strategy_and_virtual_nodes():
    own = [
        (None, None),
        ("AVG_BY_CIRCLE", None),
        ("CONSISTENT_HASH", None),
        ("CONSISTENT_HASH", 3),
        (None, 7),
        ("AVG", 9),
    ]
    rows = [good_row(strategy=name, virtual_nodes=nodes) for name, nodes in own]
    changes = [{"set_virtual_nodes": {"virtual_nodes": 2}}, {"add_clients": {"count": 2}}]
    scenarios = [{"name": "two", "changes": changes}]
    for rule in (("AVG", {}), ("CONSISTENT_HASH", {"virtual_nodes": 4})):
        wanted = [row for unit in rows for row in rows_twin.plan(unit, rule, scenarios)]
        assert_same(planned(rows, rule, scenarios), wanted)


def test_columns_of_strategies_of_any_fitting_type():
    batch = batch_of([good_row(strategy="AVG_BY_CIRCLE", virtual_nodes=3)] * 2)
    wanted = plan_batch(batch, PlanSpec())
    for name, kind in [("strategy", pa.large_string()), ("virtual_nodes", pa.int8())]:
        i = batch.schema.get_field_index(name)
        assert plan_batch(batch.set_column(i, name, batch.column(i).cast(kind)), PlanSpec()).equals(
            wanted
        )
        assert plan_batch(
            batch.set_column(i, name, batch.column(i).dictionary_encode()), PlanSpec()
        ).equals(wanted)
        with pytest.raises(TypeError, match=f"column {name} must hold"):
            plan_batch(batch.set_column(i, name, pa.array([1.5, 2.5])), PlanSpec())
    nothing = batch.set_column(batch.schema.get_field_index("strategy"), "strategy", pa.nulls(2))
    assert plan_batch(nothing, PlanSpec())["strategy"].to_pylist() == ["AVG", "AVG"]


# --- The spec ---


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"strategy": "BEST"}, "unknown strategy"),
        ({"strategy": "POP", "params": {"inner": None}}, "inner must be a strategy"),
        ({"output": "all"}, "output must be one of metrics, owners, best, got 'all'"),
        ({"best_by": ()}, "best_by must be some of unowned, "),
        ({"best_by": ("beauty",)}, "best_by must be some of unowned, "),
        ({"scenarios": [{"name": "x"}]}, "scenario 'x': changes is missing"),
    ],
)
def test_a_wrong_spec_is_refused(fields, said):
    with pytest.raises((ValueError, TypeError), match=said):
        PlanSpec(**fields)


def test_a_table_that_lacks_what_a_spec_needs_is_refused_whatever_its_rows():
    hz = [{"name": "x", "changes": [{"lose_machine_room": {"machine_room": "hz"}}]}]
    for spec in (PlanSpec("MACHINE_ROOM_NEARBY-AVG"), PlanSpec(scenarios=hz)):
        for rows in ([good_row()], [good_row(client_ids=[])]):
            for batch in (batch_of(rows), batch_of(rows).slice(0, 0)):
                with pytest.raises(TypeError, match=r"column (broker|client)_rooms"):
                    plan_batch(batch, spec)
                with pytest.raises(TypeError, match=r"column (broker|client)_rooms"):
                    list(plan_stream([batch], spec))
                with pytest.raises(TypeError, match=r"column (broker|client)_rooms"):
                    expand_owners(batch, spec)
                with pytest.raises(TypeError, match=r"column (broker|client)_rooms"):
                    client_load(batch, spec)


@given(st.data())
def test_neither_pickling_nor_slicing_changes_an_answer(data):
    rows = data.draw(st.lists(drawn_units.units(), min_size=1, max_size=8))
    rows.insert(data.draw(st.integers(0, len(rows))), good_row(client_ids=[]))
    scenarios, output = (
        data.draw(drawn_units.scenarios()),
        data.draw(st.sampled_from(["metrics", "owners", "best"])),
    )
    spec = PlanSpec("AVG", scenarios=scenarios, output=output)
    batch = batch_of(rows)
    wanted = plan_batch(batch, pickle.loads(pickle.dumps(spec)))
    assert plan_batch(batch, spec).equals(wanted)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    slices = [batch.slice(a, b - a) for a, b in pairwise([0, *cuts, len(rows)])]
    most = data.draw(st.integers(60, 200))
    assert pa.Table.from_batches(plan_stream(slices, spec, max_queues=most)).equals(
        pa.Table.from_batches([wanted])
    )


def test_pieces_stay_within_their_bounds(monkeypatch):
    monkeypatch.setattr(batch_sizes, "MAX_ROWS", 7)
    rows = [good_row() for _ in range(5)]
    spec = PlanSpec(scenarios=[{"name": "x", "changes": [{"scale_clients": {"to": 1}}]}])
    assert [piece.num_rows for piece in plan_stream([batch_of(rows)], spec)] == [6, 4]
    with_owners = PlanSpec(scenarios=spec.scenarios, output="owners")
    assert [
        piece.num_rows for piece in plan_stream([batch_of(rows)], with_owners, max_queues=10)
    ] == [2] * 5


# --- By name ---


def owned_rows(row, rule, scenarios):
    """Every queue with its owner before any change and after every scenario, by the twin."""
    found = []
    for name, changes in [("current", []), *((one["name"], one["changes"]) for one in scenarios)]:
        unit = planned_units.changed(rows_twin.unit_of(row, rule), {"changes": changes})
        owner_of = mixed.state_of(mixed.alike(unit)).owner_of
        found += [
            (unit.group, topic, name, broker, number, one)
            for (topic, broker, number), one in owner_of.items()
        ]
    return found


@examples(30)
@given(st.data())
def test_owners_and_loads_by_name(data):
    rows = data.draw(st.lists(drawn_units.units(), min_size=1, max_size=5))
    rule = data.draw(st.sampled_from(drawn_units.STRATEGIES))
    changes = data.draw(st.lists(drawn_units.changes(), max_size=3))
    scenarios = [{"name": f"s{i}", "changes": [change]} for i, change in enumerate(changes)]
    spec, batch = PlanSpec(*rule, scenarios), batch_of([*rows, good_row(brokers=TWICE)])
    wanted = [queue for row in rows for queue in owned_rows(row, rule, scenarios)]
    named = expand_owners(batch, spec)
    named.validate(full=True)
    *found, bad = (tuple(row.values()) for row in named.to_pylist()[: len(wanted) + 1])
    assert [row[:6] for row in found] == wanted
    assert all(row[6:] == (0, None) for row in found)
    assert bad[:7] == ("g", "T", "current", None, None, None, ErrCode.DUPLICATE_QUEUE)
    assert "is there twice" in bad[7]
    assert named.num_rows == len(wanted) + 1 + len(scenarios)
    assert pa.Table.from_batches(expand_stream([batch], spec, max_queues=90)).equals(
        pa.Table.from_batches([named])
    )
    loads = Counter(
        (scenario, client_id) for _, _, scenario, _, _, client_id in wanted if client_id is not None
    )
    parts = list(load_stream([batch], spec, max_queues=90))
    summed = sum_loads(parts).to_pylist()
    assert {
        (row["scenario"], row["client_id"]): row["n_queues"] for row in summed if row["n_queues"]
    } == loads
    assert sum_loads([client_load(batch, spec)]).to_pylist() == summed


@given(st.lists(drawn_units.units(), min_size=1, max_size=3), st.data())
def test_a_unit_beside_one_with_a_queue_twice_is_planned_as_alone(rows, data):
    """Brokers on the route without queues are there too: a change may give them some."""
    for row in rows:
        names = data.draw(st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, unique=True))
        row["brokers"] = [
            {"broker_name": one, "read_queue_nums": data.draw(st.integers(0, 2))} for one in names
        ]
    scenarios = [
        {
            "name": "more",
            "changes": [{"set_queues": {"read_queue_nums": data.draw(st.integers(1, 3))}}],
        }
    ]
    spec = PlanSpec("AVG", {}, scenarios, output="owners")
    alone = plan_batch(batch_of(rows), spec).to_pylist()
    place = data.draw(st.integers(0, len(rows)))
    beside = plan_batch(
        batch_of([*rows[:place], good_row(brokers=TWICE), *rows[place:]]), spec
    ).to_pylist()
    assert beside[: 2 * place] + beside[2 * place + 2 :] == alone


def test_loads_are_summed_over_topics_groups_and_hosts():
    rows = [
        good_row(client_ids=ids)
        for ids in (["h@1", "h@2"], ["h@1", "i@1"], ["i@1", "alone", "alone"])
    ]
    part = client_load(batch_of(rows), PlanSpec("AVG"))
    part.validate(full=True)
    assert part.schema == LOAD_SCHEMA
    by_client = {
        row["client_id"]: (row["host"], row["n_units"], row["n_queues"])
        for row in sum_loads([part]).to_pylist()
    }
    assert by_client == {
        "alone": ("alone", 1, 2),
        "h@1": ("h", 2, 6),
        "h@2": ("h", 1, 2),
        "i@1": ("i", 2, 3),
    }
    by_host = sum_loads([part, part], by="host").to_pylist()
    assert [(row["host"], row["n_units"], row["n_queues"]) for row in by_host] == [
        ("alone", 2, 4),
        ("h", 6, 16),
        ("i", 4, 6),
    ]
    with pytest.raises(ValueError, match='by must be "client_id" or "host", got \'ip\''):
        sum_loads([part], by="ip")


def test_an_error_of_a_scenario_is_a_row_by_name_too():
    row = good_row(client_rooms=["hz", "sh"], broker_rooms=["hz", "sh"])
    spec = PlanSpec(
        "MACHINE_ROOM_NEARBY-AVG",
        scenarios=[{"name": "x", "changes": [{"add_clients": {"count": 1}}]}],
    )
    last = expand_owners(batch_of([row]), spec).to_pylist()[-1]
    assert (last["scenario"], last["broker_name"], last["err_code"]) == ("x", None, ErrCode.REFUSED)
    assert set(client_load(batch_of([row]), spec)["scenario"].to_pylist()) == {"current"}
