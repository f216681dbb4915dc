"""The judges of the clusters program, on stories that were made up: true ones pass, and every fault is
found. No cluster is started here.
"""

import random
import struct
from itertools import pairwise

import pytest
from clusters.alerts.firing import Recorded, Shown
from clusters.alerts.firing import judged as judged_alerts
from clusters.alerts.plays import ACTS
from clusters.alerts.pods import Owners, Stopped, Unowned
from clusters.alerts.prometheus import RULES, paced, unbroken
from clusters.alerts.prometheus import Span as AlertSpan
from clusters.alerts.rolling import n_overlapping
from clusters.beside_java.deliveries import RECORD, Sent, Span, judged, read
from clusters.beside_java.owners import difference
from clusters.beside_java.stage import Group
from clusters.beside_java.verbs import Said as SaidBeside
from clusters.beside_java.verbs import Watched, right_of
from clusters.beside_java.verbs import faults as faults_beside
from clusters.departures.day import Expected, wrong
from clusters.departures.watched import Shown as ShownNow
from clusters.everyday.judging import MemberTold, MoveJudge, MoveTold, members_judged, timelines
from clusters.everyday.looking import Look
from clusters.everyday.stage import Happened, Holding
from clusters.frozen_broker.reading import faults
from clusters.incidents.judging import Right, Said, false, missing
from clusters.incidents.plays import judged as judged_incidents
from clusters.incidents.stage import Played
from clusters.one_shot.comparing import Answers, answers_of, compared
from loopback import SimulatedLoopback, running_info
from proof import Report
from served import reading, readings_of, served

from rmqalloc import MessageQueue
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.snapshot.live.fetching import fetch
from rmqalloc.snapshot.live.rereading import Rereader
from rmqalloc.watching import LastingStates

NAMES = ["hz-java-0", "sh-python-1"]
KINDS = ["java", "python"]
SECOND = 1_000_000
SPANS = [Span("all join", 0, 500), Span("a member leaves", 10_000, 11_000)]
STORY = [  # member, number, offset, second
    (0, 0, 0, 1), (0, 1, 1, 2), (0, 2, 2, 3),
    (1, 2, 2, 10.5), (1, 3, 3, 11), (1, 4, 4, 12),
]  # fmt: skip


def judge(tmp_path, story, n=5, unsure=(), end=5):
    for member, name in enumerate(NAMES):
        file = tmp_path / f"{name}-1"
        file.with_name(f"{file.name}.keys").write_text(f"g\tg/{name}\tT\ta\t0\n")
        mine = [one for one in story if one[0] == member]
        file.write_bytes(
            b"".join(struct.pack("<iiqq", 0, *one[1:3], int(one[3] * SECOND)) for one in mine)
            + b"torn"
        )
    sent = Sent(n, frozenset(unsure), {("a", 0): end})
    return judged(read(tmp_path, "g", "T", NAMES), sent, SPANS, KINDS)


def test_a_true_story_passes(tmp_path):
    found = judge(tmp_path, STORY)
    assert found.wrong(in_order=True) == []
    assert (found.n_stored, found.n_distinct) == (5, 5)
    assert found.twice == {("a member leaves", "java to python"): 1}
    assert [(one.event, one.kinds, one.begins) for one in found.handovers] == [
        ("a member leaves", "java to python", -1)
    ]
    assert RECORD.itemsize == 24


@pytest.mark.parametrize(
    ("story", "more", "says"),
    [
        (STORY[:-1], {}, "1 of 5 stored messages never came"),
        ([*STORY, (1, 5, 5, 13)], {}, "1 came that are not stored"),
        ([*STORY[:-1], (1, 3, 4, 12)], {}, "1 numbers never came"),
        ([*STORY, (1, 4, 4, 60)], {}, "1 came twice while nothing happened"),
        ([*STORY[:4], (1, 4, 4, 11), (1, 3, 3, 12)], {}, "1 out of order"),
        ([], {"n": 0, "end": 0}, "0 of 0"),
    ],
)
def test_every_fault_is_found(tmp_path, story, more, says):
    [wrong] = judge(tmp_path, story, **more).wrong(in_order=True)
    assert says in wrong


def test_order_across_members_is_judged_by_the_clock(tmp_path):
    both = [(0, 0, 0, 1), (1, 1, 1, 0.5), (1, 2, 2, 3)]
    assert "1 out of order" in judge(tmp_path, both, n=3, end=3).wrong(in_order=True)[0]


def test_owners_that_differ():
    one, other = MessageQueue("T", "a", 0), MessageQueue("T", "a", 1)
    right = {"c1": frozenset({one}), "c2": frozenset({other})}
    assert difference(right, right, "T") == ""
    assert "c2 lacks 1" in difference({"c1": frozenset({one}), "c2": frozenset()}, right, "T")
    assert "c1 lacks 0 and has 1" in difference(right | {"c1": frozenset({one, other})}, right, "T")
    assert "members" in difference({"c1": frozenset({one})}, right, "T")
    assert difference(right | {"c1": frozenset()}, right, "other topic") == ""


FIRST, SECOND_QUEUE = MessageQueue("T", "a", 0), MessageQueue("T", "a", 1)
TABLES = {"java": frozenset({FIRST}), "python": frozenset({SECOND_QUEUE})}
BOTH_RIGHT = right_of(TABLES, "T")


def unit(scenario, **wrong):
    return {"scenario": scenario, "err_code": 0, "unowned": 0, "double_owned": 0} | wrong


def beside(**wrong):
    """What the verbs say of two clients that own a queue each, with what is wrong in it."""
    told = {
        "owners": {FIRST: (("java",), "reported"), SECOND_QUEUE: (("python",), "reported")},
        "plans": [unit("current"), unit("remove-client java")],
        "explained": (FIRST, "java"),
        "guards": {"java": ("yes", ""), "python": ("yes", "")},
    }
    return SaidBeside(**told | wrong)


def strange(rule, severity="error"):
    return {"rule": rule, "severity": severity, "message": "so it is"}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({}, None),
        ({"findings": [strange("mixed-languages")]}, "check finds error mixed-languages"),
        ({"findings": [strange("idle-client", "warning")]}, "check finds warning idle-client"),
        ({"not_known": ["owners of g: python did not answer"]}, "check does not know owners"),
        ({"doubt": "2 strategies explain its owners equally well"}, "in doubt"),
        ({"doubt": "10 and 16 virtual nodes explain its 2 known owners equally well"}, None),
        ({"owners": {}}, "show has 0 queues"),
        ({"owners": beside().owners | {FIRST: ((), "reported")}}, "show has reported owners ()"),
        ({"owners": beside().owners | {FIRST: (("python",), "reported")}}, "not java"),
        ({"owners": beside().owners | {FIRST: (("java",), "computed")}}, "computed owners"),
        ({"plans": []}, "plan plans no change"),
        ({"plans": [unit("current")]}, "plan plans no change"),
        ({"plans": [unit("current"), unit("after", unowned=1)]}, "plan has"),
        ({"plans": [unit("current", err_code=1), unit("after")]}, "plan has"),
        ({"explained": None}, "explain explains nothing"),
        ({"explained": (FIRST, "python")}, "explain gives"),
        ({"guards": {"java": ("unknown", "several strategies")}}, "guard of java says unknown"),
        ({"refusals": ["plan ends with 1: refused"]}, "plan ends with 1"),
    ],
)
def test_what_the_verbs_say_beside_java(wrong, says):
    found = faults_beside(beside(**wrong), BOTH_RIGHT)
    assert found == [] if says is None else (len(found) == 1 and says in found[0])


def test_an_idle_client_is_right_where_the_ring_leaves_one_out_and_the_last_client_may_not_stop():
    alone = right_of({"java": TABLES["java"]}, "T")
    assert "right is no" in faults_beside(beside(), alone)[-1]
    idle = right_of({"java": frozenset(BOTH_RIGHT.owners), "python": frozenset()}, "T")
    assert idle.may_find == {"idle-client"} and not BOTH_RIGHT.may_find
    other = right_of(TABLES | {"python": frozenset({MessageQueue("%RETRY%g", "a", 0)})}, "T")
    assert other.may_find == {"idle-client"}


def test_a_false_finding_stays_wrong_though_it_goes_away():
    watched = Watched(Group("g", "AVG"), BOTH_RIGHT)
    passing = [strange("actual-unowned"), strange("mixed-languages")]
    assert not watched.sees(beside(findings=passing), 1.0)
    assert watched.sees(beside(), 2.0)
    assert watched.look.before == ("actual-unowned", "mixed-languages")
    assert watched.look.wrong == ["check finds error mixed-languages: so it is"]


# --- Incidents ---

KILLED = Right(
    "no-consumer", 2, {"no-consumer": "error"}, queues={"no-consumer": 2}, waiting=500, says=("500 messages wait",),
    no_all_clear=True,
)  # fmt: skip
SILENT = Right(
    "silent-client", 2, {"silent-client": "warning"}, not_known=("owners",), never=("proxy",), no_errors=True,
    no_all_clear=True,
)  # fmt: skip


def queues(*ids):
    return [{"topic": "T", "broker_name": "a", "queue_id": i} for i in ids]


def found(rule, severity, *ids, message="500 messages wait", group="g"):
    return {
        "rule": rule, "severity": severity, "consumer_group": group, "topic": "T", "queues": queues(*ids), "clients": [],
        "message": message, "advice": "Check again.",
    }  # fmt: skip


def said(
    code, *findings, messages=0, unknown=0, kinds=(), text="1 finding: 1 error", code_of_text=None
):
    document = {
        "findings": list(findings), "unread": [{"messages": messages}, {"messages": None}],
        "n_queues_by_reason": {"unknown": unknown}, "not_known": [{"kind": kind} for kind in kinds],
    }  # fmt: skip
    return Said(code, document, text, code if code_of_text is None else code_of_text)


DEAD = found("no-consumer", "error", 0, 1)
MUTE = found("silent-client", "warning", message="1 client did not answer")


@pytest.mark.parametrize(
    ("right", "answer"),
    [
        (KILLED, said(2, DEAD, messages=500)),
        (KILLED, said(2, DEAD, found("lag-from-slave", "note", 0), messages=500)),
        (SILENT, said(2, MUTE, unknown=4, kinds=("owners", "lags"))),
    ],
)
def test_the_right_answers_are_right(right, answer):
    assert missing(right, answer) == false(right, answer) == []


@pytest.mark.parametrize(
    ("right", "answer"),
    [
        (KILLED, said(0, text="0 findings")),
        (KILLED, said(2, DEAD, messages=500, code_of_text=0)),
        (KILLED, said(2, DEAD, messages=499)),
        (KILLED, said(2, found("no-consumer", "error", 0), messages=500)),
        (KILLED, said(2, found("no-consumer", "error", 0, 1, message="it waits"), messages=500)),
        (KILLED, said(2, DEAD, found("idle-client", "warning"), messages=500)),
        (SILENT, said(2, MUTE, unknown=4)),
    ],
)
def test_what_an_answer_lacks_is_named(right, answer):
    assert missing(right, answer)


@pytest.mark.parametrize(
    ("right", "answer"),
    [
        (KILLED, said(0, text="0 findings")),
        (KILLED, said(2, DEAD, messages=500, text="Every written queue of 1 topic is read.")),
        (
            KILLED,
            said(2, found("unowned-queue", "error", 0), found("actual-unowned", "error", 0, 1)),
        ),
        (SILENT, said(2, MUTE, found("actual-unowned", "error", 0), kinds=("owners",))),
        (SILENT, said(2, MUTE, kinds=("owners",), text="a\nproxy hands them out")),
        (SILENT, said(2, found("silent-client", "warning", message="a proxy"), kinds=("owners",))),
    ],
)
def test_what_is_false_is_named_whenever_it_is_said(right, answer):
    assert false(right, answer)


def test_a_wrong_incident_or_none_is_a_fault():
    right = Played("killed", KILLED, said(2, DEAD), 1.0, [], 3)
    wrong = Played("frozen", KILLED, said(2, DEAD), 1.0, ["exit code 0, right is 2"], 3)
    for played, n_faults in (([right], 0), ([right, wrong], 1), ([], 1)):
        report = Report("incidents")
        judged_incidents(report, played)
        assert len(report.wrong) == n_faults


# --- Every day ---

QUEUE = MessageQueue("day-orders", "broker-a", 0)
JOINED = Happened(0, "joined", "day-orders", "c1", 10.0, 10.5)
TOLD = MemberTold("joined", "day-orders", "c1", 9.8, 10.9)


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ([TOLD], None),
        (
            [TOLD._replace(last_seen_before=11.4, first_seen_after=12.0)],
            None,
        ),  # a broker may notice late
        ([], "not told"),
        ([TOLD, TOLD], "invented"),
        ([TOLD, TOLD._replace(kind="left")], "invented"),
        ([TOLD._replace(client_id="c2")], "not told"),
        ([TOLD._replace(first_seen_after=9.9)], "happened between"),
        ([TOLD._replace(last_seen_before=11.6, first_seen_after=12.0)], "happened between"),
        ([TOLD._replace(last_seen_before=None)], "no last sighting"),
    ],
)
def test_joins_and_leaves(told, says):
    wrong = members_judged([JOINED], told).wrong
    assert wrong == () if says is None else says in wrong[0]


def day(seed):
    """Clients that hold one queue in turn, readings of it, and what an observer tells."""
    made, at, holdings, owner = random.Random(seed), 0.0, [], None
    while at < 200:
        next_owner = made.choice([one for one in (None, "c1", "c2", "c3") if one != owner])
        if owner is not None:
            holdings.append(Holding(at, "day-orders", owner, frozenset()))
        if next_owner is not None:
            holdings.append(Holding(at, "day-orders", next_owner, frozenset([QUEUE])))
        owner, at = next_owner, at + made.choice([0.3, 1.2, 5.0, 9.0])
    line = timelines(holdings)["day-orders", QUEUE]
    looks, moves, states = [], [], LastingStates()
    for number in range(200):
        look = Look(number + 0.1, number + 0.2)
        (seen, *_) = line.between(look.began_at, look.began_at)
        change = states.seen(("day-orders", QUEUE), seen, look.read_at)
        looks.append(look)
        if change is not None:
            moves.append(MoveTold(*change.key, *change[1:]))
    return holdings, looks, moves


@pytest.mark.parametrize("seed", range(20))
def test_true_moves_pass_and_lies_are_found(seed):
    holdings, looks, moves = day(seed)
    judge = MoveJudge(holdings, looks, [])
    judged = judge.judged(moves)
    assert judged.wrong == ()
    assert judged.n_right == len(moves) > 5
    lasting = [one for one, after in pairwise(moves[1:]) if after[5] - one[5] > 7]
    for one in lasting[:3]:
        assert judge.judged([each for each in moves if each != one]).wrong, "a move is missing"
        assert judge.judged(
            [each._replace(after=("c9",)) if each == one else each for each in moves]
        ).wrong
        place = moves.index(one)
        assert "does not follow" in judge.judged([*moves[:place], one, *moves[place:]]).wrong[0]
    assert judge.judged([*moves, moves[0]._replace(queue=QUEUE._replace(queue_id=7))]).wrong


def test_a_reading_beside_a_frozen_broker_that_is_slow_or_lacks_a_list_is_wrong():
    right = {"seconds": 3, "groups": 5, "clients": 5, "offsets": 5, "errors": 0, "memory": 9}
    assert list(faults(right, 5, 10)) == []
    for change in ({"seconds": 11}, {"clients": 4}, {"errors": 1}, {"memory": 900}):
        assert list(faults(right | change, 5, 10))


def test_a_departure_that_is_not_reported_or_has_a_false_cause_is_noticed():
    right = ShownNow(
        page="", metrics="", ready="503 no name server answers", status="no name server answers",
        findings=frozenset({"broker-left"}), guard="unknown", after="", history="",
        down=frozenset({"broker b"}), departed=frozenset({("broker", "dead")}),
    )  # fmt: skip
    expected = Expected(
        ("broker-left",), down=("b",), departed=(("broker", "dead"),), is_ready=False,
        guards=("unknown",), has_error=True,
    )  # fmt: skip
    assert wrong(right, expected) == []
    for name, value, fault in (
        ("findings", frozenset(), "no finding broker-left"),
        ("findings", right.findings | {"stranded-backlog"}, "a false finding stranded-backlog"),
        ("down", frozenset(), "source_up is 0 for []"),
        ("departed", frozenset({("broker", "unlisted")}), "left: [('broker', 'unlisted')]"),
        ("ready", "200", "/readyz is 200"),
        ("status", "None", "the error of /v1/status is None"),
        ("guard", "yes", "guard says yes"),
    ):
        (found,) = wrong(right._replace(**{name: value}), expected)
        assert found.startswith(fault), (name, found)


# --- A service beside a single reading ---

LAG = ("metrics", "rmqalloc_group_lag_messages", "consumer_group=g")
OWNERS = ("snapshot", "groups", "name=g 1", "clients")


def stated(place, value, failed=None, dated=()):
    return Answers({place: value}, 120.0, failed, frozenset(dated))


@pytest.mark.parametrize(
    ("served_now", "fresh", "kind"),
    [
        (stated(LAG, 5), [stated(LAG, 5)], "equal"),
        (stated(LAG, 5), [stated(LAG, 4), stated(LAG, 5)], "equal"),
        (stated(OWNERS, 5), [stated(LAG, 5), stated(OWNERS, 5)], "absent"),
        (stated(LAG, 5, failed="no server answers"), [None, None], "aged"),
        (stated(OWNERS, 5, dated=["groups g"]), [stated(LAG, 5)], "aged"),
        (stated(LAG, 5), [stated(LAG, 4)], "fault"),
        (stated(LAG, 5), [stated(OWNERS, 5)], "fault"),
        (stated(LAG, 5), [None], "fault"),
        (stated(LAG, 5, dated=["groups g"]), [stated(OWNERS, 5)], "fault"),
        (stated(OWNERS, 5, dated=["topics g", "groups h"]), [stated(LAG, 5)], "fault"),
    ],
)
def test_a_sample_is_that_of_a_single_reading_or_absent_or_has_its_age(served_now, fresh, kind):
    found = compared(served_now, fresh)
    assert bool(found.faults) == (kind == "fault")
    assert kind == "fault" or found.counts[kind] == 1


INFO = ReadCode.GET_CONSUMER_RUNNING_INFO
DOWN = {
    "a broker is frozen": lambda servers: setattr(servers, "frozen", {"broker-1"}),
    "a client is silent": lambda servers: setattr(servers, "silent", {"c-1"}),
    "the name server is frozen": lambda servers: setattr(servers, "frozen", {"name server"}),
}


def owning(servers):
    """Running infos of clients that own queues; a silent one gives none."""

    def answer(_broker, request):
        client_id = request.ext_fields["clientId"]
        if client_id in servers[0].silent:
            return None
        number = int(client_id[-1])
        return running_info([2 * number, 2 * number + 1])

    return answer


@pytest.mark.parametrize("state", DOWN)
def test_nothing_of_before_is_served_as_if_it_were_of_now(state):
    made = []
    with (
        SimulatedLoopback(more={INFO: owning(made)}) as servers,
        Rereader(servers.name_server, every=1) as reader,
    ):
        made.append(servers)
        single = fetch(servers.name_server)
        looks = [reader.read()]
        DOWN[state](servers)
        looks += [reader.read(), reader.read()]
        if state != "the name server is frozen":  # a single reading fails without it
            single = fetch(servers.name_server)
    readings = readings_of(*looks)
    readings.read_once()
    readings.read_once()
    with served(readings) as client:
        found = answers_of(client)
    with served(readings_of(reading(single, is_whole=not single.errors))) as client:
        fresh = answers_of(client)
    result = compared(found, [fresh])
    assert result.faults == ()
    assert result.counts["equal"] > 20


# --- Alerts, and restarts with the hook ---

ALERTS_AS_PLAYED = [Shown(play, 100.0, 500.0) for act in ACTS for play in act]
STEP = 30.0


def fired(begin=400.0, end=530.0):
    """Spans of all alerts as they should be."""
    return [
        span
        for shown in ALERTS_AS_PLAYED
        for expected in shown.play.expected
        for span in (
            AlertSpan(expected.alert, "pending", dict(expected.labels), 130.0, begin - STEP),
            AlertSpan(expected.alert, "firing", dict(expected.labels), begin, end),
        )
    ]


def faults_of_alerts(spans):
    report = Report("alerts")
    judged_alerts(report, ALERTS_AS_PLAYED, spans, Recorded(1000.0, STEP))
    return report.wrong


def test_alerts_that_fire_and_clear_pass():
    assert faults_of_alerts(fired()) == []


def test_each_alert_is_played_and_one_that_never_fires_is_found():
    names = {expected.alert for shown in ALERTS_AS_PLAYED for expected in shown.play.expected}
    for name in names:
        wrong = faults_of_alerts([span for span in fired() if span.alert != name])
        assert f"{name} never fired in an incident" in wrong
    pending = [span for span in fired() if span.state == "pending"]
    assert sum("never fired" in text for text in faults_of_alerts(pending)) == len(names)


def test_an_alert_that_stays_or_that_no_incident_explains_is_found():
    stays = faults_of_alerts(fired(end=990.0))
    assert len(stays) == len(fired()) / 2 and all("did not clear" in text for text in stays)
    foreign = AlertSpan("RmqallocUnownedLag", "firing", {"consumer_group": "calm"}, 400.0, 430.0)
    [wrong] = faults_of_alerts([*fired(), foreign])
    assert "consumer_group calm" in wrong and "without an incident" in wrong
    early = AlertSpan("RmqallocDown", "firing", {}, 40.0, 70.0)
    [wrong] = faults_of_alerts([*fired(), early])
    assert wrong.startswith("RmqallocDown")


def test_the_pace_divides_each_duration_of_a_rule():
    text = RULES.read_text(encoding="utf-8")
    assert "for: 5m" in text and "[15m]" in text
    assert "for: 30000ms" in paced(text, 10) and "[90000ms]" in paced(text, 10)
    assert "rmqalloc_source_up == 0" in paced(text, 10)


def test_runs_end_at_a_gap():
    assert unbroken([0.0, 30.0, 60.0, 120.0], 30.0) == [(0.0, 60.0), (120.0, 120.0)]


def owners_of(holdings):
    return Owners({queue: line for (_, queue), line in timelines(holdings).items()})


def test_owners_of_pods_are_settled_or_not():
    queues = [MessageQueue("T", "b", number) for number in range(4)]
    holdings = [
        Holding(0.0, "g", "a", frozenset(queues)),
        Holding(10.0, "g", "a", frozenset(queues[:2])),
        Holding(12.0, "g", "b", frozenset(queues[2:])),
    ]
    owners = owners_of(holdings)
    assert owners.is_settled(5.0, 1) and not owners.is_settled(5.0, 2)
    assert not owners.is_settled(11.0, 2)
    assert owners.is_settled(13.0, 2)
    twice = owners_of(
        [*holdings, *(Holding(14.0, "g", client, frozenset(queues)) for client in "ab")]
    )
    uneven = owners_of(
        [
            *holdings,
            Holding(14.0, "g", "a", frozenset(queues[:1])),
            Holding(14.0, "g", "b", frozenset(queues[1:])),
        ]
    )
    assert not twice.is_settled(15.0, 2) and not uneven.is_settled(15.0, 2)
    assert owners.unowned(0.0, 20.0) == Unowned(2, 2.0, 4.0)
    assert owners.unowned(13.0, 20.0) == Unowned(0, 0.0, 0.0)


def test_stops_that_overlap_are_counted():
    apart = [Stopped(0.0, at, at + 2.0, at + 5.0) for at in (10.0, 20.0)]
    together = [Stopped(0.0, at, at + 2.0, at + 5.0) for at in (20.1, 20.0, 30.0)]
    assert n_overlapping(apart, lambda at: True) == 0
    assert n_overlapping(together, lambda at: True) == 1
    assert n_overlapping(apart, lambda at: at < 15.0) == 1
