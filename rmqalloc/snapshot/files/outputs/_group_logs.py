"""What logs of clients state of one group, line by line, as `rmqalloc.snapshot.files.outputs._logged_clients`
takes it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.files.outputs._client_log import Divided, Result
from rmqalloc.text import printable


class Place(NamedTuple):
    """Where a line stands, its rank among all lines, and its time."""

    file: str
    line: int
    rank: int
    at: float | None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class State(NamedTuple):
    """A result with its place, and what a client of 3.2.6 prints above it."""

    result: Result
    place: Place
    divided: Divided | None = None

    @property
    def queues(self) -> tuple[MessageQueue, ...]:
        return (*(self.result.queues or ()), *self.result.popped)


class Change(NamedTuple):
    change: str
    place: Place


@dataclass(slots=True)
class LoggedClient:
    """A client of one group."""

    client_id: str
    states: dict[str, State] = field(default_factory=dict)  # by topic
    files: set[str] = field(default_factory=set)
    ended: Place | None = None  # where it was shut down
    followed: Place | None = None  # where a process begins that has its place in its log since
    heard: float = -inf  # when it last printed a result, or that it is shut down

    @property
    def is_over(self) -> bool:
        """Whether it has ended, or seems to have."""
        return self.ended is not None or self.followed is not None

    @property
    def last(self) -> State:
        """Its last result of any topic."""
        return max(self.states.values(), key=lambda state: state.place.rank)

    @property
    def n_clients(self) -> int | None:
        """How many clients it saw last."""
        state = self.last
        if state.result.n_clients is None and state.divided and state.divided.client_ids:
            return len(state.divided.client_ids)
        return state.result.n_clients


@dataclass(slots=True)
class GroupLogs:
    """All that logs state of one group."""

    name: str
    first: Place
    clients: dict[str, LoggedClient] = field(default_factory=dict)
    there: dict[str, dict[str, LoggedClient]] = field(default_factory=dict)  # not ended, by log
    topics: dict[str, None] = field(default_factory=dict)
    changes: dict[str, dict[MessageQueue, Change]] = field(default_factory=dict)  # by log
    n_started: Counter[str] = field(default_factory=Counter)  # consumers by log
    divided: dict[tuple[str, str], Divided] = field(default_factory=dict)  # by log and topic
    cuts: list[State] = field(default_factory=list)  # results without a client id
    ends: list[Place] = field(default_factory=list)  # of consumers, not known which
    no_list: list[Place] = field(default_factory=list)
    is_ordered: bool = False

    def __str__(self) -> str:
        return f"group {printable(self.name)}"

    def present(self) -> list[LoggedClient]:
        """Return clients that have not ended, as far as logs show."""
        clients = self.clients.values()
        return [client for client in clients if client.states and not client.is_over]

    def is_alone(self, client: LoggedClient) -> bool:
        """Check whether lines of a client's logs that name no client are about it."""
        return all(
            self.n_started[file] <= 1 and self.there.get(file, {}).keys() == {client.client_id}
            for file in client.files
        )

    def leave(self, client: LoggedClient) -> None:
        """Take a client off the list of those that are there."""
        for file in client.files:
            self.there.get(file, {}).pop(client.client_id, None)
