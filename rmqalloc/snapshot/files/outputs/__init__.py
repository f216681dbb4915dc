"""Outputs of tools, joined into one snapshot: what mqadmin prints, and what else shows a cluster.

``clean_text``
    Text without what terminals, shells and web pages put into it.
``formats``
    What each command of mqadmin prints, by release.
``sections``
    Which lines of a file are the output of which command.
``mqadmin_tables``
    What each output of mqadmin states.
``not_read``
    What a text or a file is that no reader reads.
``console_requests``
    Requests to RocketMQ Console, which name what its answers are about.
``console``
    What each answer of RocketMQ Console states.
``client_log``
    What a Java client logs of its queues.
``logged_clients``, ``group_logs``, ``logged_groups``, ``logged_moments``
    Logs of clients taken line by line, what they leave of each group, and when that changes.
``gathered``
    All facts of all outputs, put together.
``consumed``
    Offsets and owners by several outputs of consumerProgress.
``contradictions``
    What two outputs state differently.
``not_read``
    What a text or file is that none of these reads, and what to give instead.
``joined``
    Files in, snapshot out.
"""

from typing import TYPE_CHECKING

from rmqalloc.lazy import imported_on_use

if TYPE_CHECKING:
    from rmqalloc.snapshot.files.outputs._clean_text import cleaned
    from rmqalloc.snapshot.files.outputs._client_log import has_results, is_part_of_log
    from rmqalloc.snapshot.files.outputs._formats import is_json_output
    from rmqalloc.snapshot.files.outputs._joined import (
        LoggedMoment,
        first_outputs,
        over_time,
        read,
    )
    from rmqalloc.snapshot.files.outputs._not_read import (
        is_binary,
        is_foreign,
        not_read,
        not_read_bytes,
    )
    from rmqalloc.snapshot.files.outputs._sections import is_named_as_output, is_output

__all__ = [
    "LoggedMoment",
    "cleaned",
    "first_outputs",
    "has_results",
    "is_binary",
    "is_foreign",
    "is_json_output",
    "is_named_as_output",
    "is_output",
    "is_part_of_log",
    "not_read",
    "not_read_bytes",
    "over_time",
    "read",
]

_NAMES = {
    "_clean_text": ("cleaned",),
    "_client_log": ("has_results", "is_part_of_log"),
    "_joined": ("LoggedMoment", "first_outputs", "over_time", "read"),
    "_formats": ("is_json_output",),
    "_not_read": ("is_binary", "is_foreign", "not_read", "not_read_bytes"),
    "_sections": ("is_named_as_output", "is_output"),
}
__getattr__ = imported_on_use(__name__, _NAMES)
