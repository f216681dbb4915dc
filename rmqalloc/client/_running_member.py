"""All that runs while a consumer does: its client, connections, pulls and listener, and how they
begin and end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from rmqalloc import rebalance
from rmqalloc.client._asyncio_driver import AsyncioDriver, LoopClock
from rmqalloc.client._broker_requests import BrokerRequests
from rmqalloc.client._concurrent_service import ConcurrentService
from rmqalloc.client._lag import lags
from rmqalloc.client._listener_workers import UserCode
from rmqalloc.client._member_remoting import MemberRemoting
from rmqalloc.client._ordered_service import OrderedService
from rmqalloc.client._outcomes import Outcomes
from rmqalloc.client._pulled_queue import PulledQueue
from rmqalloc.client._pulling import PullService
from rmqalloc.client._servers import Servers
from rmqalloc.client._tally import Tally
from rmqalloc.client.health import MemberHealth, RefusedError
from rmqalloc.client.member_settings import MemberSettings
from rmqalloc.model import MessageQueue
from rmqalloc.rebalance import (
    ClientIdentity,
    MQClientManager,
    ProcessQueue,
    RebalancePush,
    Request,
    ServiceState,
    Steps,
)
from rmqalloc.rebalance.driving import nothing
from rmqalloc.rebalance.validators import UNLIMITED
from rmqalloc.remoting import ClientError, RemotingError, ResponseError
from rmqalloc.remoting.frames import Command

if TYPE_CHECKING:
    from rmqalloc.remoting.message import Message

MOST_TRIES = 16
"""Tries of a message that is not consumed in order, unless set otherwise."""

_ADMITTED_WITHIN = 3.0
_PASS_ENDS_WITHIN = 3.0
_LEAVE_WITHIN = 20.0

log = logging.getLogger(__name__)


class RunningMember:
    """One client with one consumer; made in the loop that it runs in.

    Parameters
    ----------
    settings : MemberSettings
        What was set.
    name_servers : list of str
        Name servers.
    ip : str
        First part of the client id.
    """

    def __init__(self, settings: MemberSettings, name_servers: list[str], ip: str) -> None:
        self._settings = settings
        self.tally = Tally()
        self._clock = LoopClock(asyncio.get_running_loop())
        self._outcomes = Outcomes(settings.consumer_group, self._clock.now)
        self._servers = Servers(
            name_servers,
            settings.tls,
            settings.credentials,
            settings.acl_address,
            self._asked,
            self._opened,
        )
        self._remoting = MemberRemoting(self._servers, name_servers, self._outcomes)
        self._driver = AsyncioDriver(self._remoting)
        self.consumer = self._made_consumer(ip)
        code = UserCode(settings.listener, settings.orderly)
        self._service = self._made_service(code)
        self._pulling = PullService(
            self.consumer,
            self._remoting,
            self._driver.finish,
            self._service,
            settings.pull_batch_size,
            settings.pull_interval,
            settings.consume_concurrently_max_span,
        )
        self.consumer.dispatcher = self._pulling
        self._requests = BrokerRequests(self.consumer, code, settings, name_servers)
        self._seeks: set[asyncio.Future[dict[MessageQueue, int]]] = set()
        self._is_closed = False

    def subscribe(self, topic: str, expression: str, expression_type: str) -> None:
        """Subscribe to a topic, with heartbeats that report it once it runs."""
        self.consumer.subscribe(topic, expression, expression_type)

    def queues(self) -> set[MessageQueue]:
        """Return the queues that it works on."""
        table = self.consumer.rebalance.process_queue_table
        return {
            queue for queue, process_queue in table.copied().items() if not process_queue.dropped
        }

    async def seek(self, topic: str, timestamp: int) -> dict[MessageQueue, int]:
        """Read the queues of a topic from a time (ms) on, between two passes; return the offsets."""
        loop = asyncio.get_running_loop()
        sought: asyncio.Future[dict[MessageQueue, int]] = loop.create_future()

        def done(offsets: dict[MessageQueue, int], error: BaseException | None) -> None:
            if sought.done():
                return
            if error is None:
                sought.set_result(offsets)
            else:
                sought.set_exception(error)

        self._seeks.add(sought)
        self.consumer.client_factory.lanes.rebalance.do(
            self._requests.seek_steps(topic, timestamp), done
        )
        try:
            return await sought
        finally:
            self._seeks.discard(sought)

    def health(self) -> MemberHealth:
        """Return how it is doing now."""
        failing = {address: failure.reason for address, failure in self._servers.failing().items()}
        outcomes = self._outcomes
        return MemberHealth(
            tuple(self._servers.connected()),
            failing,
            outcomes.refused(),
            lags(self.consumer),
            dict(outcomes.heartbeats),
        )

    async def start(self) -> None:
        """Join the group, and let passes begin once brokers have admitted the member; what was
        opened is closed where that fails.
        """
        try:
            await self._driver.finish(self.consumer.start_steps())
            brokers = set(self.consumer.client_factory.routes.addresses())
            await self._outcomes.first_heartbeats(brokers, _ADMITTED_WITHIN)
            self._outcomes.check()
        except RefusedError:
            await self.close()
            raise
        except BaseException:
            await self._end()
            raise
        self.consumer.is_admitted = True
        self.consumer.client_factory.rebalance_immediately()

    async def close(self) -> None:
        """Hand over and end: first nothing new begins, then what is at work ends, then the
        membership does.
        """
        if self._is_closed:
            return
        self._is_closed = True
        try:
            self.consumer.pause()
            self._service.stop()
            await self._pulling.close()
            await self._passes_end()
            await self._listener_ends()
            await self._leave()
        finally:
            await self._end()

    async def _passes_end(self) -> None:
        """Wait until no pass is at work, so that none locks a queue after all locks were given
        back.
        """
        if self.consumer.state is not ServiceState.RUNNING:
            return
        ended = asyncio.Event()
        self.consumer.client_factory.lanes.rebalance.do(
            nothing(None), lambda _result, _error: ended.set()
        )
        await _within(_PASS_ENDS_WITHIN, ended.wait(), "a pass has not ended")

    async def _listener_ends(self) -> None:
        what = f"the listener of {self.consumer.consumer_group} has not returned; its messages are delivered again"
        await _within(self._settings.close_within, self._service.idle(), what)

    async def _leave(self) -> None:
        """Store offsets before locks are given back, so that who locks a queue next reads the
        newest.
        """
        leave = self._driver.finish(self._leaving())
        await _within(
            _LEAVE_WITHIN,
            leave,
            "brokers were slow to let the client go; they find out by its connections",
        )

    def _leaving(self) -> Steps[None]:
        yield from self.consumer.persist_consumer_offset()
        yield from self.consumer.shutdown_steps()

    async def _end(self) -> None:
        """End everything at once."""
        self._is_closed = True
        if hasattr(self.consumer, "client_factory"):
            self.consumer.client_factory.kill()
        self.consumer.rebalance.destroy()
        await self._pulling.close()
        await self._service.close()
        await self._driver.close()
        await self._servers.close()
        for sought in self._seeks:
            if not sought.done():
                sought.set_exception(ClientError("the consumer was closed before the seek ended"))

    # --- Parts ---

    def _made_consumer(self, ip: str) -> MemberConsumer:
        settings = self._settings
        manager = MQClientManager(
            self._clock,
            lambda _factory: self._driver,
            profile=settings.profile,
            intervals=settings.intervals,
            heartbeat_v2=settings.heartbeat_v2,
            heartbeats_apart=True,
            offset_directory=settings.offset_directory,
        )
        return MemberConsumer(
            self.tally,
            manager,
            settings.consumer_group,
            orderly=settings.orderly,
            client_rebalance=settings.client_rebalance,
            pull_threshold_for_queue=settings.pull_threshold_for_queue,
            pull_threshold_size_for_queue=settings.pull_threshold_size_for_queue,
            pull_threshold_for_topic=settings.pull_threshold_for_topic,
            pull_threshold_size_for_topic=settings.pull_threshold_size_for_topic,
            identity=ClientIdentity(ip, settings.instance_name, settings.unit_name),
            strategy=settings.strategy,
            message_model=settings.message_model,
            consume_from_where=settings.consume_from_where,
            consume_timestamp=settings.consume_timestamp,
            listener=settings.queue_listener,
            unit_mode=settings.unit_mode,
        )

    def _made_service(self, code: UserCode) -> ConcurrentService | OrderedService:
        settings = self._settings
        n_workers, batch_size = (
            settings.consume_concurrently,
            settings.consume_message_batch_max_size,
        )
        if settings.orderly:
            pause, most = settings.suspend_current_queue_time, settings.max_reconsume_times
            return OrderedService(
                self.consumer, code, self._send_back, n_workers, batch_size, pause, most
            )
        return ConcurrentService(
            self.consumer, code, self._send_back, n_workers, batch_size, settings.consume_timeout
        )

    # --- Between brokers and parts ---

    async def _send_back(self, message: Message, queue: MessageQueue, delay_level: int) -> bool:
        """Give a message back to the broker that it came from; see `SendBack`."""
        routes = self.consumer.client_factory.routes
        address = routes.master_of(routes.broker_of(queue)) or message.store_host
        most = self._settings.max_reconsume_times
        try:
            await self._remoting.send_back(
                address,
                self.consumer.consumer_group,
                queue,
                message,
                delay_level,
                MOST_TRIES if most == UNLIMITED else most,
            )
        except Exception as error:
            is_known = isinstance(error, ResponseError | RemotingError)
            level = logging.DEBUG if is_known else logging.WARNING
            log.log(level, "%s offset %d was not sent back: %s", queue, message.queue_offset, error)
            return False
        return True

    async def _asked(self, address: str, command: Command) -> Command | None:
        return await self._requests.answer(address, command)

    def _opened(self, address: str) -> None:
        if hasattr(self.consumer, "client_factory") and not self._is_closed:
            self.consumer.client_factory.channel_active(address)


async def _within(seconds: float, work: Awaitable[object], otherwise: str) -> None:
    """Wait for something for a while; log what is the case where that was too short."""
    try:
        await asyncio.wait_for(work, seconds)
    except TimeoutError:
        log.warning("%s (after %g s)", otherwise, seconds)


# `rmqalloc.rebalance`'s push consumer with queues that hold messages, and removals that wait for
# user code in real time.


class MemberRebalance(RebalancePush):
    """Queues of a push consumer, with what was pulled of them.

    Parameters
    ----------
    consumer : MemberConsumer
        The consumer.
    tally : Tally
        Where changes are counted.
    """

    def __init__(self, consumer: MemberConsumer, tally: Tally) -> None:
        super().__init__(consumer)
        self._tally = tally

    def create_process_queue(self) -> ProcessQueue:
        """Return the state of a queue that is about to be taken."""
        return PulledQueue(self.client_factory.clock.now())

    def take_consume_lock(self, process_queue: ProcessQueue, wait: int) -> Steps[bool]:
        """Return whether the listener has let go of a dropped queue within ``wait`` milliseconds."""
        return (yield Request("consumed", (process_queue, wait)))  # type: ignore[no-any-return]

    def message_queue_changed(
        self,
        topic: str,
        mq_all: AbstractSet[MessageQueue] | None,
        mq_divided: AbstractSet[MessageQueue],
    ) -> Steps[None]:
        """Count a change; a topic without a route is reported at every pass, as an empty one."""
        if mq_all is None or mq_all:
            self._tally.rebalances += 1
        return super().message_queue_changed(topic, mq_all, mq_divided)


class MemberConsumer(rebalance.PushConsumer):
    """A push consumer over `MemberRebalance`; its other parameters are those of
    `rmqalloc.rebalance.PushConsumer`.
    """

    def __init__(self, tally: Tally, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.rebalance = MemberRebalance(self, tally)
        self.is_admitted = False
        """Whether brokers were given time to refuse it; it takes no queues before."""

    def try_rebalance(self) -> Steps[bool]:
        """Run one pass; False until it is admitted, and while paused."""
        return super().try_rebalance() if self.is_admitted else nothing(False)

    def _update_routes(self) -> Steps[None]:
        """Ask for routes, and let a broker check what is no list of tags
        (``MQClientInstance.checkClientInBroker``).
        """
        yield from super()._update_routes()
        routes, client_id = self.client_factory.routes, self.client_factory.client_id
        for subscription in list(self.subscriptions()):
            address = routes.random_address(subscription.topic)
            if subscription.expression_type != "TAG" and address is not None:
                asked = (address, client_id, self.consumer_group, subscription)
                yield Request("check_client_config", asked)
