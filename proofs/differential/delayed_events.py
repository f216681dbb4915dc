"""Random sequences of the client half in which answers take time."""

from random import Random
from typing import Any

from differential.client_events import OTHERS, Event, Maker
from differential.compared_releases import Release

HELD = {
    "clients": 5,
    "stored": 4,
    "lock": 4,
    "heartbeat": 4,
    "assignment": 3,
    "max": 1,
    "search": 1,
    "unregister": 1,
    "unlock": 1,
    "route": 1,
}
"""Kinds of requests that may wait, and how often."""
TIMES = [0, 0, 10, 500, 1_000, 1_000, 1_000, 3_000, 10_000, 19_000, 20_000, 20_001, 30_001, 61_000]
ROUTE_POLL = 30_000
LOCK_RENEWAL = 20_000


def sequence(rng: Random, release: Release, short: bool) -> dict[str, Any]:
    """A configuration, and events."""
    maker = DelayedMaker(rng, release)
    return {
        "config": maker.config() | {"delays": True},
        "events": maker.events(rng.randint(8, 25) if short else rng.randint(20, 60)),
    }


class DelayedMaker(Maker):
    """Makes one sequence; nobody consumes in it, so that nobody waits for consume locks."""

    def __init__(self, rng: Random, release: Release) -> None:
        super().__init__(rng, release)
        self.gives_up = False
        for spec in self.consumers.values():
            if rng.random() < 0.6:
                spec |= {
                    "strategy": "AVG",
                    "listener": spec["listener"] and "hears",
                    "model": "CLUSTERING",
                }
        self._held: list[str] = []

    def _route_body(self, empty: bool) -> dict[str, Any]:
        """Most brokers have a master, and are read."""
        body = super()._route_body(empty)
        if self.rng.random() < 0.7:
            for queues in body["queueDatas"]:
                queues["perm"] = 6
            for broker in body["brokerDatas"]:
                broker["brokerAddrs"] = {"0": f"{broker['brokerName']}:0"} | broker["brokerAddrs"]
        return body

    def events(self, count: int) -> list[Event]:
        """What happens; some requests wait from the beginning on."""
        rng = self.rng
        events: list[Event] = []
        if rng.random() < 0.2:
            events.append(self._hold(self._pick(HELD)))
        for name in self.consumers:
            events.append({"kind": "start", "consumer": name})
            if self._held and rng.random() < 0.5:
                events.append(self._release())
        if rng.random() < 0.6:
            events.append({"kind": "advance", "ms": 1_000})
        end = len(events) + count
        while len(events) < end:
            events += self._scene() if rng.random() < 0.5 else [self._event()]
        return events

    # --- Requests that wait ---

    def _scene(self) -> list[Event]:
        """Something makes requests that wait; something else happens; they are answered."""
        rng = self.rng
        name = rng.choice(self.names)
        what = self._pick({what: weight for what, weight in HELD.items() if self._asks(name, what)})
        events = [self._hold(what), *self._cause(name, what)]
        for _ in range(rng.choice([1, 1, 2, 2, 3, 4])):
            events += [self._event()] if rng.random() < 0.8 else self._cause(name, self._pick(HELD))
            if rng.random() < 0.3:
                events.append(self._release())
        if rng.random() < 0.6:
            events.append(self._flow(what))
        return [*events, *(self._release() for _ in range(rng.choice([1, 1, 2])))]

    def _asks(self, name: str, what: str) -> bool:
        """Whether a consumer ever asks such a thing."""
        spec = self.consumers[name]
        divides = spec["model"] == "CLUSTERING"
        if what in ("lock", "unlock"):
            return spec["orderly"] and divides
        if what == "assignment":
            return (
                spec["type"] == "push"
                and divides
                and not (spec["orderly"] or spec["client rebalance"])
            )
        if what in ("stored", "max", "search"):
            return spec["type"] != "pull" and divides
        return divides or what != "clients"

    def _cause(self, name: str, what: str) -> list[Event]:
        """What makes a client ask such a thing."""
        rng, spec = self.rng, self.consumers[name]
        if what in ("unregister", "unlock"):
            return (
                [{"kind": "shutdown", "consumer": name}] if rng.random() < 0.5 else self._pass(name)
            )
        if what == "route":
            return [{"kind": "advance", "ms": ROUTE_POLL}]
        if what == "heartbeat" and rng.random() < 0.4:
            return [
                {
                    "kind": "subscribe",
                    "consumer": name,
                    "topic": rng.choice(spec["topics"] or ["T"]),
                }
            ]
        if what == "lock" and rng.random() < 0.4:
            return [{"kind": "advance", "ms": LOCK_RENEWAL}]
        return self._pass(name)

    def _pass(self, name: str) -> list[Event]:
        """A pass of one client, whose groups may have other clients by then."""
        rng, spec = self.rng, self.consumers[name]
        own = f"{spec['ip']}@{spec['instance']}" + ("" if spec["type"] == "push" else "@STREAM")
        ids = rng.choice([[own], [own], [own, *OTHERS[:1]], [*OTHERS[:1], own], OTHERS[:2]])
        clients = {
            "kind": "answer",
            "what": "clients",
            "key": spec["group"],
            "answer": {"body": {"consumerIdList": ids}},
        }
        change = [clients, self._assignment(group=spec["group"])] if rng.random() < 0.8 else []
        return [*change, {"kind": "notice", "consumer": name}, {"kind": "advance", "ms": 1_000}]

    def _hold(self, what: str) -> Event:
        self._held.append(what)
        return {"kind": "hold", "what": what}

    def _flow(self, what: str) -> Event:
        self._held = [one for one in self._held if one != what]
        return {"kind": "flow", "what": what}

    def _release(self) -> Event:
        which = self.rng.choice([0, 0, 0, 1, 2, None, None])
        return {"kind": "release", "n": which, "lost": self.rng.random() < 0.15}

    # --- Anything ---

    def _event(self) -> Event:
        rng = self.rng
        if self._held and rng.random() < 0.2:
            return self._flow(rng.choice(self._held)) if rng.random() < 0.15 else self._release()
        kind = self._pick(
            {"answer": 5, "time": 6, "consumer": 5, "queue": 6, "offset": 2, "end": 1}
        )
        if kind == "answer":
            return self._answer()
        if kind == "time":
            return {"kind": "advance", "ms": rng.choice(TIMES)}
        name = rng.choice(self.names)
        if kind == "end":
            return {"kind": "shutdown", "consumer": name} if rng.random() < 0.5 else self._event()
        spec = self.consumers[name]
        if kind == "consumer":
            heard = {"kind": "notice", "consumer": name}
            event = heard if rng.random() < 0.3 else {"consumer": name} | self._of_consumer(spec)
            return self._event() if self.second_form and event["kind"] == "unsubscribe" else event
        queue = f"#{rng.randrange(6)}" if rng.random() < 0.7 else self._queue()
        event = {"consumer": name, "queue": queue} | (
            self._of_queue(spec) if kind == "queue" else self._of_offset()
        )
        return event if event["kind"] not in ("consuming", "consumed") else self._event()
