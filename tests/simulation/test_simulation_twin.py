"""The simulation's shortcuts against a slow readable twin without them, on random scripts of every
kind of event.
"""

from functools import partial
from heapq import heappop, heappush
from random import Random

import pytest

from rmqalloc import MessageQueue, strategy
from rmqalloc.rebalance import ProcessQueue, sorted_allocate
from rmqalloc.rebalance.offset_store import RemoteOffsetStore
from rmqalloc.remoting import DEFAULT_PROFILE
from rmqalloc.scenarios import ScenarioError
from rmqalloc.simulation import Flow, Script, simulate
from rmqalloc.simulation import _cluster as cluster
from rmqalloc.simulation import _member as member
from rmqalloc.simulation._events import EVENTS
from rmqalloc.simulation._network import Network
from rmqalloc.simulation._reader import Reader
from rmqalloc.simulation._watched_queues import WatchableQueue

KINDS = tuple(EVENTS)
PROFILES = ("5.5", "5.3", "4.9")
STRATEGIES = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")


def random_script(seed):
    """Data of a script: one to three groups of a few clients on a few queues, and up to eight
    events.

    Nothing in it is impossible: only clients that run are stopped, and only others join.
    """
    return _Maker(Random(seed)).script(seed)


def is_possible(data):
    """Whether a script is taken; steps that cannot be are refused."""
    try:
        Script.of(data)
    except ScenarioError:
        return False
    return True


class _Maker:
    def __init__(self, random):
        self.random = random
        self.brokers = [f"broker-{letter}" for letter in "abc"[: random.randint(1, 3)]]
        self.topics = [f"topic-{i}" for i in range(random.randint(1, 3))]
        self.running = {}
        self.stopped = {}
        self.busy = {}

    def script(self, seed):
        random = self.random
        duration = random.choice((90, 150, 240))
        groups = [self.group(i) for i in range(random.randint(1, 3))]
        times = sorted(
            random.randrange(0, duration * 1_000, random.choice((1, 500)))
            for _ in range(random.randint(2, 8))
        )
        profile = PROFILES[seed % len(PROFILES)]
        if profile == "4.9":
            for group in groups:
                group["server_assignment"] = False
        events = [event for event in (self.event(at) for at in times) if event is not None]
        data = {
            "name": f"random {seed}",
            "duration": f"{duration}s",
            "brokers": self.brokers,
            "topics": [self.topic(name) for name in self.topics],
            "groups": groups,
            "events": [],
            "seed": random.randrange(1_000),
            "profile": profile,
            "latency": f"{random.choice((1, 1, 3, 40, 700))}ms",
        }
        for event in events:
            data = (
                with_it
                if is_possible(with_it := {**data, "events": [*data["events"], event]})
                else data
            )
        return data

    def topic(self, name):
        return {
            "name": name,
            "read_queue_nums": self.random.randint(1, 6),
            "produced_per_second": self.random.choice((0, 7, 10)),
            **({"brokers": self.some(self.brokers)} if self.random.random() < 0.3 else {}),
        }

    def group(self, i):
        random, name = self.random, f"group-{i}"
        n_clients = random.randint(1, 5)
        self.running[name] = {f"{name}-{j}" for j in range(n_clients)}
        self.stopped[name] = {f"{name}-spare"}
        return {
            "name": name,
            "topics": self.some(self.topics),
            "clients": n_clients,
            "start_every": random.choice(("0ms", "700ms")),
            "strategy": random.choice(STRATEGIES),
            "ordered": random.random() < 0.6,
            "listener_time": random.choice(("0ms", "300ms", "2500ms")),
            "consumed_per_second": random.choice((5, 20, 100)),
            "server_assignment": random.random() < 0.4,
        }

    def event(self, at):
        kind = self.random.choice(KINDS)
        group = self.random.choice(list(self.running))
        detail = None if at < self.busy.get(group, 4_000) else getattr(self, f"_{kind}")(group, at)
        return None if detail is None else {"at": f"{at}ms", kind: detail}

    def some(self, names):
        names = sorted(names)
        return self.random.sample(names, self.random.randint(1, len(names)))

    def lasts(self):
        return f"{self.random.choice((1, 400, 5_000, 31_000, 70_000))}ms"

    def _join(self, group, at):
        if not self.stopped[group]:
            return None
        clients = self.some(self.stopped[group])
        self.stopped[group] -= set(clients)
        self.running[group] |= set(clients)
        more = {"topics": self.some(self.topics)} if self.random.random() < 0.2 else {}
        if self.random.random() < 0.2:
            more["client_id"] = self.random.choice(("twin@1", f"{group}-0@1"))
        if self.random.random() < 0.2:
            more["strategy"] = self.random.choice(STRATEGIES)
        return {"group": group, "clients": clients, **more}

    def _leave(self, group, at):
        detail = self._clients(group, at)
        if detail is not None:
            self.running[group] -= set(detail["clients"])
            self.stopped[group] |= set(detail["clients"])
        return detail

    _shutdown = _crash = _vanish = _leave

    def _clients(self, group, at):
        return {"clients": self.some(self.running[group])} if self.running[group] else None

    def _disconnect(self, group, at):
        detail = self._clients(group, at)
        if detail is not None and self.random.random() < 0.5:
            detail["brokers"] = self.some(self.brokers)
        return detail

    def _pause(self, group, at):
        detail = self._clients(group, at)
        return detail and detail | {"lasts": self.lasts()}

    _freeze = _pause

    def _restart_broker(self, group, at):
        if at < self.busy.get("brokers", 0):
            return None
        lasts = self.random.choice((2_000, 30_000))
        self.busy["brokers"] = at + lasts + 1_000
        return {
            "brokers": self.some(self.brokers),
            "lasts": f"{lasts}ms",
            "crash": self.random.random() < 0.5,
        }

    def _change_topic(self, group, at):
        readable = {"readable": False} if self.random.random() < 0.2 else {}
        return {
            "topic": self.random.choice(self.topics),
            "read_queue_nums": self.random.randint(0, 8),
            **readable,
        }

    def _partition(self, group, at):
        detail = self._clients(group, at)
        return detail and detail | {"brokers": self.some(self.brokers), "lasts": self.lasts()}

    def _notices(self, group, at):
        return {"enabled": self.random.random() < 0.4}

    def _update_broker_config(self, group, at):
        names = ("notify_consumer_ids_changed_enable", "auto_create_subscription_group")
        return {
            "brokers": self.some(self.brokers),
            self.random.choice(names): self.random.random() < 0.5,
        }

    def _update_sub_group(self, group, at):
        return {"group": group, "notify_consumer_ids_changed_enable": self.random.random() < 0.5}

    def _set_consume_mode(self, group, at):
        mode = self.random.choice(("PULL", "POP"))
        return {"group": group, "topic": self.random.choice(self.topics), "mode": mode}

    def _scale(self, group, at):
        """More clients: of fewer, the seed would choose who leaves."""
        return {"group": group, "to": len(self.running[group]) + self.random.randint(1, 2)}

    def _restart(self, group, at):
        if not self.running[group]:
            return None
        batch, every, down = self.random.randint(1, 3), self.random.choice((1_000, 9_000)), 500
        self.busy[group] = at + len(self.running[group]) * every + down + 1_000
        ids = self.random.choice(("suffix", "stable", "address"))
        return {
            "group": group,
            "batch": batch,
            "every": f"{every}ms",
            "down": f"{down}ms",
            "ids": ids,
        }


SEEDS = range(60)


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
            heappush(
                self.waiting, (arrival, self.n_sent, connection, consumer_group, queue, offset)
            )
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
    kinds = {
        (script["profile"], kind)
        for script in scripts
        for event in script["events"]
        for kind in event
    }
    possible = {(profile, kind) for profile in PROFILES for kind in KINDS} - {
        ("4.9", "set_consume_mode")
    }
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
    """Four times the queues of a client that is stalled mean no more reads looked at after they
    were made.
    """
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
