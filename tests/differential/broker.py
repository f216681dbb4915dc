"""The broker half: its random sequences, and the product under them."""

from random import Random
from typing import Any

from differential.releases import Release


def sequence(rng: Random, release: Release) -> dict[str, Any]:
    """A configuration, and events."""
    return {"config": {}, "events": [{"kind": rng.choice("ab")} for _ in range(3)]}


class Twin:
    """The product with its transport stubbed."""

    def __init__(self, config: dict[str, Any], release: Release) -> None:
        pass

    def after(self, event: dict[str, Any]) -> Any:
        """Let one event happen, and say what is seen then."""
        return event["kind"]
