"""The decision table of `rmqalloc.ownership.queue_states`, row by row."""

from dataclasses import replace

import pytest
from audited import TOPIC, group, queues, snapshot, topic

from rmqalloc.evidence import Known
from rmqalloc.model import RETRY_PREFIX
from rmqalloc.ownership.owner_figures import figures_of
from rmqalloc.ownership.present_states import present_states
from rmqalloc.snapshot.snapshot import Broker, Client, SourceError

TWO = (topic(a=2),)
FIRST, SECOND = queues([0, 1])
LOST = SourceError("broker a", "GET_CONSUMER_CONNECTION_LIST g", "timeout")
ROUTE_LOST = SourceError("name server", f"route of topic {TOPIC}", "timeout")
DOUBT = {"strategy_source": "assumed", "strategy_doubt": "nothing shows it"}
ONE_QUEUE = {TOPIC: {"a": 1}}
SILENT = (Broker("a", "h:1", "MASTER", is_silent=True),)


def reporting(*owned, **fields):
    """A group of clients c1, c2, ... that report these queues; None for one that does not."""
    clients = (Client(f"c{i + 1}", owned=mine) for i, mine in enumerate(owned))
    return group(*clients, **fields)


def cluster(of_group, errors=(), brokers=(), topics=TWO):
    return replace(snapshot(of_group, topics=topics, errors=errors), brokers=brokers)


def pop(*clients, **fields):
    return group(*clients, server_assignment="POP", **fields)


AVG_AND_CIRCLE = (Client("c1"), Client("c2", strategy="AVG_BY_CIRCLE"))

TABLE = {
    # what holds of the second of two queues: snapshot, known, owners or those that perhaps own it, reason
    "no client": (cluster(group()), "computed", [], "no-client"),
    "no client is known": (cluster(group(), [LOST]), "unknown", [], "unknown"),
    "a lite topic that a client subscribes to": (
        cluster(group("c1", is_shared=True, lite_topic=TOPIC)),
        "unknown",
        ["c1"],
        "lite",
    ),
    "broadcasting": (
        cluster(group("c1", "c2", message_model="BROADCASTING")),
        "computed",
        ["c1", "c2"],
        "broadcast",
    ),
    "behind a proxy": (
        cluster(group("c1", "c2", is_shared=True)),
        "computed",
        ["c1", "c2"],
        "shared",
    ),
    "broadcasting, one sees it": (
        cluster(
            group("c1", Client("c2", sees_read_queue_nums=ONE_QUEUE), message_model="BROADCASTING")
        ),
        "computed",
        ["c1"],
        "broadcast",
    ),
    "broadcasting, none sees it": (
        cluster(group(Client("c2", sees_read_queue_nums=ONE_QUEUE), message_model="BROADCASTING")),
        "computed",
        [],
        "not-seen",
    ),
    "broadcasting, clients not known": (
        cluster(group("c1", message_model="BROADCASTING"), [LOST]),
        "unknown",
        ["c1"],
        "unknown",
    ),
    "broadcasting, subscriptions not known": (
        cluster(group("c1", message_model="BROADCASTING", unknown={"subscriptions": "not asked"})),
        "unknown",
        ["c1"],
        "unknown",
    ),
    "no subscriber": (
        cluster(group(Client("c1", subscriptions=("pay",)))),
        "computed",
        [],
        "no-subscriber",
    ),
    "no subscriber is known": (
        cluster(group(Client("c1", subscriptions=("pay",))), [LOST]),
        "unknown",
        [],
        "unknown",
    ),
    "its broker is silent": (cluster(group("c1"), brokers=SILENT), "unknown", ["c1"], "unknown"),
    "its broker is silent, reported": (
        cluster(reporting([FIRST, SECOND]), brokers=SILENT),
        "unknown",
        ["c1"],
        "unknown",
    ),
    "reported by one": (cluster(reporting([FIRST], [SECOND])), "reported", ["c2"], "owner"),
    "reported by another than computed": (
        cluster(reporting([FIRST, SECOND], [])),
        "reported",
        ["c1"],
        "owner",
    ),
    "reported by one, clients not known": (
        cluster(reporting([FIRST], [SECOND]), [LOST]),
        "reported",
        ["c2"],
        "owner",
    ),
    "reported by two": (
        cluster(reporting([FIRST, SECOND], [SECOND])),
        "reported",
        ["c1", "c2"],
        "several-owners",
    ),
    "reported by two of one id": (
        cluster(group(Client("c1", owned=(SECOND,)), Client("c1", owned=(SECOND,)))),
        "reported",
        ["c1"],
        "several-owners",
    ),
    "reported by two that pop": (
        cluster(pop(Client("c1", owned=(SECOND,)), Client("c2", owned=(SECOND,)))),
        "reported",
        ["c1", "c2"],
        "popped",
    ),
    "reported by none": (cluster(reporting([FIRST], [])), "reported", [], "not-owned-now"),
    "reported by none, computed for none": (
        cluster(group(Client("c1", owned=(FIRST,)), Client("c1", owned=()))),
        "reported",
        [],
        "no-owner",
    ),
    "reported by none, clients not known": (
        cluster(reporting([FIRST], []), [LOST]),
        "unknown",
        [],
        "unknown",
    ),
    "reported by none, route not known": (
        cluster(reporting([FIRST], []), [ROUTE_LOST]),
        "unknown",
        [],
        "unknown",
    ),
    "reported by none, owners not known": (
        cluster(reporting([FIRST], [], unknown={"owners": "not asked"})),
        "unknown",
        [],
        "unknown",
    ),
    "reported by none, its taker is silent": (
        cluster(reporting([FIRST], None)),
        "unknown",
        ["c2"],
        "unknown",
    ),
    "reported by none, its taker reports, another is silent": (
        cluster(reporting(None, [])),
        "unknown",
        ["c1"],
        "unknown",
    ),
    "computed, clients not known": (cluster(group("c1"), [LOST]), "unknown", ["c1"], "unknown"),
    "computed, route not known": (
        cluster(group("c1"), [ROUTE_LOST]),
        "unknown",
        ["c1"],
        "unknown",
    ),
    "computed, strategy in doubt": (cluster(group("c1", **DOUBT)), "unknown", ["c1"], "unknown"),
    "computed, lists of CONFIG missing": (
        cluster(group("c1", strategy="CONFIG")),
        "unknown",
        [],
        "unknown",
    ),
    "popped, a strategy that brokers refuse": (
        cluster(pop("c1", strategy="CONSISTENT_HASH")),
        "unknown",
        [],
        "unknown",
    ),
    "computed for none": (cluster(group("c1", "c1")), "computed", [], "no-owner"),
    "computed for one": (cluster(group("c1", "c2")), "computed", ["c2"], "owner"),
    "computed for two": (
        cluster(group(*AVG_AND_CIRCLE), topics=(topic(a=4),)),
        "computed",
        ["c1", "c2"],
        "several-owners",
    ),
    "computed for all that pop": (
        cluster(pop("c1", "c2", pop_share_queue_num=-1)),
        "computed",
        ["c1", "c2"],
        "popped",
    ),
    "computed, it is not known who subscribes": (
        cluster(group("c1", unknown={"subscriptions": "not asked"})),
        "unknown",
        ["c1"],
        "unknown",
    ),
    "computed, brokers list different clients": (
        cluster(
            group("c1", "c2", broker_client_ids={"a": ("c1", "c2"), "b": ("c2",)}),
            topics=(topic(a=2, b=1),),
        ),
        "unknown",
        ["c1", "c2"],
        "unknown",
    ),
}


def state_of(made, queue=SECOND):
    known = Known.of(made)
    [of_group] = known.snapshot.groups
    states = known.once(present_states).of(of_group)
    state = states.of_queues(queue.topic, [queue])[queue]
    return state, list(states.ids(state.slots))


@pytest.mark.parametrize("what", TABLE)
def test_the_first_row_that_holds_decides(what):
    made, known, owners, reason = TABLE[what]
    state, ids = state_of(made)
    assert (state.known, ids, state.reason) == (known, owners, reason)
    assert (state.known == "unknown") == bool(state.detail or state.reason == "lite")


def test_reports_cover_a_retry_topic_only_if_a_client_reports_a_queue_of_it():
    retry = topic(RETRY_PREFIX + "g", a=1)
    [queue] = retry.queues()
    both, read = (TWO[0], retry), (TOPIC, retry.name)
    silent = cluster(reporting([FIRST], [SECOND], subscriptions=read), topics=both)
    assert state_of(silent, queue)[0].known == "computed"
    spoken = cluster(reporting([FIRST], [SECOND, queue], subscriptions=read), topics=both)
    state, ids = state_of(spoken, queue)
    assert (state.known, ids) == ("reported", ["c2"])


def figures(made, topics=(TOPIC,)):
    known = Known.of(made)
    return figures_of(known.once(present_states).of(known.snapshot.groups[0]), topics)


def test_figures_come_from_the_states():
    found = figures(cluster(reporting([FIRST, SECOND], [SECOND], [])))
    assert tuple(found) == (1, 0, 1, 3.0)
    shared = figures(cluster(group("c1", "c2", message_model="BROADCASTING")))
    assert tuple(shared) == (0, 0, 0, 1.0)


@pytest.mark.parametrize(
    "made",
    [
        cluster(group()),
        cluster(group("c1"), [LOST]),
        cluster(reporting([FIRST, SECOND], None)),
        cluster(group("c1", **DOUBT)),
    ],
    ids=["no client", "clients not known", "a silent client", "doubt"],
)
def test_a_figure_that_depends_on_something_unknown_is_not_known(made):
    assert figures(made) is None


def test_a_client_that_is_silent_may_own_what_is_reported_too():
    made = Known.of(cluster(reporting([FIRST, SECOND], None)))
    present = made.once(present_states)
    assert present.is_open(made.snapshot.groups[0], TOPIC)
    whole = Known.of(cluster(reporting([FIRST], [SECOND])))
    assert not whole.once(present_states).is_open(whole.snapshot.groups[0], TOPIC)
