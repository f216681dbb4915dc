"""RocketMQ queue allocation: the answers of the real Java strategies, and what happens to a cluster
if something changes.

A strategy answers for one client, a group, or a fleet of millions:

>>> from rmqalloc import strategy
>>> queues = [("orders", "broker-a", i) for i in range(4)]
>>> strategy("AVG").assign(queues, ["client-1", "client-2", "client-3"]).owners
array([0, 0, 1, 2], dtype=int32)

The verbs take a snapshot of a cluster (`read`, `fetch`); their results print, convert and save
themselves:

>>> import rmqalloc
>>> cluster = rmqalloc.read("example:seed")
>>> rmqalloc.plan(cluster, [{"name": "six", "changes": [{"scale_clients": {"to": 6}}]}])
<Plan of 2 groups, scenarios: six>
>>> rmqalloc.check(cluster).at_least("error")
<Findings: 0 findings (no lags are known)>

``import rmqalloc`` loads nothing: what a name needs is loaded when it is first used. Strategies and
fleets need numpy alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rmqalloc.errors import ArgumentError, ArgumentTypeError, Error, installation_hint
from rmqalloc.version import __version__

if TYPE_CHECKING:
    from rmqalloc.audit import check_snapshot as check
    from rmqalloc.audit import current_owners as show
    from rmqalloc.audit import group_list as groups
    from rmqalloc.fleet import Fleet, FleetError, UnitError
    from rmqalloc.model import Assignment, MessageQueue, SharedAssignment
    from rmqalloc.plans import compare, explain
    from rmqalloc.plans import plan_snapshot as plan
    from rmqalloc.plans.diffs import diff
    from rmqalloc.rollouts import rollout
    from rmqalloc.rollouts.advice import advise as recommend
    from rmqalloc.simulation import simulate
    from rmqalloc.snapshot import Snapshot
    from rmqalloc.snapshot.files import read
    from rmqalloc.snapshot.live import fetch
    from rmqalloc.strategies import Strategy, sort_client_ids, sort_queues, strategy

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "Assignment",
    "Error",
    "Fleet",
    "FleetError",
    "MessageQueue",
    "SharedAssignment",
    "Snapshot",
    "Strategy",
    "UnitError",
    "__version__",
    "check",
    "compare",
    "diff",
    "explain",
    "fetch",
    "groups",
    "plan",
    "read",
    "recommend",
    "rollout",
    "show",
    "simulate",
    "sort_client_ids",
    "sort_queues",
    "strategy",
    "verify",
]

_HOMES = {
    "Assignment": ("rmqalloc.model", "Assignment"),
    "Fleet": ("rmqalloc.fleet", "Fleet"),
    "FleetError": ("rmqalloc.fleet", "FleetError"),
    "MessageQueue": ("rmqalloc.model", "MessageQueue"),
    "SharedAssignment": ("rmqalloc.model", "SharedAssignment"),
    "Snapshot": ("rmqalloc.snapshot", "Snapshot"),
    "Strategy": ("rmqalloc.strategies", "Strategy"),
    "UnitError": ("rmqalloc.fleet", "UnitError"),
    "check": ("rmqalloc.audit", "check_snapshot"),
    "compare": ("rmqalloc.plans", "compare"),
    "diff": ("rmqalloc.plans.diffs", "diff"),
    "explain": ("rmqalloc.plans", "explain"),
    "fetch": ("rmqalloc.snapshot.live", "fetch"),
    "groups": ("rmqalloc.audit", "group_list"),
    "plan": ("rmqalloc.plans", "plan_snapshot"),
    "read": ("rmqalloc.snapshot.files", "read"),
    "recommend": ("rmqalloc.rollouts.advice", "advise"),
    "rollout": ("rmqalloc.rollouts", "rollout"),
    "show": ("rmqalloc.audit", "current_owners"),
    "simulate": ("rmqalloc.simulation", "simulate"),
    "sort_client_ids": ("rmqalloc.strategies", "sort_client_ids"),
    "sort_queues": ("rmqalloc.strategies", "sort_queues"),
    "strategy": ("rmqalloc.strategies", "strategy"),
    "verify": ("rmqalloc.plans", "verify"),
}
"""Room of everything that is loaded on first use, and its name there."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room, name_there = _HOMES[name]
    with installation_hint():
        found = globals()[name] = getattr(import_module(room), name_there)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
