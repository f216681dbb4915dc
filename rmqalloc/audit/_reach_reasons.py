"""All answers to "who reads this message?", by id; an id never changes its meaning."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """Why somebody reads a queue, or nobody.

    Attributes
    ----------
    state : {"read", "unread", "unknown"}
    meaning : str
        What it says of the queue.
    help : str
        What to do, empty if nothing.
    """

    state: str
    meaning: str
    help: str = ""


REASONS: dict[str, Reason] = {
    "no-route": Reason(
        "unread",
        "messages wait, and the topic has no route or the broker is not in it",
        "Bring the broker back, or create the topic there again.",
    ),
    "no-permission": Reason(
        "unread", "the broker is not readable", "Give read permission back (bit 4 of perm) until the queue is empty."
    ),
    "beyond-read-queues": Reason(
        "unread",
        "the queue id is not below the broker's read queues",
        "Raise the read queues, at least until the queue is empty.",
    ),
    "no-group": Reason(
        "unread",
        "no consumer group subscribes to the topic",
        "Start a group, or stop producers; else they expire unread.",
    ),
    "no-client": Reason("unread", "the group has no client", "Start its clients, or delete the group."),
    "no-subscriber": Reason(
        "unread", "the group has clients, none of which subscribes to the topic", "Subscribe, or drop the topic."
    ),
    "paused": Reason(
        "unread", "the broker does not let the group consume (consumeEnable=false)", "Set consumeEnable to true there."
    ),
    "no-lock": Reason(
        "unread",
        "the group is ordered and the broker has no master, so no client can lock the queue",
        "Start the master again, or let a slave become master.",
    ),
    "no-owner": Reason("unread", "no client takes the queue", "Remove the cause that the finding of the queue names."),
    "not-owned-now": Reason(
        "unread", "all clients reported what they own, and none owns the queue", "Look again after 20 s; then restart."
    ),
    "owner": Reason("read", "one client owns the queue"),
    "several-owners": Reason(
        "read", "several clients own the queue and each consumes it", "Remove the cause that the finding names."
    ),
    "popped": Reason("read", "clients share the queue in POP mode"),
    "shared": Reason("read", "clients behind a proxy (gRPC) share the messages of the queue"),
    "broadcast": Reason("read", "every client reads every message"),
    "unknown": Reason("unknown", "the snapshot does not show who reads the queue", "Add what is missing."),
}
"""Of several that hold, the first is given."""
