"""Computed answers: plans, explanations, recommendations and differences, each with a limit of
work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

import rmqalloc
from rmqalloc.documents import Source, parse
from rmqalloc.plans.unmatched import unassigned
from rmqalloc.scenarios import (
    AddBroker,
    AddClients,
    ScaleClients,
    Scenario,
    ScenarioError,
    SetQueues,
    SetStrategy,
    SetVirtualNodes,
    scenarios_of,
)
from rmqalloc.scenarios.change_flags import scenario_of_flags, with_clients_meant
from rmqalloc.scenarios.fixed_names import CHANGE_FLAGS
from rmqalloc.service.keeping import snapshot_at
from rmqalloc.service.problems import ProblemError
from rmqalloc.service.query_parameters import ParameterError
from rmqalloc.service.request import Document, ServiceRequest
from rmqalloc.snapshot.matching import none_planned
from rmqalloc.snapshot.plain_data import SnapshotError
from rmqalloc.strategies.by_name import from_label

if TYPE_CHECKING:
    from rmqalloc.plans import Plan

MOST_WORK = 1_000_000
"""Maximum queues and ring positions of one answer, over all scenarios."""
MOST_SCENARIOS = 50
PLAN_BODY = 256 << 10
SNAPSHOT_BODY = 4 << 20
"""Maximum bytes of a body; a snapshot takes about ten times its JSON in memory."""

_TABLES = ("units", "groups", "clients", "queues", "transitions", "evidence")
ACCEPTED = ("assume", "allow_partial")
PLAN_PARAMETERS = (*CHANGE_FLAGS, "show", *ACCEPTED)
EXPLAIN_PARAMETERS = ("topic", "queue", "strategy", *ACCEPTED)
DIFF_PARAMETERS = ("at", "until")
RECOMMEND_PARAMETERS = ("balance", *ACCEPTED)
_BALANCES = ("topic", "total")


def plan(asked: ServiceRequest) -> Document:
    """Return the effect of changes, as `rmqalloc plan` computes it: the plan that it saves, or its
    tables.
    """
    shown = asked.given.names("show", _TABLES)
    groups, scenarios = asked.groups, _scenarios(asked)
    _check_work(asked, scenarios)
    strict = asked.body is None
    made = rmqalloc.plan(asked.known(), scenarios, groups, strict=strict)
    if not any(made.groups["n_topics"].to_pylist()):
        raise none_planned([*made.warnings, *unassigned(made)])
    return made.to_dict() if not shown else _shown(made, shown)


def _shown(made: Plan, names: tuple[str, ...]) -> Document:
    """Return tables of a plan as rows, as `--show` prints them."""
    tables = {
        one: made.transitions() if one == "transitions" else getattr(made, one) for one in names
    }
    head = {"scenarios": [one.to_data() for one in made.scenarios], "warnings": list(made.warnings)}
    return {**head, **{one: table.to_pylist() for one, table in tables.items()}}


def _scenarios(asked: ServiceRequest) -> tuple[Scenario, ...]:
    """Return the scenarios that are posted, or the one of the parameters."""
    flags = asked.given.of(CHANGE_FLAGS)
    if asked.body is None:
        made = scenario_of_flags(flags)
        return () if made is None else (with_clients_meant(made, asked.known().client_ids()),)
    if flags:
        raise ParameterError(
            f"{next(iter(flags))} was given together with posted scenarios; write it into the scenarios"
        )
    document = parse(Source("the posted scenarios", asked.body, ScenarioError), asked.form)
    data = document.data
    if not isinstance(data, dict) or list(data) != ["scenarios"]:
        raise document.located(ScenarioError("must be a mapping with the one key scenarios"))
    try:
        return scenarios_of(data["scenarios"], "the posted scenarios")
    except ScenarioError as error:
        raise document.located(error) from None


def _check_work(asked: ServiceRequest, scenarios: tuple[Scenario, ...] = ()) -> None:
    """Refuse what would take too long: 413."""
    if len(scenarios) > MOST_SCENARIOS:
        raise ProblemError(
            413,
            f"{len(scenarios)} scenarios were given; the limit is {MOST_SCENARIOS}",
        )
    table = asked.state.observation.groups.groups
    if asked.group is not None:
        table = table.filter(pc.equal(table["consumer_group"], asked.group))
    names = ("n_queues", "n_clients", "n_topics")
    n_queues, n_clients, n_topics = (pc.sum(table[name]).as_py() or 0 for name in names)
    sizes = [_work(one, n_queues, n_clients, n_topics, table.num_rows) for one in scenarios]
    if (work := n_queues + n_clients + sum(sizes)) > MOST_WORK:
        hint = "" if asked.group is not None else "; request one group, /v1/groups/NAME/..."
        what = f"the scenarios need about {work:,} queues and ring positions; the limit of one answer is {MOST_WORK:,}"
        raise ProblemError(413, f"{what}{hint}")


def _work(scenario: Scenario, n_queues: int, n_clients: int, n_topics: int, n_groups: int) -> int:
    """Return about how many queues and ring positions there are after a scenario, rather too many
    than too few.
    """
    nodes = 1
    for one in scenario.changes:
        match one:
            case ScaleClients():
                n_clients = max(n_clients, one.to * n_groups)
            case AddClients():
                n_clients += (one.count or len(one.ids or ())) * n_groups
            case SetQueues():
                n_queues *= max(1, one.read_queue_nums)
            case AddBroker():
                n_queues += one.read_queue_nums * n_topics
            case SetStrategy():
                nodes = max(nodes, (one.params or {}).get("virtual_nodes", 1))
            case SetVirtualNodes():
                nodes = max(nodes, one.virtual_nodes)
    return n_queues + n_clients * nodes


def explain(asked: ServiceRequest) -> Document:
    """Return why a client owns a queue, as `rmqalloc explain` does."""
    topic, queue = asked.given.needed("topic", "orders"), asked.given.needed("queue", "broker-a:3")
    broker, _, number = queue.rpartition(":")
    if not broker or not (number.isascii() and number.isdigit() and len(number) < 10):
        raise ParameterError(f"queue: {queue!r} is not BROKER:ID, such as broker-a:3")
    asked.groups  # noqa: B018 - 404 where there is none
    label = asked.given.text("strategy")
    name, params = (None, None) if label is None else from_label(label)
    return rmqalloc.explain(
        asked.known(), str(asked.group), topic, broker, int(number), name, params
    ).to_dict()


def recommend(asked: ServiceRequest) -> Document:
    """Return recommended client counts and settings, as `rmqalloc recommend` does."""
    balance = asked.given.text("balance") or _BALANCES[0]
    if balance not in _BALANCES:
        raise ParameterError(f"balance must be one of {', '.join(_BALANCES)}, got {balance!r}")
    groups = asked.groups
    _check_work(asked)
    return rmqalloc.recommend(asked.known(), groups, balance=balance).to_dict()


def diff(asked: ServiceRequest) -> Document:
    """Return the differences between a posted snapshot, or a moment of the history, and now, as
    `rmqalloc diff` does.
    """
    from rmqalloc.snapshot.files import read_snapshot_with_warnings

    moment, until = asked.given.text("at"), asked.given.text("until")
    if asked.body is None and moment is None:
        raise ParameterError(
            "post the snapshot to compare with, or give a moment of the history, such as ?at=03:10"
        )
    if asked.body is not None and moment is not None:
        raise ParameterError("at was given together with a posted snapshot; omit one of them")
    _check_work(asked)
    if asked.body is not None:
        source = Source(f"the posted snapshot.{asked.form}", asked.body, SnapshotError)
        before, _ = read_snapshot_with_warnings(source, asked.form)
    else:
        before = snapshot_at(asked.history, str(moment))
    after = (
        asked.state.observation.reading.snapshot
        if until is None
        else snapshot_at(asked.history, until)
    )
    names = (moment or "posted", until or "now")
    return rmqalloc.diff(before, after, asked.groups, names=names).to_dict()
