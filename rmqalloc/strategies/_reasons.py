"""Why a queue has its owner, as sentences and as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from rmqalloc.dataclass import dataclass
from rmqalloc.model import MessageQueue

Queues = Sequence[MessageQueue]


@dataclass
class Reasons:
    """Sentences and numbers, in the order in which they are found.

    Examples
    --------
    >>> reasons = Reasons()
    >>> reasons.say("5 mod 2 clients = 1", client_place=1)
    >>> reasons
    Reasons(steps=['5 mod 2 clients = 1'], facts={'client_place': 1})
    """

    steps: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def say(self, step: str, **facts: Any) -> None:
        """Add a sentence with its numbers."""
        self.steps.append(step)
        self.facts |= facts

    def check_id(self, client_ids: Sequence[str], client: int) -> None:
        """Say that the client at a position gets nothing, if its id is empty or is that of a client
        before it.

        Two processes with one id both find themselves at its first position.
        """
        client_id = client_ids[client]
        first = client_ids.index(client_id)
        if first != client:
            self.say(
                f"but client id {client_id} is listed more than once, and all clients with this id look up number {first}: "
                f"no client takes the share of number {client}",
                repeated_at=first,
            )
        elif not client_id:
            self.say(EMPTY_ID)


EMPTY_ID = "but the client id is empty, and a client without an id takes no queue"
