"""The root of all errors of rmqalloc."""

__all__ = ["ArgumentError", "ArgumentTypeError", "Error", "RoomsUnknownError"]


class Error(Exception):
    """Something that rmqalloc was given, or that a file, a server or Spark did, is wrong.

    Every error class of `rmqalloc` and `spark_udfs` derives from it. Most derive from a built-in
    error as well (``ValueError``, ``OSError``), so code that catches those goes on working.

    Examples
    --------
    >>> from rmqalloc.fleet import FleetError
    >>> issubclass(FleetError, Error), issubclass(FleetError, ValueError)
    (True, True)
    """


class ArgumentError(Error, ValueError):
    """What a caller gave has the right type and cannot be used: a name that is not known, a number
    out of bounds.

    Where a room has an error of its own for what is wrong, it raises that. A ``ValueError`` that is
    none of these is a defect.

    Examples
    --------
    >>> issubclass(ArgumentError, ValueError)
    True
    """


class ArgumentTypeError(Error, TypeError):
    """What a caller gave is of the wrong type, or a column of a table is missing or holds something
    else.

    A ``TypeError`` that is no `Error` is a defect.

    Examples
    --------
    >>> issubclass(ArgumentTypeError, TypeError)
    True
    """


class RoomsUnknownError(Error, TypeError):
    """A strategy or a change asks for machine rooms, and of no broker or no client is one known.

    Examples
    --------
    >>> issubclass(RoomsUnknownError, TypeError)
    True
    """
