"""Who owns each queue now, how that is known, and whether anything is open:
`rmqalloc.ownership.present_states`.
"""

from dataclasses import replace

import pytest
from audited import TOPIC
from state_cases import CASES, Q0, Q1, Q2, Q3, by_queue, cluster, owning

from rmqalloc.evidence import Known
from rmqalloc.ownership.present_states import present_states
from rmqalloc.snapshot.snapshot import Broker, SourceError

CLIENTS_LOST = SourceError("broker a", "GET_CONSUMER_CONNECTION_LIST g", "timeout")
ROUTE_LOST = SourceError("name server", f"route of topic {TOPIC}", "timeout")
SILENT_BROKER = Broker("a", "h:1", "MASTER", is_silent=True)
ALL_REPORT = (owning("c1", Q0, Q1), owning("c2", Q2, Q3))

TABLE = {
    # slots that own each queue, or perhaps own it; computed, reported or unknown; whether it is open
    "nobody": ("- - - -", "cccc", True),  # there is no client to own any
    "two clients": ("0 0 1 1", "cccc", False),
    "duplicate id": ("01 01 - -", "cccc", False),
    "different strategies": ("0 01 - 1", "cccc", False),
    "stale route": ("0 01 - -", "cccc", False),
    "one does not subscribe": ("0 0 - -", "cccc", False),
    "nobody subscribes": ("- - - -", "cccc", False),
    "subscriptions not known": ("0 0 1 1", "uuuu", True),
    "split client lists": ("01 01 1 1", "uucc", True),
    "broadcast": ("01 01 01 01", "cccc", False),
    "broadcast, stale route": ("01 01 0 0", "cccc", False),
    "behind a proxy": ("01 01 01 01", "cccc", False),
    "POP, share 1": ("02 02 01 12", "cccc", False),
    "POP, more clients than queues": ("04 1 2 3", "cccc", False),
    "reported as computed": ("0 0 1 1", "rrrr", False),
    "reported otherwise": ("0 0 0 0", "rrrr", False),
    "reported twice": ("0 01 1 1", "rrrr", False),
    "reported by nobody": ("0 0 1 -", "rrrr", False),
    # What nobody reports may be the silent client's, which takes it by computation.
    "silent client": ("0 0 0 1", "rrru", True),
    # One process answers for both; the other takes 0 and 1 as well.
    "one of two with one id is silent": ("01 01 0 -", "rrrr", False),
}

MORE = {
    "a broker is silent": (
        replace(cluster("c1", "c2"), brokers=(SILENT_BROKER,)),
        "0 0 1 1",
        "uuuu",
        True,
    ),
    "clients not known": (cluster("c1", "c2", errors=(CLIENTS_LOST,)), "0 0 1 1", "uuuu", True),
    "no client is known": (cluster(errors=(CLIENTS_LOST,)), "- - - -", "uuuu", True),
    "route not known": (cluster("c1", "c2", errors=(ROUTE_LOST,)), "0 0 1 1", "uuuu", True),
    "strategy in doubt": (
        cluster("c1", "c2", strategy_source="assumed", strategy_doubt="nothing shows it"),
        "0 0 1 1",
        "uuuu",
        True,
    ),
    "clients not known, all known report": (
        cluster(*ALL_REPORT, errors=(CLIENTS_LOST,)),
        "0 0 1 1",
        "rrrr",
        True,
    ),
    "route not known, all report": (
        cluster(*ALL_REPORT, errors=(ROUTE_LOST,)),
        "0 0 1 1",
        "rrrr",
        False,
    ),
    "lite topics": (cluster("c1", is_shared=True, lite_topic=TOPIC), "0 0 0 0", "uuuu", True),
    # A plan computes the readers of POP, whatever is reported.
    "POP, reported": (
        cluster(*ALL_REPORT, server_assignment="POP", pop_share_queue_num=-1),
        "0 0 1 1",
        "rrrr",
        True,
    ),
}

EVERY = {name: (CASES[name], *row) for name, row in TABLE.items()} | MORE


@pytest.mark.parametrize("case", EVERY)
def test_who_owns_each_queue_and_whether_that_is_open(case):
    made, owners, known_as, is_open = EVERY[case]
    known = Known.of(made)
    present = known.once(present_states)
    [group] = known.snapshot.groups
    states = present.of(group).of_unit(TOPIC)
    assert by_queue(state.slots for state in states.values()) == owners
    assert "".join(state.known[0] for state in states.values()) == known_as
    assert present.is_open(group, TOPIC) == is_open


def test_states_of_a_group_are_made_once():
    known = Known.of(CASES["two clients"])
    [group] = known.snapshot.groups
    present = known.once(present_states)
    assert present.of(group) is known.once(present_states).of(group)
