"""Differences of the broker half that are let pass."""

from differential.corner import Corner

CORNERS: tuple[Corner, ...] = ()
