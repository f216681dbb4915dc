"""Settings of brokers and of groups on them, under RocketMQ's own names: at the start of a script,
and changed in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar

from rmqalloc.broker import Broker, RequestMode
from rmqalloc.dataclass import dataclass
from rmqalloc.documents.fields import (
    Duration,
    Milliseconds,
    ScenarioError,
    Text,
    Texts,
    Truth,
    Whole,
)
from rmqalloc.documents.records import Checked, needed, optional
from rmqalloc.remoting import MessageRequestMode, Profile

MODES = tuple(mode.name for mode in MessageRequestMode)
SHARE = Whole(-1, 65_536)
MAX_RETRY_QUEUES = 1_024
_OF_5 = {
    "real_time_notify_consumer_change",
    "enable_fast_channel_event_process",
    "server_load_balancer_enable",
    "default_message_request_mode",
    "default_pop_share_queue_num",
    "channel_expired_timeout",
}
"""Settings of a broker that 4.9 does not have."""


class _SettingsUpdate(Checked):
    """Data of optional fields, at least one of which must be given besides those of the place."""

    _where: ClassVar[tuple[str, ...]] = ("brokers",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.given():
            raise ScenarioError(f"changes nothing; give at least one of {', '.join(self._what())}")

    def given(self) -> dict[str, Any]:
        """Return the given settings by name."""
        values = {name: getattr(self, name) for name in self._what()}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def _what(cls) -> list[str]:
        return [field.name for field in fields(cls) if field.name not in cls._where]

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """Return the JSON Schema of the plain data."""
        return {**super().schema(), "anyOf": [{"required": [name]} for name in cls._what()]}


@dataclass(frozen=True)
class UpdateBrokerConfig(_SettingsUpdate):
    """Settings of brokers that can be changed while they run (mqadmin updateBrokerConfig); kept
    over a restart.
    """

    brokers: tuple[str, ...] | None = optional(Texts(), says="Names of brokers; all if left out.")
    notify_consumer_ids_changed_enable: bool | None = optional(
        Truth(), says="Notify clients of changed groups. Default true."
    )
    real_time_notify_consumer_change: bool | None = optional(
        Truth(),
        says="Notify at once; if false, notices are collected and sent 30s after the start and then every 15s. Default true.",
    )
    enable_fast_channel_event_process: bool | None = optional(
        Truth(), says="Look up the groups of a closed connection by the connection. Default false."
    )
    auto_create_subscription_group: bool | None = optional(
        Truth(),
        says="A heartbeat of an unknown group configures it; if false, such a group is ignored. Default true.",
    )
    server_load_balancer_enable: bool | None = optional(
        Truth(),
        says="Divide queues for groups with server_assignment; if false, each client gets all queues. Default true.",
    )
    default_message_request_mode: str | None = optional(
        Text(MODES),
        says="How groups with server_assignment read topics without a mode of their own. Default PULL.",
    )
    default_pop_share_queue_num: int | None = optional(
        SHARE, says="pop_share_queue_num that goes with a default of POP. Default -1."
    )


@dataclass(frozen=True)
class BrokerSettings(UpdateBrokerConfig):
    """Settings of brokers from their start on, also those that need a restart in RocketMQ."""

    channel_expired_timeout: int | None = optional(
        Duration(1),
        says="A client without a heartbeat for longer is dropped, unannounced, by a scan every 10s. Default 120s.",
    )
    lock_max_live_time: int | None = optional(
        Duration(1),
        says="A lock of a queue that is not renewed for longer may be taken over. Default 60s.",
    )
    server_channel_max_idle_time_seconds: int | None = optional(
        Duration(),
        says="A connection that was silent for so long is closed, and its groups are notified; 0 for never. Default 120s.",
    )


@dataclass(frozen=True)
class GroupSettings(Checked):
    """The configuration of a group on brokers: a group with one needs no
    auto_create_subscription_group.
    """

    notify_consumer_ids_changed_enable: bool = optional(
        Truth(),
        True,
        "Notify its clients when clients join or unregister; a closed connection is always announced.",
    )
    retry_queue_nums: int = optional(
        Whole(1, MAX_RETRY_QUEUES),
        1,
        "Queues of its retry topic, which is made with its first heartbeat.",
    )


@dataclass(frozen=True)
class UpdateSubGroup(_SettingsUpdate):
    """The configuration of a group on brokers is changed (mqadmin updateSubGroup); what is left out
    stays.
    """

    _where: ClassVar[tuple[str, ...]] = ("group", "brokers")

    group: str | None = optional(Text(), says="Name of the group; needed if there are several.")
    brokers: tuple[str, ...] | None = optional(Texts(), says="Names of brokers; all if left out.")
    notify_consumer_ids_changed_enable: bool | None = optional(
        Truth(), says="As subscription_group of a group."
    )
    retry_queue_nums: int | None = optional(
        Whole(1, MAX_RETRY_QUEUES),
        says="As subscription_group of a group; an existing retry topic does not change.",
    )


@dataclass(frozen=True)
class SetConsumeMode(Checked):
    """Brokers learn how a group with server_assignment reads a topic (mqadmin setConsumeMode)."""

    topic: str = needed(Text(), "Name of the topic.")
    mode: str = needed(
        Text(MODES),
        "PULL: each queue has one owner. POP: clients share queues, which then count as unowned.",
    )
    pop_share_queue_num: int = optional(
        SHARE,
        0,
        "Under POP, of how many further clients each client reads the queues; 0 or less: all queues.",
    )
    brokers: tuple[str, ...] | None = optional(
        Texts(), says="Names of brokers that hold the topic; all of them if left out."
    )
    group: str | None = optional(Text(), says="Name of the group; needed if there are several.")

    def made(self) -> RequestMode:
        """Return the mode as a broker keeps it."""
        return RequestMode(MessageRequestMode[self.mode], self.pop_share_queue_num)


def unknown_setting(settings: UpdateBrokerConfig, profile: Profile) -> str | None:
    """Return a setting that a release does not have; None if it has them all."""
    return (
        None
        if profile.server_assignment
        else next((name for name in settings.given() if name in _OF_5), None)
    )


def configure(broker: Broker, settings: Mapping[str, Any]) -> None:
    """Change settings of a broker, by RocketMQ's names; those not given stay. The idle time is set
    in the network.
    """
    targets: dict[str, tuple[Any, str]] = {
        "notify_consumer_ids_changed_enable": (
            broker.notifier,
            "notify_consumer_ids_changed_enable",
        ),
        "real_time_notify_consumer_change": (broker.notifier, "real_time"),
        "enable_fast_channel_event_process": (broker.consumers, "fast_channel_events"),
        "auto_create_subscription_group": (broker, "auto_create_subscription_group"),
        "server_load_balancer_enable": (broker.assignment, "server_load_balancer_enable"),
        "channel_expired_timeout": (broker.consumers, "channel_expired_timeout"),
        "lock_max_live_time": (broker.locks, "lock_max_live_time"),
    }
    for name, value in settings.items():
        if name in targets:
            setattr(*targets[name], int(value) if isinstance(value, Milliseconds) else value)
    if "default_message_request_mode" in settings or "default_pop_share_queue_num" in settings:
        mode = settings.get("default_message_request_mode", MODES[0])
        broker.request_modes.set_default(
            MessageRequestMode[mode], settings.get("default_pop_share_queue_num", -1)
        )
