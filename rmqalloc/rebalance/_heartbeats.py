"""Heartbeats: that a client lives, and what it subscribes to."""

import logging
from collections.abc import Callable
from dataclasses import replace
from zlib import crc32

from rmqalloc.defects import refuse_defect
from rmqalloc.rebalance._ports import Remoting
from rmqalloc.remoting import HeartbeatData

log = logging.getLogger(__name__)


class Heartbeats:
    """Send a client's heartbeats, in full or, where a broker knows their content, in the short second form."""

    def __init__(
        self,
        remoting: Remoting,
        heartbeat: Callable[[], HeartbeatData],
        addresses: Callable[[], list[str]],
        second_form: bool,
    ) -> None:
        self._remoting = remoting
        self._heartbeat = heartbeat
        self._addresses = addresses
        self._second_form = second_form
        self._fingerprints: dict[str, int] = {}
        self._sending = False

    def send_to_all(self, rebalanced: bool = False) -> bool:
        """Send to every address; nothing while another heartbeat is on its way."""
        heartbeat = self._heartbeat()
        addresses = self._addresses()
        if self._sending or not heartbeat.consumers or not addresses:
            return False
        if rebalanced:
            self._fingerprints.clear()
        for address in addresses:
            self._send(address, heartbeat)
        return True

    def send_to(self, address: str) -> bool:
        """Send to one address; return True if it succeeded."""
        heartbeat = self._heartbeat()
        return not self._sending and bool(heartbeat.consumers) and self._send(address, heartbeat)

    def _send(self, address: str, heartbeat: HeartbeatData) -> bool:
        self._sending = True
        try:
            if self._second_form:
                self._send_second_form(address, heartbeat)
            else:
                self._remoting.send_heartbeat(address, heartbeat)
        except Exception as error:  # whatever it is, the other brokers get theirs
            refuse_defect(error)
            log.info("heartbeat of %s to %s failed: %s", heartbeat.client_id, address, error)
            return False
        finally:
            self._sending = False
        return True

    def _send_second_form(self, address: str, heartbeat: HeartbeatData) -> None:
        """Send the second form; brokers that never answered with support for it get everything each time."""
        fingerprint = fingerprint_of(heartbeat)
        heartbeat = replace(heartbeat, fingerprint=fingerprint)
        if self._fingerprints.get(address) == fingerprint:
            consumers = tuple(replace(consumer, subscriptions=frozenset()) for consumer in heartbeat.consumers)
            heartbeat = replace(heartbeat, consumers=consumers, without_subscriptions=True)
        reply = self._remoting.send_heartbeat(address, heartbeat)
        if reply is not None and reply.subscriptions_changed:
            self._fingerprints.pop(address, None)
        elif reply is not None and reply.supports_v2:
            self._fingerprints[address] = fingerprint


def fingerprint_of(heartbeat: HeartbeatData) -> int:
    """Return a number for all that a heartbeat says but the client id and the versions of subscriptions; not Java's number.

    A broker keeps the last one of each group, whichever client sent it, and compares (``ConsumerManager.isSubChange``). It
    reads the number as a Java ``int``, and 0 as the first form (``ClientManageProcessor.heartBeat``).

    Examples
    --------
    >>> from rmqalloc.remoting import ConsumerData
    >>> one, other = (HeartbeatData(client_id, (ConsumerData("g"),)) for client_id in "xy")
    >>> fingerprint_of(one) == fingerprint_of(other)
    True
    >>> -(1 << 31) <= fingerprint_of(one) < 1 << 31
    True
    """
    said = [
        (
            consumer.consumer_group,
            consumer.consume_type.value,
            consumer.message_model.value,
            consumer.consume_from_where.value,
            consumer.unit_mode,
            sorted((subscription.topic, subscription.sub_string) for subscription in consumer.subscriptions),
        )
        for consumer in sorted(heartbeat.consumers, key=lambda consumer: consumer.consumer_group)
    ]
    unsigned = crc32(repr(said).encode("utf-8", "backslashreplace")) or 1
    return unsigned - (unsigned >> 31 << 32)
