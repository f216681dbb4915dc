"""The rule of every client at every moment: of a strategy, what the client's own language makes of
its name.

A schedule speaks of strategies as if all clients of a group computed them alike. Where those that
act on a view do not, the view becomes several beside one another, one for each rule.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rmqalloc.evidence.method import Method
from rmqalloc.evidence.other_dialects import as_set
from rmqalloc.rollouts.schedule import ClientKind, ClientView, GroupAtStart, Mask, Moment, Schedule
from rmqalloc.strategies import Strategy
from rmqalloc.strategies.by_name import rule


class RulesByClient:
    """The rules that are beside the groups' own.

    Attributes
    ----------
    table : list of Strategy
        The rules 1, 2, ... of the schedules that `split` makes: those of Java, and behind them
        others that occur.

    Examples
    --------
    >>> from rmqalloc.evidence.other_dialects import method_set
    >>> rules = RulesByClient([method_set("CONSISTENT_HASH", None)])
    >>> [rules.number(1, ClientKind(one)) for one in ("java", "go", "cpp", "go")], [s.dialect for s in rules.table]
    ([1, 2, 3, 2], ['java', 'go', 'java'])
    """

    def __init__(self, added: Sequence[Method | Strategy]) -> None:
        self._added = added
        self.table = [
            rule(one.name, **one.params) if isinstance(one, Method) else one for one in added
        ]
        self._numbers = {one: k for k, one in reversed([*enumerate(added, start=1)])}

    def number(self, k: int, kind: ClientKind) -> int:
        """Return the number of what clients of a kind compute by rule ``k`` of a schedule; 0 is
        what the group's strategy says.
        """
        given = self._added[k - 1] if k else kind.own
        if not isinstance(given, Method):
            return k
        method = as_set(given, kind.dialect) if k else given
        if method not in self._numbers:
            self.table.append(rule(method.name, **method.params))
            self._numbers[method] = len(self.table)
        return self._numbers[method]

    def split(self, schedule: Schedule, group: GroupAtStart) -> Schedule:
        """Return the schedule with views for all rules of the clients that act on each."""
        kinds = schedule.kinds or group.kinds_of(schedule.client_ids)
        if not kinds:
            return schedule
        clients_of = {
            kind: np.array([one == kind for one in kinds]) for kind in dict.fromkeys(kinds)
        }
        steps = [
            step._replace(
                moments=tuple(self._moment(moment, clients_of) for moment in step.moments)
            )
            for step in schedule.steps
        ]
        n_views = [
            [len(moment.views) for step in some for moment in step.moments]
            for some in (schedule.steps, steps)
        ]
        return schedule._replace(steps=steps, is_split=n_views[0] != n_views[1])

    def _moment(self, moment: Moment, clients_of: dict[ClientKind, Mask]) -> Moment:
        return moment._replace(
            views=tuple(one for view in moment.views for one in self._views(view, clients_of))
        )

    def _views(self, view: ClientView, clients_of: dict[ClientKind, Mask]) -> list[ClientView]:
        acting: dict[int, Mask] = {}
        for kind, mine in clients_of.items():
            number = self.number(view.rule, kind)
            acting[number] = acting[number] | mine if number in acting else mine
        parts = [
            view._replace(rule=number, acting=view.acting & mine) for number, mine in acting.items()
        ]
        return [one for one in parts if one.acting.any()] or parts[:1]
