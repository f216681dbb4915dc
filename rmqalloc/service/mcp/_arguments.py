"""Arguments of the tools: each class declares them once, for reading and for the schema that
assistants see.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rmqalloc.dataclass import dataclass
from rmqalloc.documents.document_errors import shown
from rmqalloc.documents.fields import FieldError, Text, Truth, Whole
from rmqalloc.documents.records import Checked, needed, optional
from rmqalloc.scenarios import scenarios_schema

MOST_ROWS = 500
USUAL_ROWS = 50
MOST_PATTERNS = 20
MOST_SCENARIOS = 10
_NAME = Text(most_bytes=4096)


@dataclass(frozen=True)
class FewTexts:
    """At most `MOST_PATTERNS` texts."""

    def read(self, given: Any) -> tuple[str, ...]:
        """Return the texts."""
        if not isinstance(given, list | tuple) or not 0 < len(given) <= MOST_PATTERNS:
            raise FieldError(f"must be a list of 1 to {MOST_PATTERNS} texts, got {shown(given)}")
        return tuple(map(_NAME.read, given))

    def schema(self) -> dict[str, Any]:
        """Return JSON Schema."""
        return {"type": "array", "items": _NAME.schema(), "minItems": 1, "maxItems": MOST_PATTERNS}


@dataclass(frozen=True)
class FewScenarios:
    """At most `MOST_SCENARIOS` scenarios, which the reader of scenarios checks."""

    def read(self, given: Any) -> list[Any]:
        """Return the list."""
        if not isinstance(given, list) or not 0 < len(given) <= MOST_SCENARIOS:
            raise FieldError(
                f"must be a list of 1 to {MOST_SCENARIOS} scenarios, got {shown(given)}"
            )
        return given

    def schema(self) -> dict[str, Any]:
        """Return JSON Schema."""
        schema: dict[str, Any] = scenarios_schema()["properties"]["scenarios"]
        return {**schema, "maxItems": MOST_SCENARIOS}


_FEW = FewTexts()


@dataclass(frozen=True, kw_only=True)
class ScopeArguments(Checked):
    """What is looked at, and how much of the answer is given."""

    groups: tuple[str, ...] | None = optional(
        _FEW, says="Patterns of consumer groups, such as order-*."
    )
    topics: tuple[str, ...] | None = optional(_FEW, says="Patterns of topics, such as order*.")
    most_rows: int = optional(
        Whole(1, MOST_ROWS), USUAL_ROWS, "Maximum entries of each list; the answer counts the rest."
    )


@dataclass(frozen=True, kw_only=True)
class GroupsArguments(ScopeArguments):
    """Arguments of ``groups``."""

    where: tuple[str, ...] | None = optional(
        _FEW, says="Only rows that meet all conditions, such as messages>1000."
    )


@dataclass(frozen=True, kw_only=True)
class ShowArguments(GroupsArguments):
    """Arguments of ``show``."""

    by: str = optional(
        Text(("queues", "clients", "hosts")), "queues", "A row for every queue, client or host."
    )
    clients: tuple[str, ...] | None = optional(
        _FEW, says="Patterns of client ids or hosts, such as 10.0.0.1@*."
    )


@dataclass(frozen=True, kw_only=True)
class CheckArguments(ScopeArguments):
    """Arguments of ``check``."""

    severity: str = optional(
        Text(("error", "warning", "note")), "note", "Only findings of at least this severity."
    )


@dataclass(frozen=True, kw_only=True)
class PlanArguments(GroupsArguments):
    """Arguments of ``plan``."""

    scenarios: Sequence[Any] = needed(
        FewScenarios(), "Changes to try; each scenario is planned separately."
    )
    table: str = optional(
        Text(("groups", "units", "clients", "queues")),
        "groups",
        "One row for every group, group and topic (units), client of these, or queue.",
    )
    assume: bool = optional(Truth(), False, "Accept strategies that are a guess.")
    allow_partial: bool = optional(
        Truth(), False, "Answer from known facts although clients, topics or routes are unknown."
    )


@dataclass(frozen=True, kw_only=True)
class ExplainArguments(Checked):
    """Arguments of ``explain``."""

    group: str = needed(_NAME, "Name of a consumer group, not a pattern.")
    topic: str = needed(_NAME, "Name of a topic, not a pattern.")
    broker_name: str = needed(_NAME, "Broker of the queue.")
    queue_id: int = needed(Whole(0, 2**31 - 1), "Id of the queue on its broker.")
    strategy: str | None = optional(
        _NAME, says="A strategy to use instead of the group's, such as CONSISTENT_HASH:160."
    )
    allow_partial: bool = optional(
        Truth(), False, "Answer from known facts although clients, topics or routes are unknown."
    )
    most_rows: int = optional(
        Whole(1, MOST_ROWS), USUAL_ROWS, "Maximum entries of each list; the answer counts the rest."
    )


@dataclass(frozen=True, kw_only=True)
class DiffArguments(ScopeArguments):
    """Arguments of ``diff``."""

    scenario: str | None = optional(
        _NAME, says="Scenario of the saved plan; may be omitted if the plan has a single scenario."
    )
    assume: bool = optional(Truth(), False, "Accept strategies that are a guess.")
