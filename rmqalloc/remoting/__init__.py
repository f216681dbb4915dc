"""RocketMQ's wire protocol: frames, codes and bodies, and how releases of RocketMQ differ, as data.

Bodies (routes, heartbeats, assignments) and codes are what clients, brokers and name servers exchange, whether or not
there is a network between them; frames, connections and credentials carry them over one.
"""

from typing import TYPE_CHECKING

from rmqalloc.lazy import imported_on_use
from rmqalloc.remoting._releases import DEFAULT_PROFILE, PROFILES, Profile
from rmqalloc.remoting._response_codes import (
    ClientError,
    RemotingError,
    ResponseCode,
    ResponseError,
    one_line,
)

if TYPE_CHECKING:
    from rmqalloc.remoting.bodies import (
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

__getattr__ = imported_on_use(__name__, {"bodies": set(__all__) - globals().keys()})
