"""Most that is taken of anything that can be counted, and the refusal of a topic with more queues
than can be laid out.

Whoever reads a file, a table or a server's answer refuses what is above these before anything is
made of it, so damaged or hostile data cost no memory. What one file alone limits stands in that
file.
"""

from rmqalloc.errors import Error

MAX_QUEUES = 1 << 20
"""Most queues of a topic where they are laid out one by one, and most of it on one broker in a snapshot."""

MAX_OF_ROW = 1 << 24
"""Most queues, on one broker or in all, and most clients of a row of a table, where they are numbers and not objects."""

MAX_PER_UNIT = 2**31 - 1
"""Most queues, and most clients, of one unit: places in its lists are int32 everywhere."""

MAX_OWNERS = 2**31 - 1
"""Most owners in a column: Arrow counts the entries of all its lists together in int32."""

MAX_ROWS = 1 << 20
"""Most rows of an output batch."""

MAX_CLIENTS = 100_000
"""Most clients that a scenario may add to a unit, or scale it to."""

MAX_READ_QUEUE_NUMS = 65_536
"""Most read queues that a scenario may give a topic on one broker, and an event on all of its brokers together."""

MAX_CHANNELS = 1_024
"""Most channels of one client id: a client is listed once per channel, so a number becomes a list."""

MAX_VIRTUAL_NODES = 65_536
"""Most virtual nodes of a client."""

MAX_TEXT_BYTES = 64 * 1024
"""Longest client id, as UTF-8, in a table or a scenario, and longest text of any kind in a scenario."""

MOST_MEMBERS = 5_000
"""Most clients that one group of a simulation may start with."""


class TooManyQueuesError(Error, ValueError):
    """A topic has more queues than are laid out one by one."""


def check_queue_count(topic: str, n: int) -> None:
    """Refuse a topic with more queues than `MAX_QUEUES`."""
    if n > MAX_QUEUES:
        raise TooManyQueuesError(
            f"topic {topic!r} has {n:,} queues; at most {MAX_QUEUES:,} can be checked"
        )
