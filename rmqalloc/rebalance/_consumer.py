"""Consumers as their users see them: settings, subscriptions, start and shutdown."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import TypedDict

from rmqalloc.errors import ArgumentError
from rmqalloc.model import MessageQueue
from rmqalloc.rebalance._client_factory import MQClientFactory, MQClientManager
from rmqalloc.rebalance._client_identity import ClientIdentity, is_blank
from rmqalloc.rebalance._first_offset import DEFAULT_LOOK_BACK, format_timestamp
from rmqalloc.rebalance._ports import MessageQueueListener
from rmqalloc.rebalance._rebalance_impl import RebalanceImpl
from rmqalloc.rebalance.driving import Steps, nothing
from rmqalloc.rebalance.offset_store import LocalOffsetStore, OffsetStore, RemoteOffsetStore
from rmqalloc.rebalance.validators import wrong_expression, wrong_group
from rmqalloc.remoting import (
    ClientError,
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    MessageModel,
    SubscriptionData,
)
from rmqalloc.strategies import Averagely, Strategy

log = logging.getLogger(__name__)


class ServiceState(Enum):
    """State of a consumer; a consumer that failed to start or was shut down does not start again."""

    CREATE_JUST = "created"
    START_FAILED = "failed to start"
    RUNNING = "running"
    SHUTDOWN_ALREADY = "shut down"


class Settings(TypedDict, total=False):
    """Settings of every kind of consumer; see `Consumer`."""

    identity: ClientIdentity
    strategy: Strategy | None
    message_model: MessageModel
    consume_from_where: ConsumeFromWhere
    consume_timestamp: str | None
    listener: MessageQueueListener | None
    unit_mode: bool


class Consumer(ABC):
    """Common part of push, pull and lite pull consumers.

    Parameters
    ----------
    manager : MQClientManager
        The process.
    consumer_group : str
        Its group.
    identity : ClientIdentity
        Parts of its client id; an instance name of ``DEFAULT`` changes at the start of a
        clustering consumer.
    strategy : Strategy
        How clients divide queues.
    message_model : MessageModel
        Whether clients divide the queues.
    consume_from_where : ConsumeFromWhere
        Where consumption of queues without a stored offset begins.
    consume_timestamp : str, optional
        ``yyyyMMddHHmmss`` in local time, for `ConsumeFromWhere.TIMESTAMP`; half an hour ago if not
        given.
    listener : callable, optional
        Called with changed queues.
    unit_mode : bool
        Reported in heartbeats.

    Attributes
    ----------
    rebalance : RebalanceImpl
        Its queues.
    client_factory : MQClientFactory
        Its client, from `start` on.
    offset_store : OffsetStore
        Its offsets, from `start` on.
    state : ServiceState
        State of the consumer.
    """

    rebalance: RebalanceImpl
    client_factory: MQClientFactory
    offset_store: OffsetStore

    def __init__(
        self,
        manager: MQClientManager,
        consumer_group: str,
        *,
        identity: ClientIdentity = ClientIdentity("127.0.0.1"),  # noqa: B008 (frozen)
        strategy: Strategy | None = None,
        message_model: MessageModel = MessageModel.CLUSTERING,
        consume_from_where: ConsumeFromWhere = ConsumeFromWhere.LAST_OFFSET,
        consume_timestamp: str | None = None,
        listener: MessageQueueListener | None = None,
        unit_mode: bool = False,
    ) -> None:
        if is_blank(consumer_group):
            raise ArgumentError(f"a consumer needs the name of a group, got {consumer_group!r}")
        self.manager = manager
        self.identity = identity
        self.strategy = Averagely() if strategy is None else strategy
        self.message_model = message_model
        self.consume_from_where = consume_from_where
        half_an_hour_ago = manager.clock.now() - DEFAULT_LOOK_BACK
        self.consume_timestamp = (
            format_timestamp(half_an_hour_ago) if consume_timestamp is None else consume_timestamp
        )
        self.listener = listener
        self.unit_mode = unit_mode
        self.state = ServiceState.CREATE_JUST
        self._consumer_group = consumer_group

    @property
    def consumer_group(self) -> str:
        """Return its group."""
        return self._consumer_group

    @property
    def client_id(self) -> str:
        """Return its client id; before `start`, that of the given identity."""
        return self.identity.client_id

    # --- Life ---

    def start(self) -> None:
        """Join the group: run `start_steps`. With a blocking driver it has joined when this returns.

        Raises
        ------
        ClientError
            As `start_steps`.
        """
        self._join_client()
        self.client_factory.run(self._join_group())

    def start_steps(self) -> Steps[None]:
        """Join the group.

        Raises
        ------
        ClientError
            It was started before, the release accepts no such group name, or the same client has a
            consumer of this group already.
        """
        self._join_client()
        yield from self._join_group()

    def _join_client(self) -> None:
        """Check what is asked for and become one of the consumers of a client."""
        if self.state is not ServiceState.CREATE_JUST:
            raise ClientError(
                f"a consumer of {self.consumer_group} starts once; its state is {self.state.value}"
            )
        self.state = ServiceState.START_FAILED
        self._check_group()
        self._prepare()
        nano_time = self.manager.nano_time if self.manager.profile.nano_time_names else None
        self.identity = self.identity.at_start(self.message_model, self.manager.pid, nano_time)
        factory = self.client_factory = self.manager.get_or_create(self.client_id)
        self.rebalance.client_factory = factory
        # Settings may have changed since the consumer was made; from here on they count no longer.
        self.rebalance.message_model, self.rebalance.strategy = self.message_model, self.strategy
        self.offset_store = self._make_offset_store()
        self.offset_store.load()
        if not factory.register_consumer(self):
            self.state = ServiceState.CREATE_JUST
            raise ClientError(
                f"the consumer group {self.consumer_group} has been created before in client {self.client_id}; "
                "give the consumer another group or an instance name of its own"
            )
        factory.start()
        self.state = ServiceState.RUNNING

    def _join_group(self) -> Steps[None]:
        try:
            yield from self._after_start()
        except Exception:
            if self.client_factory.profile.failed_start_shuts_down:
                yield from self.shutdown_steps()
            raise

    def shutdown(self) -> None:
        """Leave the group: run `shutdown_steps`. With a blocking driver it has left when this
        returns.
        """
        if self.state is ServiceState.RUNNING:
            self.client_factory.run(self.shutdown_steps())

    def shutdown_steps(self) -> Steps[None]:
        """Leave the group: store offsets, unregister, end the client if it has no further consumer."""
        if self.state is ServiceState.RUNNING:
            yield from self.persist_consumer_offset()
            yield from self.client_factory.unregister_consumer(self.consumer_group)
            self.client_factory.shutdown()
            self.state = ServiceState.SHUTDOWN_ALREADY

    @abstractmethod
    def halt(self) -> None:
        """Stop its timers without any request; see `MQClientFactory.kill`."""

    @abstractmethod
    def _prepare(self) -> None:
        """Check settings and add what it subscribes to by itself."""

    @abstractmethod
    def _after_start(self) -> Steps[None]:
        """Do what a consumer does as soon as it runs."""

    def _check_group(self) -> None:
        """Check the group's name as ``Validators.checkGroup`` does, and that it is not the default
        name.
        """
        wrong = wrong_group(self.consumer_group, self.manager.profile.longest_group)
        if wrong is not None:
            raise ClientError(wrong)

    def _make_offset_store(self) -> OffsetStore:
        if self.message_model is MessageModel.BROADCASTING:
            return LocalOffsetStore(
                self.client_factory, self.consumer_group, self.manager.offset_directory
            )
        return RemoteOffsetStore(self.client_factory, self.consumer_group)

    # --- What its client asks ---

    @abstractmethod
    def try_rebalance(self) -> Steps[bool]:
        """Run one pass; return False to request another pass soon."""

    def consumer_data(self) -> ConsumerData:
        """Return the content of heartbeats for this consumer."""
        return ConsumerData(
            self.consumer_group,
            self.rebalance.consume_type(),
            self.message_model,
            self._told_consume_from_where(),
            frozenset(self.subscriptions()),
            self.unit_mode,
        )

    def _told_consume_from_where(self) -> ConsumeFromWhere:
        """Return what heartbeats report; for consumers that pull actively it is constant, whatever
        they are set to.
        """
        active = self.rebalance.consume_type() is ConsumeType.ACTIVELY
        return ConsumeFromWhere.LAST_OFFSET if active else self.consume_from_where

    def subscriptions(self) -> Iterable[SubscriptionData]:
        """Return its subscriptions."""
        return self.rebalance.subscription_inner.values()

    def subscribed_topics(self) -> Iterable[str]:
        """Return the topics whose routes are updated for it."""
        return [subscription.topic for subscription in self.subscriptions()]

    def persist_consumer_offset(self) -> Steps[None]:
        """Store the offsets of all queues in its table, including dropped queues; nothing unless it runs."""
        if self.state is not ServiceState.RUNNING:
            return nothing(None)
        return self.offset_store.persist_all(self.rebalance.process_queue_table)

    def update_topic_subscribe_info(self, topic: str, queues: AbstractSet[MessageQueue]) -> None:
        """Take a route view, if the topic is subscribed to."""
        if topic in self.rebalance.subscription_inner:
            self.rebalance.topic_subscribe_info[topic] = queues

    def is_subscribe_topic_need_update(self, topic: str) -> bool:
        """Return True if the topic is subscribed to and has no view yet."""
        return (
            topic in self.rebalance.subscription_inner
            and topic not in self.rebalance.topic_subscribe_info
        )

    def _check_topic(self, topic: str) -> None:
        if not topic:
            raise ArgumentError(f"a subscription needs the name of a topic, got {topic!r}")

    def _subscribe(self, topic: str, expression: str, expression_type: str = "TAG") -> None:
        self._check_topic(topic)
        wrong = wrong_expression(topic, expression, expression_type)
        if wrong is not None:
            raise ArgumentError(wrong)
        now = self.manager.clock.now()
        self.rebalance.subscription_inner[topic] = SubscriptionData(
            topic, expression, now, expression_type
        )

    def _update_routes(self) -> Steps[None]:
        for topic in list(self.rebalance.subscription_inner):
            yield from self.client_factory.update_topic_route(topic)
