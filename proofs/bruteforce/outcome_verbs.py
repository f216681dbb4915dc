"""The verb that compares a plan with its outcome, and the outcome with what was before."""

from collections import Counter

from bruteforce import clusters, mixed, outcomes
from bruteforce.mixed_verbs import either_case
from bruteforce.tally import by_key
from rmqalloc.plans import plan_snapshot
from rmqalloc.plans.diffs import diff
from rmqalloc.snapshot.plain_data import from_document


def case_of(random):
    document = either_case(random)["snapshot"]
    return {"snapshot": document, "scenario": outcomes.scenario_of(random, document)}


def compare_all(case, tally):
    """A plan beside its outcome, beside what was before, and these two snapshots."""
    documents = case["snapshot"], outcomes.outcome(case["snapshot"], case["scenario"])
    was, is_ = map(clusters.with_reported, documents)
    before = mixed.current(list(mixed.units_of(was)), was)
    if not before:
        return
    after = mixed.current(list(mixed.units_of(is_)), is_)
    goal = mixed.behind(before, case["scenario"])
    start, end = map(from_document, documents)
    plan = plan_snapshot(start, [case["scenario"]])
    planned = dict.fromkeys(state.unit.main.group for state in before)
    names = [name for name in planned if _is_compared(name, documents)]
    _compare(
        "plan beside outcome", diff(plan, end), outcomes.Sides(goal, after, before), names, tally
    )
    _compare(
        "plan beside start", diff(plan, start), outcomes.Sides(goal, before, before), names, tally
    )
    found = diff(start, end)
    _compare("outcome beside start", found, outcomes.Sides(before, after), names, tally)
    _membership(documents, found, names, tally)


def _membership(documents, found, names, tally):
    """Clients that joined and left, a repeated id as often as it is there."""
    rows = by_key(found.groups, ("consumer_group",))
    for name in names:
        [was], [is_] = (_of(document, [name]) for document in documents)
        was, is_ = (
            Counter(client["client_id"] for client in one.get("clients", [])) for one in (was, is_)
        )
        counts = {"joined": sum((is_ - was).values()), "left": sum((was - is_).values())}
        tally.rows("outcome beside start", {(name,): counts}, {(name,): rows[name,]})


def _of(document, names):
    by_name = {group["name"]: group for group in document["groups"]}
    return [by_name[name] for name in names]


def _is_compared(name, documents):
    """Whether the owners of a group are known on both sides."""
    of = [_of(one, [name])[0] for one in documents]
    return not mixed.is_broadcast(of[0]) and all(map(mixed.is_known, documents, of))


def _compare(kind, found, sides, names, tally):
    """Groups, queues and clients of a comparison, and of a plan how much of it came true."""
    groups, planned = (
        by_key(table, ("consumer_group",)) for table in (found.groups, found.planned)
    )
    queues = by_key(found.queues, ("consumer_group", "topic", "broker_name", "queue_id"))
    for row in queues.values():
        row |= {f"owners_{when}": _named_in(row, when) for when in ("before", "after")}
    clients = by_key(found.clients, ("consumer_group", "client_id"))
    for name in names:
        figures = _of_row(sides.figures(name), groups[name,])
        if groups[name,]["moved"] is None:  # nothing differs, so nothing was compared
            figures = (
                {"status": "same"}
                if not any(figures[one] for one in ("moved", "new", "gone"))
                else figures
            )
        tally.rows(f"{kind} groups", {(name,): figures}, {(name,): groups[name,]})
        mine = {key: row for key, row in queues.items() if key[0] == name}
        tally.rows(f"{kind} queues", dict(sides.queues(name)), mine)
        wanted = sides.clients(name)
        moving = {key: row for key, row in wanted.items() if row["gained"] or row["lost"]}
        got = {
            key: row
            for key, row in clients.items()
            if key[0] == name and (row["gained"] or row["lost"])
        }
        tally.rows(f"{kind} clients", moving, got)
        if found.of_plan and (name,) in planned:
            tally.rows(f"{kind} planned", {(name,): sides.planned(name)}, {(name,): planned[name,]})


def _of_row(figures, row):
    """Figures that a row is to have: where it is not known which clients take part, queues that
    several perhaps own may count too, and two clients of one id count as one.
    """
    for when in ("before", "after"):
        name = f"double_owned_{when}"
        least, most = (figures.pop(f"{bound}_{when}", 0) for bound in ("least", "most"))
        if row[name] is not None and least <= row[name] <= most:
            figures[name] = row[name]
    return figures


def _named_in(row, when):
    """Owners of a row of the table of queues."""
    first, others = row[f"owner_{when}"], row[f"others_{when}"] or []
    return ([] if first is None else [first]) + others
