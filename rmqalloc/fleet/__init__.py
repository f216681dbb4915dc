"""Many groups at once: ragged columns of queues and clients (see `Fleet`)."""

from rmqalloc.fleet._fleet import Fleet
from rmqalloc.fleet._unit_errors import FleetError, UnitError

__all__ = ["Fleet", "FleetError", "UnitError"]
