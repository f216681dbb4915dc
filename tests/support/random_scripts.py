"""Small random scripts of a simulation, made from a seed: every kind of event, ordered and concurrent groups, all releases."""

from random import Random

from rmqalloc.scenarios import ScenarioError
from rmqalloc.simulation import Script
from rmqalloc.simulation._events import EVENTS

KINDS = tuple(EVENTS)
PROFILES = ("5.5", "5.3", "4.9")
STRATEGIES = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")


def random_script(seed):
    """Data of a script: one to three groups of a few clients on a few queues, and up to eight events.

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
            random.randrange(0, duration * 1_000, random.choice((1, 500))) for _ in range(random.randint(2, 8))
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
            data = with_it if is_possible(with_it := {**data, "events": [*data["events"], event]}) else data
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
        return {"brokers": self.some(self.brokers), "lasts": f"{lasts}ms", "crash": self.random.random() < 0.5}

    def _change_topic(self, group, at):
        readable = {"readable": False} if self.random.random() < 0.2 else {}
        return {"topic": self.random.choice(self.topics), "read_queue_nums": self.random.randint(0, 8), **readable}

    def _partition(self, group, at):
        detail = self._clients(group, at)
        return detail and detail | {"brokers": self.some(self.brokers), "lasts": self.lasts()}

    def _notices(self, group, at):
        return {"enabled": self.random.random() < 0.4}

    def _update_broker_config(self, group, at):
        names = ("notify_consumer_ids_changed_enable", "auto_create_subscription_group")
        return {"brokers": self.some(self.brokers), self.random.choice(names): self.random.random() < 0.5}

    def _update_sub_group(self, group, at):
        return {"group": group, "notify_consumer_ids_changed_enable": self.random.random() < 0.5}

    def _set_consume_mode(self, group, at):
        mode = self.random.choice(("PULL", "POP"))
        return {"group": group, "topic": self.random.choice(self.topics), "mode": mode}

    def _rolling_restart(self, group, at):
        if not self.running[group]:
            return None
        batch, every, down = self.random.randint(1, 3), self.random.choice((1_000, 9_000)), 500
        self.busy[group] = at + len(self.running[group]) * every + down + 1_000
        new_ids = self.random.random() < 0.7
        return {"group": group, "batch": batch, "every": f"{every}ms", "down": f"{down}ms", "new_ids": new_ids}
