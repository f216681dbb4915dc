"""Many groups at once: ragged columns of queues and clients (see `Fleet`)."""

from rmqalloc.fleet.fleet import Fleet
from rmqalloc.fleet.unit_errors import FleetError, UnitError

__all__ = ["Fleet", "FleetError", "UnitError"]
