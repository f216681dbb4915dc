"""What the members of a consumer group share: its settings, and what was seen of it."""

from __future__ import annotations

from dataclasses import field

from rmqalloc.dataclass import dataclass
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
        Topics that members subscribe to, unless they are started with others.
    strategy : Strategy
        How members divide queues, unless they are started with another one.
    flows : dict of str to Flow
        Rates of its topics' queues.
    timeline : Timeline
        Who owned which queue when.
    is_ordered : bool
        It consumes in order, under locks.
    listener_time : int
        Longest time (ms) that the user's code works on the messages it was handed.
    server_assignment : bool
        Brokers divide the queues.
    readings : list of Reading
        Who read which queue from where, appended when a reading ends.
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
