"""Differences that are let pass, each for a reason that stands in Java's sources."""

from collections.abc import Callable
from typing import Any, NamedTuple

from differential.compared_releases import Release


class Seen(NamedTuple):
    """One event, and what both sides show after it."""

    release: Release
    config: dict[str, Any]
    events: list[dict[str, Any]]
    index: int
    java: Any
    product: Any

    @property
    def event(self) -> dict[str, Any]:
        """What happened last."""
        return self.events[self.index]


class Corner(NamedTuple):
    """A corner in which both sides may differ.

    Attributes
    ----------
    name : str
        In a few words.
    half : str
        ``client``, with and without delays, ``delayed client`` or ``broker``.
    lines : dict of str to str
        ``Class:line`` by version; it applies to these versions only.
    why : str
        Why a difference says nothing about the product.
    evened : callable
        Java's and the product's side of a `Seen` without what this corner lets pass; both as they
        are if it does not apply.
    ends : bool
        The two sides go apart from here: the rest of the sequence is not compared.
    """

    name: str
    half: str
    lines: dict[str, str]
    why: str
    evened: Callable[[Seen], tuple[Any, Any]]
    ends: bool = False

    def may_be_met(self, half: str, version: str) -> bool:
        """Whether it is one of a run of this half against this release."""
        return half.endswith(self.half) and version in self.lines
