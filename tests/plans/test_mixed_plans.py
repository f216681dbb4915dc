"""Plans of groups whose clients differ: against the plain twin that asks every client on its own."""

import mixed_plans as twin
from audited import topics
from hypothesis import assume, given
from hypothesis_budget import examples

from rmqalloc.plans import plan_snapshot
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.strategies.ordering import utf16

MOST_TRIED = 3_000


@examples(60, nightly=20_000)
@given(topics, twin.groups(), twin.changes())
def test_figures_and_owners_are_those_of_every_client_on_its_own(topic, group, change):
    assume(any(one.read_queue_nums for one in topic.brokers))
    plan = plan_snapshot(Snapshot((topic,), (group,)), [{"name": "x", "changes": [change]}])
    sides = [(topic, group), twin.changed(change, topic, group)]
    before = twin.readers(*sides[0])
    rows = plan.units.to_pylist()
    queues = plan.queues.to_pylist()
    for row, side in zip(rows, sides, strict=True):
        after = twin.readers(*side)
        if row["err_code"]:
            assert not twin.everyone(side[1]) or not after, row
            continue
        expected = twin.figures(before, after, side[1])
        able = twin.able(*side)
        if max(len(able), 1) ** len(after) <= MOST_TRIED:
            expected["least_moves"] = twin.least_moves(before, after, able)
        assert {name: row[name] for name in expected} == expected
        mine = [one for one in queues if one["scenario"] == row["scenario"]]
        for when, owners in (("before", before), ("after", after)):
            named = {
                (one["broker_name"], one["queue_id"]): [one[f"owner_{when}"], *(one[f"others_{when}"] or ())]
                for one in mine
            }
            for queue, (ids, _) in owners.items():
                assert named[queue.broker_name, queue.queue_id] == (sorted(ids, key=utf16) or [None])
