"""A member of a consumer group: `PushConsumer`."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Self

from rmqalloc.client._lag import lags
from rmqalloc.client._running_member import RunningMember
from rmqalloc.client._setting_checks import check_subscription
from rmqalloc.client._tally import Tally
from rmqalloc.client.health import MemberHealth
from rmqalloc.client.member_settings import MemberSettings
from rmqalloc.client.metrics import MemberMetrics, histogram_of
from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.model import MessageQueue
from rmqalloc.rebalance import ServiceState
from rmqalloc.remoting import ClientError
from rmqalloc.remoting.address import host_and_port
from rmqalloc.remoting.client import name_servers
from rmqalloc.text import counted, message


class PushConsumer(MemberSettings):
    """Consume messages of a real cluster as a member of a consumer group.

    The group may have clients in Java and further languages. The consumer sends heartbeats,
    rebalances, pulls with long polling, calls the listener, sends failed messages back and stores
    offsets, all in the running event loop. Parameters are those of `MemberSettings`. A consumer
    starts once: use it as an asynchronous context manager, or call `start` and `close`.

    Notes
    -----
    ``org.apache.rocketmq.client.consumer.DefaultMQPushConsumer``, over `rmqalloc.rebalance`.

    Examples
    --------
    >>> consumer = PushConsumer("billing", name_server="10.0.0.1:9876", listener=print)
    >>> consumer.subscribe("orders", "paid || refunded")
    >>> consumer
    <PushConsumer of billing, not started, subscribed to orders, 0 queues>
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self._servers = name_servers(self.name_server)
        self._subscriptions: dict[str, tuple[str, str]] = {}
        self._member: RunningMember | None = None
        self._is_closed = False

    def __repr__(self) -> str:
        name = "" if self.client_id is None else f" as {self.client_id}"
        topics = ", ".join(self._subscriptions) or "nothing"
        return (
            f"<{type(self).__name__} of {self.consumer_group}{name}, {self._state()}, subscribed to {topics}, "
            f"{counted(len(self.queues()), 'queue')}>"
        )

    def _state(self) -> str:
        if self._member is None:
            return "not started"
        consumer = self._member.consumer
        is_paused = consumer.paused and consumer.state is ServiceState.RUNNING
        return "paused" if is_paused else consumer.state.value

    # --- Subscriptions ---

    def subscribe(self, topic: str, expression: str = "*", expression_type: str = "TAG") -> None:
        """Subscribe to a topic, before or after `start`.

        Parameters
        ----------
        topic : str
            Topic.
        expression : str
            Tags separated by ``||``, or ``*`` for all tags; with SQL92 a condition on properties.
        expression_type : str
            ``"TAG"`` or ``"SQL92"``.

        Raises
        ------
        ArgumentError
            No broker has a topic of this name, or no broker accepts the expression.
        ArgumentTypeError
            A parameter is not a text.
        """
        check_subscription(topic, expression, expression_type)
        self._subscriptions[topic] = (expression, expression_type)
        if self._member is not None:
            self._member.subscribe(topic, expression, expression_type)

    def unsubscribe(self, topic: str) -> None:
        """End a subscription; the next pass of the rebalance gives its queues up."""
        self._subscriptions.pop(topic, None)
        if self._member is not None:
            self._member.consumer.unsubscribe(topic)

    # --- Life ---

    async def start(self) -> None:
        """Join the group. The first pass, about a second later, allocates queues.

        Raises
        ------
        ClientError
            The consumer was started before, has no subscription, or the group has a name that no
            broker accepts.
        RemotingError
            No name server answers.
        RefusedError
            A broker refuses a permission of the member, or its subscription by SQL92; a
            `ResponseError`. The consumer starts if brokers do not answer or topics have no route.
        """
        if self._member is not None:
            raise ClientError(
                f"a consumer of {self.consumer_group} starts once; make a new consumer"
            )
        if not self._subscriptions:
            raise ClientError(
                f"a consumer of {self.consumer_group} must subscribe to a topic before it starts"
            )
        ip = await local_address(self._servers)
        if self._is_closed:
            raise ClientError(f"a consumer of {self.consumer_group} was closed before it started")
        self._member = RunningMember(self, self._servers, ip)
        for topic, (expression, expression_type) in self._subscriptions.items():
            self._member.subscribe(topic, expression, expression_type)
        await self._member.start()

    async def close(self, timeout: float | None = None) -> None:
        """Leave the group and hand its queues over, within a time.

        Passes and pulls stop. The consumer waits until the listener has returned, stores offsets,
        releases locks, unregisters at every broker, so that the remaining clients take the queues
        over at once, and closes its connections. The listener gets the time that leaving does not
        need. Messages that it has not finished by then are delivered again to remaining clients.
        Neither this method nor the end of the process waits for a listener that does not return,
        unless it blocks the loop.

        Further calls, also concurrent calls, wait for the end that the first call began. A
        cancelled call stops waiting, and the consumer ends all the same. A call from the listener
        returns at once, so that the listener can end. A call before `start` has ended makes `start`
        fail.

        Parameters
        ----------
        timeout : float, optional
            Seconds in total, at least 0.1; ``close_within`` if not given.

        Raises
        ------
        ArgumentError
            The time is below zero.
        """
        timeout = self.close_within if timeout is None else timeout
        if not timeout >= 0:
            raise ArgumentError(f"timeout must be a number of seconds from 0 on, got {timeout}")
        self._is_closed = True
        if self._member is not None:
            await self._member.close(timeout)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    # --- While it runs ---

    def pause(self) -> None:
        """Stop pulling and rebalancing. The member keeps its queues, and pulled messages are still
        consumed.
        """
        self._at_work().consumer.pause()

    def resume(self) -> None:
        """Pull and rebalance again, beginning with a pass at once."""
        self._at_work().consumer.resume()

    async def seek(self, topic: str, to: datetime) -> dict[MessageQueue, int]:
        """Consume a topic from a point in time, earlier or later than now.

        Only queues that this member owns move. Queues of the remaining members keep their offsets,
        and so does a queue that another member is taking over. To move a whole group, call `seek`
        in each member or use ``mqadmin resetOffsetByTime``.

        The offsets are stored between two passes of the rebalance. The next pass begins at once and
        returns the queues. Pulled messages are dropped. A running call of the listener continues,
        and its answer does not count. A queue consumed in order waits half a second for it, as in
        Java.

        Parameters
        ----------
        topic : str
            A subscribed topic.
        to : datetime
            With a time zone. Each queue continues with the first message that its broker stored
            at this time or later.

        Returns
        -------
        dict of MessageQueue to int
            Offsets of the moved queues.

        Raises
        ------
        ArgumentError
            The topic is not subscribed to, or the time has no zone.
        ArgumentTypeError
            ``to`` is not a datetime.
        ClientError
            The consumer is not running or is closed meanwhile, or a broker does not report the
            offset; then no queue has moved.

        Notes
        -----
        ``org.apache.rocketmq.client.consumer.DefaultMQPushConsumer.resetOffsetByTimeStamp``.
        """
        timestamp = _milliseconds(to)
        if topic not in self._subscriptions:
            subscribed = ", ".join(self._subscriptions)
            raise ArgumentError(
                f"seek takes a subscribed topic ({subscribed}), got {message(str(topic), 60)!r}"
            )
        return await self._at_work().seek(topic, timestamp)

    @property
    def client_id(self) -> str | None:
        """Client id for brokers and strategies; None before `start`."""
        return None if self._member is None else self._member.consumer.client_id

    def queues(self) -> set[MessageQueue]:
        """Return the queues that the member owns."""
        return set() if self._member is None else self._member.queues()

    def metrics(self) -> MemberMetrics:
        """Return counts and lag as of now. Any thread may call it, also before `start` and after
        `close`.

        Examples
        --------
        >>> consumer = PushConsumer("billing", name_server="10.0.0.1:9876", listener=print)
        >>> consumer.metrics().consumed, consumer.metrics().lag
        (0, {})
        """
        tally = Tally() if self._member is None else self._member.tally
        return MemberMetrics(
            consumer_group=self.consumer_group,
            lag={} if self._member is None else lags(self._member.consumer),
            consumed=tally.consumed,
            failed=tally.failed,
            retried=tally.retried,
            undecodable=tally.undecodable,
            rebalances=tally.rebalances,
            pull=histogram_of(tally.pull),
            consume=histogram_of(tally.consume),
        )

    def health(self) -> MemberHealth:
        """Return the state of the member: its connections, refused requests and lag.

        Raises
        ------
        ClientError
            The consumer has not started.
        """
        return self._running().health()

    def _running(self) -> RunningMember:
        if self._member is None:
            raise ClientError(f"the consumer of {self.consumer_group} has not started")
        return self._member

    def _at_work(self) -> RunningMember:
        member = self._running()
        if member.consumer.state is not ServiceState.RUNNING:
            raise ClientError(f"the consumer of {self.consumer_group} is {self._state()}")
        return member


_EPOCH = datetime.fromtimestamp(0, UTC)


def _milliseconds(to: datetime) -> int:
    """Return a time as brokers take it; nothing is stored before 1970."""
    if not isinstance(to, datetime):
        raise ArgumentTypeError(f"seek takes a datetime, got {type(to).__name__}")
    if to.utcoffset() is None:
        raise ArgumentError(
            f"seek takes a datetime with a time zone, such as datetime.now(UTC), got {to!r}"
        )
    return max(0, (to - _EPOCH) // timedelta(milliseconds=1))


# The address of this machine, as it stands in client ids.

_LOOPBACK = "127.0.0.1"


async def local_address(name_servers: list[str]) -> str:
    """Return the address of this machine on the route to the first reachable name server. Nothing is
    sent.

    Examples
    --------
    >>> asyncio.run(local_address(["127.0.0.1:9876"]))
    '127.0.0.1'
    """
    loop = asyncio.get_running_loop()
    for address in name_servers:
        try:
            transport, _ = await loop.create_datagram_endpoint(
                asyncio.DatagramProtocol, remote_addr=host_and_port(address)
            )
        except (OSError, ArgumentError):
            continue
        try:
            return str(transport.get_extra_info("sockname")[0]).partition("%")[0]
        finally:
            transport.close()
    return _LOOPBACK
