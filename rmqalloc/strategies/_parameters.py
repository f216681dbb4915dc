"""Parameters of strategies as data: their names, types and text, and how a command line gives them."""

from __future__ import annotations

from typing import Literal, NamedTuple

ParameterKind = Literal["count", "names", "queues", "strategy", "resolver", "function", "text", "switch"]


class Parameter(NamedTuple):
    """One parameter of a strategy.

    Attributes
    ----------
    name : str
        As the constructor takes it.
    kind : str
        "count" is a number from 0 on and "names" a collection of texts: a command line can give these. It cannot give
        "queues" (lists of queues), "strategy" (another one), "resolver" (from a broker or a client to its machine room) and
        "function" (a hash function), "text" and "switch" (yes or no).
    text : str
        What it is, as a sentence begins.
    is_needed : bool
        Whether nothing can be divided without it.
    default : int or None
        RocketMQ's default of a count.
    metavar : str
        What a command line's help calls one value.
    alias : str or None
        Another flag for it.
    """

    name: str
    kind: ParameterKind
    text: str
    is_needed: bool = False
    default: int | None = None
    metavar: str = "N"
    alias: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether a command line can give it."""
        return self.kind in ("count", "names")

    @property
    def flag(self) -> str:
        """The command line's option.

        Examples
        --------
        >>> Parameter("virtual_nodes", "count", "Ring positions per client").flag
        '--virtual-nodes'
        """
        return "--" + self.name.replace("_", "-")
