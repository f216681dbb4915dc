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
    n_bad = sum(figures.bad_units for figures in totals.values())
    n_units = sum(figures.units for figures in totals.values())
    return n_bad / max(n_units, 1)


def summary(plan_id: str, spec: PlanSpec, digest: Digest) -> dict[str, Any]:
    """Return the summary as plain data; equal plans have equal summaries."""
    return {
        "plan": plan_id,
        "strategy": spec.strategy,
        "output": spec.output,
        "scenarios": spec.names,
        "bad_fraction": bad_fraction(digest.totals),
        "totals": {name: figures._asdict() for name, figures in digest.totals.items()},
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
            worst_by = ", ".join(summary_data["worst_by"])
            cells = [[*row.values()] for row in rows]
            lines += ["", f"worst groups, {printable(name)}: most {worst_by}"]
            lines.append(_table([*rows[0]], cells))
    return "\n".join(lines) + "\n"


def totals_table(totals: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a table with a line for every scenario."""
    rows = [[name or "(bad rows)", *figures.values()] for name, figures in totals.items()]
    return _table(["scenario", *Totals._fields], rows)


def _table(header: list[str], rows: list[list[Any]]) -> str:
    """Return a table as text, numbers flush right."""
    first = rows[0] if rows else header
    flush = ["<" if isinstance(value, str) else ">" for value in first]
    cells = [list(map(_cell, row)) for row in rows]
    return aligned([header, *cells], flush)


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return printable(value)
    if value is None:
        return "-"
    return f"{value:,.3f}" if isinstance(value, float) else f"{value:,}"
