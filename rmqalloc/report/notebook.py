"""Plans in notebooks: inline styles, no script, at most fifty rows."""

from __future__ import annotations

from rmqalloc.plans import Plan
from rmqalloc.plans.plan_totals import summaries
from rmqalloc.report.html.markup import name, number
from rmqalloc.report.html.scenario import WORST
from rmqalloc.report.html.summary import of_scenario
from rmqalloc.text import counted

MOST_ROWS = 50

_COLUMNS = (
    "consumer_group",
    "n_queues",
    "n_clients",
    "idle",
    "unowned",
    "min_load",
    "max_load",
    "skew",
    "moved",
    "least_moves",
)
# No colour of its own, so that it can be read in a dark notebook as in a light one.
_LINE = "border-bottom:1px solid rgba(128,128,128,.4);padding:2px 10px;"
_SAFE = "unicode-bidi:isolate;overflow-wrap:break-word"


class Shown:
    """What a notebook shows of a plan; everywhere else its text is the plan's own."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def __repr__(self) -> str:
        return repr(self._plan)

    def _repr_html_(self) -> str:
        plan = self._plan
        most = MOST_ROWS // max(len(plan.scenarios), 1)
        head = f"{counted(plan.n_groups, 'consumer group')}, {counted(len(plan.warnings), 'warning')}"
        parts = [f"<b>rmqalloc plan</b> of {head}"]
        for summary in summaries(plan):
            groups = of_scenario(plan.groups, summary.scenario).sort_by(WORST)
            rows = groups.slice(0, most).select(_COLUMNS).to_pylist()
            parts.append(f"<div><b>{name(summary.scenario)}</b>: {summary.sentence(plan.n_groups)}</div>")
            parts.append(_table(rows) if rows else "")
            if len(rows) < groups.num_rows:
                parts.append(f"<div>{counted(groups.num_rows - len(rows), 'more group')}</div>")
        return f'<div style="line-height:1.5;{_SAFE}">{"".join(parts)}</div>'


def show(plan: Plan) -> Shown:
    """A plan for the last line of a notebook's cell: what every scenario comes to, and the groups it moves most.

    Parameters
    ----------
    plan : Plan

    Returns
    -------
    Shown
        An object with ``_repr_html_``: fifty rows at most in all, names escaped, no script, no style sheet.

    Examples
    --------
    >>> from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker
    >>> from rmqalloc.plans import plan_snapshot
    >>> cluster = Snapshot((Topic("T", (TopicBroker("b", 4),)),), (Group("g", ("T",), (Client("c"),), strategy="AVG"),))
    >>> show(plan_snapshot(cluster, []))
    <Plan of 1 groups, scenarios: none>
    """
    return Shown(plan)


def _table(rows: list[dict[str, str | float]]) -> str:
    head = "".join(_cell("th", column.replace("_", " "), i > 0) for i, column in enumerate(_COLUMNS))
    lines = "".join(f"<tr>{''.join(_value(value) for value in row.values())}</tr>" for row in rows)
    return f'<table style="border-collapse:collapse"><tr>{head}</tr>{lines}</table>'


def _value(value: str | float) -> str:
    return _cell("td", name(value), False) if isinstance(value, str) else _cell("td", number(value), True)


def _cell(kind: str, markup: str, is_number: bool) -> str:
    return f'<{kind} style="{_LINE}text-align:{"right" if is_number else "left"}">{markup}</{kind}>'
