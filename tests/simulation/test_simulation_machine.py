"""Whatever happens to a cluster: once it is left in peace, every queue has the owner that the
strategy says.
"""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from rmqalloc import strategy
from rmqalloc.remoting import PROFILES
from rmqalloc.simulation import Cluster, Flow

QUIET = 400_000  # ms: expiry of a channel, its scan, a poll of routes, a lock's life and a pass, with some to spare
BROKERS = ("broker-a", "broker-b")
NAMES = [f"pod-{i}" for i in range(5)]

names = st.sampled_from(NAMES)
brokers = st.sampled_from(BROKERS)
times = st.sampled_from([1, 300, 2_500, 12_000, 35_000, 70_000, 125_000])


class Disturbed(RuleBasedStateMachine):
    """A cluster with one group, disturbed at will."""

    profile, is_ordered, server_assignment = "5.5", False, False

    @initialize(number=st.integers(0, 2), seed=st.integers(0, 3))
    def build(self, number, seed):
        known = (
            ["AVG", "AVG_BY_CIRCLE"]
            if self.server_assignment
            else ["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"]
        )
        rule = strategy(known[number % len(known)])
        self.cluster = Cluster(PROFILES[self.profile], seed)
        self.now = 0
        self.down, self.restarted = set(), set()
        for broker in BROKERS:
            self.cluster.start_broker(broker)
            self.cluster.set_topic("orders", broker, 5)
        flows, settings = {"orders": Flow(10, 50)}, (self.is_ordered, 700, self.server_assignment)
        self.group = self.cluster.add_group("g", flows, rule, *settings)
        for name in NAMES[:2]:
            self.cluster.join(self.group, name)

    def living(self, name):
        member = self.cluster.members.get(name)
        self.cluster.clock.begin_action()
        return member if member is not None and member.process.is_alive else None

    @rule(milliseconds=times)
    def wait(self, milliseconds):
        self.now += milliseconds
        self.cluster.run(self.now)

    @rule(name=names, generation=st.integers(1, 2))
    def join(self, name, generation):
        if not self.living(name):
            self.cluster.join(self.group, name, f"{name}@{generation}")

    @rule(name=names, how=st.sampled_from(["shutdown", "crash", "vanish", "close_connections"]))
    def leave(self, name, how):
        if member := self.living(name):
            getattr(member, how)()

    @rule(name=names, lasts=times)
    def freeze(self, name, lasts):
        if (member := self.living(name)) and not member.process.is_frozen:
            member.freeze()
            self.cluster.clock.call_later(lasts, member.thaw)

    @rule(name=names, lasts=times)
    def pause(self, name, lasts):
        if (
            (member := self.living(name))
            and not member.consumer.paused
            and not member.process.is_frozen
        ):
            member.pause()
            self.cluster.clock.call_later(lasts, member.resume)

    @rule(name=names, broker=brokers, lasts=times)
    def partition(self, name, broker, lasts):
        self.cluster.partition(name, broker, lasts)

    @rule(broker=brokers, crash=st.booleans(), lasts=times)
    def restart_broker(self, broker, crash, lasts):
        if broker not in self.down:
            self.down.add(broker)
            self.restarted.add(broker)
            self.cluster.stop_broker(broker, crash)
            self.cluster.clock.call_later(lasts, lambda: self.come_back(broker))

    def come_back(self, broker):
        self.down.discard(broker)
        self.cluster.start_broker(broker)

    @rule(broker=brokers, n_queues=st.integers(1, 8), perm=st.sampled_from([6, 6, 4, 2]))
    def change_topic(self, broker, n_queues, perm):
        self.cluster.set_topic("orders", broker, n_queues, perm)

    @rule(enabled=st.booleans())
    def set_notices(self, enabled):
        self.cluster.set_notices(enabled)

    def teardown(self):
        if hasattr(self, "cluster"):
            self.cluster.run(self.now + QUIET)
            self.check(self.now + QUIET)

    def check(self, now):
        owners = self.cluster.owners(self.group)
        living = {m.client_id for m in self.group.members if m.process.is_alive}
        for broker in self.cluster.brokers_of("orders"):
            expected = self.cluster.expected_owners(self.group, broker)
            assert {owner for owner in expected.values() if owner} <= living
            assert owners == {queue: [owner] if owner else [] for queue, owner in expected.items()}
        if living:
            assert all(len(one) == 1 for one in owners.values())
        if self.is_ordered and self.profile != "4.9":
            # Locks are in a broker's memory: a restart forgets them, and then two clients may
            # believe that they hold one.
            timeline = self.group.timeline
            doubles = {
                timeline.queues[place].broker_name
                for place in timeline.double_owned(now).queue.tolist()
            }
            assert doubles <= self.restarted


MACHINES = {
    "5.5 concurrent": {},
    "5.5 ordered": {"is_ordered": True},
    "5.5 divided by brokers": {"server_assignment": True},
    "4.9 concurrent": {"profile": "4.9"},
    "4.9 ordered": {"profile": "4.9", "is_ordered": True},
}


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("label", MACHINES)
def test_a_cluster_left_in_peace_settles_as_the_strategy_says(label):
    """And before that, no ordered queue is worked on by two clients that believe they hold its
    lock.
    """
    machine = type("Machine", (Disturbed,), MACHINES[label])
    run_state_machine_as_test(machine, settings=settings(settings(), stateful_step_count=12))
