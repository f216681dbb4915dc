"""What a target in Python is."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Target:
    """A target: what it does with one input, right inputs to begin with, and how one is changed by
    structure.

    ``one`` raises what is a finding. A target of kernels is run with extensions that were compiled
    with sanitizers.
    """

    name: str
    one: Callable[[bytes], None]
    seeds: Callable[[], dict[str, bytes]]
    changed: Callable[[bytes, Random], bytes] | None = None
    about: str = ""
    of_kernels: bool = False


def slug(name):
    """A name that a folder can have."""
    return re.sub("[^a-z0-9]+", "-", name.lower().replace("'s", "")).strip("-")
