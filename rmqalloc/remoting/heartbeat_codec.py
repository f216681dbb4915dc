"""Reports of a member: heartbeats (code 34), leaving a group (35), a subscription for a broker to
check (46), and the client ids that a broker lists (38).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rmqalloc.remoting.bodies import ConsumerData, HeartbeatData, HeartbeatReply, SubscriptionData
from rmqalloc.remoting.body_fields import body_bytes, body_content, list_of, object_of, text_of


def heartbeat_body(heartbeat: HeartbeatData) -> bytes:
    """Return the body of a heartbeat, of the first form or the second; Java's ``HeartbeatData``.

    Examples
    --------
    >>> heartbeat_body(HeartbeatData("10.0.0.1@7", fingerprint=-5, without_subscriptions=True)).decode()[:48]
    '{"clientID":"10.0.0.1@7","producerDataSet":[],"c'
    """
    return body_bytes(
        {
            "clientID": heartbeat.client_id,
            "producerDataSet": [],
            "consumerDataSet": [_consumer(one) for one in heartbeat.consumers],
            "heartbeatFingerprint": heartbeat.fingerprint,
            "withoutSub": heartbeat.without_subscriptions,
        }
    )


def _consumer(data: ConsumerData) -> dict[str, Any]:
    in_order = sorted(
        data.subscriptions, key=lambda one: (one.topic, one.sub_string, one.sub_version)
    )
    return {
        "groupName": data.consumer_group,
        "consumeType": data.consume_type.value,
        "messageModel": data.message_model.value,
        "consumeFromWhere": data.consume_from_where.value,
        "unitMode": data.unit_mode,
        "subscriptionDataSet": [subscription_content(one) for one in in_order],
    }


def subscription_content(subscription: SubscriptionData) -> dict[str, Any]:
    """Return a subscription in the form of JSON; Java's ``SubscriptionData``.

    Examples
    --------
    >>> subscription_content(SubscriptionData("orders", "paid || open"))["codeSet"]
    [3417674, 3433164]
    """
    return {
        "topic": subscription.topic,
        "subString": subscription.sub_string,
        "subVersion": subscription.sub_version,
        "expressionType": subscription.expression_type,
        "classFilterMode": False,
        "tagsSet": sorted(subscription.tags),
        "codeSet": sorted(subscription.codes),
    }


def check_client_body(client_id: str, consumer_group: str, subscription: SubscriptionData) -> bytes:
    """Return the body of a request to check a subscription; Java's ``CheckClientRequestBody``.

    Examples
    --------
    >>> check_client_body("10.0.0.1@7", "billing", SubscriptionData("orders")).decode()[:44]
    '{"clientId":"10.0.0.1@7","group":"billing","'
    """
    subscription_data = subscription_content(subscription)
    return body_bytes(
        {"clientId": client_id, "group": consumer_group, "subscriptionData": subscription_data}
    )


def read_heartbeat_reply(ext_fields: Mapping[str, str]) -> HeartbeatReply:
    """Return the broker's reply to the second form, from the fields of its answer; old brokers have
    none.

    Examples
    --------
    >>> read_heartbeat_reply({"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": "false"})
    HeartbeatReply(supports_v2=True, subscriptions_changed=False)
    """
    supports, changed = (
        ext_fields.get(name) == "true" for name in ("IS_SUPPORT_HEART_BEAT_V2", "IS_SUB_CHANGE")
    )
    return HeartbeatReply(supports, changed)


def unregister_fields(client_id: str, consumer_group: str) -> dict[str, str]:
    """Return the fields of a request to leave a group; Java's ``UnregisterClientRequestHeader``.

    Examples
    --------
    >>> unregister_fields("10.0.0.1@7", "billing")
    {'clientID': '10.0.0.1@7', 'consumerGroup': 'billing'}
    """
    return {"clientID": client_id, "consumerGroup": consumer_group}


def group_fields(consumer_group: str) -> dict[str, str]:
    """Return the fields of a request for the client ids of a group; Java's
    ``GetConsumerListByGroupRequestHeader``.

    Examples
    --------
    >>> group_fields("billing")
    {'consumerGroup': 'billing'}
    """
    return {"consumerGroup": consumer_group}


def read_client_ids(body: bytes) -> list[str]:
    """Return the client ids of a group from a broker's list; Java's
    ``GetConsumerListByGroupResponseBody``.

    One unreadable id makes the whole list an error, as in Java: if a client were omitted, its queues
    would be given to the remaining clients. The client keeps its queues.

    Examples
    --------
    >>> read_client_ids(b'{"consumerIdList":["y","x"]}')
    ['y', 'x']
    """
    listed = list_of(
        object_of(body_content(body), "client ids").get("consumerIdList") or [], "consumerIdList"
    )
    return [text_of(one, "client id") for one in listed]
