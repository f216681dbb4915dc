"""Rules on how it is known what the clients divide by."""

from __future__ import annotations

from collections.abc import Iterator

from rmqalloc.audit.audited_group import AuditedGroup
from rmqalloc.audit.finding import Finding


def strategy_assumed(audited: AuditedGroup) -> Iterator[Finding]:
    """Groups whose strategy nobody tells."""
    doubt = audited.group.strategy_doubt
    if doubt is not None and audited.group.strategy_source == "assumed" and audited.clients:
        yield Finding(
            "strategy-assumed",
            "note",
            audited.group.name,
            None,
            (),
            (),
            f"The expected owners rest on a guess, {audited.group.strategy}: {doubt}.",
            "State the strategy in the snapshot, or by --strategy where a plan is made: until then it is not planned.",
        )
