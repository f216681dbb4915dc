"""Bodies that the client half makes, read by a real broker: heartbeats of the second form, and all
else that has a body.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from wire_member import LOCK_BATCH, QUERY_ASSIGNMENT, UNLOCK_BATCH, Refused, WireMember

from rmqalloc import MessageQueue
from rmqalloc.rebalance import BlockingDriver
from rmqalloc.rebalance._heartbeats import Heartbeats, fingerprint_of
from rmqalloc.remoting import (
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    SubscriptionData,
    assignment_body,
    lock_body,
)

pytestmark = pytest.mark.cluster

GROUPS = [f"heard-{i}" for i in range(24)]
MEMBERS = ("h-1", "h-2")
TEXT = st.text(max_size=12)


def data_of(client_id, group):
    return HeartbeatData(
        client_id, (ConsumerData(group, subscriptions=frozenset({SubscriptionData("heard")})),)
    )


def test_two_members_join_by_the_second_form(cluster):
    """Half of these groups have a fingerprint that no Java int holds unless it is signed."""
    (_, address), *_ = cluster.running.items()
    assert 6 < sum(fingerprint_of(data_of("x", group)) < 0 for group in GROUPS) < 18
    with WireMember() as one, WireMember() as other:
        speakers = [
            (
                BlockingDriver(wire),
                Heartbeats(
                    lambda at=(member, group): data_of(*at), lambda: iter(()), second_form=True
                ),
            )
            for group in GROUPS
            for member, wire in zip(MEMBERS, (one, other), strict=True)
        ]
        assert all(driver.finish(speaker.send_to(address)) for driver, speaker in speakers)
        assert [one.consumer_ids(address, group) for group in GROUPS] == [[*MEMBERS]] * len(GROUPS)
        assert one.n_short == other.n_short == 0
        assert all(driver.finish(speaker.send_to(address)) for driver, speaker in speakers * 2)
        assert one.n_short > len(GROUPS) and other.n_short > len(GROUPS), (
            "the broker knows what they would say"
        )
        assert [other.consumer_ids(address, group) for group in GROUPS] == [[*MEMBERS]] * len(
            GROUPS
        )


def test_a_number_that_no_int_holds_is_refused(cluster):
    """So that the tests beside this one can fail: the broker's parser checks ranges."""
    (_, address), *_ = cluster.running.items()
    with WireMember() as wire, pytest.raises(Refused):
        wire.send_heartbeat(
            address, HeartbeatData("x", (ConsumerData("heard-0"),), fingerprint=1 << 31)
        )


SUBSCRIPTIONS = st.builds(
    SubscriptionData, TEXT, TEXT, st.integers(0, (1 << 63) - 1), st.sampled_from(["TAG", "SQL92"])
)
HEARTBEATS = st.builds(
    lambda client_id, subscriptions, *more: HeartbeatData(
        client_id, (ConsumerData("heard-all", *more[:3], frozenset(subscriptions), more[3]),)
    ),
    TEXT, st.lists(SUBSCRIPTIONS, max_size=3), st.sampled_from(ConsumeType), st.sampled_from(MessageModel),
    st.sampled_from(ConsumeFromWhere), st.booleans(),
)  # fmt: skip
QUEUES = st.lists(st.builds(MessageQueue, TEXT, TEXT, st.integers(0, (1 << 31) - 1)), max_size=3)


@examples(60)
@given(HEARTBEATS, QUEUES, TEXT, TEXT)
def test_every_body_is_read_by_the_broker(cluster, heartbeat, queues, topic, name):
    """Any text and every number of its range; what a broker cannot parse it answers with an error."""
    (_, address), *_ = cluster.running.items()
    group = heartbeat.consumers[0].consumer_group
    with WireMember() as wire:
        for fingerprint in (0, fingerprint_of(heartbeat)):
            wire.send_heartbeat(
                address, HeartbeatData(heartbeat.client_id, heartbeat.consumers, fingerprint)
            )
        body = lock_body(group, heartbeat.client_id, queues)
        wire.ask(address, LOCK_BATCH, body=body)
        wire.ask(address, UNLOCK_BATCH, body=body)
        model = heartbeat.consumers[0].message_model
        wire.ask(
            address,
            QUERY_ASSIGNMENT,
            body=assignment_body(topic, group, heartbeat.client_id, name, model),
        )
