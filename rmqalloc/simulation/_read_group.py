"""What the readers of a consumer group share: its settings, and what they saw of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from rmqalloc.simulation._messages import Flow, Reading
from rmqalloc.simulation._timeline import Timeline
from rmqalloc.strategies import Strategy


@dataclass(eq=False)
class ReadGroup:
    """A consumer group as its readers see it.

    Attributes
    ----------
    name : str
        Its name.
    topics : tuple of str
        What its members subscribe to, unless they say otherwise.
    strategy : Strategy
        How its members divide queues, unless they say otherwise.
    flows : dict of str to Flow
        Rates of its topics' queues.
    timeline : Timeline
        Who owned which queue when.
    is_ordered : bool
        It consumes in order, under locks.
    listener_time : int
        Longest time (ms) that the user's code works on what it was handed.
    server_assignment : bool
        Brokers divide the queues.
    readings : list of Reading
        Who read which queue from where, when it ended.
    """

    name: str
    topics: tuple[str, ...]
    strategy: Strategy
    flows: dict[str, Flow]
    timeline: Timeline
    is_ordered: bool = False
    listener_time: int = 0
    server_assignment: bool = False
    readings: list[Reading] = field(default_factory=list)
