"""Groups without signs: no rule is asked about them and nothing of them is laid out, and nothing is
missed by that.
"""

from collections import Counter
from dataclasses import replace
from functools import reduce
from operator import or_
from random import Random

import pytest
from audited import queues, topic
from bruteforce import clusters, mixed_cases, reached

from rmqalloc.audit import RULES, _group_signs, _signed_groups, check_snapshot, current_owners
from rmqalloc.audit._group_signs import GroupSigns, signs_of
from rmqalloc.audit._owner_signs import computed_owners
from rmqalloc.audit._signs import EVERY, NONE, OF_OWNERS, Sign
from rmqalloc.audit.finding import Fault, rule
from rmqalloc.evidence import with_strategies
from rmqalloc.evidence.views.group_views import ViewReader
from rmqalloc.model import MAX_QUEUES
from rmqalloc.snapshot.plain_data import from_document
from rmqalloc.snapshot.snapshot import (
    Broker,
    Client,
    Filter,
    Group,
    Lag,
    Snapshot,
    SourceError,
    Topic,
    TopicBroker,
)

N_CASES = 200


def document(seed):
    """Everything that a snapshot may say: faults of all kinds, groups without any, and clusters
    that work.
    """
    random = Random(seed)
    made = (
        clusters.snapshot(random, tame=True),
        clusters.snapshot(random, owned=True, tame=True),
        clusters.snapshot(random, config=True, served=True, views=True, owned=True),
        mixed_cases.case(random),
        reached.case(random),
    )[seed % 5]
    if seed % 5 < 2 and random.random() < 0.7:
        _without_faults(random, made)
    return made


def _without_faults(random, made):
    for broker in (broker for one in made["topics"] for broker in one["brokers"]):
        broker.pop("write_queue_nums", None)
        broker.pop("perm", None)
    for group in made["groups"]:
        group.pop("lags", None)
        if random.random() < 0.2:
            group["filters"] = {name: [{"expression": "a"}] for name in group["subscriptions"]}
        if random.random() < 0.3:
            group.pop("strategy", None)
            group.pop("strategy_params", None)


def told(snapshot):
    """All that an audit says, and who owns what."""
    found, owned = check_snapshot(snapshot), current_owners(snapshot)
    tables = (
        table.to_pylist() for table in (found.unread, owned.queues, owned.clients, owned.hosts)
    )
    by = [(name, "ascending") for name in ("consumer_group", "topic", "broker_name", "queue_id")]
    reach = found.reach.sort_by(by).to_pylist()
    return list(found), found.not_known, reach, *tables, found.who_reads.counts()


def signs(snapshot, **options):
    known = with_strategies(snapshot)
    return signs_of(known, sorted(known.groups, key=lambda one: one.name), **options)[0]


def every(*asked):
    """All signs, but that clients report what they own only where one does."""
    signs = signs_of(*asked).signs
    every_sign = [EVERY if sign & Sign.OWNED else EVERY & ~Sign.OWNED for sign in signs]
    return GroupSigns(every_sign, owners=None)


@pytest.mark.thorough
def test_the_same_is_found_as_where_every_rule_is_asked_about_every_group(monkeypatch):
    snapshots = [from_document(document(seed)) for seed in range(N_CASES)]
    quick = list(map(told, snapshots))
    seen = Counter(one for snapshot in snapshots for one in signs(snapshot))
    monkeypatch.setattr(_signed_groups, "signs_of", every)
    assert list(map(told, snapshots)) == quick
    assert seen[NONE] > 20
    ordinary = reduce(or_, (one for one in seen if not one & OF_OWNERS))
    assert OF_OWNERS & reduce(or_, seen) == OF_OWNERS
    usual = (
        Sign.IDLE | Sign.KINDS | Sign.FILTERS | Sign.OWNED | Sign.LAGS | Sign.ROUTES | Sign.DOUBT
    )
    assert ordinary & usual == usual


C1, C2, C3 = map(Client, ("c1", "c2", "c3"))
QUIET = Snapshot((topic(a=4, b=4),), (Group("g", ("orders",), (C1, C2), strategy="AVG"),))
HALVES = queues(range(4)), queues(range(4), "b")


def with_group(**fields):
    return replace(QUIET, groups=(replace(QUIET.groups[0], **fields),))


def with_topic(**fields):
    return replace(QUIET, topics=(replace(QUIET.topics[0], **fields),))


def owning(*owned):
    return with_group(clients=tuple(Client(f"c{i}", owned=mine) for i, mine in enumerate(owned, 1)))


@pytest.mark.parametrize(
    ("snapshot", "wanted"),
    [
        (QUIET, NONE),
        (with_group(clients=()), Sign.VIEWS),
        (with_group(clients=(C1, C1)), Sign.VIEWS),
        (
            with_group(clients=(C1, replace(C2, strategy="AVG_BY_CIRCLE"))),
            Sign.VIEWS | Sign.KINDS | Sign.DOUBT,
        ),
        (
            with_group(clients=(C1, replace(C2, subscriptions=("orders", "more")))),
            Sign.VIEWS | Sign.ROUTES,
        ),
        (
            with_group(clients=tuple(replace(one, subscriptions=("orders",)) for one in (C1, C2))),
            NONE,
        ),
        (
            with_group(clients=(C1, replace(C2, sees_read_queue_nums={"orders": {"a": 1}}))),
            Sign.VIEWS,
        ),
        (with_group(message_model="BROADCASTING"), Sign.VIEWS),
        (with_group(server_assignment="PULL"), Sign.VIEWS),
        (with_group(broker_client_ids={"a": ("c1", "c2")}), Sign.VIEWS),
        (with_group(lite_topic="orders"), Sign.VIEWS),
        (with_group(strategy="CONFIG", strategy_params={"message_queues": {"c1": []}}), Sign.VIEWS),
        (with_group(clients=(C1, replace(C2, language="JAVA"))), Sign.KINDS),
        (with_group(filters={"orders": (Filter("a"),)}), Sign.FILTERS),
        (with_group(strategy=None), Sign.DOUBT),
        (with_group(paused_brokers=("a",)), Sign.PAUSED),
        (with_group(unknown={"clients": "not asked"}), Sign.UNKNOWN),
        (with_group(unknown={"lags": "not asked"}), NONE),
        (with_group(lags=(Lag(HALVES[0][0], 9, 1),)), Sign.LAGS),
        (with_group(clients=tuple(Client(f"c{i}") for i in range(9))), Sign.IDLE),
        (with_group(subscriptions=("orders", "lost")), Sign.ROUTES),
        (with_group(strategy="MACHINE_ROOM_NEARBY-AVG"), Sign.OWNERS | Sign.IDLE | Sign.ROOMS),
        (with_topic(brokers=(TopicBroker("a", 4, 8),)), Sign.ROUTES),
        (with_topic(brokers=(TopicBroker("a", 4, 2),)), Sign.ROUTES),
        (with_topic(brokers=(TopicBroker("a", 4), TopicBroker("b", 4, perm=2))), Sign.ROUTES),
        (with_topic(brokers=(TopicBroker("x" * 32, 4),)), Sign.ROUTES),
        (with_topic(unknown={"routes": "not asked"}), Sign.UNKNOWN),
        (replace(QUIET, brokers=(Broker("a", "h:1", "SLAVE"),)), Sign.BROKERS),
        (
            replace(
                QUIET,
                errors=(SourceError("broker a", "GET_CONSUMER_CONNECTION_LIST g", "timeout"),),
            ),
            Sign.UNKNOWN,
        ),
        (with_group(clients=(C1, replace(C2, filters={"orders": Filter("a")}))), Sign.FILTERS),
        (owning(*HALVES), Sign.OWNED),
        (owning(*HALVES[::-1]), Sign.OWNED | Sign.OWNERS | Sign.DOUBT),
        (owning(HALVES[0], None), Sign.OWNED | Sign.OWNERS),
        (owning(HALVES[0], HALVES[1][1:]), Sign.OWNED | Sign.OWNERS),
        (owning(HALVES[0], HALVES[0][:1] + HALVES[1]), Sign.OWNED | Sign.OWNERS),
        (owning(HALVES[0] * 2, HALVES[1]), Sign.OWNED | Sign.OWNERS),
    ],
)
def test_each_sign_is_of_what_its_name_says(snapshot, wanted):
    assert signs(snapshot) == [wanted]
    assert signs(snapshot, with_owners=False) == [wanted]


@pytest.fixture
def computed(monkeypatch):
    """Names of the groups whose owners are computed."""
    names = []

    def recorded(groups, topics):
        names.extend(group.name for group in groups)
        return computed_owners(groups, topics)

    monkeypatch.setattr(_group_signs, "computed_owners", recorded)
    return names


RETRY = Topic("%RETRY%g", (TopicBroker("a", 9),))


@pytest.mark.parametrize(
    ("snapshot", "is_computed"),
    [
        (QUIET, False),
        (with_group(strategy="AVG_BY_CIRCLE"), False),
        (with_group(clients=tuple(Client(f"c{i}") for i in range(8))), False),
        (with_group(clients=tuple(Client(f"c{i}") for i in range(9))), True),
        (with_group(strategy="CONSISTENT_HASH"), True),
        (with_group(clients=(C1, Client("x" * (1 << 16)))), True),
        (with_group(clients=(C1, Client("订单"))), True),
        (with_group(subscriptions=("%RETRY%g",)), True),
        (with_topic(brokers=(TopicBroker("a", 4, 8),)), True),
        (with_topic(brokers=(TopicBroker("a", 8), TopicBroker("b", -3))), True),
        (with_group(strategy_params={"dialect": "PYTHON"}), True),
        (owning(*HALVES), True),
    ],
)
def test_owners_are_computed_where_they_may_give_a_sign(snapshot, is_computed, computed):
    cluster = replace(snapshot, topics=(*snapshot.topics, RETRY))
    with_retry = tuple(
        replace(group, subscriptions=(*group.subscriptions, "%RETRY%g")) for group in cluster.groups
    )
    cluster = replace(cluster, groups=with_retry)
    found = signs(cluster, with_owners=False)
    assert computed == ["g"] * is_computed
    assert signs(cluster) == found


def test_signs_are_the_same_whether_or_not_all_owners_are_computed():
    for seed in range(100):
        snapshot = from_document(document(seed))
        assert signs(snapshot, with_owners=False) == signs(snapshot)


def test_reports_are_laid_beside_the_owners_whatever_a_snapshot_says_of_them():
    """The share of owners that a strategy explains may have been written by somebody."""
    swapped = owning(*HALVES[::-1]).groups[0]
    claimed = replace(swapped, strategy_source="given", strategy_explains=1.0)
    found = check_snapshot(replace(QUIET, groups=(claimed,)))
    assert [one.rule for one in found] == ["differs-from-expected"]


def test_only_groups_of_which_a_rule_may_say_something_are_laid_out(monkeypatch):
    laid_out = []
    unit_of = ViewReader.unit_of
    monkeypatch.setattr(
        ViewReader,
        "unit_of",
        lambda self, found, name: laid_out.append(found.group.name) or unit_of(self, found, name),
    )
    of_kinds = {
        "plain": QUIET.groups[0],
        "reporting": owning(*HALVES).groups[0],
        "idle": with_group(clients=tuple(Client(f"c{i}") for i in range(9))).groups[0],
        "twice": with_group(clients=(C1, C1)).groups[0],
    }
    groups = tuple(
        replace(one, name=f"{name}-{i}") for name, one in of_kinds.items() for i in range(3)
    )
    found = check_snapshot(replace(QUIET, groups=groups))
    found.to_dict()
    assert {one.consumer_group.split("-")[0] for one in found} == {"idle", "twice"}
    assert Counter(laid_out) == {
        name: 1 for one in groups if (name := one.name).startswith(("idle", "twice"))
    }
    assert len(found.reach) == 8 * len(groups)  # who reads what is shown of all groups
    assert set(laid_out) == {one.name for one in groups}


def test_a_topic_with_too_many_queues_is_refused_whatever_is_asked():
    large = Topic("large", (TopicBroker("b", MAX_QUEUES), TopicBroker("c", 1)))
    groups = tuple(Group(name, ("large",), (C1,), strategy="AVG") for name in ("h", "g"))
    with pytest.raises(
        ValueError, match=f"topic 'large' has {MAX_QUEUES + 1:,} queues; at most {MAX_QUEUES:,}"
    ):
        check_snapshot(Snapshot((large,), groups), rules=[])


def test_rules_are_asked_by_sign():
    """Rules of no sign are of owners and views alone."""
    of_groups = {name: rule for name, rule in RULES.items() if rule.find is not None}
    of_none = {name for name, rule in of_groups.items() if not rule.signs and rule.when is None}
    assert of_none == {
        "unowned-queue", "double-owned-queue", "duplicate-client-id", "stale-route", "split-client-list", "config-overlap",
        "config-hole", "config-unknown-queue", "unsupported-server-strategy", "no-consumer", "actual-unowned",
        "actual-double-owned", "differs-from-expected", "shared-queues", "lite-topics", "expected-not-known", "silent-client",
        "owners-not-told",
    }  # fmt: skip


def test_a_rule_may_name_its_groups_by_a_function(monkeypatch):
    of_any = RULES["idle-client"]
    told = Fault("It is there.", "Look.")
    of_name = replace(of_any, when=lambda group: group.name == "other", find=lambda _: iter([told]))
    monkeypatch.setitem(RULES, "idle-client", of_name)
    plain = QUIET.groups[0]
    cluster = replace(QUIET, groups=(plain, replace(plain, name="other")))
    assert signs(cluster) == [NONE, NONE]
    assert [(finding.rule, finding.consumer_group) for finding in check_snapshot(cluster)] == [
        ("idle-client", "other")
    ]


def test_a_rule_that_nothing_selects_groups_for_is_refused():
    said = {"title": "T", "description": "D.", "help": "H.", "severity": "note", "needs": ()}
    with pytest.raises(TypeError, match="rule 'new' selects no groups: give signs="):
        rule("new", **said)
    with pytest.raises(ValueError, match="rule 'idle-client' is declared twice"):
        rule("idle-client", **said, signs=NONE)
