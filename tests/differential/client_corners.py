"""Differences of the client half that are let pass."""

from differential.corner import Corner

CORNERS: tuple[Corner, ...] = ()
