"""A broker that divides queues itself: by which mode a topic is read, and which queues a client is
given.
"""

import logging
from collections.abc import Callable
from typing import NamedTuple

from rmqalloc.errors import ArgumentError, Error, refuse_defect
from rmqalloc.model import LMQ_PREFIX, RETRY_PREFIX, MessageQueue
from rmqalloc.remoting import (
    MessageModel,
    MessageRequestMode,
    QueueAssignment,
    ResponseCode,
    ResponseError,
    TopicRouteData,
)
from rmqalloc.remoting.clock import ROUTE_POLL, Clock
from rmqalloc.strategies import Pop, sort_client_ids, sort_queues, strategy
from rmqalloc.strategies.by_name import server_side

log = logging.getLogger(__name__)

FIRST_ROUTES = 1_000
STRATEGIES = {name: strategy(name) for name in server_side()}
"""What a broker can divide by; every other name is answered with "keep what you have"."""


class RequestMode(NamedTuple):
    """How a group reads a topic; the share applies to POP only (see `rmqalloc.strategies.Pop`)."""

    mode: MessageRequestMode = MessageRequestMode.PULL
    pop_share_queue_num: int = 0


class RequestModes:
    """Modes by topic and group.

    Parameters
    ----------
    default : MessageRequestMode
        For topics without a mode of their own, except retry topics (``defaultMessageRequestMode``).
    default_pop_share_queue_num : int
        Share for a default of POP.

    Notes
    -----
    ``MessageRequestModeManager``.
    """

    def __init__(
        self,
        default: MessageRequestMode = MessageRequestMode.PULL,
        default_pop_share_queue_num: int = -1,
    ) -> None:
        self._stored: dict[tuple[str, str], RequestMode] = {}
        self.set_default(default, default_pop_share_queue_num)

    def set_default(self, default: MessageRequestMode, default_pop_share_queue_num: int) -> None:
        """Change the default, which an operator can do while the broker runs."""
        is_pop = default is MessageRequestMode.POP
        self._default = RequestMode(default, default_pop_share_queue_num if is_pop else 0)

    def set(self, topic: str, consumer_group: str, mode: RequestMode) -> None:
        """Set a mode (code 401).

        Raises
        ------
        ResponseError
            NO_PERMISSION: retry topics are always pulled.
        """
        if topic.startswith(RETRY_PREFIX):
            raise ResponseError(
                ResponseCode.NO_PERMISSION, f"{topic} is a retry topic, which is always pulled"
            )
        self._stored[topic, consumer_group] = mode

    def get(self, topic: str, consumer_group: str) -> RequestMode:
        """Return the stored mode, or the default."""
        default = RequestMode() if topic.startswith(RETRY_PREFIX) else self._default
        return self._stored.get((topic, consumer_group), default)


class BrokerRouteViews:
    """Queues of topics from the view of this broker: requested when first needed, after a second and
    then every 30 s.

    A topic without queues is requested again whenever it is needed. A topic that the name server does
    not have is forgotten, except a retry topic; any other failure keeps the last known queues.

    Parameters
    ----------
    clock : Clock
        Time.
    topic_route : callable
        Returns the route of a topic from the name server; raises ResponseError or RemotingError
        if there is none.

    Notes
    -----
    ``TopicRouteInfoManager``. Static topics are treated as normal topics.
    """

    def __init__(self, clock: Clock, topic_route: Callable[[str], TopicRouteData]) -> None:
        self._clock = clock
        self._topic_route = topic_route
        self._views: dict[str, frozenset[MessageQueue]] = {}
        clock.call_later(FIRST_ROUTES, self._refresh)

    def queues(self, topic: str) -> frozenset[MessageQueue] | None:
        """Return the queues that a consumer may read, None if the topic has no route."""
        if not self._views.get(topic):
            self._fetch(topic)
        return self._views.get(topic)

    def _fetch(self, topic: str) -> None:
        try:
            self._views[topic] = frozenset(self._topic_route(topic).readable_queues(topic))
        except ResponseError as error:
            log.warning("no route of %s: %s", topic, error)
            if error.code == ResponseCode.TOPIC_NOT_EXIST and not topic.startswith(RETRY_PREFIX):
                self._views.pop(topic, None)
        except Exception as error:  # whatever carries the request may fail in its own ways
            refuse_defect(error)
            log.warning("no route of %s: %s", topic, error)

    def _refresh(self) -> None:
        for topic in list(self._views):
            self._fetch(topic)
        self._clock.call_later(ROUTE_POLL, self._refresh)


class QueryAssignment:
    """Answer requests for the queues of a client (code 400).

    Parameters
    ----------
    broker_name : str
        The broker's own name, which holds light queues.
    modes : RequestModes
        How topics are read.
    routes : BrokerRouteViews
        Queues by topic.
    consumer_ids : callable
        Client ids of a group by this broker's own connections; ResponseError if there are none.
    server_load_balancer_enable : bool
        If False, every client is assigned every queue.

    Notes
    -----
    ``org.apache.rocketmq.broker.processor.QueryAssignmentProcessor``.
    """

    def __init__(
        self,
        broker_name: str,
        modes: RequestModes,
        routes: BrokerRouteViews,
        consumer_ids: Callable[[str], list[str]],
        server_load_balancer_enable: bool = True,
    ) -> None:
        self._broker_name = broker_name
        self._modes = modes
        self._routes = routes
        self._consumer_ids = consumer_ids
        self.server_load_balancer_enable = server_load_balancer_enable

    def query(
        self,
        topic: str,
        consumer_group: str,
        client_id: str,
        strategy_name: str,
        model: MessageModel,
    ) -> list[QueueAssignment] | None:
        """Return the queues of one client and how to read them.

        Returns
        -------
        list of QueueAssignment or None
            Each queue once. An empty list means that the client has no queues. None means that it
            keeps its queues, because the broker has no route, no such group or no such strategy, or
            the strategy failed.
        """
        mode, divides = (
            self._modes.get(topic, consumer_group),
            model is not MessageModel.BROADCASTING,
        )
        is_light = divides and topic.startswith(LMQ_PREFIX)
        queues = (
            frozenset([MessageQueue(topic, self._broker_name, 0)])
            if is_light
            else self._routes.queues(topic)
        )
        if queues is None:
            return None
        if divides and self.server_load_balancer_enable:
            try:
                queues = self._divided(queues, consumer_group, client_id, strategy_name, mode)
            except Error as error:
                log.warning(
                    "no assignment of %s for %r in %s: %s", topic, client_id, consumer_group, error
                )
                return None
        return [QueueAssignment(queue, mode.mode) for queue in sort_queues(queues)]

    def _divided(
        self,
        queues: frozenset[MessageQueue],
        consumer_group: str,
        client_id: str,
        strategy_name: str,
        mode: RequestMode,
    ) -> frozenset[MessageQueue]:
        client_ids = sort_client_ids(self._consumer_ids(consumer_group))
        if strategy_name not in STRATEGIES:
            raise ArgumentError(
                f"strategy {strategy_name} is not supported; known are {', '.join(STRATEGIES)}"
            )
        strategy = STRATEGIES[strategy_name]
        if mode.mode is MessageRequestMode.POP:
            pop = Pop(strategy, mode.pop_share_queue_num)
            return frozenset(
                pop.allocate(consumer_group, client_id, sort_queues(queues), client_ids)
            )
        return frozenset(
            strategy.allocate(consumer_group, client_id, sort_queues(queues), client_ids) or ()
        )
