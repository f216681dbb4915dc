"""How a running member is doing: what servers refuse it, how far behind it is, and who has taken
its heartbeats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rmqalloc.errors import Error
from rmqalloc.model import MessageQueue
from rmqalloc.remoting import ResponseError


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that a server does not grant, as long as it does not.

    Attributes
    ----------
    address : str
        The server.
    request : str
        Name of the request, such as ``"PULL_MESSAGE"``.
    topic : str
        Topic that the request is about; empty where it is about none.
    code : int or None
        Code of the last answer, see `rmqalloc.remoting.ResponseCode`. None where no answer has a
        code: it could not be read, or the request was not signed for this server and never left.
    remark : str
        What the server says of it, in one line; without a code, what is wrong.
    since, last : int
        When it was first and last refused, in milliseconds since the epoch.
    count : int
        Refused requests since then.

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
    """A member cannot start, because a server refuses what it needs.

    Attributes
    ----------
    refusal : Refusal
        What was refused, and by whom.
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
    """How a running member is doing at one moment.

    Attributes
    ----------
    connected : tuple of str
        Servers to which a connection is open.
    failing : mapping of str to str
        Servers that do not answer, and why.
    refused : tuple of Refusal
        Requests that servers do not grant; the one that was refused last comes last. A request that
        is not asked again for two minutes is not kept.
    lag : mapping of MessageQueue to int or None
        Messages of each own queue that are not consumed, as of its last pull; None before the first
        one.
    heartbeats : mapping of str to int
        When each broker last accepted a heartbeat, in milliseconds since the epoch. Brokers drop a
        client of which they have had none for two minutes.

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
        """Messages that are not consumed, in the queues whose lag is known."""
        return sum(lag for lag in self.lag.values() if lag is not None)
