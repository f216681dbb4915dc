"""Findings as they are kept: in one short document each, and what makes two of them the same fault."""

from __future__ import annotations

import hashlib
import json

from rmqalloc.audit import Finding

_MOST_NAMED = 20
_MOST_SAID = 1000


def fault_of(finding: Finding) -> str:
    """Return what makes it the same fault, in a few letters; its message may hold numbers that
    change all the time.
    """
    named = finding.rule, finding.consumer_group, finding.topic, finding.queues, finding.clients
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()[:24]


def finding_text(finding: Finding) -> str:
    """Return its document; of many clients the first are named."""
    said = {
        "rule": finding.rule,
        "severity": finding.severity,
        "topic": finding.topic,
        "message": finding.message[:_MOST_SAID],
        "clients": finding.clients[:_MOST_NAMED],
    }
    return json.dumps(said, separators=(",", ":"))
