"""Strategies that fit equally well, and clients that report nothing."""

from typing import NamedTuple

from rmqalloc.evidence.inferred_strategies import StrategyFit
from rmqalloc.evidence.method import Method
from rmqalloc.evidence.views.reported import ReportedOwners
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.snapshot import Client


def test_all_strategies_that_explain_most_are_the_best():
    avg, circle, ring = (
        Method("AVG"),
        Method("AVG_BY_CIRCLE"),
        Method("CONSISTENT_HASH", {"virtual_nodes": 10}),
    )
    assert StrategyFit({avg: 3, circle: 4, ring: 4}, 4).best == [circle, ring]
    assert StrategyFit({avg: 4, circle: 3, ring: 4}, 5).best == [avg, ring]
    assert [StrategyFit({avg: n}, 4).explains_all for n in (3, 4)] == [False, True]
    assert StrategyFit({}, 0).best == []


class OneUnit(NamedTuple):
    """A topic as `ReportedOwners` looks at it."""

    queue: MessageQueue
    client_ids: tuple[str, ...]
    topic: str = "T"
    problem: None = None
    is_pop: bool = False

    @property
    def queues(self):
        return (self.queue,)

    @property
    def always(self):
        return {self.queue: tuple(range(len(self.client_ids)))}

    perhaps = always

    def ids(self, slots):
        return tuple(self.client_ids[slot] for slot in slots)


def told(owned):
    """The queues that are elsewhere by what holders of one shared queue say of it; None where they
    say nothing.
    """
    queue = MessageQueue("T", "b", 0)
    clients = [
        Client(name, owned=None if has is None else (queue,) * has) for name, has in owned.items()
    ]
    return ReportedOwners(clients).elsewhere([OneUnit(queue, tuple(owned))])


def test_a_client_that_says_nothing_is_not_missed():
    assert told({"a": 1, "b": None}) == {}
    assert told({"a": 1, "b": 0}) == {MessageQueue("T", "b", 0): ("a", ("a", "b"))}
    assert told({"a": 1}) == {}
