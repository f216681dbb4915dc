"""All that runs while a consumer does: its client, connections, pulls and listener, and how they
begin and end.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Awaitable, Iterator
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
from rmqalloc.errors import refuse_defect
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
from rmqalloc.remoting import ClientError, MessageModel, RemotingError, ResponseError
from rmqalloc.remoting.frames import Command

if TYPE_CHECKING:
    from rmqalloc.remoting.message import Message

MOST_TRIES = 16
"""Tries of a message that is not consumed in order, unless set otherwise."""

_ADMITTED_WITHIN = 3.0
_PASS_ENDS_WITHIN = 3.0
_LEAST_CLOSE = 0.1
_CANCEL_WITHIN = 0.5
_LEAVE_WITHIN = 2.0

Queues = list[MessageQueue]

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
        self._code = UserCode(settings.listener, settings.orderly, self.tally)
        self._service = self._made_service(self._code)
        self._pulling = PullService(
            self.consumer,
            self._remoting,
            self._driver.finish,
            self._service,
            settings.pull_batch_size,
            settings.pull_interval,
            settings.consume_concurrently_max_span,
            self.tally,
        )
        self.consumer.dispatcher = self._pulling
        self._requests = BrokerRequests(self.consumer, self._code, settings, name_servers)
        self._seeks: set[asyncio.Future[dict[MessageQueue, int]]] = set()
        self._is_closed = False
        self._starting: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None

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
        self._starting = asyncio.create_task(self._join())
        try:
            await self._starting
        except BaseException as error:
            if isinstance(error, RefusedError):
                await self.close(self._settings.close_within)
            elif self._closing is None:
                await self._end()
            elif isinstance(error, asyncio.CancelledError):
                group = self.consumer.consumer_group
                raise ClientError(f"a consumer of {group} was closed while it started") from None
            raise

    async def _join(self) -> None:
        await self._driver.finish(self.consumer.start_steps())
        brokers = set(self.consumer.client_factory.routes.addresses())
        await self._outcomes.first_heartbeats(brokers, _ADMITTED_WITHIN)
        self._outcomes.check()
        self.consumer.is_admitted = True
        self.consumer.client_factory.rebalance_immediately()

    async def close(self, timeout: float) -> None:
        """Hand over and end within ``timeout`` seconds, see `PushConsumer.close`; whoever is
        cancelled here does not stop it.
        """
        if self._closing is None:
            if self._is_closed:  # it has not come to a start
                return
            self._is_closed = True
            self.consumer.pause()
            self._service.stop()
            self._closing = asyncio.create_task(self._close(max(timeout, _LEAST_CLOSE)))
        if not self._code.is_caller():
            await asyncio.shield(self._closing)

    async def _close(self, timeout: float) -> None:
        """What is at work ends, then the membership does.

        Leaving has a quarter of the time for itself, up to 2 s: what is at work cannot use it up.
        """
        end = asyncio.get_running_loop().time() + timeout
        leaves, cancels = min(_LEAVE_WITHIN, timeout / 4), min(_CANCEL_WITHIN, timeout / 20)
        at_work = timeout - leaves - cancels
        try:
            if self._starting is not None:
                self._starting.cancel()
            await self._pulling.close()
            await asyncio.gather(
                self._passes_end(min(at_work, _PASS_ENDS_WITHIN)), self._listener_ends(at_work)
            )
            await self._service.close(cancels)
            await self._leave(end)
        finally:
            await self._end()

    async def _passes_end(self, within: float) -> None:
        """Wait until no pass is at work, so that none locks a queue after all locks were given
        back.
        """
        if self.consumer.state is not ServiceState.RUNNING:
            return
        ended = asyncio.Event()
        self.consumer.client_factory.after_passes(ended.set)
        await _within(within, ended.wait(), "a pass has not ended")

    async def _listener_ends(self, within: float) -> None:
        what = f"the listener of {self.consumer.consumer_group} has not returned; its messages are delivered again"
        await _within(within, self._service.idle(), what)

    async def _leave(self, end: float) -> None:
        """Leave at all brokers side by side, so that a frozen one costs nothing at the others."""
        consumer = self.consumer
        if consumer.state is not ServiceState.RUNNING:
            return
        consumer.halt()
        consumer.client_factory.consumers.clear()  # no heartbeat registers it again
        factory, by_master = consumer.client_factory, defaultdict[str | None, Queues](list)
        if consumer.message_model is MessageModel.BROADCASTING:
            await self._driver.finish(consumer.persist_consumer_offset())  # one file
        else:
            for queue in consumer.rebalance.process_queue_table:
                by_master[factory.routes.master_of(factory.routes.broker_of(queue))].append(queue)
        leaving = [
            self._leave_broker(it, by_master.pop(it, [])) for it in factory.routes.addresses()
        ]
        leaving += [self._store(queues) for queues in by_master.values()]
        await _within(
            max(end - asyncio.get_running_loop().time(), _LEAST_CLOSE),
            asyncio.gather(*leaving),
            "brokers were slow to unregister the client; they detect its end by closed connections",
        )
        factory.shutdown()
        consumer.state = ServiceState.SHUTDOWN_ALREADY

    async def _leave_broker(self, address: str, queues: Queues) -> None:
        """Store offsets before locks are given back, so that who locks a queue next reads the
        newest.
        """
        group, client_id = self.consumer.consumer_group, self.consumer.client_id
        await self._store(queues)
        if self.consumer.orderly and queues:
            with _logged(address, "unlock queues"):
                await self._remoting.unlock_batch(address, group, client_id, queues, oneway=False)
        with _logged(address, "let the client go"):
            await self._remoting.unregister_client(address, client_id, group)

    async def _store(self, queues: Queues) -> None:
        for queue in queues:
            await self._driver.finish(self.consumer.offset_store.persist(queue))

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


@contextlib.contextmanager
def _logged(address: str, what: str) -> Iterator[None]:
    """Log an error of a broker that a client leaves, and go on."""
    try:
        yield
    except Exception as error:
        refuse_defect(error)
        log.info("%s did not %s: %s", address, what, error)


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
