"""What became of a member's requests: which are refused, and what the log says of it.

A request is refused again at every try: pulls every 3 s for each queue, heartbeats every 30 s. The
log has one warning when a refusal begins, one more when its code changes, and one line when the
request is granted again. Whoever lacks a permission is refused many requests at once; for these one
warning per server is enough. Servers that do not answer at all are the business of `Servers`.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from types import TracebackType

from rmqalloc.client.health import Refusal, RefusedError
from rmqalloc.client.member_codes import MemberCode
from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.remoting import BodyError, NotNamedError, ResponseCode, ResponseError, one_line

FORGOTTEN_AFTER = 120_000
"""Milliseconds after which a refusal counts no longer, where nobody asks again."""

MOST_KEPT = 256

_PERMISSION = re.compile(r"\b(Acl|Authentication|Authorization)Exception\b")

_EXPECTED = {
    (MemberCode.QUERY_CONSUMER_OFFSET, ResponseCode.QUERY_NOT_FOUND),
    (MemberCode.PULL_MESSAGE, ResponseCode.FLOW_CONTROL),
}
"""Answers that are no success, and no refusal either."""

_SETTLES = {
    (MemberCode.PULL_MESSAGE, ResponseCode.SUBSCRIPTION_NOT_EXIST),
    (MemberCode.PULL_MESSAGE, ResponseCode.SUBSCRIPTION_NOT_LATEST),
    (MemberCode.GET_CONSUMER_LIST_BY_GROUP, ResponseCode.SYSTEM_ERROR),
}
"""Answers of a broker that has not taken the newest heartbeat yet; they are worth a warning if it
has.
"""

_CREATE_GROUP = "create the consumer group, or set autoCreateSubscriptionGroup=true at the brokers"
_ADVICE: dict[tuple[str, int], str] = {
    ("GET_ROUTEINFO_BY_TOPIC", ResponseCode.TOPIC_NOT_EXIST): "create the topic",
    ("GET_CONSUMER_LIST_BY_GROUP", ResponseCode.SYSTEM_ERROR): _CREATE_GROUP,
    ("PULL_MESSAGE", ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST): _CREATE_GROUP,
    ("CHECK_CLIENT_CONFIG", ResponseCode.SYSTEM_ERROR): "set enablePropertyFilter=true at brokers",
}

Subject = MessageQueue | str
"""What a request is about: a queue, a topic, or neither, which is ``""``."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Refused:
    """A refusal, the queues that it is about, and what shares one warning with it."""

    refusal: Refusal
    subjects: set[Subject] = field(default_factory=set)
    warning: tuple[object, ...] = ()
    lacks_permission: bool = False


class Outcomes:
    """Keeps what became of requests.

    Parameters
    ----------
    consumer_group : str
        The member's group.
    now : callable
        Milliseconds since the epoch.

    Attributes
    ----------
    heartbeats : dict of str to int
        When each broker last accepted a heartbeat.
    """

    def __init__(self, consumer_group: str, now: Callable[[], int]) -> None:
        self._consumer_group, self._now = consumer_group, now
        self._refused: dict[tuple[str, MemberCode, str], _Refused] = {}
        self._warned: set[tuple[object, ...]] = set()
        self._greeted: set[str] = set()
        self._news = asyncio.Event()
        self.heartbeats: dict[str, int] = {}

    def of(
        self, address: str, code: MemberCode, subject: Subject = ""
    ) -> AbstractContextManager[None]:
        """Record what becomes of the request that the block makes."""
        return _Request(self, address, code, subject)

    def ended(
        self, address: str, code: MemberCode, subject: Subject, error: BaseException | None
    ) -> None:
        """Record how a request ended."""
        if error is None:
            self._grant(address, code, subject)
        elif isinstance(error, (ResponseError, BodyError, NotNamedError)):
            if _is_expected(code, subject, error):
                self._grant(address, code, subject)
            else:
                self._refuse(address, code, subject, error)
        if code is MemberCode.HEART_BEAT:
            self._greeted.add(address)
            self._news.set()

    def refused(self) -> tuple[Refusal, ...]:
        """Return what is refused; what was refused last comes last."""
        self._forget_old()
        return tuple(known.refusal for known in self._refused.values())

    def check(self) -> None:
        """Raise `RefusedError` if a member that starts would be refused again and again: it lacks a
        permission, or brokers do not take its subscription.
        """
        for known in self._refused.values():
            refusal = known.refusal
            if known.lacks_permission or refusal.request == MemberCode.CHECK_CLIENT_CONFIG.name:
                raise RefusedError(refusal, self._consumer_group, _advice(known))

    async def first_heartbeats(self, addresses: Collection[str], within: float) -> None:
        """Wait until a heartbeat to each of these brokers was answered, or failed; ``within``
        seconds at most.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while not self._greeted.issuperset(addresses):
                    self._news.clear()
                    await self._news.wait()

    # --- One request ---

    def _refuse(self, address: str, code: MemberCode, subject: Subject, error: Exception) -> None:
        now, key = self._now(), (address, code, _topic(subject))
        number, remark = _answer(address, error)
        known = self._refused.pop(key, None)
        if known is None:
            known = _Refused(Refusal(address, code.name, key[2], number, remark, now, now, 0))
        count = known.refusal.count + 1
        known.refusal = replace(known.refusal, code=number, remark=remark, last=now, count=count)
        known.subjects.add(subject)
        known.lacks_permission = _lacks_permission(error)
        known.warning = (address,) if known.lacks_permission else (*key, number)
        self._refused[key] = known
        if len(self._refused) > MOST_KEPT:
            del self._refused[next(iter(self._refused))]
        self._warned &= {kept.warning for kept in self._refused.values()}
        if known.warning in self._warned or self._is_unimportant(code, known.refusal):
            log.debug("%s: %s", self._consumer_group, known.refusal)
        else:
            self._warned.add(known.warning)
            advice = _advice(known)
            log.warning("%s: %s%s", self._consumer_group, known.refusal, advice and f"; {advice}")

    def _is_unimportant(self, code: MemberCode, refusal: Refusal) -> bool:
        """Return True for what needs no warning: another request is about the group's own topic, or
        a broker is still to accept a heartbeat.
        """
        settles = refusal.since >= self.heartbeats.get(refusal.address, 0)
        return refusal.topic.startswith(RETRY_PREFIX) or (
            settles and (code, refusal.code) in _SETTLES
        )

    def _grant(self, address: str, code: MemberCode, subject: Subject) -> None:
        if code is MemberCode.HEART_BEAT:
            self.heartbeats[address] = self._now()
        if not self._refused:
            return
        known = self._refused.get((address, code, _topic(subject)))
        if known is None:
            return
        known.subjects.discard(subject)
        if known.subjects:
            return
        del self._refused[address, code, _topic(subject)]
        self._forget_old()
        if known.warning not in self._warned or any(
            kept.warning == known.warning for kept in self._refused.values()
        ):
            return
        self._warned.discard(known.warning)
        what = "everything" if known.lacks_permission else _named(known.refusal)
        log.info("%s: %s grants %s again", self._consumer_group, address, what)

    def _forget_old(self) -> None:
        oldest = self._now() - FORGOTTEN_AFTER
        for key in [key for key, known in self._refused.items() if known.refusal.last < oldest]:
            del self._refused[key]


class _Request:
    """A block that makes one request; a class, as pulls would notice the cost of a generator."""

    __slots__ = ("_outcomes", "_what")

    def __init__(self, outcomes: Outcomes, *what: *tuple[str, MemberCode, Subject]) -> None:
        self._outcomes, self._what = outcomes, what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._outcomes.ended(*self._what, error)


def _topic(subject: Subject) -> str:
    return subject.topic if isinstance(subject, MessageQueue) else subject


def _named(refusal: Refusal) -> str:
    return f"{refusal.request} of {refusal.topic}" if refusal.topic else refusal.request


def _answer(address: str, error: Exception) -> tuple[int | None, str]:
    """Return the code and the remark of an answer, without the address that the error names."""
    if isinstance(error, ResponseError):
        return error.code, one_line(error.remark.removesuffix(f" (from {address})"))
    return None, str(error)


def _is_expected(code: MemberCode, subject: Subject, error: Exception) -> bool:
    """Return True for an answer that is no refusal: brokers make the topic of retries at leisure."""
    if not isinstance(error, ResponseError):
        return False
    is_unmade = error.code == ResponseCode.TOPIC_NOT_EXIST and _topic(subject).startswith(
        RETRY_PREFIX
    )
    return is_unmade or (code, error.code) in _EXPECTED


def _lacks_permission(error: Exception) -> bool:
    """Return True where a server wants other keys: brokers before 5 answer SYSTEM_ERROR, and name
    an exception.
    """
    if not isinstance(error, ResponseError):
        return isinstance(error, NotNamedError)
    is_named = error.code == ResponseCode.SYSTEM_ERROR and _PERMISSION.search(error.remark)
    return error.code == ResponseCode.NO_PERMISSION or bool(is_named)


def _advice(known: _Refused) -> str:
    """Return what its author can do about a refusal; nothing where that is not known."""
    refusal = known.refusal
    if refusal.code is None:
        return ""
    if known.lacks_permission:
        return "give credentials= of a user with SUB on the group and its topics (ACL 2.0: Sub and Get)"
    if refusal.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED:
        return "correct the expression of the subscription"
    return _ADVICE.get((refusal.request, refusal.code), "")
