"""Groups whose clients differ, or report no strategy, as sections of a page: planned, changed for
real, and compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from live_cluster import LiveCluster
from live_consumers import Consumers
from live_page import Page
from live_proofs import Tally, settled
from live_transitions import kept_by_nobody, queues_of, worst_moments
from live_views import (
    FEWER,
    JOINING,
    MIXED,
    UNEXPLAINED,
    UNNOTICED,
    UNREPORTED,
    Outcome,
    Told,
    carried_out,
    join,
    make_topics,
    repair,
    shares_of,
    without_notices,
)

from rmqalloc.plans import load_plan

PLANNED = UNREPORTED | {"views-mixed": MIXED, "views-fewer": FEWER, "views-unnoticed": UNNOTICED}
REPAIR = "repair"
TRANSITIONS = """## What these groups went through

While each change was made, all clients were asked through their brokers, round after round. "Most" is the largest number of
queues at one moment, "for" the longest time of one queue. "Over sets" is the largest number over all sets of clients that know
of the change. A client drops what it loses before it takes, one by one, what it gains. So for a moment more queues can be
unowned than over all sets, but never more than no client keeps. A repair is two changes, as a client leaves and joins: it has
no such numbers.
"""
COLUMNS = (
    "group", "change", "queues", "not as planned before", "not as planned after", "rounds", "round", "settled after",
    "unowned: most", "over sets", "kept by nobody", "for", "double-owned: most", "over sets", "for",
)  # fmt: skip


def differing(page: Page, cluster: LiveCluster, java: Consumers, saved: str) -> None:
    """Groups whose clients differ, or report no strategy: each change is planned, made, and
    compared with its plan.
    """
    make_topics(cluster, java)
    hidden, rows = {saved: "plan.json"}, list[str]()

    def planned(group: str, *change: str) -> None:
        page.run(
            cluster.name_server, "plan", *change, "--out", saved, groups=[group], hidden=hidden
        )

    def made(group: str, what: str, change: Callable[[], object]) -> None:
        rows.append(
            _row(cluster, group, what, carried_out(cluster, java, group, load_plan(saved), change))
        )
        rule = () if what == REPAIR else ("--rule", "differs-from-plan")
        page.run(
            cluster.name_server, "check", "--plan", saved, *rule, groups=[group], hidden=hidden
        )

    without_notices(cluster, java, "views-unnoticed")
    for group, clients in PLANNED.items():
        page.say(f"## {group}: {_of_clients(clients)}; another joins")
        join(java, group, clients)
        snapshot = settled(cluster, [java], group, len(clients) - 1, shares_of(clients), Tally())
        if group == "views-mixed":
            page.run(cluster.name_server, "check", groups=[group])
        planned(group, "--add-client", snapshot.groups[0].client_ids[0].replace("v-1", JOINING))
        made(group, "a client joins", partial(join, java, group, clients, JOINING))
        if group == "views-mixed":
            page.say("### The deviating client is restarted")
            planned(group, "--to-strategy", "AVG")
            made(group, REPAIR, partial(repair, java, group))
    for group, clients in UNEXPLAINED.items():
        page.say(f"## {group}: {_of_clients(clients)}")
        join(java, group, clients)
        settled(cluster, [java], group, len(clients) - 1, shares_of(clients), Tally())
        page.run(cluster.name_server, "plan", "--scale", "4", groups=[group])
    page.say("\n".join([TRANSITIONS, _cells(COLUMNS), _cells("---" for _ in COLUMNS), *rows]))
    java.leave_all()


def _row(cluster: LiveCluster, group: str, what: str, outcome: Outcome) -> str:
    """A change as a row of the table."""
    seen, queues = outcome.transition, set(queues_of(cluster, group))
    unowned, double = map(str, worst_moments(seen.before, seen.after, queues))
    kept = str(kept_by_nobody(seen.before, seen.after, queues))
    if what == REPAIR:
        unowned = double = kept = ""
    cells = [
        group, what, outcome.n_queues, len(outcome.before), len(outcome.after), seen.n_rounds,
        f"{1000 * seen.round_seconds:.0f} ms", f"{seen.seconds:.2f} s",
        seen.unowned_worst, unowned, kept, f"{seen.unowned_seconds:.2f} s",
        seen.double_worst, double, f"{seen.double_seconds:.2f} s",
    ]  # fmt: skip
    return _cells(cells)


def _cells(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _of_clients(clients: Mapping[str, Told]) -> str:
    """How the clients of a group are made that are there from the start."""
    made = Counter(
        f"{told['strategy']}{':160' if 'virtual_nodes' in told else ''} of {' and '.join(told['topics'])}"
        for one, told in clients.items()
        if one != JOINING
    )
    return ", ".join(f"{n} {text}" for text, n in made.items())
