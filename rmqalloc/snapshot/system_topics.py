"""Topics that RocketMQ makes for itself; the names of brokers and clusters, which have a topic
each, are not among them.
"""

from __future__ import annotations

from rmqalloc.model import LMQ_PREFIX, RETRY_PREFIX

_PREFIXES = (
    "RMQ_SYS_", "rmq_sys_", "%DLQ%", RETRY_PREFIX, LMQ_PREFIX, "SCHEDULE_TOPIC_", "OFFSET_MOVED_EVENT", "SELF_TEST_TOPIC",
    "BenchmarkTest", "TBW102",
)  # fmt: skip


def is_system_topic(name: str) -> bool:
    """Return whether RocketMQ made a topic for itself, by its name.

    Examples
    --------
    >>> is_system_topic("%DLQ%order-svc"), is_system_topic("orders")
    (True, False)
    """
    return name.startswith(_PREFIXES) or name.endswith("_REPLY_TOPIC")
