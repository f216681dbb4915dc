"""What clients, brokers and name servers say to one another, without saying how it travels.

`data` holds the bodies (routes, heartbeats, assignments), `errors` what a request can end with, `clock` the port to time, and
`profile` how releases of RocketMQ differ in a rebalance, as data.
"""

from rmqalloc.remoting._data import (
    BrokerData,
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    HeartbeatReply,
    MessageModel,
    MessageRequestMode,
    QueueAssignment,
    QueueData,
    SubscriptionData,
    TopicQueueMappingInfo,
    TopicRouteData,
)
from rmqalloc.remoting._releases import DEFAULT_PROFILE, PROFILES, Profile
from rmqalloc.remoting._response_codes import (
    ClientError,
    RemotingError,
    ResponseCode,
    ResponseError,
    one_line,
)

__all__ = [
    "DEFAULT_PROFILE",
    "PROFILES",
    "BrokerData",
    "ClientError",
    "ConsumeFromWhere",
    "ConsumeType",
    "ConsumerData",
    "HeartbeatData",
    "HeartbeatReply",
    "MessageModel",
    "MessageRequestMode",
    "Profile",
    "QueueAssignment",
    "QueueData",
    "RemotingError",
    "ResponseCode",
    "ResponseError",
    "SubscriptionData",
    "TopicQueueMappingInfo",
    "TopicRouteData",
    "one_line",
]
