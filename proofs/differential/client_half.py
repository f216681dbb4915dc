"""The client half: its random sequences, and the product under them."""

from random import Random
from typing import Any

from differential import client_events
from differential.client_twin import ClientTwin
from differential.compared_releases import Release


def sequence(rng: Random, release: Release, short: bool) -> dict[str, Any]:
    """A configuration, and events."""
    return client_events.sequence(rng, release, short)


class Twin(ClientTwin):
    """The product with its transport stubbed."""
