"""What may be unusual about a group: its signs say which rules may find something.

A sign is cheap to see and says only that something may be there to be found; the rules look themselves. Most groups of a
cluster have none, and nothing of them is laid out queue by queue.
"""

from __future__ import annotations

from enum import IntFlag, auto


class Sign(IntFlag):
    """Something that may be unusual about a group."""

    VIEWS = auto()
    """Its clients have views of their own or share its queues, or there are none."""
    UNKNOWN = auto()
    """The snapshot lacks something of the group or of a topic."""
    OWNERS = auto()
    """A queue has no owner, who owns it cannot be computed, or not all clients report what they compute."""
    IDLE = auto()
    """A client owns no queue."""
    KINDS = auto()
    """Clients report different strategies, virtual nodes, languages or releases."""
    FILTERS = auto()
    """Clients take only some messages of a topic, or brokers say so."""
    OWNED = auto()
    """Clients report what they own."""
    LAGS = auto()
    """It is known how far the group has consumed."""
    ROOMS = auto()
    """Clients divide by machine rooms, and one is missing."""
    ROUTES = auto()
    """A topic is not there, some queues of it are only read or only written, or a name of it may have been cut."""
    BROKERS = auto()
    """A broker of the cluster has no master, or does not answer."""
    PLAN = auto()
    """There is a plan to compare the owners with."""
    DOUBT = auto()
    """The strategy is in doubt."""
    PAUSED = auto()
    """A broker does not let the group consume."""


NONE = Sign(0)
EVERY = Sign((1 << len(Sign)) - 1)

OF_OWNERS = Sign.VIEWS | Sign.UNKNOWN | Sign.OWNERS
"""Signs of groups about which every rule is asked. In an ordinary group, which has none of these, every queue has exactly one
owner, who is known, and who reports it where clients report what they own.
"""
