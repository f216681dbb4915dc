"""Names that every scenario keeps clear of, and that it gives; apart, since plans without scenarios
need them too.
"""

CURRENT = "current"
"""Name of the state before any change; no scenario may have it."""

GENERATED_NAME = "what-if-{n}"
"""How added clients are named unless the scenario says otherwise; ``{n}`` is six digits, from 000001 on."""

# In this order, so that a new broker has the queues that it is said to have, and a scale says how
# many clients there are.
CHANGE_FLAGS = (
    "remove_broker", "set_queues", "add_broker", "remove_client", "add_client", "scale", "to_strategy",
)  # fmt: skip
"""Flags of a change, in the order in which they are carried out."""
