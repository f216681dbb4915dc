"""All answers to "who reads this message?", by id; an id never changes its meaning."""

from __future__ import annotations

from rmqalloc.dataclass import dataclass


@dataclass(frozen=True)
class ReachReason:
    """The reason why a queue is read or unread.

    Attributes
    ----------
    state : {"read", "unread", "unknown"}
    meaning : str
        The reason as a clause.
    help : str
        Advice; empty if there is none.
    """

    state: str
    meaning: str
    help: str = ""


REASONS: dict[str, ReachReason] = {
    "no-route": ReachReason(
        "unread",
        "messages wait, and the topic has no route or the broker is not in it",
        "Start the broker again, or create the topic there again.",
    ),
    "no-permission": ReachReason(
        "unread",
        "the broker is not readable",
        "Restore read permission (bit 4 of perm) until the queue is empty.",
    ),
    "beyond-read-queues": ReachReason(
        "unread",
        "the queue id is not below the broker's number of read queues",
        "Raise the read queues, at least until the queue is empty.",
    ),
    "no-group": ReachReason(
        "unread",
        "no consumer group subscribes to the topic",
        "Start a group, or stop the producers; otherwise the messages expire unread.",
    ),
    "no-client": ReachReason(
        "unread", "the group has no client", "Start its clients, or delete the group."
    ),
    "no-subscriber": ReachReason(
        "unread",
        "no client of the group subscribes to the topic",
        "Subscribe, or drop the topic.",
    ),
    "paused": ReachReason(
        "unread",
        "the broker does not let the group consume (consumeEnable=false)",
        "Set consumeEnable to true there.",
    ),
    "no-lock": ReachReason(
        "unread",
        "the group is ordered and the broker has no master, so no client can lock the queue",
        "Start the master again, or let a slave become master.",
    ),
    "no-owner": ReachReason(
        "unread",
        "no client takes the queue",
        "Remove the cause that the finding of the queue names.",
    ),
    "not-seen": ReachReason(
        "unread",
        "no client that subscribes sees the queue in its route",
        "Check again after 30 s, when clients have polled the route; if the reason persists, compare name servers.",
    ),
    "not-owned-now": ReachReason(
        "unread",
        "all clients reported their queues, and no client owns this queue",
        "Check again; see the finding of the queue.",
    ),
    "owner": ReachReason("read", "one client owns the queue"),
    "several-owners": ReachReason(
        "read",
        "several clients own the queue and each consumes it",
        "Remove the cause that the finding names.",
    ),
    "popped": ReachReason("read", "clients share the queue in POP mode"),
    "shared": ReachReason("read", "clients behind a proxy (gRPC) share the messages of the queue"),
    "broadcast": ReachReason("read", "every client reads every message"),
    "lite": ReachReason(
        "unknown",
        "messages of the topic go to lite topics (RocketMQ 5.5), and the lite topics that clients read are not shown",
        "Check which lite topics the proxy's clients read.",
    ),
    "unknown": ReachReason(
        "unknown", "the snapshot does not show who reads the queue", "Add the missing data."
    ),
}
"""Of several that hold, the first is given."""
