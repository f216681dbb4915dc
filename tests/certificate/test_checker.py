"""Every plan that is made is proved by the checker, which shares no code with planning; a plan that says anything else is not."""

import json

import mixed_plans
import plan_inputs
import plan_snapshots
from audited import topics
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc.certificate._checker import verdict
from rmqalloc.plans import plan_snapshot
from rmqalloc.snapshot._plain_data import to_document
from rmqalloc.snapshot._snapshot import Snapshot


def text_of(plan):
    """The text of a plan's file."""
    return "".join(plan.text()) + f',"digest":"{plan.digest}"}}'


def problems_of(plan, snapshot):
    return verdict(text_of(plan), snapshot=json.loads(json.dumps(to_document(snapshot)))).problems


@examples(60, nightly=5_000)
@given(st.data(), st.booleans())
def test_every_plan_is_proved(data, rooms):
    snapshot = data.draw(plan_snapshots.snapshots(rooms))
    plan = plan_snapshot(snapshot, data.draw(plan_inputs.scenarios(rooms)))
    assert problems_of(plan, snapshot) == []


@examples(60, nightly=5_000)
@given(topics, mixed_plans.groups(), st.lists(mixed_plans.changes(), min_size=1, max_size=2))
def test_every_plan_of_clients_that_differ_is_proved(topic, group, changes):
    assume(any(one.read_queue_nums for one in topic.brokers))
    snapshot = Snapshot((topic,), (group,))
    scenarios = [{"name": "one", "changes": changes[:1]}, {"name": "all", "changes": changes}]
    assert problems_of(plan_snapshot(snapshot, scenarios), snapshot) == []
