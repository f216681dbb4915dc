"""Groups of clients of Java, Go and C++: audits and plans beside every client asked alone in its
own language.
"""

from collections import Counter

import go_reference
import pytest
import reference
from audited import group, only, snapshot, topic
from bruteforce.twin import checked

from rmqalloc.audit import check_snapshot
from rmqalloc.audit.finding import exposed
from rmqalloc.plans import plan_snapshot
from rmqalloc.snapshot.snapshot import Client


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("CONSISTENT_HASH", {"virtual_nodes": 20}),
        ("MACHINE_ROOM", {"machine_rooms": ["hz"]}),
        ("AVG_BY_CIRCLE", {}),
    ],
)
def test_a_mixed_group_owns_what_each_client_computes_for_itself(name, params):
    """Every client alone, by the slow twins of its own language."""
    routes = (topic(**{"a@b": 9, "hz@b1": 8, "hz@b2": 8}),)
    languages = {"c1": "JAVA", "c2": "GO", "c3": "CPP", "c4": "GO", "c5": "JAVA"}
    twins = {
        "JAVA": {"CONSISTENT_HASH": reference.ConsistentHash(20), "AVG_BY_CIRCLE": reference.AvgByCircle(),
                 "MACHINE_ROOM": reference.MachineRoom({"hz"})},
        "GO": {"CONSISTENT_HASH": go_reference.GoConsistentHash(20), "AVG_BY_CIRCLE": go_reference.GoAvgByCircle(),
               "MACHINE_ROOM": go_reference.GoMachineRoom({"hz"})},
    }  # fmt: skip
    there, ids = list(routes[0].queues()), sorted(languages)
    takers = Counter()
    for one, language in languages.items():
        takers.update(
            (twins[language][name] if language in twins else go_reference.CppAvg()).allocate(
                "g", one, there, ids
            )
        )
    own = [Client(one, language=language) for one, language in languages.items()]
    snap = snapshot(group(*own, strategy=name, strategy_params=params), topics=routes)
    found = check_snapshot(snap)
    unowned, doubled = {q for q in there if not takers[q]}, {q for q in there if takers[q] > 1}
    assert unowned and doubled
    assert set(only(found, "unowned-queue").queues) == unowned
    assert set(only(found, "double-owned-queue").queues) == doubled
    said = only(found, "mixed-languages")
    assert set(said.queues) == unowned | doubled
    assert exposed(len(unowned), len(doubled)) in said.message
    assert said.severity == "error"
    [row] = plan_snapshot(snap, []).units.to_pylist()
    assert (row["unowned"], row["double_owned"]) == (len(unowned), len(doubled))


def test_a_group_of_go_alone_is_whole_whatever_its_strategy():
    own = [Client(f"c{i}", language="GO") for i in range(4)]
    for name, params in (
        ("CONSISTENT_HASH", {"virtual_nodes": 10}),
        ("MACHINE_ROOM_NEARBY-AVG", {}),
    ):
        assert not {
            f.rule
            for f in check_snapshot(snapshot(group(*own, strategy=name, strategy_params=params)))
        } - {"idle-client"}


@pytest.mark.parametrize(
    ("languages", "name", "params"),
    [
        ("GO GO GO", "CONSISTENT_HASH", {"virtual_nodes": 20}),
        ("GO GO GO", "MACHINE_ROOM", {"machine_rooms": ["hz"]}),
        ("GO GO GO", "MACHINE_ROOM_NEARBY-CONSISTENT_HASH", {}),
        ("JAVA GO CPP", "CONSISTENT_HASH", {"virtual_nodes": 20}),
        ("JAVA GO CPP", "MACHINE_ROOM", {"machine_rooms": ["hz"]}),
    ],
)
def test_a_plan_is_proved_by_loops_that_know_the_dialects(languages, name, params):
    routes = (topic(**{"a@b": 5, "hz@b1": 4, "hz@b2": 4}),)
    own = [Client(f"c{i}", language=one) for i, one in enumerate(languages.split())]
    snap = snapshot(group(*own, strategy=name, strategy_params=params), topics=routes)
    changes = [{"name": "one less", "changes": [{"remove_clients": {"ids": ["c1"]}}]}]
    if "CONSISTENT_HASH" in name:
        changes.append(
            {"name": "no ring", "changes": [{"set_virtual_nodes": {"virtual_nodes": 0}}]}
        )
    plan, problems = checked(snap, changes)
    assert plan.units.num_rows == 1 + len(changes)
    assert plan.units["err_code"].to_pylist()[:2] == [0, 0]
    assert problems == []
