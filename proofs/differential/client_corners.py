"""Differences of the client half that are let pass."""

from typing import Any

from differential.corner import Corner, Seen


def _shut_down_in_order(seen: Seen) -> dict[str, str]:
    """Groups by name of ordered consumers that are shut down, or on their way to it, and still have
    queues.
    """
    asked = {
        event["consumer"] for event in seen.events[: seen.index + 1] if event["kind"] == "shutdown"
    }
    return {
        name: seen.config["consumers"][name]["group"]
        for name, one in seen.java["consumers"].items()
        if (one["state"] == "SHUTDOWN_ALREADY" or name in asked)
        and one["table"]
        and seen.config["consumers"][name].get("orderly")
    }


def _without_their_locks(seen: Seen) -> tuple[Any, Any]:
    """Both sides without the requests, and the marks of locks in the tables, of such consumers."""
    ended = _shut_down_in_order(seen)

    def even(side: dict[str, Any]) -> dict[str, Any]:
        lines = [
            line for line in side["seen"] if line[1] != "lock" or line[4] not in ended.values()
        ]
        consumers = dict(side["consumers"])
        for name in ended:
            table = {
                queue: [*one[:1], *one[2:3], *one[4:6], *one[7:]]
                for queue, one in consumers[name]["table"].items()
            }
            consumers[name] = consumers[name] | {"table": table}
        return side | {"seen": lines, "consumers": consumers}

    return (even(seen.java), even(seen.product)) if ended else (seen.java, seen.product)


CORNERS: tuple[Corner, ...] = (
    Corner(
        "locks are renewed after a shutdown",
        "client",
        {"5.3.3": "DefaultMQPushConsumerImpl:907", "5.5.0": "DefaultMQPushConsumerImpl:907"},
        "the service that consumes popped messages in order is started (986) and never shut down; a consumer that is asked for "
        "a pass after its end then renews locks for ever",
        _without_their_locks,
        ends=True,
    ),
)
