"""The root of all errors of rmqalloc."""

__all__ = ["Error"]


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
