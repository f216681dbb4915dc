"""Many groups at once: ragged columns of queues and clients (see `Fleet`)."""

from rmqalloc.fleet.errors import FleetError, UnitError
from rmqalloc.fleet.fleet import Fleet

__all__ = ["Fleet", "FleetError", "UnitError"]
