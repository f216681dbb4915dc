"""The metrics that rules and the dashboard may read, with their labels: those of the service and of
Prometheus itself.
"""

_GROUP = ("cluster", "consumer_group")

SERVED = {
    **dict.fromkeys(
        (
            "rmqalloc_group_clients",
            "rmqalloc_group_idle_clients",
            "rmqalloc_group_queues",
            "rmqalloc_group_unowned_queues",
            "rmqalloc_group_double_owned_queues",
            "rmqalloc_group_unread_queues",
            "rmqalloc_group_lag_messages",
            "rmqalloc_group_skew",
            "rmqalloc_group_useful_clients",
            "rmqalloc_group_clients_joined_total",
            "rmqalloc_group_clients_left_total",
            "rmqalloc_group_queues_moved_total",
            "rmqalloc_group_last_settle_seconds",
            "rmqalloc_group_unsettled_seconds",
        ),
        _GROUP,
    ),
    "rmqalloc_group_not_known": (*_GROUP, "kind"),
    "rmqalloc_owner_lag_messages": (*_GROUP, "client_id"),
    "rmqalloc_unowned_lag_messages": (*_GROUP, "topic"),
    "rmqalloc_findings": (*_GROUP, "rule", "severity"),
    "rmqalloc_lasting_findings": (*_GROUP, "rule", "severity"),
    "rmqalloc_source_up": ("cluster", "source"),
    "rmqalloc_present": ("cluster", "kind", "name", "broker_name", "cause"),
    "rmqalloc_reading_requests": ("cluster", "broker"),
    "rmqalloc_reading_up": ("cluster",),
    "rmqalloc_ready": ("cluster",),
    "rmqalloc_reading_age_seconds": ("cluster",),
    "rmqalloc_reading_seconds": ("cluster",),
    "rmqalloc_groups": ("cluster",),
    "rmqalloc_groups_unsettled": ("cluster",),
}
"""Of ``/metrics`` of `rmqalloc serve`."""

OTHERS = {"up": ()}
"""Of Prometheus itself."""

OF_TARGET = ("job", "instance")
"""Labels that Prometheus adds to every sample."""
