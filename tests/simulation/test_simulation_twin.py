"""The simulation's shortcuts against a slow readable twin without them, on random scripts of every kind of event."""

from functools import partial
from heapq import heappop, heappush

import pytest
from random_scripts import KINDS, PROFILES, random_script

from rmqalloc import MessageQueue, strategy
from rmqalloc.rebalance import ProcessQueue, sorted_allocate
from rmqalloc.rebalance.offset_store import RemoteOffsetStore
from rmqalloc.remoting import DEFAULT_PROFILE
from rmqalloc.simulation import (
    Flow,
    Script,
    simulate,
)
from rmqalloc.simulation import (
    _cluster as cluster,
)
from rmqalloc.simulation import (
    _member as member,
)
from rmqalloc.simulation._network import Network
from rmqalloc.simulation._reader import Reader
from rmqalloc.simulation._watched_queues import WatchableQueue

SEEDS = range(45)


class LooksAtAll(Reader):
    """Looks at every read each time, whether or not anything was told of it."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.first_loss = 0  # for ever, so that the network too has it look each time

    def look(self):
        self.changed.update((read.number, read) for read in self._reads.values())
        super().look()

    def _to_look_at(self):
        self.changed.clear()
        return list(self._reads.values())


def one_after_the_other(factory, consumer_group, remoting):
    """A store that sends each offset in a request of its own."""
    return RemoteOffsetStore(factory, consumer_group)


class OneByOne(Network):
    """Every offset on its way waits for its own arrival, and every channel is told by itself."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.waiting, self.n_sent = self.arrivals, 0

    def commit(self, connection, consumer_group, offsets):
        arrival = self.clock.now() + self.latency
        for queue, offset in offsets.items():
            self.n_sent += 1
            heappush(self.waiting, (arrival, self.n_sent, connection, consumer_group, queue, offset))
            self.later(lambda: self.arrive(arrival))

    def arrive(self, until):
        while self.waiting and self.waiting[0][0] <= until:
            _, _, connection, consumer_group, queue, offset = heappop(self.waiting)
            if self.is_up(connection):
                connection.broker.offsets.commit_offset(consumer_group, queue, offset)

    def notify(self, connections, consumer_group):
        for connection in connections:
            self.n_notices += 1
            connection.last_used = self.clock.now()
            if self.clock.now() != self.notices_sent:
                self.notices, self.notices_sent = {}, self.clock.now()
                self.later(partial(self._deliver, self.notices))
            self.notices[connection] = consumer_group

    def _deliver(self, notices):
        self.notices_sent = 0
        for connection, consumer_group in notices.items():
            if self.is_up(connection):
                self.clock.begin_action()
                connection.host.notified(consumer_group)


def answers(script):
    """All that a result says, down to single intervals."""
    result = simulate(script)
    intervals = [
        (one.client_ids, one.processes.tolist(), *(column.tolist() for column in one.intervals))
        for one in result.ownerships
    ]
    return result.to_json(), intervals


@pytest.mark.parametrize("seed", SEEDS)
def test_the_twin_answers_the_same(seed, monkeypatch):
    script = Script.of(random_script(seed))
    fast = answers(script)
    monkeypatch.setattr(cluster, "Reader", LooksAtAll)
    monkeypatch.setattr(cluster, "Network", OneByOne)
    monkeypatch.setattr(cluster, "SharedAllocation", lambda: sorted_allocate)
    monkeypatch.setattr(member, "SimulatedOffsetStore", one_after_the_other)
    assert answers(script) == fast


@pytest.mark.parametrize("make", [member.SimulatedOffsetStore, one_after_the_other])
def test_offsets_of_queues_that_are_not_in_the_table_are_forgotten_and_not_sent(make, monkeypatch):
    monkeypatch.setattr(member, "SimulatedOffsetStore", make)
    one = cluster.Cluster(DEFAULT_PROFILE)
    one.start_broker("broker-a")
    one.set_topic("t", "broker-a", read_queue_nums=4)
    client = one.join(one.add_group("g", {"t": Flow(10, 20)}, strategy("AVG")), "x")
    one.run(until=5_000)
    store, gone = client.consumer.offset_store, MessageQueue("gone", "broker-a", 0)
    store.update_offset(gone, 7, increase_only=False)
    before = one.counts()["update_offset"]
    client.consumer.client_factory.finish(client.consumer.persist_consumer_offset())
    assert one.counts()["update_offset"] - before == 4
    assert gone not in store.offsets()
    assert len(store.offsets()) == 4


def test_the_scripts_hold_every_kind_of_event_for_every_release():
    scripts = [random_script(seed) for seed in SEEDS]
    kinds = {(script["profile"], kind) for script in scripts for event in script["events"] for kind in event}
    possible = {(profile, kind) for profile in PROFILES for kind in KINDS} - {("4.9", "set_consume_mode")}
    assert kinds >= possible
    assert {group["ordered"] for script in scripts for group in script["groups"]} == {True, False}


def test_a_watched_queue_tells_what_the_reader_must_know():
    queue, heard = WatchableQueue(now=5), []
    queue.watch(lambda: heard.append((queue.dropped, queue.locked, queue.last_lock_timestamp)))
    queue.locked = True
    queue.last_lock_timestamp = 7
    queue.pulling = True
    queue.add_messages(1, 1)
    queue.dropped = True
    queue.unwatch()
    queue.locked = False
    assert heard == [(False, True, 5), (False, True, 7), (True, True, 7)]
    assert isinstance(queue, ProcessQueue)
    assert not queue.locked


def test_work_grows_with_what_changes_and_not_with_what_is_read(monkeypatch):
    """Four times the queues of a client that is stalled mean no more reads looked at after they were made."""
    looked_at = []
    monkeypatch.setattr(cluster, "Reader", Counting)
    for n_queues in (10, 40):
        Counting.n_looked_at = 0
        simulate(Script.of(still(n_queues)))
        looked_at.append(Counting.n_looked_at / n_queues)
    assert looked_at[0] == looked_at[1] <= 2


class Counting(Reader):
    """Counts the reads that it looks at."""

    n_looked_at = 0

    def _to_look_at(self):
        reads = super()._to_look_at()
        Counting.n_looked_at += len(reads)
        return reads


def still(n_queues):
    """One client with all queues, and nothing that happens."""
    return {
        "duration": "5m",
        "brokers": "broker-a",
        "topics": [{"name": "t", "read_queue_nums": n_queues}],
        "groups": [{"name": "g", "topics": "t", "clients": 1}],
    }
