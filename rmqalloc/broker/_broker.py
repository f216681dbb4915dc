"""A broker: the parts of one, and the requests that reach it."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rmqalloc.broker._broker_ports import Channel, EmptyStore, MessageStore
from rmqalloc.broker._change_listener import ConsumerIdsChangeListener, ConsumerIdsChangeNotifier
from rmqalloc.broker._consumer_manager import ConsumerManager
from rmqalloc.broker._lock_manager import RebalanceLockManager, locked_by_quorum
from rmqalloc.broker._query_assignment import (
    BrokerRouteViews,
    QueryAssignment,
    RequestMode,
    RequestModes,
)
from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.remoting import (
    ConsumeType,
    HeartbeatData,
    HeartbeatReply,
    MessageModel,
    Profile,
    QueueAssignment,
    QueueData,
    RemotingError,
    ResponseCode,
    ResponseError,
    TopicRouteData,
)
from rmqalloc.remoting.clock import CHANNEL_EXPIRY, LOCK_LIFE, Clock

log = logging.getLogger(__name__)

LockElsewhere = Callable[[str, str, set[MessageQueue]], set[MessageQueue]]
"""``ask(consumer_group, client_id, queues)``: locks of another replica; RemotingError if it does not answer in time."""

UnlockElsewhere = Callable[[str, str, set[MessageQueue]], None]
"""``unlock(consumer_group, client_id, queues)``: locks of another replica are given up; nothing waits for it."""


@dataclass(frozen=True, slots=True)
class SubscriptionGroup:
    """Configuration of a group at a broker."""

    notify_consumer_ids_changed_enable: bool = True
    retry_queue_nums: int = 1


class Broker:
    """One broker.

    Parameters
    ----------
    name : str
        Broker name.
    clock : Clock
        Time and timers.
    profile : Profile
        Release to behave like.
    topic_route : callable, optional
        Requests a route from a name server, for broker-side assignment; none by default.
    store : MessageStore
        Offsets of the stored messages.
    auto_create_subscription_group : bool
        A heartbeat of an unknown group configures it. If False, such heartbeats are ignored; 4.9
        accepts them, without a retry topic.
    notify_consumer_ids_changed_enable, real_time_notify : bool
        See `ConsumerIdsChangeNotifier`.
    channel_expired_timeout, lock_max_live_time : int
        Milliseconds, see `ConsumerManager` and `RebalanceLockManager`.
    fast_channel_events : bool
        See `ConsumerManager`.
    reject_pull_consumers : bool
        Ignore groups that pull actively in heartbeats (``rejectPullConsumerEnable``;
        not before 5.x).
    request_modes : RequestModes, optional
        How topics are read under broker-side assignment.
    server_load_balancer_enable : bool
        See `QueryAssignment`.
    listeners : sequence of ConsumerIdsChangeListener
        Listeners to changes of groups, besides the notifier.
    replicas : sequence of callable
        Request locks from the remaining replicas of a broker in strict lock mode; if empty, this
        broker's locks suffice.
    unlock_elsewhere : sequence of callable
        Report released locks to these replicas. A replica that cannot be reached keeps the locks
        until they expire.

    Attributes
    ----------
    topics : dict of str to QueueData
        The broker's data of each topic.
    subscription_groups : dict of str to SubscriptionGroup
        Configured groups.
    offsets : ConsumerOffsetManager
        Kept over a restart, unlike connections and locks.

    Notes
    -----
    ``BrokerController`` with ``ClientManageProcessor``, ``ConsumerManageProcessor`` and ``AdminBrokerProcessor``, as far as
    a rebalance uses them.
    """

    def __init__(
        self,
        name: str,
        clock: Clock,
        profile: Profile,
        *,
        topic_route: Callable[[str], TopicRouteData] | None = None,
        store: MessageStore | None = None,
        auto_create_subscription_group: bool = True,
        notify_consumer_ids_changed_enable: bool = True,
        real_time_notify: bool = True,
        channel_expired_timeout: int = CHANNEL_EXPIRY,
        lock_max_live_time: int = LOCK_LIFE,
        fast_channel_events: bool = False,
        reject_pull_consumers: bool = False,
        request_modes: RequestModes | None = None,
        server_load_balancer_enable: bool = True,
        listeners: Sequence[ConsumerIdsChangeListener] = (),
        replicas: Sequence[LockElsewhere] = (),
        unlock_elsewhere: Sequence[UnlockElsewhere] = (),
    ) -> None:
        self.name = name
        self.topics: dict[str, QueueData] = {}
        self.subscription_groups: dict[str, SubscriptionGroup] = {}
        self.offsets = ConsumerOffsetManager()
        self.store: MessageStore = store or EmptyStore()
        self.notifier = ConsumerIdsChangeNotifier(
            clock, profile, notify_consumer_ids_changed_enable, real_time_notify
        )
        self.consumers = ConsumerManager(
            clock,
            profile,
            (self.notifier, *listeners),
            channel_expired_timeout,
            fast_channel_events,
        )
        self.locks = RebalanceLockManager(clock, lock_max_live_time)
        self.request_modes = request_modes or RequestModes()
        routes = BrokerRouteViews(clock, topic_route or _no_route)
        self.assignment = QueryAssignment(
            name,
            self.request_modes,
            routes,
            self.consumers.consumer_ids,
            server_load_balancer_enable,
        )
        self._profile, self.auto_create_subscription_group = profile, auto_create_subscription_group
        self._reject_pull_consumers = reject_pull_consumers and profile.rejects_pull_consumers
        self._replicas, self._unlock_elsewhere = replicas, unlock_elsewhere
        self._fingerprints: dict[str, int] = {}

    def heartbeat(self, channel: Channel, heartbeat: HeartbeatData) -> HeartbeatReply | None:
        """Take a heartbeat (code 34); a new group gets its retry topic here.

        Returns
        -------
        HeartbeatReply or None
            The answer to the first form always reports changed subscriptions. The answer to the
            second form reports them if the last heartbeat of a group, from any client, had another
            fingerprint. None for releases without the second form.
        """
        changed = not heartbeat.fingerprint
        client = self.consumers.client(heartbeat.client_id)
        short = (
            self._profile.heartbeat_v2
            and heartbeat.without_subscriptions
            and heartbeat.fingerprint != 0
        )
        register = (
            self.consumers.register_without_subscriptions if short else self.consumers.register
        )
        for data in heartbeat.consumers:
            if self._reject_pull_consumers and data.consume_type is ConsumeType.ACTIVELY:
                continue
            changed |= (
                self._fingerprints.get(data.consumer_group, heartbeat.fingerprint)
                != heartbeat.fingerprint
            )
            self._fingerprints[data.consumer_group] = heartbeat.fingerprint
            group = self._subscription_group(data.consumer_group)
            if group is None:
                if self._profile.takes_unconfigured_groups:
                    register(channel, client, data)
                continue
            retry_topic = RETRY_PREFIX + data.consumer_group
            if retry_topic not in self.topics:
                self.topics[retry_topic] = QueueData(
                    self.name, group.retry_queue_nums, group.retry_queue_nums
                )
            register(channel, client, data, group.notify_consumer_ids_changed_enable)
        return HeartbeatReply(True, changed) if self._profile.heartbeat_v2 else None

    def unregister_client(self, channel: Channel, client_id: str, consumer_group: str) -> None:
        """Remove a client from a group (code 35). This may configure the group, as a heartbeat does."""
        group = self._subscription_group(consumer_group) or SubscriptionGroup()
        self.consumers.unregister(
            channel, client_id, consumer_group, group.notify_consumer_ids_changed_enable
        )

    def lock_batch(
        self,
        consumer_group: str,
        client_id: str,
        queues: Iterable[MessageQueue],
        only_this_broker: bool = False,
    ) -> set[MessageQueue]:
        """Lock queues (code 41). Return the queues that the client then holds, by quorum if there
        are further replicas.
        """
        locked = self.locks.try_lock_batch(consumer_group, queues, client_id)
        if only_this_broker or not self._replicas:
            return locked
        answers = []
        for ask in self._replicas:
            try:
                answers.append(ask(consumer_group, client_id, locked))
            except RemotingError:
                continue
        return locked_by_quorum(locked, answers, 1 + len(self._replicas))

    def unlock_batch(
        self,
        consumer_group: str,
        client_id: str,
        queues: Iterable[MessageQueue],
        only_this_broker: bool = False,
    ) -> None:
        """Release locks (code 42), also at further replicas."""
        given_up = set(queues)
        self.locks.unlock_batch(consumer_group, given_up, client_id)
        for unlock in () if only_this_broker else self._unlock_elsewhere:
            try:
                unlock(consumer_group, client_id, given_up)
            except RemotingError as error:
                log.warning(
                    "a replica keeps locks of %r in %s: %s", client_id, consumer_group, error
                )

    def query_assignment(
        self,
        topic: str,
        consumer_group: str,
        client_id: str,
        strategy_name: str,
        model: MessageModel,
    ) -> list[QueueAssignment] | None:
        """Allocate a topic at the broker (code 400); see `QueryAssignment.query`.

        Raises
        ------
        ResponseError
            REQUEST_CODE_NOT_SUPPORTED: the release does not know the request.
        """
        self._check_server_assignment()
        return self.assignment.query(topic, consumer_group, client_id, strategy_name, model)

    def set_message_request_mode(self, topic: str, consumer_group: str, mode: RequestMode) -> None:
        """Set how a group reads a topic (code 401).

        Raises
        ------
        ResponseError
            NO_PERMISSION, TOPIC_NOT_EXIST or SUBSCRIPTION_GROUP_NOT_EXIST.
        """
        self._check_server_assignment()
        if not topic.startswith(RETRY_PREFIX):
            if topic not in self.topics:
                raise ResponseError(
                    ResponseCode.TOPIC_NOT_EXIST, f"this broker has no topic {topic}"
                )
            if self._subscription_group(consumer_group) is None:
                code = ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
                raise ResponseError(code, f"consumer group {consumer_group} is not configured")
        self.request_modes.set(topic, consumer_group, mode)

    def _check_server_assignment(self) -> None:
        if not self._profile.server_assignment:
            raise ResponseError(
                ResponseCode.REQUEST_CODE_NOT_SUPPORTED, "this release does not divide queues"
            )

    def _subscription_group(self, consumer_group: str) -> SubscriptionGroup | None:
        group = self.subscription_groups.get(consumer_group)
        if group is None and self.auto_create_subscription_group:
            group = self.subscription_groups[consumer_group] = SubscriptionGroup()
        return group


def _no_route(topic: str) -> TopicRouteData:
    raise RemotingError(f"no name server for the route of {topic}")


# How far consumer groups have come, queue by queue.


class ConsumerOffsetManager:
    """Committed offsets of one broker.

    Notes
    -----
    ``org.apache.rocketmq.broker.offset.ConsumerOffsetManager``. Each commit is accepted, forward or backward: a late commit of
    a former owner sets the queue back.
    """

    def __init__(self) -> None:
        self._offsets: dict[str, dict[MessageQueue, int]] = {}

    def commit_offset(self, consumer_group: str, queue: MessageQueue, offset: int) -> None:
        """Store an offset (code 15)."""
        self.commit_offsets(consumer_group, {queue: offset})

    def commit_offsets(self, consumer_group: str, offsets: Mapping[MessageQueue, int]) -> None:
        """Store the offsets of several queues."""
        self._offsets.setdefault(consumer_group, {}).update(offsets)

    def query_offset(self, consumer_group: str, queue: MessageQueue) -> int:
        """Return the stored offset (code 14).

        Raises
        ------
        ResponseError
            QUERY_NOT_FOUND: no offset is stored.
        """
        offset = self._offsets.get(consumer_group, {}).get(queue)
        if offset is None:
            raise ResponseError(
                ResponseCode.QUERY_NOT_FOUND, f"{consumer_group} has no offset of {queue}"
            )
        return offset
