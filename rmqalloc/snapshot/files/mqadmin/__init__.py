"""What RocketMQ's mqadmin prints, as a snapshot; several outputs of one cluster make one.

``mqadmin_formats``
    What each command prints, by release.
``sections``
    Which lines of a file are the output of which command.
``outputs``
    What each output says.
``gathered``
    All that was said, put together.
"""

from typing import TYPE_CHECKING

from rmqalloc.lazy import imported_on_use

if TYPE_CHECKING:
    from rmqalloc.snapshot.files.mqadmin._mqadmin_files import group_lines, read
    from rmqalloc.snapshot.files.mqadmin._mqadmin_formats import is_dashboard
    from rmqalloc.snapshot.files.mqadmin._sections import is_named_as_output, is_output

__all__ = ["group_lines", "is_dashboard", "is_named_as_output", "is_output", "read"]

_NAMES = {
    "_mqadmin_files": ("group_lines", "read"),
    "_mqadmin_formats": ("is_dashboard",),
    "_sections": ("is_named_as_output", "is_output"),
}
__getattr__ = imported_on_use(__name__, _NAMES)
