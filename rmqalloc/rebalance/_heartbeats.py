"""Heartbeats: that a client lives, and what it subscribes to."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import attrgetter
from zlib import crc32

from rmqalloc.errors import refuse_defect
from rmqalloc.rebalance.driving import Driver, Lane, Request, Steps, logged
from rmqalloc.remoting import HeartbeatData, HeartbeatReply

log = logging.getLogger(__name__)


class Heartbeats:
    """Send a client's heartbeats, in full or, where a broker knows their content, in the short
    second form.

    As in Java there is one heartbeat at a time, over all brokers, and what is asked for meanwhile
    is left out. With a driver of their own every broker has a lane instead: one at a time to each,
    and one more if it was asked for meanwhile.
    """

    def __init__(
        self,
        heartbeat: Callable[[], HeartbeatData],
        addresses: Callable[[], Iterator[str]],
        second_form: bool,
        apart: Driver | None = None,
        greeted: Callable[[], None] = lambda: None,
    ) -> None:
        self._heartbeat = heartbeat
        self._addresses = addresses
        self._second_form = second_form
        self._apart = apart
        self._greeted = greeted
        self._lanes: dict[str, Lane] = {}
        self._waiting: set[str] = set()
        self._known: set[str] = set()
        self._fingerprints: dict[str, int] = {}
        self._sending = False

    def send_to_all(self, rebalanced: bool = False) -> Steps[bool]:
        """Send to every address; nothing while another heartbeat is on its way."""
        if self._sending:
            return False
        heartbeat = self._heartbeat()
        if not heartbeat.consumers or next(self._addresses(), None) is None:
            return False
        if rebalanced:
            self._fingerprints.clear()
        if self._apart is not None:
            self._send_apart(list(self._addresses()))
            return True
        self._sending = True
        try:
            for address in self._addresses():
                yield from self._send(address, heartbeat)
        finally:
            self._sending = False
        return True

    def send_to(self, address: str) -> Steps[bool]:
        """Send to one address; return True if it succeeded."""
        if self._sending or not (heartbeat := self._heartbeat()).consumers:
            return False
        self._sending = self._apart is None
        try:
            return (yield from self._send(address, heartbeat))
        finally:
            self._sending = False

    def _send_apart(self, addresses: list[str]) -> None:
        """Send by lanes; the first heartbeat that a broker takes asks for a pass, for it makes the
        client known to it.
        """
        assert self._apart is not None
        self._known.intersection_update(addresses)
        for gone in self._lanes.keys() - set(addresses):
            if not self._lanes[gone].is_busy:
                del self._lanes[gone]
        for address in addresses:
            if address not in self._waiting:
                self._waiting.add(address)
                lane = self._lanes.setdefault(address, Lane(self._apart))
                lane.do(self._in_turn(address), logged(f"a heartbeat to {address}"))

    def _in_turn(self, address: str) -> Steps[None]:
        self._waiting.discard(address)
        heartbeat = self._heartbeat()
        if (
            heartbeat.consumers
            and (yield from self._send(address, heartbeat))
            and address not in self._known
        ):
            self._known.add(address)
            self._greeted()

    def _send(self, address: str, heartbeat: HeartbeatData) -> Steps[bool]:
        try:
            if self._second_form:
                yield from self._send_second_form(address, heartbeat)
            else:
                yield Request("send_heartbeat", (address, heartbeat))
        except Exception as error:  # whatever it is, the other brokers get theirs
            refuse_defect(error)
            log.debug("heartbeat of %s to %s failed: %s", heartbeat.client_id, address, error)
            return False
        return True

    def _send_second_form(self, address: str, heartbeat: HeartbeatData) -> Steps[None]:
        """Send the second form; brokers that never answered with support for it get everything each
        time.
        """
        fingerprint = fingerprint_of(heartbeat)
        heartbeat = replace(heartbeat, fingerprint=fingerprint)
        if self._fingerprints.get(address) == fingerprint:
            consumers = tuple(
                replace(consumer, subscriptions=frozenset()) for consumer in heartbeat.consumers
            )
            heartbeat = replace(heartbeat, consumers=consumers, without_subscriptions=True)
        reply: HeartbeatReply | None = yield Request("send_heartbeat", (address, heartbeat))
        if reply is not None and reply.subscriptions_changed:
            self._fingerprints.pop(address, None)
        elif reply is not None and reply.supports_v2:
            self._fingerprints[address] = fingerprint


def fingerprint_of(heartbeat: HeartbeatData) -> int:
    """Return a number for a heartbeat without its client id and the versions of subscriptions; not
    Java's number.

    A broker keeps the last one of each group, whichever client sent it, and compares
    (``ConsumerManager.isSubChange``). It reads the number as a Java ``int``, and 0 as the first
    form (``ClientManageProcessor.heartBeat``).

    Examples
    --------
    >>> from rmqalloc.remoting import ConsumerData
    >>> first, second = (HeartbeatData(client_id, (ConsumerData("g"),)) for client_id in "xy")
    >>> fingerprint_of(first) == fingerprint_of(second)
    True
    >>> -(1 << 31) <= fingerprint_of(first) < 1 << 31
    True
    """
    content = []
    for consumer in sorted(heartbeat.consumers, key=attrgetter("consumer_group")):
        fields = attrgetter("topic", "sub_string", "expression_type")
        content.append(
            (
                consumer.consumer_group,
                consumer.consume_type.value,
                consumer.message_model.value,
                consumer.consume_from_where.value,
                consumer.unit_mode,
                sorted(map(fields, consumer.subscriptions)),
            )
        )
    unsigned = crc32(repr(content).encode("utf-8", "backslashreplace")) or 1
    return unsigned - (unsigned >> 31 << 32)
