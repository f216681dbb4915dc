"""Clients of one group on a little cluster that come and go, and what they promise once they have
settled.
"""

from random import Random

from hypothesis import strategies as st
from little_cluster import LittleCluster, manager_of, push, queues_of, started

from rmqalloc import sort_client_ids, sort_queues, strategy
from rmqalloc.remoting import PROFILES

RULES = {
    "AVG": strategy("AVG"),
    "AVG_BY_CIRCLE": strategy("AVG_BY_CIRCLE"),
    "CONSISTENT_HASH": strategy("CONSISTENT_HASH", virtual_nodes=4),
}
SETTLED = 45_000
LIVES = st.lists(
    st.one_of(
        st.tuples(st.just("start"), st.sampled_from("vwxyz")),
        st.tuples(st.just("stop"), st.sampled_from("vwxyz")),
        st.tuples(st.just("kill"), st.sampled_from("vwxyz")),
        st.tuples(st.just("resize"), st.integers(1, 9)),
        st.tuples(st.just("wait"), st.integers(0, 5_000)),
        st.tuples(st.just("outage"), st.integers(1, 5_000)),
    ),
    min_size=1,
    max_size=12,
)


class Fleet:
    """Clients of one group that come and go."""

    def __init__(self, rule, orderly, profile):
        self.cluster = LittleCluster("broker-a", "broker-b", T=4)
        self.settings = {"strategy": RULES[rule], "orderly": orderly}
        self.profile = PROFILES[profile]
        self.running = {}

    def start(self, name):
        if name not in self.running:
            manager = manager_of(self.cluster, profile=self.profile, random=Random(name))
            self.running[name] = started(push(self.cluster, name, manager=manager, **self.settings))

    def stop(self, name):
        if name in self.running:
            self.running.pop(name).shutdown()

    def kill(self, name):
        """Its connections close with it, which brokers see."""
        if name in self.running:
            consumer = self.running.pop(name)
            consumer.client_factory.kill()
            self.cluster.factories.remove(consumer.client_factory)
            for broker in self.cluster.brokers.values():
                broker.unregister(consumer.client_id, "g")

    def resize(self, n_queues):
        self.cluster.add_topic("T", n_queues)

    def wait(self, milliseconds):
        self.cluster.clock.run_for(milliseconds)
        if self.settings["orderly"]:
            self.check_single_holders()

    def outage(self, milliseconds):
        broker = self.cluster.brokers["broker-a"]
        broker.down = True
        self.wait(milliseconds)
        broker.down = False

    def check_single_holders(self):
        """Ordered clients that hear of each other's locks never work on one queue both."""
        held = [queue for consumer in self.running.values() for queue in queues_of(consumer)]
        assert len(held) == len(set(held))

    def owned(self):
        """Queues that each client works on, by client id."""
        return {consumer.client_id: queues_of(consumer) for consumer in self.running.values()}

    def check_settled(self):
        """With a client ``x``, and once the locks of the dead have run out, every client has its
        share and no more.
        """
        self.start("x")
        self.cluster.clock.run_for(SETTLED + 65_000)
        queues = sort_queues(self.running["x"].rebalance.topic_subscribe_info["T"])
        client_ids = sort_client_ids(consumer.client_id for consumer in self.running.values())
        expected, owned = self.settings["strategy"].assign(queues, client_ids), self.owned()
        assert owned == {client_id: expected.queues_of(client_id) for client_id in client_ids}
        assert sorted(queue for mine in owned.values() for queue in mine) == queues
