# pyright: strict
"""A client whose strategy is named by configuration: `tests/house/test_typing.py` checks its types
and runs it.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rmqalloc import sort_client_ids, sort_queues, strategy


@dataclass(frozen=True)
class Partition:
    """A queue as this program has it."""

    topic: str
    broker_name: str
    queue_id: int


@dataclass(frozen=True)
class Settings:
    client_id: str
    strategy: str
    parameters: dict[str, Any]


class Member:
    """A member of a consumer group, which remembers what it owns."""

    def __init__(self, settings: Settings) -> None:
        self.client_id = settings.client_id
        self.strategy = strategy(settings.strategy, **settings.parameters)
        self.owned: list[Partition] = []

    def rebalance(self, queues: Sequence[Partition], client_ids: Sequence[str]) -> list[Partition]:
        """Take what the strategy gives, and return what is new."""
        given = self.strategy.allocate(
            "orders", self.client_id, sort_queues(queues), sort_client_ids(client_ids)
        )
        gained = [queue for queue in given if queue not in self.owned]
        self.owned = given
        return gained


def plain(name: str, queues: list[Partition], client_ids: list[str]) -> int:
    """Return how many queues the first client gets by a strategy that needs no parameter."""
    return len(strategy(name).allocate("orders", client_ids[0], queues, client_ids))


def main(text: str) -> None:
    given = json.loads(text)
    member = Member(Settings(given["client_id"], given["strategy"], given.get("parameters", {})))
    queues = [Partition("orders", "broker-a", i) for i in range(8)]
    print([queue.queue_id for queue in member.rebalance(queues, ["x", "y"])])
    print(
        [queue.queue_id for queue in member.rebalance(queues, ["x"])],
        plain("AVG", queues, ["x", "y", "z"]),
    )


if __name__ == "__main__":
    main(sys.argv[1])
