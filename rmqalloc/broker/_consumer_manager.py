"""Which groups a broker knows, how clients enter and leave them, and who is notified."""

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from rmqalloc.broker._broker_ports import Channel
from rmqalloc.broker._change_listener import ConsumerGroupEvent, ConsumerIdsChangeListener
from rmqalloc.broker._group_info import ClientChannelInfo, ConsumerGroupInfo
from rmqalloc.errors import refuse_defect
from rmqalloc.remoting import (
    ConsumerData,
    MessageModel,
    Profile,
    ResponseCode,
    ResponseError,
    SubscriptionData,
)
from rmqalloc.remoting.clock import CHANNEL_EXPIRY, CHANNEL_SCAN, Clock

log = logging.getLogger(__name__)


class ConsumerManager:
    """The consumer groups of one broker.

    Parameters
    ----------
    clock : Clock
        Time, and the timer of the scan.
    profile : Profile
        Its ``broadcasting_is_not_told``, ``client_events``, ``indexes_groups`` and
        ``fast_channel_events``.
    listeners : sequence of ConsumerIdsChangeListener
        Listeners to changes; their errors are logged.
    channel_expired_timeout : int
        Milliseconds without a heartbeat after which a channel is dropped; a constant before 5.1.0.
    fast_channel_events : bool
        ``enableFastChannelEventProcess``: a closed channel leaves only the groups that it entered
        by a full heartbeat; broadcasting groups are notified too. Not supported before 5.x.

    Attributes
    ----------
    groups : dict of str to ConsumerGroupInfo
        By name.
    topic_groups : dict of str to set of str
        Groups by topic. Groups that the scan emptied stay in it for ever, as in Java; before 5.5 it
        contains each topic under itself instead, for ever.

    Notes
    -----
    ``org.apache.rocketmq.broker.client.ConsumerManager`` and ``ClientHousekeepingService``.
    """

    def __init__(
        self,
        clock: Clock,
        profile: Profile,
        listeners: Sequence[ConsumerIdsChangeListener] = (),
        channel_expired_timeout: int = CHANNEL_EXPIRY,
        fast_channel_events: bool = False,
    ) -> None:
        self.groups: dict[str, ConsumerGroupInfo] = {}
        self.topic_groups: dict[str, set[str]] = {}
        self._clock = clock
        self._profile = profile
        self._listeners = listeners
        self.channel_expired_timeout = channel_expired_timeout
        self.fast_channel_events = fast_channel_events and profile.fast_channel_events
        self._entered: dict[Channel, dict[str, None]] = {}
        self._closed_by_scan: set[Channel] = set()
        clock.call_later(CHANNEL_SCAN, self._scan_again)

    def client(self, client_id: str) -> ClientChannelInfo:
        """Return the sender of a heartbeat, one for all its groups; see `register`."""
        return ClientChannelInfo(client_id, self._clock.now())

    def register(
        self,
        channel: Channel,
        client: str | ClientChannelInfo,
        data: ConsumerData,
        notify: bool = True,
    ) -> bool:
        """Take a heartbeat for one group.

        Parameters
        ----------
        channel : Channel
            Connection of the heartbeat.
        client : str or ClientChannelInfo
            Client id, or the sender of a whole heartbeat (`client`). Groups that a channel entered
            by one heartbeat share its entry, so a later heartbeat of any of them keeps the channel
            in all of them.
        data : ConsumerData
            Content of the heartbeat for the group.
        notify : bool
            The group's own flag.

        Returns
        -------
        bool
            Whether a channel was added, or topics were added or removed; then the group is
            notified.
        """
        client = self.client(client) if isinstance(client, str) else client
        group = self._group(data)
        self._index(data.consumer_group, data.subscriptions)
        is_new = group.update_channel(channel, client, data)
        if is_new:
            topics = {subscription.topic for subscription in data.subscriptions}
            self._tell_of_client(ConsumerGroupEvent.CLIENT_REGISTER, group, channel, client, topics)
        changed = group.update_subscriptions(data.subscriptions) or is_new
        if changed and notify:
            self._tell_change(group)
        if is_new and self.fast_channel_events and channel not in self._closed_by_scan:
            self._entered.setdefault(channel, {})[data.consumer_group] = None
        self._tell(ConsumerGroupEvent.REGISTER, data.consumer_group, data.subscriptions)
        return changed

    def register_without_subscriptions(
        self,
        channel: Channel,
        client: str | ClientChannelInfo,
        data: ConsumerData,
        notify: bool = True,
    ) -> bool:
        """Take a short heartbeat of the second form for one group: it only registers the channel, and
        listeners are not notified of a new channel.
        """
        client = self.client(client) if isinstance(client, str) else client
        group = self._group(data)
        self._index(data.consumer_group, group.subscriptions.values())
        is_new = group.update_channel(channel, client, data)
        if is_new and notify:
            self._tell_change(group)
        return is_new

    def unregister(
        self, channel: Channel, client_id: str, consumer_group: str, notify: bool = True
    ) -> None:
        """Remove a client from a group. The group is notified even if the channel was not in it.

        Listeners get the client named in the request, which may differ from the client that the
        channel was registered for.
        """
        group = self.groups.get(consumer_group)
        if group is None:
            return
        if group.remove_channel(channel) is not None:
            client = self.client(client_id)
            self._tell_of_client(ConsumerGroupEvent.CLIENT_UNREGISTER, group, channel, client)
        self._forget_if_empty(group)
        if notify:
            self._tell_change(group)

    def channel_closed(self, channel: Channel) -> None:
        """Remove a channel that was closed, failed or was idle from its groups. The groups are
        notified regardless of their flag.
        """
        self._closed_by_scan.discard(channel)
        groups = (
            list(self._entered.pop(channel, ())) if self.fast_channel_events else list(self.groups)
        )
        for name in groups:
            group = self.groups.get(name)
            client = None if group is None else group.remove_channel(channel)
            if group is None or client is None:
                continue
            self._tell_of_client(ConsumerGroupEvent.CLIENT_UNREGISTER, group, channel, client)
            self._forget_if_empty(group)
            if self.fast_channel_events:
                self._tell(ConsumerGroupEvent.CHANGE, name, list(group.channels))
            else:
                self._tell_change(group)

    def scan(self) -> None:
        """Drop and close the channels whose last heartbeat is too old.

        No client is notified: not now, and not when the close arrives as an event, because the
        channel is no longer in the group. The remaining clients detect the change in their next
        own pass.
        """
        now = self._clock.now()
        for name, group in list(self.groups.items()):
            expired = [
                (channel, client)
                for channel, client in group.channels.items()
                if now - client.last_update > self.channel_expired_timeout
            ]
            for channel, client in expired:
                log.warning("no heartbeat of %r in %s for too long", client.client_id, name)
                self._tell_of_client(ConsumerGroupEvent.CLIENT_UNREGISTER, group, channel, client)
                group.remove_channel(channel)
                channel.close()
                if self.fast_channel_events:
                    # A heartbeat sent before the close enters no group that the close could leave.
                    self._closed_by_scan.add(channel)
            if not group.channels:
                del self.groups[name]

    def consumer_ids(self, consumer_group: str) -> list[str]:
        """Return the client ids of a group, one per channel (code 38).

        Raises
        ------
        ResponseError
            SYSTEM_ERROR: the group is unknown or has no clients.
        """
        group = self.groups.get(consumer_group)
        if group is None or not group.channels:
            raise ResponseError(
                ResponseCode.SYSTEM_ERROR, f"no consumer for this group, {consumer_group}"
            )
        return group.client_ids()

    def _group(self, data: ConsumerData) -> ConsumerGroupInfo:
        """Return the group of a heartbeat, made known by it."""
        group = self.groups.get(data.consumer_group)
        if group is None:
            group = self.groups[data.consumer_group] = ConsumerGroupInfo(data)
        return group

    def _index(self, consumer_group: str, subscriptions: Iterable[SubscriptionData]) -> None:
        index, indexes_groups = self.topic_groups, self._profile.indexes_groups
        for subscription in subscriptions:
            topic = subscription.topic
            if topic not in index:
                index[topic] = set()
            index[topic].add(consumer_group if indexes_groups else topic)

    def _forget_if_empty(self, group: ConsumerGroupInfo) -> None:
        """Take an emptied group out of the tables."""
        if not group.channels and self.groups.pop(group.consumer_group, None) is not None:
            self._tell(ConsumerGroupEvent.UNREGISTER, group.consumer_group)
            for topic in group.subscriptions:
                groups = self.topic_groups.get(topic, set())
                groups.discard(group.consumer_group)
                if not groups:
                    self.topic_groups.pop(topic, None)

    def _tell_change(self, group: ConsumerGroupInfo) -> None:
        """Send CHANGE, which broadcasting groups are spared since 5.3.1: their clients divide
        nothing.
        """
        if (
            group.message_model is not MessageModel.BROADCASTING
            or not self._profile.broadcasting_is_not_told
        ):
            self._tell(ConsumerGroupEvent.CHANGE, group.consumer_group, list(group.channels))

    def _tell_of_client(
        self,
        event: ConsumerGroupEvent,
        group: ConsumerGroupInfo,
        channel: Channel,
        client: ClientChannelInfo,
        topics: Iterable[str] | None = None,
    ) -> None:
        """Tell listeners of a client, with the topics given or those of the group."""
        if self._profile.client_events:
            known = group.subscriptions if topics is None else topics
            self._tell(event, group.consumer_group, channel, client, frozenset(known))

    def _tell(self, event: ConsumerGroupEvent, consumer_group: str, *arguments: Any) -> None:
        for listener in self._listeners:
            try:
                listener.handle(event, consumer_group, *arguments)
            except Exception as error:
                refuse_defect(error)
                log.exception("a listener failed on %s of %s", event.name, consumer_group)

    def _scan_again(self) -> None:
        self.scan()
        self._clock.call_later(CHANNEL_SCAN, self._scan_again)
