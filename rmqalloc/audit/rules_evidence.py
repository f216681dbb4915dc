"""Rules on how it is known what the clients divide by."""

from __future__ import annotations

from collections.abc import Iterator

from rmqalloc.audit.audited_group import Case
from rmqalloc.audit.finding import Finding


def strategy_assumed(case: Case) -> Iterator[Finding]:
    """Groups whose strategy nobody tells."""
    doubt = case.group.strategy_doubt
    if doubt is not None and case.group.strategy_source == "assumed" and case.clients:
        yield Finding(
            "strategy-assumed",
            "note",
            case.group.name,
            None,
            (),
            (),
            f"The expected owners rest on a guess, {case.group.strategy}: {doubt}.",
            "State the strategy in the snapshot, or by --strategy where a plan is made: until then it is not planned.",
        )
