"""Sequences of the client half: what happens to a client, and what RocketMQ's own classes do then."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from java_driver import JavaFailed

from differential import client_half
from differential.client_events import GROUPS, IP, OTHERS, TOPICS, Event, Maker
from differential.compared_releases import RELEASES, Release
from differential.comparing import java
from differential.conformance.files import Line

SEQUENCES = {"simple": 150, "full": 80}
"""How many of each level are kept of each release."""

LONGEST = 100_000
"""How long a simple sequence lasts at most (ms): nobody pulls in it, and after 120 s a queue counts as stuck."""

RELEASED = ("5.5.0", "5.3.3", "4.9.8")


def file_of(version: str) -> str:
    """Return the name of the file of a release.

    Examples
    --------
    >>> file_of("5.5.0")
    'client-5.5'
    """
    return f"client-{RELEASES[version].line}"


class SimpleMaker(Maker):
    """Makes a sequence of one consumer that nothing but a network and a clock reach: no look inside
    is needed to drive it.
    """

    def __init__(self, rng: Random, release: Release) -> None:
        super().__init__(rng, release)
        self.second_form = self.gives_up = False
        spec = self._consumer() | {
            "type": "push",
            "group": "g",
            "heartbeat v2": False,
            "instance": "x",
            "model": "CLUSTERING",
            "from": rng.choice(["CONSUME_FROM_LAST_OFFSET", "CONSUME_FROM_FIRST_OFFSET"]),
            "client rebalance": True,
            "listener": None,
            "strategy": rng.choice(["AVG", "AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"]),
            "given": [],
            "thresholds": [1000, 100, -1, -1],
            "topics": rng.sample(TOPICS[:2], rng.choice([1, 2])),
            "assigned": [],
        }
        self.consumers, self.names = {"c0": spec}, ["c0"]

    def config(self) -> dict[str, Any]:
        """Return the consumer, and what is answered from the beginning on."""
        known = [self._found(topic) for topic in TOPICS[:2]]
        answers = [*known, self._group(), *(self._stored() for _ in range(3))]
        return {"seed": self.rng.randrange(2**31), "consumers": self.consumers, "answers": answers}

    def events(self, count: int) -> list[Event]:
        """Return what happens: it starts, answers change, time passes, notices come; perhaps it
        shuts down.
        """
        rng, left = self.rng, LONGEST
        events: list[Event] = [
            {"kind": "start", "consumer": "c0"},
            {"kind": "advance", "ms": 1_000},
        ]
        for _ in range(count):
            kind = self._pick({"answer": 5, "advance": 5, "notice": 3})
            if kind == "advance":
                milliseconds = rng.choice(
                    [time for time in (10, 500, 1_000, 3_000, 10_000, 20_000) if time <= left]
                    or [0]
                )
                left -= milliseconds
                events.append({"kind": "advance", "ms": milliseconds})
            else:
                events.append(
                    {"kind": "notice", "consumer": "c0"}
                    if kind == "notice"
                    else self._simple_answer()
                )
        return events + [{"kind": "shutdown", "consumer": "c0"}] * (rng.random() < 0.5)

    def _found(self, topic: str) -> Event:
        """Return a route with queues."""
        return {
            "kind": "answer",
            "what": "route",
            "key": topic,
            "answer": {"body": self._route_body(empty=False)},
        }

    def _route_body(self, empty: bool) -> dict[str, Any]:
        """Return a route without static topics, which few clients know."""
        return {
            name: one
            for name, one in super()._route_body(empty).items()
            if name != "topicQueueMappingByBroker"
        }

    def _offset(self) -> Any:
        return self.rng.choice(
            [{"offset": 0}, {"offset": 7}, {"offset": 42}, {"code": 22}, {"lost": True}]
        )

    def _group(self) -> Event:
        """Return a client list with the client itself in it."""
        ids = [f"{IP}@x", *self.rng.sample(OTHERS, self.rng.randrange(4))]
        self.rng.shuffle(ids)
        return {
            "kind": "answer",
            "what": "clients",
            "key": GROUPS[0],
            "answer": {"body": {"consumerIdList": ids}},
        }

    def _simple_answer(self) -> Event:
        kind = self._pick({"clients": 4, "route": 2, "stored": 2, "lock": 2, "down": 1})
        if kind == "clients":
            return self._group() if self.rng.random() < 0.8 else self._clients(GROUPS[0])
        if kind == "route":
            return self._route(self.rng.choice(TOPICS[:2]))
        if kind == "stored":
            return self._stored()
        answer: Any = {"lost": self.rng.random() < 0.5} if kind == "down" else self._locks()
        return {"kind": "answer", "what": kind, "key": self._address(), "answer": answer}

    def _locks(self) -> Any:
        refused = [self._queue() for _ in range(self.rng.randrange(1, 5))]
        return self.rng.choice(
            [{}, {}, {"refuses all": True}, {"refused": refused}, {"lost": True}]
        )

    def _stored(self) -> Event:
        key = f"{GROUPS[0]} {self._queue()}"
        return {"kind": "answer", "what": "stored", "key": key, "answer": self._offset()}

    def _topic(self) -> str:
        return str(self.rng.choice(TOPICS[:2]))


def sequence(level: str, seed: int, release: Release) -> dict[str, Any]:
    """Return a configuration and events."""
    rng = Random(seed)
    if level == "full":
        return client_half.sequence(rng, release, True)
    maker = SimpleMaker(rng, release)
    return {"config": maker.config(), "events": maker.events(rng.randint(5, 18))}


def recorded(version: str) -> Iterator[Line]:
    """Return the lines of a release, from the real classes.

    Sequences in which the product answers otherwise are left out: those are the tolerated corners
    of the differential, which depend on addresses in memory or on the order of a hash table.

    Raises
    ------
    JavaFailed
        The Java side could not go on, or is not there.
    """
    release = RELEASES[version]
    with java("client", version) as process:
        for level, n in SEQUENCES.items():
            kept, seed = 0, 0
            while kept < n:
                line = {
                    "release": version,
                    "level": level,
                    "seed": seed,
                    **sequence(level, seed, release),
                }
                line["after"] = _after(process, line)
                if wrong_event(line) is None:
                    yield line
                    kept += 1
                seed += 1


def _after(process: Any, line: Line) -> Any:
    process.stdin.write(
        json.dumps({name: line[name] for name in ("seed", "config", "events")}) + "\n"
    )
    process.stdin.flush()
    answer = json.loads(process.stdout.readline() or '{"failure": "the process has ended"}')
    if "failure" in answer:
        raise JavaFailed(
            f"client half of {line['release']}, seed {line['seed']}: {answer['failure']}"
        )
    return answer["after"]


def wrong_event(line: Line) -> int | None:
    """Return the first event after which the product is not as Java was; None if it always is."""
    twin = client_half.Twin(line["config"], RELEASES[line["release"]])
    for index, (event, said) in enumerate(zip(line["events"], line["after"], strict=True)):
        if twin.after(event) != said:
            return index
    return None
