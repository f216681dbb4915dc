"""What a mutant is."""

from typing import NamedTuple


class Mutant(NamedTuple):
    """One small change that makes the product answer wrongly.

    Attributes
    ----------
    file : str
    old, new : str
        Text that is there once, and what stands in its place.
    what : str
        What is then wrong.
    tests : str
        Arguments for pytest.
    """

    file: str
    old: str
    new: str
    what: str
    tests: str
