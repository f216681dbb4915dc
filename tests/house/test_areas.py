"""The choice of tests for a change: a function of changed files and of the commit, within a budget."""

import areas
import pytest
from areas import AREAS, choose
from checkout import ROOT

COSTS = {
    start: cost
    for area in AREAS.values()
    if area.touched_by
    for start, cost in area.seconds.items()
}
HEADS = [f"{number:08x}" + "0" * 32 for number in range(areas.TURNS)]


def is_there(start):
    """Whether there is the file that an area names, and the test in it, or the page of the test."""
    path, _, name = start.partition("::")
    test, _, case = name.partition("[")
    if case.startswith("docs/"):
        return (ROOT / path).exists() and (ROOT / case).exists()
    return (ROOT / path).exists() and (
        not test or f"def {test}" in (ROOT / path).read_text("utf-8")
    )


def test_every_test_of_an_area_is_there():
    starts = [start for area in AREAS.values() for start in area.seconds]
    assert starts and [start for start in starts if not is_there(start)] == []


def test_every_cause_is_there():
    causes = [(name, cause) for name, area in AREAS.items() for cause in area.touched_by]
    assert causes and [one for one in causes if not any(ROOT.glob(f"{one[1]}*"))] == []


def test_a_test_belongs_to_the_area_that_names_it_most_closely():
    assert areas.area_of("tests/engine/test_sanitizers.py::test_under_sanitizers[ring]") == "c"
    assert areas.area_of("tests/engine/test_ring.py::test_other") is None


@pytest.mark.parametrize(("path", "area"), [
    ("java/src/main/java/X.java", "java"),
    ("go/mix.go", "go"),
    ("rmqalloc/broker/_locks.py", "differential"),
    ("docs/plan.md", "pages"),
    ("tests/strategies/test_order_tables.py", "solver"),
])  # fmt: skip
def test_a_changed_file_touches_its_area(path, area):
    chosen = choose([path], HEADS[0])
    assert {start for start, why in chosen.touched.items() if why == path} >= set(
        AREAS[area].seconds
    )


def test_a_change_of_nothing_in_an_area_runs_an_eighth_and_all_eighths_are_everything():
    turns = [choose(["LICENSE"], head) for head in HEADS]
    assert all(not turn.touched and not turn.left_out for turn in turns)
    assert sorted(start for turn in turns for start in turn.in_turn) == sorted(COSTS), "each once"
    costs = [sum(COSTS[start] for start in turn.in_turn) for turn in turns]
    assert max(costs) - min(costs) <= max(COSTS.values())


@pytest.mark.parametrize(
    "changed", [None, ["pyx/md5.pyx"], ["rmqalloc/fleet/fleet.py"], ["rmqalloc/model.py"]]
)
def test_what_touches_everything_runs_up_to_the_budget_and_names_the_rest(changed):
    chosen = choose(changed, HEADS[3])
    assert sorted([*chosen.touched, *chosen.left_out]) == sorted(COSTS)
    assert not chosen.in_turn
    assert chosen.left_out, "all areas cost more than the budget"
    assert sum(COSTS[start] for start in chosen.touched) <= areas.BUDGET
    assert min(COSTS[start] for start in chosen.left_out) >= max(
        COSTS[start] for start in chosen.touched
    )


def test_the_choice_is_a_function_of_its_arguments():
    assert choose(["docs/plan.md"], HEADS[5]) == choose(iter(["docs/plan.md"]), HEADS[5])
    assert choose(["docs/plan.md"], HEADS[5]) != choose(["docs/plan.md"], HEADS[6])


def test_what_is_in_turn_does_not_exceed_what_is_left_of_the_budget():
    dearest = max(COSTS.values())
    chosen = choose(["LICENSE"], HEADS[0], budget=dearest - 1)
    assert sum(COSTS[start] for start in chosen.in_turn) < dearest


def test_every_proof_of_the_makefile_is_chosen_within_eight_turns():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    names = makefile.partition("\nPROOFS := ")[2].partition("\n")[0].split()
    assert names == list(areas.PROOFS)
    assert all((ROOT / "proofs" / name / "__main__.py").exists() for name in names)
    turns = [
        choose(["CODE_OF_CONDUCT.md"], head, areas.PROOFS_BUDGET, areas.PROOFS) for head in HEADS
    ]
    assert {name for turn in turns for name in turn.all()} == {*names}
    assert choose(["LICENSE"], HEADS[0], areas.PROOFS_BUDGET, areas.PROOFS).touched == {
        "platforms": "LICENSE"
    }
