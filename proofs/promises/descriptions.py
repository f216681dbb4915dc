"""Sentences with the words of a promise that describe other programs, advise, or explain how a
strategy works.
"""

DESCRIPTIONS = {
    "docs/check.md": (
        "Raise the read queues, at least until",
        "The exit code follows from the findings",
    ),
    "docs/commands.md": ("how long a queue had several owners at most",),
    "docs/conformance.md": (
        "A client shares queues with Java only if",
        "An answer is {",
        "Those few are left out in which Java",
    ),
    "docs/deploy.md": ("Kubernetes ignores the exit code",),
    "docs/guard.md": ("A job that ends with another code", "A preStop hook delays the stop"),
    "docs/how-to/change-queues.md": ("The least possible is 0",),
    "docs/live-plans.md": ("how long a micro-batch takes",),
    "docs/rebalance-cost.md": ("Name servers never fail",),
    "docs/snapshots.md": (
        "What is not known is left out",
        "Owners can be computed only if",
        "Take a user for rmqalloc alone",
    ),
    "docs/spark.md": ("Where readers must always find a plan", "Never groupBy the consumer group"),
    "docs/strategies/dialects.md": ("Clients of different languages agree on the owners only if",),
    "docs/strategies/ordinal.md": (
        "It depends on the queue alone, never on its position",
        "A queue that has one owner at both ends keeps it",
        "It begins at the start, a size that depends on the topic",
        "Version 1 goes from anchors in few steps",
        "That costs moves, never an unread queue",
    ),
    "docs/strategies/others.md": ("never ask a strategy of the client",),
    "docs/strategies/stable.md": (
        "It depends on the two alone, never on positions",
        "What is refused proposes again",
    ),
}
"""Distinctive words of each, by page."""
