"""RocketMQ's wire protocol: frames, connections, codes and bodies, and the differences between
releases of RocketMQ, as data.

Bodies (routes, heartbeats, assignments, messages) and codes are the content that clients, brokers
and name servers exchange, with or without a network. Frames, connections and credentials carry them
over a network. docs/authors/wire.md is the guide for authors of clients.
"""

from typing import TYPE_CHECKING

from rmqalloc.lazy import import_ahead, imported_on_use

if TYPE_CHECKING:
    from rmqalloc.remoting._releases import DEFAULT_PROFILE, PROFILES, Profile
    from rmqalloc.remoting._response_codes import (
        ClientError,
        RemotingError,
        ResponseCode,
        ResponseError,
        one_line,
    )
    from rmqalloc.remoting.assignment_codec import (
        assignment_body,
        read_assignments,
    )
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
    from rmqalloc.remoting.body_fields import (
        AnswerError,
        BodyError,
        answer_of,
    )
    from rmqalloc.remoting.connection import (
        Connection,
        SilentError,
        UnreachableError,
    )
    from rmqalloc.remoting.credentials import (
        Credentials,
        read_credentials,
        tls_context,
    )
    from rmqalloc.remoting.failing import (
        FailingAddresses,
    )
    from rmqalloc.remoting.frames import (
        Command,
        FrameError,
    )
    from rmqalloc.remoting.heartbeat_codec import (
        group_fields,
        heartbeat_body,
        read_client_ids,
        read_heartbeat_reply,
        unregister_fields,
    )
    from rmqalloc.remoting.lock_codec import (
        lock_body,
        read_locked,
    )
    from rmqalloc.remoting.member_requests import (
        DirectOutcome,
        DirectRequest,
        DirectResult,
        MemberRequestCode,
        OffsetReset,
        consumer_status_body,
        read_direct_request,
        read_offset_reset,
        read_status_request,
        requested_group,
    )
    from rmqalloc.remoting.message import (
        Message,
        MessageError,
        decode_messages,
        encode_message,
        tagged,
    )
    from rmqalloc.remoting.offset_codec import (
        query_offset_fields,
        queue_request_fields,
        read_offset,
        search_offset_fields,
        update_offset_fields,
    )
    from rmqalloc.remoting.pull_codec import (
        PULL_CODES,
        PullAnswer,
        PullStatus,
        pull_fields,
        read_pull_answer,
        send_back_fields,
    )
    from rmqalloc.remoting.read_codes import (
        ForbiddenRequestError,
        ReadCode,
    )
    from rmqalloc.remoting.route_codec import (
        read_topic_route,
        topic_route_fields,
    )
    from rmqalloc.remoting.running_info_codec import (
        ConsumerRunningInfo,
        ProcessQueueInfo,
        TopicRates,
        running_properties,
    )
    from rmqalloc.remoting.signed_servers import NotNamedError, SignedServers, is_verified

__all__ = [
    "DEFAULT_PROFILE",
    "PROFILES",
    "PULL_CODES",
    "AnswerError",
    "BodyError",
    "BrokerData",
    "ClientError",
    "Command",
    "Connection",
    "ConsumeFromWhere",
    "ConsumeType",
    "ConsumerData",
    "ConsumerRunningInfo",
    "Credentials",
    "DirectOutcome",
    "DirectRequest",
    "DirectResult",
    "FailingAddresses",
    "ForbiddenRequestError",
    "FrameError",
    "HeartbeatData",
    "HeartbeatReply",
    "MemberRequestCode",
    "Message",
    "MessageError",
    "MessageModel",
    "MessageRequestMode",
    "NotNamedError",
    "OffsetReset",
    "ProcessQueueInfo",
    "Profile",
    "PullAnswer",
    "PullStatus",
    "QueueAssignment",
    "QueueData",
    "ReadCode",
    "RemotingError",
    "ResponseCode",
    "ResponseError",
    "SignedServers",
    "SilentError",
    "SubscriptionData",
    "TopicQueueMappingInfo",
    "TopicRates",
    "TopicRouteData",
    "UnreachableError",
    "answer_of",
    "assignment_body",
    "consumer_status_body",
    "decode_messages",
    "encode_message",
    "group_fields",
    "heartbeat_body",
    "is_verified",
    "lock_body",
    "one_line",
    "pull_fields",
    "query_offset_fields",
    "queue_request_fields",
    "read_assignments",
    "read_client_ids",
    "read_credentials",
    "read_direct_request",
    "read_heartbeat_reply",
    "read_locked",
    "read_offset",
    "read_offset_reset",
    "read_pull_answer",
    "read_status_request",
    "read_topic_route",
    "requested_group",
    "running_properties",
    "search_offset_fields",
    "send_back_fields",
    "tagged",
    "tls_context",
    "topic_route_fields",
    "unregister_fields",
    "update_offset_fields",
]

_HOMES = {
    "_releases": "DEFAULT_PROFILE PROFILES Profile",
    "_response_codes": "ClientError RemotingError ResponseCode ResponseError one_line",
    "assignment_codec": "assignment_body read_assignments",
    "bodies": (
        "BrokerData ConsumeFromWhere ConsumeType ConsumerData HeartbeatData HeartbeatReply MessageModel "
        "MessageRequestMode QueueAssignment QueueData SubscriptionData TopicQueueMappingInfo TopicRouteData"
    ),
    "body_fields": "AnswerError BodyError answer_of",
    "connection": "Connection SilentError UnreachableError",
    "credentials": "Credentials read_credentials tls_context",
    "failing": "FailingAddresses",
    "frames": "Command FrameError",
    "heartbeat_codec": "group_fields heartbeat_body read_client_ids read_heartbeat_reply unregister_fields",
    "lock_codec": "lock_body read_locked",
    "member_requests": (
        "DirectOutcome DirectRequest DirectResult MemberRequestCode OffsetReset consumer_status_body "
        "read_direct_request read_offset_reset read_status_request requested_group"
    ),
    "message": "Message MessageError decode_messages encode_message tagged",
    "offset_codec": "query_offset_fields queue_request_fields read_offset search_offset_fields update_offset_fields",
    "pull_codec": "PULL_CODES PullAnswer PullStatus pull_fields read_pull_answer send_back_fields",
    "read_codes": "ForbiddenRequestError ReadCode",
    "route_codec": "read_topic_route topic_route_fields",
    "running_info_codec": "ConsumerRunningInfo ProcessQueueInfo TopicRates running_properties",
    "signed_servers": "NotNamedError SignedServers is_verified",
}

__getattr__ = imported_on_use(__name__, {module: names.split() for module, names in _HOMES.items()})
import_ahead("rmqalloc.remoting._releases", "rmqalloc.remoting._response_codes")
