"""The client half of RocketMQ: a consumer and the queues that a strategy gives it.

A process is an `MQClientManager` over a clock and a transport (`rmqalloc.rebalance._ports`). Its
consumers (`PushConsumer`, `PullConsumer`, `LitePullConsumer`) share an `MQClientFactory` per client
id, which keeps routes, sends heartbeats and runs the passes of its groups (`RebalanceService`). A
pass (`RebalanceImpl.do_rebalance`) requests queues from the strategy or a broker and updates the
table of process queues. The release that it behaves like is data: `rmqalloc.remoting.Profile`.

Code that waits for answers is a generator of requests (`Steps`) that a `Driver` runs to its end:
with blocking ports, in virtual time, or on an event loop (`rmqalloc.client`).
"""

import logging

from rmqalloc.rebalance._client_factory import Lanes, MQClientFactory, MQClientManager
from rmqalloc.rebalance._client_identity import ClientIdentity
from rmqalloc.rebalance._consumer import Consumer, ServiceState
from rmqalloc.rebalance._lite_pull_consumer import (
    AssignedQueues,
    LitePullConsumer,
    QueueState,
    RebalanceLitePull,
)
from rmqalloc.rebalance._offset_file import OffsetFileError
from rmqalloc.rebalance._orderly import OrderlyService
from rmqalloc.rebalance._ports import (
    MessageQueueListener,
    PullDispatcher,
    RebalancingConsumer,
    Remoting,
)
from rmqalloc.rebalance._pull_consumer import PullConsumer, RebalancePull
from rmqalloc.rebalance._push_consumer import PushConsumer, RebalancePush, SteadyPulls
from rmqalloc.rebalance._rebalance_impl import RebalanceImpl
from rmqalloc.rebalance._requests import PopRequest, PullRequest, PullTask
from rmqalloc.rebalance._routes import RouteTable, RouteViews, static_endpoints, subscribe_view
from rmqalloc.rebalance._service import Intervals, RebalanceService
from rmqalloc.rebalance._system_clock import FixedRate, SystemClock
from rmqalloc.rebalance.allocation import Allocate, UnsortableError, sorted_allocate
from rmqalloc.rebalance.driving import BlockingDriver, Driver, Lane, Request, Steps, VirtualDriver
from rmqalloc.rebalance.offset_store import (
    LocalOffsetStore,
    OffsetStore,
    ReadOffsetType,
    RemoteOffsetStore,
)
from rmqalloc.rebalance.process_queue import PopProcessQueue, ProcessQueue
from rmqalloc.rebalance.queue_table import QueueTable
from rmqalloc.remoting.clock import Clock, Timer

# What fails in a pass is logged, as in Java; who does not ask for the log does not get it on the
# screen.
logging.getLogger(__name__).addHandler(logging.NullHandler())

__all__ = [
    "Allocate",
    "AssignedQueues",
    "BlockingDriver",
    "ClientIdentity",
    "Clock",
    "Consumer",
    "Driver",
    "FixedRate",
    "Intervals",
    "Lane",
    "Lanes",
    "LitePullConsumer",
    "LocalOffsetStore",
    "MQClientFactory",
    "MQClientManager",
    "MessageQueueListener",
    "OffsetFileError",
    "OffsetStore",
    "OrderlyService",
    "PopProcessQueue",
    "PopRequest",
    "ProcessQueue",
    "PullConsumer",
    "PullDispatcher",
    "PullRequest",
    "PullTask",
    "PushConsumer",
    "QueueState",
    "QueueTable",
    "ReadOffsetType",
    "RebalanceImpl",
    "RebalanceLitePull",
    "RebalancePull",
    "RebalancePush",
    "RebalanceService",
    "RebalancingConsumer",
    "RemoteOffsetStore",
    "Remoting",
    "Request",
    "RouteTable",
    "RouteViews",
    "ServiceState",
    "SteadyPulls",
    "Steps",
    "SystemClock",
    "Timer",
    "UnsortableError",
    "VirtualDriver",
    "sorted_allocate",
    "static_endpoints",
    "subscribe_view",
]
