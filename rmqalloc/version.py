"""The version of the package, for the rooms that write it into what they make."""

__version__ = "0.3.0"
