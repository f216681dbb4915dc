"""Every gate at exactly its bound, which is kept, and just below it, which is not."""

import math

import pytest

from rmqalloc.plans import Gates, plan_snapshot
from rmqalloc.plans._gates import GatesError, read_gates
from rmqalloc.snapshot import Client, Group, Snapshot, Topic, TopicBroker

GONE = [{"name": "one leaves", "changes": [{"remove_clients": {"ids": "c2"}}]}]


def plan_of(n_queues, n_clients):
    clients = tuple(Client(f"c{i}") for i in range(1, n_clients + 1))
    topic = Topic("T", (TopicBroker("b", n_queues),))
    return plan_snapshot(Snapshot((topic,), (Group("g", ("T",), clients, strategy="AVG"),)), GONE)


@pytest.mark.parametrize(
    ("n_queues", "n_clients"), [(24, 4), (10, 3), (7, 3), (1, 2), (3, 5), (1, 1)]
)
def test_a_figure_keeps_a_bound_that_it_reaches(n_queues, n_clients):
    plan = plan_of(n_queues, n_clients)
    before, after = plan.groups.to_pylist()
    moved, share = after["moved"], after["moved"] / n_queues
    kept = [Gates(max_moved=moved), Gates(max_moved_share=share)]
    kept += (
        [Gates(max_skew=after["skew"])]
        if after["skew"] is not None and math.isfinite(after["skew"])
        else []
    )
    broken = [Gates(max_moved=moved - 1), Gates(max_moved_share=share * 0.999)] if moved else []
    broken += [Gates(max_skew=after["skew"] * 0.999)] if len(kept) == 3 and after["skew"] else []
    assert [gates.broken(plan) for gates in kept] == [()] * len(kept)
    assert [len(gates.broken(plan)) for gates in broken] == [1] * len(broken)
    assert before["n_queues"] == n_queues


@pytest.mark.parametrize(("n_queues", "n_clients"), [(24, 4), (10, 3), (7, 3)])
@pytest.mark.parametrize("informed_by", ["notice", "timer", "scan"])
def test_what_is_open_keeps_a_bound_that_it_reaches(n_queues, n_clients, informed_by):
    plan = plan_of(n_queues, n_clients)
    [row] = plan.transitions(informed_by).to_pylist()
    for bound, figure in (("max_unowned", row["unowned"]), ("max_double", row["double_owned"])):
        assert Gates(**{bound: figure}, informed_by=informed_by).broken(plan) == ()
        if figure:
            [said] = Gates(**{bound: figure - 1}, informed_by=informed_by).broken(plan)
            assert f"the limit is {figure - 1}" in said.text
    for of in ("worst", "p99"):
        seconds = row[f"unowned_seconds_{of}"]
        assert (
            Gates(max_unowned_seconds=f"{seconds:.9f}@{of}", informed_by=informed_by).broken(plan)
            == ()
        )
        [said] = Gates(
            max_unowned_seconds=f"{seconds - 0.001:.9f}@{of}", informed_by=informed_by
        ).broken(plan)
        assert said.text.startswith("a queue has no owner for up to")


@pytest.mark.parametrize("bound", ["max_unowned", "max_double"])
def test_a_gate_of_queues_goes_to_what_an_int_holds(tmp_path, bound):
    path = tmp_path / "gates.json"
    for most, is_taken in ((-1, False), (0, True), (2**31 - 1, True), (2**31, False)):
        path.write_text(f'{{"{bound}": {most}}}')
        if is_taken:
            assert getattr(read_gates(path), bound) == most
        else:
            with pytest.raises(GatesError, match=bound):
                read_gates(path)
