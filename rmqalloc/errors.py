"""The root of all errors of rmqalloc."""

__all__ = ["Error", "RoomsUnknownError"]


class Error(Exception):
    """Something that rmqalloc was given, or that a file, a server or Spark did, is wrong.

    Every error class of `rmqalloc` and `spark_udfs` derives from it. Most derive from a built-in error as well (``ValueError``,
    ``OSError``), so code that catches those goes on working.

    Examples
    --------
    >>> from rmqalloc.fleet import FleetError
    >>> issubclass(FleetError, Error), issubclass(FleetError, ValueError)
    (True, True)
    """


class RoomsUnknownError(Error, TypeError):
    """A strategy or a change asks for machine rooms, and of no broker or no client is one known.

    Examples
    --------
    >>> issubclass(RoomsUnknownError, TypeError)
    True
    """
