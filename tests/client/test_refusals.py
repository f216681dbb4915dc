"""What a member does when servers refuse its requests, and what its author sees: every request with
every answer, run on a simulated clock.
"""

import asyncio
import logging

import pytest
import simulated_time
from wire_cluster import CLOSED, GARBAGE, SILENT, WireCluster
from wire_members import Heard, bodies, member, own, until

from rmqalloc import MessageQueue
from rmqalloc.client import (
    RECONSUME_LATER,
    ConsumeFromWhere,
    MemberCode,
    RefusedError,
    _outcomes,
)
from rmqalloc.client._outcomes import FORGOTTEN_AFTER, MOST_KEPT, Outcomes
from rmqalloc.errors import Error
from rmqalloc.rebalance import Intervals
from rmqalloc.remoting import DEFAULT_PROFILE, RemotingError, ResponseError
from rmqalloc.remoting.credentials import Credentials

ROUTE, CHECK, BEAT = (
    MemberCode.GET_ROUTEINFO_BY_TOPIC,
    MemberCode.CHECK_CLIENT_CONFIG,
    MemberCode.HEART_BEAT,
)
CLIENTS, PULL, QUERY = (
    MemberCode.GET_CONSUMER_LIST_BY_GROUP,
    MemberCode.PULL_MESSAGE,
    MemberCode.QUERY_CONSUMER_OFFSET,
)
UNREGISTER = MemberCode.UNREGISTER_CLIENT
AS_IN_JAVA = {"intervals": Intervals(), "profile": DEFAULT_PROFILE}
LONG = 40
"""Seconds in which every request is made again."""

ANSWERS = (1, 16, 17, 23, 24, 25, 26, 27, 46, CLOSED, SILENT, GARBAGE)
MATRIX = [
    # R: start raises RefusedError. E: start raises RemotingError. w: it starts; one warning, the
    # refusal in health(), and one line when the request is granted. t: it starts, and the log says
    # that the server fails. o: another request is refused in its place. -: nothing is seen.
    #            1 16 17 23 24 25 26 27 46  closed, silent, garbage
    (ROUTE, "wRwwwwwww EEE", {}),
    (CHECK, "RRRRRRRRR tt-", {"sql": True}),
    (BEAT, "wRwwwwwww tto", {}),
    (CLIENTS, "wwwwwwwww ttw", {}),
    (MemberCode.QUERY_ASSIGNMENT, "wwwwwwwww ttw", {"client_rebalance": False}),
    (MemberCode.LOCK_BATCH_MQ, "wwwwwwwww ttw", {"orderly": True}),
    (MemberCode.UNLOCK_BATCH_MQ, "--------- ---", {"orderly": True}),
    (QUERY, "wwwwwwwww ttw", {}),
    (MemberCode.UPDATE_CONSUMER_OFFSET, "--------- ---", {}),
    (
        MemberCode.GET_MAX_OFFSET,
        "wwwwwwwww ttw",
        {"consume_from_where": ConsumeFromWhere.LAST_OFFSET},
    ),
    (
        MemberCode.SEARCH_OFFSET_BY_TIMESTAMP,
        "wwwwwwwww ttw",
        {"consume_from_where": ConsumeFromWhere.TIMESTAMP},
    ),
    (PULL, "wwwwwwwww ttw", {}),
    (MemberCode.CONSUMER_SEND_MSG_BACK, "wwwwwwwww tt-", {}),
    (UNREGISTER, "wwwwwwwww tt-", {}),
]


@pytest.fixture(autouse=True)
def logged(caplog):
    caplog.set_level(logging.INFO, "rmqalloc.client")
    return caplog


def lines(caplog, level, logger=_outcomes.__name__):
    return [
        record.getMessage()
        for record in caplog.records
        if record.name == logger and record.levelno == level
    ]


CELLS = [
    pytest.param(request, answer, expected, settings, id=f"{request.name}-{answer}")
    for request, row, settings in MATRIX
    for answer, expected in zip(ANSWERS, row.replace(" ", ""), strict=True)
]


@pytest.mark.thorough(keep=14)
@pytest.mark.parametrize(("request_code", "answer", "expected", "settings"), CELLS)
def test_every_request_with_every_answer(request_code, answer, expected, settings, caplog):
    found = simulated_time.run(seen(request_code, answer, caplog, **settings))
    assert found == expected


async def seen(request, answer, caplog, sql=False, **settings):
    """Refuse one request from the start on, then grant it; the letter of what was seen."""
    async with WireCluster({"orders": 2}) as cluster:
        cluster.longest_poll = 15
        broker = cluster.brokers["broker-a"]
        heard = Heard(lambda them: None if them[0].reconsume_times else RECONSUME_LATER)
        consumer = member(cluster, heard.in_loop, **AS_IN_JAVA | settings)
        if sql:
            consumer.subscribe("orders", "a > 1", "SQL92")
        refused = (cluster if request is ROUTE else broker).refused
        refused[request] = answer
        try:
            await consumer.start()
        except Error as error:
            await asyncio.sleep(0.01)
            assert not broker.client_ids("g") and not broker.channels, "nothing is left"
            return {RefusedError: "R", RemotingError: "E"}[type(error)]
        await asyncio.sleep(5)
        for queue in cluster.queues():
            await cluster.put(queue, *bodies(queue.queue_id))
        await asyncio.sleep(LONG)
        names = {refusal.request for refusal in consumer.health().refused}
        if request is not UNREGISTER:
            refused.clear()
            for queue in cluster.queues():
                await cluster.put(queue, *bodies(queue.queue_id))
            await asyncio.sleep(LONG)
            assert consumer.health().refused == ()
            assert own(consumer) == set(cluster.queues()), "it goes on"
        await consumer.close()
    return letter(request, names, caplog)


def letter(request, names, caplog):
    warnings, again = lines(caplog, logging.WARNING), lines(caplog, logging.INFO)
    n_again = request is not UNREGISTER
    if warnings:
        assert (len(warnings), len(again)) == (1, n_again)
        if request.name not in warnings[0]:
            return "o"
        assert request is UNREGISTER or request.name in names
        return "w"
    assert request.name not in names and not again
    return "t" if "tried again" in caplog.text else "-"


# --- What keeps a member from starting, and what does not ---


@pytest.mark.parametrize(
    "remark", ["org.apache.rocketmq.acl.common.AclException: No accessKey is configured", ""]
)
def test_a_start_that_is_refused_says_what_to_do_and_leaves_nothing(remark, monkeypatch):
    """One broker of two refuses; the other one had registered the member."""

    async def run():
        async with WireCluster({"orders": 2}, brokers=2) as cluster:
            accepts, refuses = cluster.brokers.values()
            heard = Heard()
            await cluster.put(cluster.queues()[0], *bodies(1))

            async def heartbeat(*_request):
                raise ResponseError(1 if remark else 16, remark)

            refuses._on_34 = heartbeat
            consumer = member(cluster, heard.in_loop)
            with pytest.raises(RefusedError) as caught:
                await consumer.start()
            await asyncio.sleep(0.01)
            error = caught.value
            assert (error.code, error.consumer_group) == (1 if remark else 16, "g")
            assert error.refusal.address == cluster.addresses[refuses.name]
            assert "credentials=" in str(error) and remark in str(error)
            assert accepts.count(BEAT) and accepts.count(UNREGISTER)
            assert not accepts.client_ids("g") and not accepts.channels and not refuses.channels
            assert not heard.messages and not accepts.count(PULL), "nothing was consumed before"
            assert [refusal.request for refusal in consumer.health().refused] == ["HEART_BEAT"]

    simulated_time.run(run())


def test_keys_that_are_not_signed_with_keep_a_member_from_starting():
    """Its brokers are at other hosts than its name servers, and ``acl_address`` names none."""

    async def run():
        async with WireCluster({"orders": 2}) as cluster:
            cluster.addresses["broker-a"] = "localhost:1"
            consumer = member(cluster, Heard().in_loop, credentials=Credentials("k", "s"))
            with pytest.raises(
                RefusedError, match=r"no request is sent to localhost:1.*acl_address"
            ) as caught:
                await consumer.start()
            assert caught.value.refusal.code is None

    simulated_time.run(run())


def test_a_silent_broker_and_one_that_is_gone_do_not_keep_it_from_starting():
    async def run():
        async with WireCluster({"orders": 2}, brokers=3) as cluster:
            cluster.brokers["broker-b"].freeze()
            cluster.addresses["broker-c"] = "127.0.0.1:1"
            loop = asyncio.get_running_loop()
            began = loop.time()
            async with member(cluster, Heard().in_loop, close_within=0.1) as consumer:
                assert loop.time() - began <= 3.1
                mine = {queue for queue in cluster.queues() if queue.broker_name == "broker-a"}
                await until(lambda: mine <= own(consumer))
                health = consumer.health()
                assert cluster.addresses["broker-a"] in health.connected
                assert set(health.heartbeats) == {cluster.addresses["broker-a"]}
                assert health.failing.keys() == {"127.0.0.1:1", cluster.addresses["broker-b"]}

    simulated_time.run(run())


def test_a_condition_is_checked_by_one_broker_before_heartbeats():
    async def run():
        async with WireCluster({"orders": 2}) as cluster:
            broker, consumer = cluster.brokers["broker-a"], member(cluster, Heard().in_loop)
            consumer.subscribe("orders", "a > 1", "SQL92")
            async with consumer:
                [body] = broker.checked
                assert (body["group"], body["clientId"]) == ("g", consumer.client_id)
                assert body["subscriptionData"]["subString"] == "a > 1"
                codes = [code for code, _ in broker.asked]
                assert codes.index(CHECK) < codes.index(BEAT)

    simulated_time.run(run())


# --- While it runs ---


def test_a_permission_that_is_taken_away_is_one_warning_and_one_line_when_it_is_back(caplog):
    async def run():
        async with WireCluster({"orders": 2}) as cluster:
            broker, heard = cluster.brokers["broker-a"], Heard()
            async with member(cluster, heard.in_loop) as consumer:
                await until(lambda: own(consumer) == set(cluster.queues()))
                assert not lines(caplog, logging.WARNING)
                broker.refused = dict.fromkeys((BEAT, CLIENTS, PULL, QUERY), 16)
                await asyncio.sleep(LONG)
                names = {refusal.request for refusal in consumer.health().refused}
                assert names >= {"HEART_BEAT", "GET_CONSUMER_LIST_BY_GROUP", "PULL_MESSAGE"}
                assert len(lines(caplog, logging.WARNING)) == 1
                broker.refused.clear()
                await asyncio.sleep(LONG)
                assert consumer.health().refused == ()
                assert len(lines(caplog, logging.WARNING)) == 1
                assert [line[-16:] for line in lines(caplog, logging.INFO)] == ["everything again"]

    simulated_time.run(run())


def test_health_says_how_far_behind_it_is_and_who_took_its_heartbeats():
    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            gate, queue = asyncio.Event(), cluster.queues()[0]

            async def listener(messages):
                await gate.wait()

            consumer = member(cluster, listener)
            with pytest.raises(Error, match="has not started"):
                consumer.health()
            async with consumer:
                await until(lambda: own(consumer) == {queue})
                await cluster.put(queue, *bodies(*range(5)))
                await until(lambda: consumer.health().lag[queue] == 5)
                health = consumer.health()
                assert health.total_lag == 5 and health.refused == () and not health.failing
                assert set(health.connected) == {
                    cluster.name_server,
                    cluster.addresses["broker-a"],
                }
                [before] = health.heartbeats.values()
                gate.set()
                await until(lambda: not consumer.health().total_lag)
                await asyncio.sleep(1)
                [after] = consumer.health().heartbeats.values()
                assert 700 <= after - before <= 1_500

    simulated_time.run(run())


class Clock:
    now = 0

    def __call__(self):
        return self.now


def outcome(outcomes, code, subject="", error=None):
    try:
        with outcomes.of("a:1", code, subject):
            if error is not None:
                raise error
    except Error:
        pass


def test_a_request_is_granted_when_it_is_for_every_queue(caplog):
    outcomes = Outcomes("g", Clock())
    first, second = (MessageQueue("orders", "broker-a", i) for i in range(2))
    for queue in (first, second):
        outcome(outcomes, PULL, queue, ResponseError(23, "no"))
    outcome(outcomes, PULL, first)
    assert [(refusal.topic, refusal.count) for refusal in outcomes.refused()] == [("orders", 2)]
    assert not lines(caplog, logging.INFO)
    outcome(outcomes, PULL, second)
    assert not outcomes.refused() and len(lines(caplog, logging.INFO)) == 1
    outcome(outcomes, PULL, first, ResponseError(23, "no"))
    assert len(lines(caplog, logging.WARNING)) == 2, "it is refused again"


def test_another_code_is_another_warning_and_a_topic_of_retries_is_none(caplog):
    outcomes = Outcomes("g", Clock())
    for code in (17, 17, 23, 17):
        outcome(outcomes, PULL, "orders", ResponseError(code, "no"))
    outcome(outcomes, PULL, "%RETRY%g", ResponseError(23, "no"))
    found = [line.partition(": code ")[2][:2] for line in lines(caplog, logging.WARNING)]
    assert found == ["17", "23", "17"]
    assert [refusal.topic for refusal in outcomes.refused()] == ["orders", "%RETRY%g"]


def test_what_the_next_heartbeat_ends_is_worth_a_warning_after_it(caplog):
    clock = Clock()
    outcomes, refused = Outcomes("g", clock), ResponseError(25, "subscription not latest")
    clock.now = 1_000
    for clock.now in (1_000, 2_000):
        outcome(outcomes, PULL, "orders", refused)
    assert not lines(caplog, logging.WARNING) and outcomes.refused()
    outcome(outcomes, BEAT)
    outcome(outcomes, PULL, "orders", refused)
    assert len(lines(caplog, logging.WARNING)) == 1


def test_refusals_are_forgotten_and_bounded():
    clock = Clock()
    outcomes = Outcomes("g", clock)
    for clock.now in range(MOST_KEPT + 5):
        outcome(outcomes, PULL, f"topic-{clock.now}", ResponseError(23, "no"))
    kept = outcomes.refused()
    assert len(kept) == MOST_KEPT and kept[0].topic == "topic-5"
    clock.now += FORGOTTEN_AFTER
    assert outcomes.refused()[0].topic == f"topic-{MOST_KEPT + 4}"
    clock.now += 1
    assert outcomes.refused() == ()
