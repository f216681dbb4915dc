"""What the clients of a real group own from moment to moment while something changes: queues
without an owner, queues with two.

All clients are asked at once, through their broker, again and again. One round takes some
milliseconds, so it is no moment; but what is the same in two rounds, one after the other, was so
between them. Only that is counted. So what lasts for less than a round is not seen, and whatever is
seen has happened: bounds that are predicted may not lie below.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import NamedTuple

from live_cluster import LiveCluster
from live_proofs import SETTLES_WITHIN

from rmqalloc import MessageQueue
from rmqalloc.remoting import RemotingError, ResponseError
from rmqalloc.remoting.client import Access, Remote
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.snapshot.live import _answers as answers
from rmqalloc.snapshot.live._take import Wanted, take_snapshot

STEADY = 2.5
"""Seconds without a change after which owners that are right are settled; clients of tests rebalance every second."""
ROUNDS_BEFORE = 3
ANSWERS_WITHIN, MOST_PATIENCE = 0.2, 10.0
"""Seconds that a round waits: a client that shuts down never answers what was under way to it. Where not all have answered, the
next round waits twice as long, for the machine may be busy."""

Owned = Mapping[str, frozenset[MessageQueue]]
"""Queues by client id."""


class Round(NamedTuple):
    """What all clients reported when they were asked once; `begun` is in seconds of the clock of the loop."""

    begun: float
    owned: Owned


class Transition(NamedTuple):
    """What was seen while a group changed.

    Attributes
    ----------
    unowned_worst, double_worst : int
        Most queues without an owner, and with several, at one moment.
    before, after : dict of str to frozenset of MessageQueue
        What every client owned in the first and in the last round.
    """

    unowned_worst: int
    double_worst: int
    before: Owned
    after: Owned


def observed_transition(
    cluster: LiveCluster,
    group: str,
    change: Callable[[], object],
    is_right: Callable[[Owned], bool],
) -> Transition:
    """Make a change while all clients of a group are asked what they own, until that is right and
    stays the same.

    Parameters
    ----------
    cluster : LiveCluster
    group : str
    change : callable
        Makes the change, on a thread of its own; it may take as long as it likes.
    is_right : callable
        Whether clients own what they should in the end. Where they never do, what they own is seen
        after `SETTLES_WITHIN`.
    """
    rounds = asyncio.run(_watched(cluster, group, change, is_right))
    queues = frozenset(queues_of(cluster, group))
    between = [*pairwise(rounds)]
    return Transition(
        max(len(_unowned(now, later, queues)) for now, later in between),
        max(len(_double_owned(now, later)) for now, later in between),
        rounds[0].owned,
        rounds[-1].owned,
    )


def queues_of(cluster: LiveCluster, group: str) -> Iterator[MessageQueue]:
    """Queues of all topics to which a client of a group subscribes."""
    snapshot = take_snapshot([cluster.name_server], wanted=Wanted((group,), lag=False))
    for name in {
        topic for client in snapshot.groups[0].clients for topic in client.subscriptions or ()
    }:
        topic = snapshot.topic(name)
        yield from topic.queues() if topic is not None else ()


def worst_moments(before: Owned, after: Owned, queues: Iterable[MessageQueue]) -> tuple[int, int]:
    """Most queues without an owner, and most with several, over all sets of clients that know of
    the change, topic by topic.

    A client rebalances one topic after the other, so at one moment it may know of the change in
    some topics alone.
    """
    clients, unowned, double = sorted({*before, *after}), Counter[str](), Counter[str]()
    for topic, mine in _by_topic(queues).items():
        for knows in product((before, after), repeat=len(clients)):
            shares = [
                state.get(one, frozenset()) for one, state in zip(clients, knows, strict=True)
            ]
            owners = [sum(queue in share for share in shares) for queue in mine]
            unowned[topic] = max(unowned[topic], owners.count(0))
            double[topic] = max(double[topic], sum(n > 1 for n in owners))
    return unowned.total(), double.total()


def kept_by_nobody(before: Owned, after: Owned, queues: Iterable[MessageQueue]) -> int:
    """Queues that no client has before and after a change.

    A client drops all queues that it loses and then asks for the offset of each that it gains,
    which takes milliseconds. So for a moment more queues can have no owner than over any set of
    clients that know of the change; but never more than these.
    """
    kept = frozenset[MessageQueue]().union(
        *(before[one] & after[one] for one in before.keys() & after.keys())
    )
    return len(frozenset(queues) - kept)


def _by_topic(queues: Iterable[MessageQueue]) -> dict[str, list[MessageQueue]]:
    found: dict[str, list[MessageQueue]] = {}
    for queue in queues:
        found.setdefault(queue.topic, []).append(queue)
    return found


async def _watched(
    cluster: LiveCluster,
    group: str,
    change: Callable[[], object],
    is_right: Callable[[Owned], bool],
) -> list[Round]:
    """Rounds from shortly before a change until the owners have stayed the same for a while."""
    loop, rounds = asyncio.get_running_loop(), list[Round]()
    access = Access(timeout=SETTLES_WITHIN, retries=0, relayed_per_second=10_000)
    async with Remote([cluster.name_server], access) as remote:
        asking = _Asking(remote, [*cluster.running.values()], group)
        while len(rounds) < ROUNDS_BEFORE:
            rounds += await asking.round()
        steady_since = loop.time()
        changing = asyncio.create_task(asyncio.to_thread(change))
        until = steady_since + SETTLES_WITHIN

        def is_settled() -> bool:
            is_steady = changing.done() and rounds[-1].begun >= steady_since + STEADY
            return is_steady and (is_right(rounds[-1].owned) or loop.time() > until)

        while not is_settled():
            assert loop.time() < until + SETTLES_WITHIN, (
                f"{group} has not settled after {2 * SETTLES_WITHIN:g} s"
            )
            rounds += await asking.round()
            if not changing.done() or rounds[-1].owned != rounds[-2].owned:
                steady_since = loop.time()
        await changing
    return rounds


class _Asking:
    """Asks all clients of a group again and again, each only once at a time: several questions
    would stop it, see `Remote`.
    """

    def __init__(self, remote: Remote, brokers: Sequence[str], group: str) -> None:
        self._remote, self._brokers, self._group = remote, brokers, group
        self._under_way: dict[str, asyncio.Task[frozenset[MessageQueue] | None]] = {}
        self._patience = ANSWERS_WITHIN

    async def round(self) -> list[Round]:
        """What all clients own now, if all of them answer."""
        begun = asyncio.get_running_loop().time()
        lists = await asyncio.gather(*map(self._ids, self._brokers))
        through = {
            one: broker for broker, ids in zip(self._brokers, lists, strict=True) for one in ids
        }
        late = [one for one in through if one in self._under_way]
        for one in through.keys() - set(late):
            self._under_way[one] = asyncio.create_task(self._owned(through[one], one))
        if through:
            await asyncio.wait([self._under_way[one] for one in through], timeout=self._patience)
        done = {
            one: self._under_way.pop(one).result() for one in through if self._under_way[one].done()
        }
        owned = {one: queues for one, queues in done.items() if queues is not None}
        is_whole = not late and len(owned) == len(through)
        self._patience = ANSWERS_WITHIN if is_whole else min(2 * self._patience, MOST_PATIENCE)
        return [Round(begun, owned)] if is_whole else []

    async def _ids(self, broker: str) -> list[str]:
        """Clients that a broker lists; none if it does not know the group."""
        try:
            content, _ = await self._remote.ask(
                broker, ReadCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": self._group}
            )
        except ResponseError:
            return []
        return list(content["consumerIdList"])

    async def _owned(self, broker: str, client_id: str) -> frozenset[MessageQueue] | None:
        """Queues of one client, None if it has gone."""
        fields = {"consumerGroup": self._group, "clientId": client_id, "jstackEnable": "false"}
        code = ReadCode.GET_CONSUMER_RUNNING_INFO
        try:
            info, _ = await self._remote.ask(broker, code, fields, read=answers.running_info)
        except (RemotingError, ResponseError):
            return None
        return frozenset(info.owned or ())


def _unowned(now: Round, later: Round, queues: frozenset[MessageQueue]) -> frozenset[MessageQueue]:
    """Queues that nobody reports in either of two rounds."""
    return queues.difference(*now.owned.values(), *later.owned.values())


def _double_owned(now: Round, later: Round) -> frozenset[MessageQueue]:
    """Queues that the same two clients, or more, report in both of two rounds."""
    kept = Counter(
        queue
        for one in now.owned.keys() & later.owned.keys()
        for queue in now.owned[one] & later.owned[one]
    )
    return frozenset(queue for queue, n in kept.items() if n > 1)
