"""Names that every scenario keeps clear of, and that it gives; apart, since plans without scenarios need them too."""

CURRENT = "current"
"""Name of the state before any change; no scenario may have it."""

GENERATED_NAME = "what-if-{n}"
"""How added clients are named unless the scenario says otherwise; ``{n}`` is six digits, from 000001 on."""
