"""Whether queues are where a saved plan puts them."""

from dataclasses import replace

import pytest
from audited import group, only, queues, snapshot, topic, with_owned

from rmqalloc.audit import check_snapshot, owners_after
from rmqalloc.cli import main
from rmqalloc.plans import plan_snapshot, save_plan
from rmqalloc.scenarios import scenarios_of
from rmqalloc.snapshot.files import write_snapshot
from rmqalloc.snapshot.snapshot import Client

BEFORE = snapshot(group("c1", "c2"))
ONE_MORE = scenarios_of([{"name": "one more", "changes": [{"add_clients": {"ids": ["c3"]}}]}])
RULE = ["differs-from-plan"]


def checked(after, plan=None, scenario=None):
    planned = owners_after(plan or plan_snapshot(BEFORE, ONE_MORE), scenario)
    return check_snapshot(snapshot(after), rules=RULE, planned=planned)


def told(*names):
    """The group after its clients have rebalanced."""
    return with_owned(group(*names), (topic(),))


def test_owners_after_are_those_of_the_scenario():
    after = owners_after(plan_snapshot(BEFORE, ONE_MORE))
    assert after == {
        "g": {queue: c.client_id for c in told("c1", "c2", "c3").clients for queue in c.owned}
    }
    assert owners_after(plan_snapshot(BEFORE, ONE_MORE), "current")["g"][queues([3])[0]] == "c1"


def test_a_plan_that_came_true_is_no_finding():
    assert checked(told("c1", "c2", "c3")) == ()
    assert checked(group("c1", "c2", "c3")) == ()  # nobody told, but the strategy comes to that


@pytest.mark.parametrize(
    ("make", "word"), [(told, "by the clients' reports"), (group, "by computation")]
)
def test_queues_that_have_not_moved_are_named(make, word):
    finding = only(checked(make("c1", "c2")), "differs-from-plan")
    assert finding.queues == (*queues([3]), *queues([2, 3], "b"))
    assert finding.severity == "warning"
    assert (
        f"3 queues of 8 in the plan have another owner {word}: for example, orders a:3"
        in finding.message
    )
    assert finding.message.endswith("is owned by c1 (in the plan: c2).")


def test_what_a_silent_client_owns_is_not_known():
    one = told("c1", "c2", "c3")
    assert checked(replace(one, clients=(*one.clients[:2], Client("c3")))) == ()


def test_queues_that_came_or_went_since_are_named():
    planned = owners_after(plan_snapshot(BEFORE, ONE_MORE))
    ids = ("c1", "c2", "c3")
    grown = check_snapshot(
        snapshot(group(*ids), topics=(topic(a=4, b=4, c=1),)), rules=RULE, planned=planned
    )
    assert queues([0], "c")[0] in only(grown, "differs-from-plan").queues
    shrunk = check_snapshot(
        snapshot(group(*ids), topics=(topic(a=4),)), rules=RULE, planned=planned
    )
    assert set(queues(range(4), "b")) <= set(only(shrunk, "differs-from-plan").queues)


def test_groups_that_are_not_in_the_plan_are_left_alone():
    planned = owners_after(plan_snapshot(BEFORE, ONE_MORE))
    both = snapshot(group("c1", "c2", "c3"), replace(group("c1"), name="other"))
    assert check_snapshot(both, rules=RULE, planned=planned) == ()


def test_a_group_of_the_plan_that_is_not_there_is_named():
    planned = owners_after(plan_snapshot(BEFORE, ONE_MORE))
    other = snapshot(replace(group("c1"), name="other"))
    [finding] = check_snapshot(other, rules=RULE, planned=planned)
    assert (finding.rule, finding.consumer_group, len(finding.queues)) == (
        "differs-from-plan",
        "g",
        8,
    )
    assert "The snapshot has no such consumer group" in finding.message
    assert check_snapshot(other, ["other"], rules=RULE, planned=planned) == ()


def test_a_plan_that_leaves_queues_to_several_or_to_nobody_comes_true():
    """One client divides by another strategy, and goes on doing so."""
    mixed = tuple(
        replace(one, strategy="AVG_BY_CIRCLE") if one.client_id == "c2" else one
        for one in told("c1", "c2").clients
    )
    before = snapshot(replace(group("c1", "c2"), clients=mixed))
    plan = plan_snapshot(before, ONE_MORE)
    [row] = plan.groups.slice(1).to_pylist()
    after = owners_after(plan)["g"]
    several = {queue: ids for queue, ids in after.items() if isinstance(ids, tuple)}
    assert (
        len(several) == row["double_owned"] > 0
        and list(after.values()).count(None) == row["unowned"] > 0
    )
    ids = {queue: {ids} if isinstance(ids, str) else set(ids or ()) for queue, ids in after.items()}

    def owning(owners):
        clients = tuple(
            Client(one, owned=tuple(q for q in owners if one in owners[q]))
            for one in ("c1", "c2", "c3")
        )
        return snapshot(replace(group(), clients=clients))

    def found(owners):
        return check_snapshot(owning(owners), rules=RULE, planned=owners_after(plan))

    assert found(ids) == ()
    queue = next(iter(several))
    for wrong in ({several[queue][0]}, {several[queue][1]}, set()):
        assert only(found(ids | {queue: wrong}), "differs-from-plan").queues == (queue,)


def test_of_several_scenarios_one_must_be_named():
    two = scenarios_of(
        [
            {"name": name, "changes": [{"scale_clients": {"to": n}}]}
            for name, n in (("x", 3), ("y", 4))
        ]
    )
    plan = plan_snapshot(BEFORE, two)
    with pytest.raises(ValueError, match="2 scenarios; name one of them: x, y"):
        owners_after(plan)
    with pytest.raises(ValueError, match="no scenario 'z'; it has x, y"):
        owners_after(plan, "z")
    assert owners_after(plan, "x") != owners_after(plan, "y")


def test_the_command_compares_with_a_saved_plan(tmp_path, capsys):
    save_plan(plan_snapshot(BEFORE, ONE_MORE), tmp_path / "plan.json")
    for name, ids in (("before", ("c1", "c2")), ("after", ("c1", "c2", "c3"))):
        write_snapshot(snapshot(told(*ids)), str(tmp_path / f"{name}.json"))
    plan = ["--plan", str(tmp_path / "plan.json")]
    assert main(["check", "-f", str(tmp_path / "after.json"), *plan]) == 0
    assert (
        main(["check", "-f", str(tmp_path / "before.json"), *plan, "--scenario-name", "one more"])
        == 2
    )
    assert "differs-from-plan" in capsys.readouterr().out
    assert main(["check", "-f", str(tmp_path / "after.json"), "--scenario-name", "x"]) == 64
    assert "--plan FILE" in capsys.readouterr().err
