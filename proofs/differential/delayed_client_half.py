"""The client half with answers that take time."""

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from differential import delayed_events
from differential.client_twin import ClientTwin
from differential.client_world import StubRemoting
from differential.compared_releases import Release
from rmqalloc.rebalance import MQClientFactory, Request, VirtualDriver
from rmqalloc.remoting import RemotingError

KINDS = {
    "topic_route": "route",
    "send_heartbeat": "heartbeat",
    "unregister_client": "unregister",
    "consumer_ids": "clients",
    "lock_batch": "lock",
    "unlock_batch": "unlock",
    "query_assignment": "assignment",
    "query_offset": "stored",
    "max_offset": "max",
    "search_offset": "search",
}
"""Requests that may wait, as a sequence calls them; one that is sent one-way waits for nothing."""

Answered = Callable[[Any, BaseException | None], None]


class Waiting(NamedTuple):
    """A request that is not answered yet."""

    remoting: StubRemoting
    request: Request
    answered: Answered

    def outcome(self) -> tuple[Any, BaseException | None]:
        """What is answered at this time, or the error."""
        try:
            return getattr(self.remoting, self.request.method)(*self.request.arguments), None
        except Exception as error:
            return None, error


def sequence(rng: Random, release: Release, short: bool) -> dict[str, Any]:
    """A configuration, and events."""
    return delayed_events.sequence(rng, release, short)


class Twin(ClientTwin):
    """The product with its transport stubbed; requests of kinds that are held wait until they are
    released.
    """

    def __init__(self, config: dict[str, Any], release: Release) -> None:
        super().__init__(config, release)
        self._held: set[str] = set()
        self._waiting: list[Waiting] = []

    def _connected(self, factory: MQClientFactory) -> VirtualDriver:
        remoting = StubRemoting(self.world, factory)
        return VirtualDriver(
            lambda request, answered: self._begin(Waiting(remoting, request, answered))
        )

    def _begin(self, one: Waiting) -> None:
        kind = KINDS.get(one.request.method)
        is_oneway = kind == "unlock" and one.request.arguments[-1]
        if kind not in self._held or is_oneway:
            one.answered(*one.outcome())
        else:
            one.outcome()  # for it is written down when it is sent
            self._waiting.append(one)
            self._waiting.sort(
                key=lambda one: one.remoting.client_id
            )  # what several clients do at one time has no order

    def _happen(self, event: dict[str, Any]) -> Any:
        kind = event["kind"]
        if kind == "hold":
            self._held.add(event["what"])
        elif kind == "flow":
            self._held.discard(event["what"])
        elif kind == "release":
            self._release(event["n"], event["lost"])
        else:
            return super()._happen(event)
        return None

    def _release(self, number: int | None, is_lost: bool) -> None:
        """Answer the n-th request that waits, or all that do."""
        if not self._waiting:
            return
        released = self._waiting if number is None else [self._waiting[number % len(self._waiting)]]
        self._waiting = [one for one in self._waiting if one not in released]
        for one in released:
            if is_lost:
                one.answered(None, RemotingError("released without an answer"))
            else:
                with self.world.unseen():
                    outcome = one.outcome()
                one.answered(*outcome)
            self.world.clock.run_for(0)  # a thread that waits for nothing goes on at once
