"""All rules of an audit, collected from the files that declare them."""

from __future__ import annotations

from rmqalloc.audit import (
    _rules_brokers,
    _rules_config,
    _rules_departures,
    _rules_idle,
    _rules_mixed,
    _rules_notes,
    _rules_owners,
    _rules_reported,
    _rules_rooms,
    _rules_topics,
    _rules_unread,
    rules_planned,
)
from rmqalloc.audit.finding import DECLARED, Rule

_FILES = (
    _rules_owners,
    _rules_idle,
    _rules_mixed,
    _rules_config,
    _rules_rooms,
    _rules_unread,
    _rules_reported,
    rules_planned,
    _rules_topics,
    _rules_brokers,
    _rules_departures,
    _rules_notes,
)


def _place(rule: Rule) -> int:
    find = rule.find or rule.find_in_cluster
    return [file.__name__ for file in _FILES].index(find.__module__ if find else "")


RULES = {rule.name: rule for rule in sorted(DECLARED.values(), key=_place)}
"""The order, by file and then as declared there, is that of a group's findings of one severity."""
