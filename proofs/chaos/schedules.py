"""Random schedules of faults: scripts of one group, as the plain data that a file of a script
holds.
"""

from __future__ import annotations

from random import Random
from typing import Any

from rmqalloc.documents.fields import Milliseconds, ScenarioError
from rmqalloc.simulation import Script

Data = dict[str, Any]

STRATEGIES = (
    "AVG",
    "AVG",
    "AVG_BY_CIRCLE",
    "CONSISTENT_HASH",
    "ORDINAL/1",
    "STABLE/1",
    "ROTATED-AVG",
)
"""Strategies under which every queue has an owner as long as any client is there."""

BROKERS_KNOW = ("AVG", "AVG_BY_CIRCLE")
"""Strategies by which brokers divide queues."""

PROFILES = ("5.5", "5.3", "4.9")
LASTS = (400, 3_000, 12_000, 25_000, 31_000, 45_000, 61_000, 75_000, 125_000, 150_000)
"""How long faults last, in milliseconds: around the timers of locks (30 s, 60 s), routes and expiry (120 s)."""

WEIGHTS = {
    "join": 3,
    "shutdown": 3,
    "crash": 3,
    "vanish": 2,
    "freeze": 4,
    "pause": 2,
    "partition": 4,
    "disconnect": 2,
    "restart_broker": 4,
    "change_topic": 2,
    "notices": 2,
    "restart": 1,
}
TRIES = 60
LONGEST = Milliseconds(3_600_000).to_data()
"""Duration of a script whose own is not yet known."""


def schedule(seed: int) -> Data:
    """Return a random script; it ends once every timer has run out after its last fault.

    Examples
    --------
    >>> from chaos.schedules import schedule
    >>> schedule(3) == schedule(3), "duration" in schedule(3)
    (True, True)
    """
    random = Random(seed)
    data = _cluster(random, seed)
    names = [*Script.of(data).groups[0].client_names, "spare-0", "spare-1"]
    wanted, at = random.randint(2, 9), 0
    for _ in range(TRIES):
        if len(data["events"]) == wanted:
            break
        later = at + random.choice((0, 100, 1_000, 2_500, 7_000, 15_000, 20_000, 33_000))
        kind = random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        event = {"at": text_of(later), kind: _detail(random, kind, names, data)}
        if is_possible(longer := data | {"events": [*data["events"], event]}):
            data, at = longer, later
    return with_duration(data)


def _cluster(random: Random, seed: int) -> Data:
    """Return a script without events."""
    brokers = [f"broker-{letter}" for letter in "abc"[: random.choice((1, 2, 2, 3))]]
    profile = random.choice(PROFILES)
    is_ordered = random.random() < 0.6
    produced, strategy = random.choice((5, 10)), random.choice(STRATEGIES)
    can_ask = not is_ordered and profile != "4.9" and strategy in BROKERS_KNOW
    group = {
        "name": "g",
        "topics": ["t"],
        "clients": random.randint(1, 4),
        "start_every": random.choice(("0s", "700ms")),
        "strategy": strategy,
        "ordered": is_ordered,
        "listener_time": random.choice(("0s", "300ms", "2500ms")) if is_ordered else "0s",
        "consumed_per_second": random.choice((20, 100)),
        "server_assignment": can_ask and random.random() < 0.4,
    }
    return {
        "name": f"chaos {seed}",
        "duration": LONGEST,
        "brokers": brokers,
        "topics": [
            {"name": "t", "read_queue_nums": random.randint(1, 4), "produced_per_second": produced}
        ],
        "groups": [group],
        "events": [],
        "seed": random.randrange(1_000),
        "profile": profile,
        "latency": f"{random.choice((1, 1, 1, 3, 40, 300))}ms",
    }


def _detail(random: Random, kind: str, names: list[str], data: Data) -> Data:
    """Return what an event of a kind holds; it may be impossible."""
    clients = sorted(random.sample(names, random.choice((1, 1, 1, 2))))
    brokers = sorted(random.sample(data["brokers"], random.randint(1, len(data["brokers"]))))
    lasts = text_of(random.choice(LASTS))
    if kind == "join":
        return {"group": "g", "clients": clients}
    if kind in ("shutdown", "crash", "vanish"):
        return {"clients": clients}
    if kind in ("freeze", "pause"):
        return {"clients": clients, "lasts": lasts}
    if kind == "partition":
        return {"clients": clients, "brokers": brokers, "lasts": lasts}
    if kind == "disconnect":
        return {"clients": clients, "brokers": brokers}
    if kind == "restart_broker":
        return {"brokers": brokers, "lasts": lasts, "crash": random.random() < 0.5}
    if kind == "change_topic":
        return {"topic": "t", "read_queue_nums": random.randint(0, 6)}
    if kind == "notices":
        return {"enabled": random.random() < 0.3}
    every = text_of(random.choice((3_000, 12_000)))
    return {
        "group": "g",
        "every": every,
        "down": text_of(random.choice((500, 5_000))),
        "ids": random.choice(("suffix", "stable")),
    }


def text_of(milliseconds: int) -> str:
    """Return a time as a script holds it."""
    return str(Milliseconds(milliseconds).to_data())


def is_possible(data: Data) -> bool:
    """Return True if a script is accepted; steps that cannot happen are refused."""
    try:
        Script.of(data)
    except ScenarioError:
        return False
    return True


def last_fault(script: Script) -> int:
    """Return when the last fault of a script is over, in milliseconds: the latest end of anything
    that happens or lasts.
    """
    group = script.groups[0]
    ends = [max(0, len(group.client_names) - 1) * group.start_every]
    n_clients = len(group.client_names) + sum(
        len(one.detail.clients) for one in script.events if one.kind == "join"
    )
    for one in script.events:
        lasts = getattr(one.detail, "lasts", 0)
        if one.kind == "restart":
            lasts = n_clients * one.detail.every + one.detail.down
        ends.append(one.at + lasts)
    return int(max(ends))


def longest_step(script: Script) -> int:
    """Return how long (ms) one step of a client takes at most if everybody answers: every request
    takes two latencies.

    A pass asks for each queue at most four times, and waits for the listener once.
    """
    group, topic = script.groups[0], script.topics[0]
    changes = (one.detail.read_queue_nums for one in script.events if one.kind == "change_topic")
    most = max(topic.read_queue_nums, *changes, 1)
    return 2 * int(script.latency) * (4 * most * len(script.brokers) + 10) + int(
        group.listener_time
    )


def settling(script: Script) -> int:
    """Return T: milliseconds from the last fault after which every queue has exactly one owner
    again.

    The timers one after the other, each at its longest:

    - 120 s until a broker drops a client that went without a word, plus 10 s until its scan sees
      it; a broker that restarted or a client that came back is known after a heartbeat (30 s), a
      changed route after a poll (30 s), both earlier than that;
    - 20 s until every client has run a pass on these final views; a queue that it gives up is
      stored and unlocked there;
    - ordered: 60 s until the last lock that nobody releases has expired (taken just before that
      pass by a client that should no longer have the queue, or unlocked 20 s late as 4.9 does);
    - ordered, with a listener that works longer than a removal waits for it (500 ms): 120 s until a
      queue that was dropped meanwhile, and that its client should have again, counts as stuck
      (``pullMaxIdleTime``) and is let go;
    - 20 s until the pass of the new owner after that, and 20 s for one pass that failed meanwhile;
    - each of these passes and the requests before it take `longest_step`.
    """
    group = script.groups[0]
    locks = 60_000 if group.ordered else 0
    stuck = 120_000 if group.ordered and group.listener_time > 500 else 0
    return 130_000 + 20_000 + locks + stuck + 20_000 + 20_000 + 4 * longest_step(script)


STEADY = 60_000
"""How long (ms) a script goes on after that, so that what comes back shows."""


def with_duration(data: Data) -> Data:
    """Return a script that lasts until everything has settled."""
    script = Script.of(data | {"duration": LONGEST})
    return data | {"duration": text_of(last_fault(script) + settling(script) + STEADY)}
