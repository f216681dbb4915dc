"""Groups over time: their queues, and the clients that are there at each step."""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

Queue = tuple[str, int]
IdKind = Literal["slot", "slot, new address", "random"]

ID_KINDS: dict[IdKind, str] = {
    "slot": "`10.x.y.z@consumer-7`, the same again after a restart",
    "slot, new address": "`10.x.y.z@consumer-7`, with a new address after a restart (a StatefulSet)",
    "random": "`10.x.y.z@pid#nanos`, all new after a restart (a Deployment)",
}


class GroupShape(NamedTuple):
    """One topic and one group: queues, clients, and brokers of equally many queues."""

    n_queues: int
    n_clients: int
    n_brokers: int

    def __str__(self) -> str:
        return f"{self.n_queues}/{self.n_clients}"


@lru_cache(maxsize=64)
def queues(n_brokers: int, per_broker: int, missing: int | None = None) -> tuple[Queue, ...]:
    """Queues in RocketMQ's order; without those of the broker `missing`."""
    names = [f"broker-{i:03}" for i in range(n_brokers)]
    return tuple(
        (name, i) for at, name in enumerate(names) if at != missing for i in range(per_broker)
    )


@dataclass(frozen=True)
class History:
    """A group over time.

    Attributes
    ----------
    topic : str
    client_ids : list of str
        Those of all clients that are ever there; the others speak of a client by its position in
        this list. A process that comes back under its old id is the same client.
    steps : list of tuple of int
        The clients that are there, in RocketMQ's order of their ids.
    """

    topic: str
    client_ids: list[str]
    steps: list[tuple[int, ...]]

    @classmethod
    def of(cls, topic: str, client_ids: list[str], present: Iterable[Iterable[int]]) -> "History":
        """Sort what is there at each step."""
        rank = {
            client: i
            for i, client in enumerate(sorted(range(len(client_ids)), key=client_ids.__getitem__))
        }
        return cls(
            topic, client_ids, [tuple(sorted(some, key=rank.__getitem__)) for some in present]
        )


class Clients:
    """Gives ids to clients as they start, in slots of the group."""

    def __init__(self, kind: IdKind, rng: random.Random) -> None:
        self.kind, self.rng = kind, rng
        self.client_ids: list[str] = []
        self.of_slot: dict[int, int] = {}

    def start(self, slot: int) -> int:
        """The client that a process is that starts in a slot; the same as before if its id is."""
        if self.kind == "slot" and slot in self.of_slot:
            return self.of_slot[slot]
        rng = self.rng
        address = f"10.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(256)}"
        process = f"{rng.randrange(1, 100_000)}#{rng.randrange(10**13, 10**16)}"
        self.client_ids.append(
            f"{address}@{process if self.kind == 'random' else f'consumer-{slot}'}"
        )
        self.of_slot[slot] = len(self.client_ids) - 1
        return self.of_slot[slot]


def slot_ids(n_clients: int, rng: random.Random) -> tuple[str, ...]:
    """Ids of the slots 0 to n - 1 in RocketMQ's order."""
    clients = Clients("slot", rng)
    for slot in range(n_clients):
        clients.start(slot)
    return tuple(sorted(clients.client_ids))
