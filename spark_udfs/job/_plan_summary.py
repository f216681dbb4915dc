"""The summary of a plan: totals, and the worst groups of every scenario first. Imports no pyspark."""

from collections.abc import Mapping
from typing import Any

from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evaluation.totals import ByScenario, Totals, aligned
from rmqalloc.text import printable
from spark_udfs.job._plan_kernels import Digest


def bad_fraction(totals: ByScenario) -> float:
    """Return the share of a plan's rows that are bad; 0.0 if it has none.

    Examples
    --------
    >>> bad_fraction({"current": Totals(units=3, bad_units=1), "ring": Totals(units=3, bad_units=2)})
    0.5
    """
    return sum(one.bad_units for one in totals.values()) / max(
        sum(one.units for one in totals.values()), 1
    )


def summary(plan_id: str, spec: PlanSpec, digest: Digest) -> dict[str, Any]:
    """Return the summary as plain data; equal plans have equal summaries."""
    return {
        "plan": plan_id,
        "strategy": spec.strategy,
        "output": spec.output,
        "scenarios": spec.names,
        "bad_fraction": bad_fraction(digest.totals),
        "totals": {name: one._asdict() for name, one in digest.totals.items()},
        "worst_by": list(spec.best_by),
        "worst": dict(digest.worst),
    }


def as_text(summary_data: Mapping[str, Any]) -> str:
    """Return a summary for people."""
    lines = [
        f"plan {summary_data['plan']}: {summary_data['strategy']}, {summary_data['output']}",
        "",
        totals_table(summary_data["totals"]),
    ]
    for name, rows in summary_data["worst"].items():
        if rows:
            lines += [
                "",
                f"worst groups, {printable(name)}: most {', '.join(summary_data['worst_by'])}",
            ]
            lines.append(_table([*rows[0]], [[*row.values()] for row in rows]))
    return "\n".join(lines) + "\n"


def totals_table(totals: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a table with a line for every scenario."""
    return _table(
        ["scenario", *Totals._fields],
        [[name or "(bad rows)", *one.values()] for name, one in totals.items()],
    )


def _table(header: list[str], rows: list[list[Any]]) -> str:
    """Return a table as text, numbers flush right."""
    flush = ["<" if isinstance(value, str) else ">" for value in (rows[0] if rows else header)]
    return aligned([header, *([_cell(value) for value in row] for row in rows)], flush)


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return printable(value)
    return "-" if value is None else f"{value:,.3f}" if isinstance(value, float) else f"{value:,}"
