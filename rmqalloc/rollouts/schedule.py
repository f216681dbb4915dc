"""The steps of a rollout for one group, and the views of its clients at every moment.

Clients share no state: each divides the queues that it sees among the clients that it sees. So at
most two views describe a moment, the old view and the new view, each with the clients that act on
it. A step that takes effect at once has one moment. A gradual step has two: a moment with a chosen
set of informed clients, for tables that name queues, and the final moment, in which all clients are
informed. `rmqalloc.ownership.transitions._worst_moment` finds the worst set.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.errors import ArgumentError, Error
from rmqalloc.evidence.method import Method
from rmqalloc.ownership.transitions.notification_delay import ROUTES, NotificationDelay
from rmqalloc.strategies.dialects import JAVA
from rmqalloc.text import counted

Mask = NDArray[np.bool_]

ORDERS = ("shuffled", "sorted", "reversed", "spread")
"""Order in which clients go: by a hash of the seed and their ids; by their ids; or spread, so that
the ids of clients that go at once lie evenly in the sorted list.
"""


class InapplicableError(Error, ValueError):
    """A rollout does not apply to one group; it may apply to other groups."""


class ClientKind(NamedTuple):
    """Facts that decide by which rule a client divides.

    Attributes
    ----------
    dialect : str
        The language in which the client computes the strategy of its group.
    own : Method, optional
        The method of the client at the start, if it differs from the group's strategy.
    """

    dialect: str = JAVA
    own: Method | None = None


class ClientView(NamedTuple):
    """Clients that see the same queues and clients.

    Attributes
    ----------
    listed : ndarray of bool
        The client list that they have: a mask of all clients that are ever in the group.
    acting : ndarray of bool
        The clients that act on this view; a listed client that does not is given queues that it
        does not read.
    rule : int
        Their strategy: 0 is the group's own, ``k`` the ``k``-th that the rollout adds.
    queues : int
        The variant of the queue lists that they see, 0 for all queues.
    """

    listed: Mask
    acting: Mask
    rule: int = 0
    queues: int = 0


class Moment(NamedTuple):
    """The views of the clients of a group at one moment.

    Attributes
    ----------
    views : tuple of ClientView
        One view or two, the newer view last; more if clients divide by rules of their own, see
        `RulesByClient`. No client acts on two views.
    is_final : bool
        Whether the step is over: all clients are informed.
    there, written : int
        Variants of the queues: those that exist, and those that producers write to (0: as now).
    """

    views: tuple[ClientView, ...]
    is_final: bool = True
    there: int = 0
    written: int = 0


class Step(NamedTuple):
    """One change of a group.

    Attributes
    ----------
    action : str
    moments : tuple of Moment
        A moment while the step lasts, if it differs, and the final moment.
    to_inform : ndarray of bool, optional
        Clients that are informed one by one, in any order, and then act on the final view. By
        default the step takes effect at once, and only its final moment counts.
    begins_with_one : bool
        Whether the step begins when the first of these clients is informed; if not, there is a
        moment at which no client is informed.
    hearing : NotificationDelay, optional
        Time until each of these clients is informed; None if unknown, as for clients that are
        redeployed.
    """

    action: str
    moments: tuple[Moment, ...]
    to_inform: Mask | None = None
    begins_with_one: bool = False
    hearing: NotificationDelay | None = None


class Schedule(NamedTuple):
    """All steps of a group, the first being the state before.

    Attributes
    ----------
    client_ids : list of str
        All clients that are ever in the group, in Java's order.
    rooms : list of int
        Machine room of each as a row of the fleet's ``rooms``, -1 if it has none.
    steps : list of Step
    batch : int or None
        Size of a batch, if clients go in batches.
    kinds : tuple of ClientKind
        Kind of each client; by default the kinds that clients of these ids have at the start.
    is_split : bool
        Whether clients divide by different rules at the same time, so that a queue may have any
        number of readers.
    """

    client_ids: list[str]
    rooms: list[int]
    steps: list[Step]
    batch: int | None = None
    kinds: tuple[ClientKind, ...] = ()
    is_split: bool = False

    def final_moments(self) -> Schedule:
        """Return the schedule with the final moments alone."""
        return self._replace(
            steps=[step._replace(moments=step.moments[-1:]) for step in self.steps]
        )


class GroupAtStart(NamedTuple):
    """A group before its rollout.

    Attributes
    ----------
    consumer_group : str
    client_ids : list of str
        In Java's order.
    rooms : list of int
        As in `Schedule`.
    is_ordered : bool
        Whether a broker locks each of its queues for one client.
    n_brokers : int
        Most brokers of one of its topics.
    consume_tps : float or None
        Messages that the group consumes per second; None if unknown.
    kinds : tuple of ClientKind
        Kind of each client; empty if all are Java clients that divide by the group's strategy.
    joining : ClientKind
        Kind of clients that join.
    """

    consumer_group: str
    client_ids: list[str]
    rooms: list[int]
    is_ordered: bool = False
    n_brokers: int = 1
    consume_tps: float | None = None
    kinds: tuple[ClientKind, ...] = ()
    joining: ClientKind = ClientKind()

    def kinds_of(self, client_ids: Sequence[str]) -> tuple[ClientKind, ...]:
        """Return the kinds of some clients; clients that are not there at the start join."""
        known = dict(zip(self.client_ids, self.kinds, strict=True)) if self.kinds else {}
        return tuple(known.get(one, self.joining) for one in client_ids) if known else ()


def everyone(n_clients: int) -> Mask:
    """Return a mask of all clients."""
    return np.ones(n_clients, bool)


def positions_in_order(
    client_ids: list[str], order: str, seed: int = 0, at_once: int = 1
) -> list[int]:
    """Return positions of the clients in the order in which they go, ``at_once`` of them together.

    Examples
    --------
    >>> positions_in_order(["a", "b", "c"], "reversed")
    [2, 1, 0]
    >>> positions_in_order(["a", "b", "c", "d"], "spread", at_once=2)
    [0, 2, 1, 3]
    """
    positions = list(range(len(client_ids)))
    if order == "spread":
        n_batches = -(-len(positions) // max(1, at_once))
        return sorted(positions, key=lambda position: position % n_batches)
    if order == "sorted":
        return positions
    if order == "reversed":
        return positions[::-1]
    if order != "shuffled":
        raise ArgumentError(f"order must be one of {', '.join(ORDERS)}, got {order!r}")
    # Hashes instead of a random generator: a client keeps its turn when others come and go.
    keys = [
        hashlib.sha256(f"{seed}/{one}".encode("utf-8", "surrogatepass")).digest()
        for one in client_ids
    ]
    return sorted(positions, key=keys.__getitem__)


def batch_size(batch: int | str, n_clients: int, consumer_group: str) -> int:
    """Return clients of one batch.

    Examples
    --------
    >>> batch_size("25%", 10, "g"), batch_size(3, 10, "g")
    (2, 3)
    """
    text = str(batch).strip()
    digits = text.removesuffix("%")
    if (
        not (digits.isascii() and digits.isdigit())
        or int(digits) < 1
        or (text.endswith("%") and int(digits) > 100)
    ):
        raise ArgumentError(
            f"a batch must be a number of clients from 1, or 1% to 100%, got {batch!r}"
        )
    size = max(1, n_clients * int(digits) // 100) if text.endswith("%") else int(digits)
    if size > n_clients:
        raise InapplicableError(
            f"a batch of {size} is more than the {counted(n_clients, 'client')} of consumer group {consumer_group!r}; give "
            f"at most {n_clients}, or a share such as 25%"
        )
    return size


def turns_of(
    group: GroupAtStart, batch: int | str, order: str, seed: int
) -> tuple[int, list[list[int]]]:
    """Return the batch size, and the positions of the clients of each batch; the last may be smaller.

    Examples
    --------
    >>> turns_of(GroupAtStart("g", ["a", "b", "c"], [-1, -1, -1]), 2, "reversed", 0)
    (2, [[2, 1], [0]])
    """
    size = batch_size(batch, len(group.client_ids), group.consumer_group)
    positions = positions_in_order(group.client_ids, order, seed, size)
    return size, [positions[start : start + size] for start in range(0, len(positions), size)]


def fresh_clients(group: GroupAtStart, refreshed: float, order: str, seed: int) -> Mask:
    """Return the clients that already have the new routes: a share of all, rounded."""
    if not 0 <= refreshed <= 1:
        raise ArgumentError(
            f"the share of clients with new routes must be from 0 to 1, got {refreshed}"
        )
    n_clients = len(group.client_ids)
    fresh = ~everyone(n_clients)
    n_fresh = round(n_clients * refreshed)
    fresh[positions_in_order(group.client_ids, order, seed, n_fresh)[:n_fresh]] = True
    return fresh


def still(n_clients: int, action: str, variant: int, written: int) -> Step:
    """Return a step that changes what producers write to, but no client's routes."""
    every = everyone(n_clients)
    return Step(
        action,
        (Moment((ClientView(every, every, queues=variant),), there=variant, written=written),),
    )


def refresh(fresh: Mask, action: str, before: int, after: int, written: int) -> Step:
    """Return a step that changes the routes; clients get the new routes one by one, in the end all
    of them.
    """
    every = everyone(fresh.size)
    split = (ClientView(every, ~fresh, queues=before), ClientView(every, fresh, queues=after))
    is_final = Moment((ClientView(every, every, queues=after),), there=after, written=written)
    return Step(
        action,
        (Moment(split, is_final=False, there=after, written=written), is_final),
        every,
        hearing=ROUTES,
    )
