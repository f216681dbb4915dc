"""What a broker knows of one consumer group: its connections, and one table of subscriptions for
all of them.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from rmqalloc.broker._broker_ports import Channel
from rmqalloc.remoting import (
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    MessageModel,
    SubscriptionData,
)

log = logging.getLogger(__name__)


@dataclass(slots=True)
class ClientChannelInfo:
    """The client of a channel, and the time of its last heartbeat (ms since the epoch)."""

    client_id: str
    last_update: int
    language: str = "JAVA"
    version: int = 0


class ConsumerGroupInfo:
    """One consumer group from the view of one broker.

    Parameters
    ----------
    data : ConsumerData
        The first heartbeat of the group; only its way of consuming is kept.

    Attributes
    ----------
    consume_type, message_model, consume_from_where
        From the last heartbeat of any client: the group has one value of each.
    channels : dict of Channel to ClientChannelInfo
        Its connections.
    subscriptions : dict of str to SubscriptionData
        By topic; one table for the whole group, which every heartbeat overwrites.

    Notes
    -----
    ``org.apache.rocketmq.broker.client.ConsumerGroupInfo``.
    """

    def __init__(self, data: ConsumerData) -> None:
        self.consumer_group = data.consumer_group
        self.consume_type: ConsumeType = data.consume_type
        self.message_model: MessageModel = data.message_model
        self.consume_from_where: ConsumeFromWhere = data.consume_from_where
        self.channels: dict[Channel, ClientChannelInfo] = {}
        self.subscriptions: dict[str, SubscriptionData] = {}
        self._client_ids: list[str] | None = None

    def update_channel(
        self, channel: Channel, client: ClientChannelInfo, data: ConsumerData
    ) -> bool:
        """Take a heartbeat of a channel; True if the channel is new.

        If a known channel now names another client, its entry is corrected and logged; the channel
        does not count as new.
        """
        self.consume_type = data.consume_type
        self.message_model = data.message_model
        self.consume_from_where = data.consume_from_where
        known = self.channels.get(channel)
        if known is None:
            self.channels[channel] = client
            self._client_ids = None
            return True
        if known.client_id != client.client_id:
            log.error(
                "a channel of %s was %r, now it is %r",
                self.consumer_group,
                known.client_id,
                client.client_id,
            )
            self.channels[channel] = client
            self._client_ids = None
        known.last_update = client.last_update
        return False

    def update_subscriptions(self, subscriptions: Iterable[SubscriptionData]) -> bool:
        """Take the subscriptions of a heartbeat as those of the whole group; True if topics were
        added or removed.

        A newer version of a known topic silently replaces the older version. So clients that
        subscribe to different topics overwrite each other's table with every heartbeat.
        """
        updated = False
        topics = set()
        for subscription in subscriptions:
            topics.add(subscription.topic)
            known = self.subscriptions.get(subscription.topic)
            if known is None:
                updated = True
            if known is None or subscription.sub_version > known.sub_version:
                self.subscriptions[subscription.topic] = subscription
        for topic in (
            self.subscriptions.keys() - topics if len(topics) < len(self.subscriptions) else ()
        ):
            log.warning(
                "a client of %s does not subscribe to %s, which is removed",
                self.consumer_group,
                topic,
            )
            del self.subscriptions[topic]
            updated = True
        return updated

    def remove_channel(self, channel: Channel) -> ClientChannelInfo | None:
        """Remove a channel; return its client, None if the channel was not there."""
        self._client_ids = None
        return self.channels.pop(channel, None)

    def client_ids(self) -> list[str]:
        """Return one id per channel: a client with two live connections is listed twice.

        The same list object is returned until a channel is added or removed, so callers can detect
        changes by identity. It must not be modified.
        """
        if self._client_ids is None:
            self._client_ids = [client.client_id for client in self.channels.values()]
        return self._client_ids
