"""The broker half of RocketMQ: members of groups and their notification, locks, and consumer offsets.

`Broker` combines the parts; each can be used alone. The package uses neither a network nor real
time: connections are the port `Channel`, time is the port `Clock`.
"""

import logging

from rmqalloc.broker._broker import Broker, ConsumerOffsetManager, SubscriptionGroup
from rmqalloc.broker._broker_ports import Channel, EmptyStore, MessageStore
from rmqalloc.broker._change_listener import (
    ConsumerGroupEvent,
    ConsumerIdsChangeListener,
    ConsumerIdsChangeNotifier,
)
from rmqalloc.broker._consumer_manager import ConsumerManager
from rmqalloc.broker._group_info import ClientChannelInfo, ConsumerGroupInfo
from rmqalloc.broker._lock_manager import RebalanceLockManager, locked_by_quorum
from rmqalloc.broker._query_assignment import (
    BrokerRouteViews,
    QueryAssignment,
    RequestMode,
    RequestModes,
)
from rmqalloc.remoting.clock import Clock, Timer

# As in the client half: what goes wrong is logged for whoever asks for the log.
logging.getLogger(__name__).addHandler(logging.NullHandler())

__all__ = [
    "Broker",
    "BrokerRouteViews",
    "Channel",
    "ClientChannelInfo",
    "Clock",
    "ConsumerGroupEvent",
    "ConsumerGroupInfo",
    "ConsumerIdsChangeListener",
    "ConsumerIdsChangeNotifier",
    "ConsumerManager",
    "ConsumerOffsetManager",
    "EmptyStore",
    "MessageStore",
    "QueryAssignment",
    "RebalanceLockManager",
    "RequestMode",
    "RequestModes",
    "SubscriptionGroup",
    "Timer",
    "locked_by_quorum",
]
