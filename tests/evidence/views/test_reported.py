"""What clients report that they own, and whether it may differ from what is computed:
`rmqalloc.evidence.views.reported` and ``owned_as_computed``.
"""

import pytest
from audited import TOPIC, queues, topic
from state_cases import CASES, FOUR, Q0, Q1, Q2, Q3, by_queue, cluster, owning, pop

from rmqalloc.evaluation.groups_with_views import laid_groups
from rmqalloc.evidence import Known
from rmqalloc.evidence.views.owned_as_computed import OwnedAsComputed
from rmqalloc.evidence.views.reported import WHOLE_BROKER, ReportedOwners
from rmqalloc.model import RETRY_PREFIX
from rmqalloc.snapshot.unknown import Unknowns

[ANY_OF_A] = queues([WHOLE_BROKER])
[GONE] = queues([9])

REPORTS = {
    # slots that report each queue; ids that are silent; whether the reports decide the topic
    "two clients": ("- - - -", ("c1", "c2"), False),
    "reported as computed": ("0 0 1 1", (), True),
    "reported otherwise": ("0 0 0 0", (), True),
    "reported twice": ("0 01 1 1", (), True),
    "reported by nobody": ("0 0 1 -", (), True),
    "silent client": ("0 0 0 -", ("c2",), False),
    "one of two with one id is silent": ("0 0 0 -", (), True),  # one answers for both
}


def read(made):
    known = Known.of(made)
    groups = known.once(laid_groups)
    [group] = known.snapshot.groups
    [unit] = groups.units_of(group)
    return known, unit, ReportedOwners(groups.views_of(group).clients)


@pytest.mark.parametrize("case", REPORTS)
def test_who_reports_a_queue(case):
    owners, silent, decide = REPORTS[case]
    _, unit, reported = read(CASES[case])
    assert by_queue(reported.owners(unit)[queue] for queue in unit.queues) == owners
    assert reported.silent == silent
    assert reported.reports(unit) == decide
    assert reported.any_answer == (owners != "- - - -")
    single = [slots for slots in owners.split() if slots != "-" and len(slots) == 1]
    assert len(reported.single(unit)) == len(single)


ELSEWHERE = {
    # queues that one client reports and others should own: who does, and who should
    "two clients": {},
    "reported as computed": {},
    "reported by nobody": {},
    "reported otherwise": {Q2: ("c1", ("c2",)), Q3: ("c1", ("c2",))},
    "reported twice": {},  # a queue with two owners is another finding
    "silent client": {Q2: ("c1", ("c2",))},
}


@pytest.mark.parametrize("case", ELSEWHERE)
def test_queues_with_another_owner_than_expected(case):
    _, unit, reported = read(CASES[case])
    assert reported.elsewhere([unit]) == ELSEWHERE[case]


def test_a_client_that_pops_reports_any_queue_of_a_broker():
    made = pop(owning("c1", ANY_OF_A), owning("c2"), share=-1)
    _, unit, reported = read(made)
    assert by_queue(reported.owners(unit).values()) == "0 0 0 0"
    assert reported.elsewhere([unit]) == {}


def test_a_queue_that_is_not_in_the_route_is_reported_by_its_id_alone():
    _, unit, reported = read(cluster(owning("c1", Q0, GONE), owning("c2", GONE)))
    assert by_queue(reported.owners(unit).values()) == "0 - - -"
    assert reported.slots_of(GONE) == [0, 1]
    assert reported.slots_of(Q1) == []


def test_reports_cover_a_retry_topic_only_if_one_has_a_queue_of_it():
    retry = RETRY_PREFIX + "g"
    [queue] = topic(retry, a=1).queues()
    assert not ReportedOwners([owning("c1", Q0)]).speaks_of(retry)
    assert ReportedOwners([owning("c1", Q0, queue), owning("c2")]).speaks_of(retry)
    assert ReportedOwners([owning("c1")]).speaks_of(TOPIC)


MAY_DIFFER = {
    # whether it is known what all clients own, and whether it may differ from what is computed
    "nobody": (False, False),
    "two clients": (False, False),
    "reported as computed": (True, False),
    "reported otherwise": (True, True),
    "reported twice": (True, True),
    "reported by nobody": (True, True),  # by computation c2 owns a:3
    "silent client": (False, False),
    "one of two with one id is silent": (True, True),  # one answers for both
}


@pytest.mark.parametrize("case", MAY_DIFFER)
def test_groups_that_may_own_something_else_than_is_computed(case):
    known = Known.of(CASES[case])
    owned = OwnedAsComputed(Unknowns(known.snapshot))
    [group] = known.snapshot.groups
    assert (owned.is_known(group), owned.otherwise(group, FOUR[0])) == MAY_DIFFER[case]


def test_reports_of_a_group_of_which_more_may_own_queues_are_not_all():
    made = cluster(owning("c1", Q0, Q1, Q2, Q3), unknown={"owners": "one was not asked"})
    known = Known.of(made)
    assert not OwnedAsComputed(Unknowns(known.snapshot)).is_known(known.snapshot.groups[0])
