"""What may be unusual about a group: its signs say which rules may find something.

A sign is cheap to see and says only that something may be there to be found; the rules look
themselves. Most groups of a cluster have none, and nothing of them is laid out queue by queue.
"""

from __future__ import annotations


class Sign:
    """Something that may be unusual about a group, as a bit: the signs of a group are an integer.

    Members of an enumeration would be right, too, but to combine two of them takes longer than to
    see most signs.
    """

    VIEWS = 1 << 0
    """Its clients have views of their own or share its queues, or there are none."""
    UNKNOWN = 1 << 1
    """The snapshot lacks something of the group or of a topic."""
    OWNERS = 1 << 2
    """A queue has no owner, who owns it cannot be computed, or not all clients report what they compute."""
    IDLE = 1 << 3
    """A client owns no queue."""
    KINDS = 1 << 4
    """Clients report different strategies, virtual nodes, languages or releases."""
    FILTERS = 1 << 5
    """Clients take only some messages of a topic, or brokers say so."""
    OWNED = 1 << 6
    """Clients report what they own."""
    LAGS = 1 << 7
    """It is known how far the group has consumed."""
    ROOMS = 1 << 8
    """Clients divide by machine rooms, and one is missing."""
    ROUTES = 1 << 9
    """A topic is not there, some queues of it are only read or only written, or a name of it may have been cut."""
    BROKERS = 1 << 10
    """A broker of the cluster has no master, or does not answer."""
    PLAN = 1 << 11
    """There is a plan to compare the owners with."""
    DOUBT = 1 << 12
    """The strategy is in doubt."""
    PAUSED = 1 << 13
    """A broker does not let the group consume."""


NONE = 0
EVERY = (1 << 14) - 1

OF_OWNERS = Sign.VIEWS | Sign.UNKNOWN | Sign.OWNERS
"""Signs of groups about which every rule is asked. In an ordinary group, which has none of these, every queue has exactly one
owner, who is known, and who reports it where clients report what they own.
"""
