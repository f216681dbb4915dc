"""The rule of every client at every moment: the strategy that the client's own language computes
under the strategy's name.

A schedule speaks of strategies as if all clients of a group computed them alike. Where those that
act on a view do not, the view becomes several beside one another, one for each rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

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
    >>> [rules.number(1, ClientKind(dialect)) for dialect in ("java", "go", "cpp", "go")], [s.dialect for s in rules.table]
    ([1, 2, 3, 2], ['java', 'go', 'java'])
    """

    def __init__(self, added: Sequence[Method | Strategy]) -> None:
        self._added = added
        self.table: list[Strategy] = []
        self._numbers: dict[Method | Strategy, int] = {}
        for number, given in enumerate(added, start=1):
            self.table.append(
                rule(given.name, **given.params) if isinstance(given, Method) else given
            )
            self._numbers.setdefault(given, number)

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
        clients_of = {}
        for kind in dict.fromkeys(kinds):
            clients_of[kind] = np.array([of_client == kind for of_client in kinds])
        steps = []
        is_split = False
        for step in schedule.steps:
            moments = tuple(self._moment(moment, clients_of) for moment in step.moments)
            pairs = zip(step.moments, moments, strict=True)
            is_split = is_split or any(len(old.views) != len(new.views) for old, new in pairs)
            steps.append(step._replace(moments=moments))
        return schedule._replace(steps=steps, is_split=is_split)

    def _moment(self, moment: Moment, clients_of: dict[ClientKind, Mask]) -> Moment:
        views = chain.from_iterable(self._views(view, clients_of) for view in moment.views)
        return moment._replace(views=tuple(views))

    def _views(self, view: ClientView, clients_of: dict[ClientKind, Mask]) -> list[ClientView]:
        clients_by_rule: dict[int, Mask] = {}
        for kind, clients in clients_of.items():
            number = self.number(view.rule, kind)
            known = clients_by_rule.get(number)
            clients_by_rule[number] = clients if known is None else known | clients
        parts = []
        for number, clients in clients_by_rule.items():
            parts.append(view._replace(rule=number, acting=view.acting & clients))
        return [part for part in parts if part.acting.any()] or parts[:1]
