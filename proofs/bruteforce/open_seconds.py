"""For how long queues are open while clients follow, from how long each client takes to be
informed, by RocketMQ's timers.

Every client is informed at a time of its own, one that joins acts a second after it starts. The
expected sum over queues is the integral over time of how many are open, expected; a queue that
stays open for good has no part in it.
"""

from bruteforce import openings

NODES = (
    (0.1834346424956498, 0.3626837833783620),
    (0.5255324099163290, 0.3137066458778873),
    (0.7966664774136267, 0.2223810344533745),
    (0.9602898564975363, 0.1012285362903763),
)
"""Half of the places and weights of Gauss's rule of eight, which is exact for polynomials up to degree 15."""

DELAY = 1.0
"""Seconds until a client that joins acts."""

LONGEST = {"notice": 1.0, "crash": 1.0, "timer": 20.0, "scan": 20.0, "routes": 50.0}
"""From the first client that is informed to the last."""

COMMON = {"scan": (90.0, 130.0), "crash": (40.0, 60.0)}
"""What all wait for: that a broker misses heartbeats, or drops the locks of an ordered group."""


def common_wait(way, is_ordered, joins_alone):
    """The least and the longest time that all clients wait before any is informed."""
    waits = way == "scan" or (way == "crash" and is_ordered)
    return COMMON[way] if waits and not joins_alone else (0.0, 0.0)


def pieces(way, n_brokers):
    """Ranges of seconds with the probability that a client is informed by then, as a function of
    the time.
    """
    if way in ("timer", "scan"):
        return [(0.0, DELAY, lambda t: t / 20), (DELAY, 20.0, lambda t: t / 20)]
    if way == "routes":  # a wait up to 30 s and one up to 20 s
        early = [(0.0, DELAY, lambda t: t * t / 1200), (DELAY, 20.0, lambda t: t * t / 1200)]
        return [
            *early,
            (20.0, 30.0, lambda t: (t - 10) / 30),
            (30.0, 50.0, lambda t: 1 - (50 - t) ** 2 / 1200),
        ]
    if n_brokers > 1:
        return [(0.0, DELAY, lambda t: 1 / n_brokers)]
    return [(0.0, DELAY, lambda t: 0.95 + 0.05 * t)]


def queue_seconds(of, which, way, n_brokers):
    """The expected sum over queues of the seconds for which each is open."""
    tried = openings.tried(of, lasting=False)
    sums = [tried.by_number(which, acts) for acts in (False, True)]
    total = 0.0
    for start, end, share in pieces(way, n_brokers):
        middle, half = (start + end) / 2, (end - start) / 2
        for place, weight in NODES:
            for t in (middle - half * place, middle + half * place):
                total += half * weight * openings.mean(sums[start >= DELAY], share(t))
    return total


def longest(of, which, way, common):
    """The longest time that one queue can be open, of a group in which every queue has one reader."""
    found = [0.0]
    for (old, new, written), _ in of.kinds:
        joins = new & of.joins
        if which == 0 and written and new and old != new:
            found.append(DELAY if joins else LONGEST[way] + (0.0 if old else common))
        if which == 1 and old and new and old != new:
            found.append(max(0.0, LONGEST[way] + common - DELAY) if joins else LONGEST[way])
    return max(found)


def n_brokers(group, document):
    """The most brokers of a topic of a group."""
    return max(
        [
            len(one["brokers"])
            for one in document["topics"]
            if one["name"] in group["subscriptions"]
        ],
        default=1,
    )


def joins_alone(scenario):
    return all("add_clients" in change for change in scenario["changes"])
