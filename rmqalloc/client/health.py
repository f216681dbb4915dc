"""The health of a running member: refused requests, lag, and brokers that accept its heartbeats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rmqalloc.errors import Error
from rmqalloc.model import MessageQueue
from rmqalloc.remoting import ResponseError


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that a server refuses at present.

    Attributes
    ----------
    address : str
        The server.
    request : str
        Name of the request, such as ``"PULL_MESSAGE"``.
    topic : str
        Topic of the request; empty if it has none.
    code : int or None
        Code of the last answer, see `rmqalloc.remoting.ResponseCode`. None without a code: the
        answer could not be read, or the request was not signed for this server and was not sent.
    remark : str
        Reason that the server gives, in one line; without a code, the error.
    since, last : int
        First and last refusal, in milliseconds since the epoch.
    count : int
        Refused requests since the first refusal.

    Examples
    --------
    >>> print(Refusal("10.0.0.1:10911", "PULL_MESSAGE", "orders", 16, "no permission", 0, 9000, 4))
    10.0.0.1:10911 refuses PULL_MESSAGE of orders: code 16 (NO_PERMISSION): no permission
    """

    address: str
    request: str
    topic: str
    code: int | None
    remark: str
    since: int
    last: int
    count: int

    def __str__(self) -> str:
        if self.code is None:
            return self.remark
        of = f" of {self.topic}" if self.topic else ""
        return f"{self.address} refuses {self.request}{of}: {ResponseError(self.code, self.remark)}"


class RefusedError(ResponseError):
    """A member cannot start because a server refuses a request that it needs.

    Attributes
    ----------
    refusal : Refusal
        The refused request and its server.
    consumer_group : str
        The member's group.

    Examples
    --------
    >>> refusal = Refusal("10.0.0.1:10911", "HEART_BEAT", "", 16, "no permission", 0, 0, 1)
    >>> str(RefusedError(refusal, "billing", "give credentials="))
    'billing cannot start: 10.0.0.1:10911 refuses HEART_BEAT: code 16 (NO_PERMISSION): no permission; give credentials='
    """

    def __init__(self, refusal: Refusal, consumer_group: str, advice: str = "") -> None:
        text = f"{consumer_group} cannot start: {refusal}"
        Error.__init__(self, f"{text}; {advice}" if advice else text)
        self.refusal, self.consumer_group = refusal, consumer_group
        self.code = -1 if refusal.code is None else refusal.code
        self.remark = refusal.remark


@dataclass(frozen=True, slots=True)
class MemberHealth:
    """Health of a running member at one moment.

    Attributes
    ----------
    connected : tuple of str
        Servers with an open connection.
    failing : mapping of str to str
        Servers that do not answer, with the reason.
    refused : tuple of Refusal
        Requests that servers refuse, the last refusal at the end. A request that is not repeated
        within two minutes is dropped.
    lag : mapping of MessageQueue to int or None
        Messages not yet consumed in each owned queue, as of its last pull; None before the first
        pull.
    heartbeats : mapping of str to int
        When each broker last accepted a heartbeat, in milliseconds since the epoch. Brokers drop a
        client after two minutes without a heartbeat.

    Examples
    --------
    >>> queues = [MessageQueue("orders", "broker-a", i) for i in range(3)]
    >>> lag = dict(zip(queues, (4, 0, None)))
    >>> health = MemberHealth(("10.0.0.1:10911",), {}, (), lag, {"10.0.0.1:10911": 1700000000000})
    >>> health.total_lag, bool(health.refused)
    (4, False)
    """

    connected: tuple[str, ...]
    failing: Mapping[str, str]
    refused: tuple[Refusal, ...]
    lag: Mapping[MessageQueue, int | None]
    heartbeats: Mapping[str, int]

    @property
    def total_lag(self) -> int:
        """Messages not yet consumed, in the queues with a known lag."""
        return sum(lag for lag in self.lag.values() if lag is not None)
