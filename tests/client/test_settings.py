"""What a consumer refuses when it is made, and in which words."""

import inspect
from functools import partial

import pytest
import simulated_time
from wire_cluster import WireCluster
from wire_members import member, own, until

import rmqalloc
from rmqalloc.client import (
    ArgumentError,
    ArgumentTypeError,
    ClientError,
    Error,
    MemberSettings,
    PushConsumer,
)
from rmqalloc.client.results import outcome_of
from rmqalloc.remoting import Credentials

GIVEN = {"name_server": "127.0.0.1:9876", "listener": print}


def made(group="g", **settings):
    return PushConsumer(group, **GIVEN | settings)


@pytest.mark.parametrize(
    ("values", "settings", "said"),
    [
        (("g",), {}, "PushConsumer needs the setting listener"),
        ((), {"listener": print}, "PushConsumer needs the setting consumer_group"),
        (("g",), {"listner": print}, "no setting 'listner'; did you mean listener?"),
        (
            ("g",),
            {"listener": print, "pullBatchSize": 8},
            "no setting 'pullBatchSize'; did you mean pull_batch_size?",
        ),
        (("g", print), {}, "PushConsumer takes consumer_group by position and all else by name"),
        (("g",), {"listener": print, "consumer_group": "h"}, "got consumer_group twice"),
    ],
)
def test_names_are_those_of_settings(values, settings, said):
    with pytest.raises(ArgumentTypeError) as caught:
        PushConsumer(*values, **settings)
    assert said in str(caught.value) and str(caught.value).startswith("PushConsumer")
    assert isinstance(caught.value, TypeError) and isinstance(caught.value, Error)


def test_the_signature_is_that_of_its_settings():
    assert list(inspect.signature(PushConsumer).parameters)[:2] == ["consumer_group", "listener"]
    assert inspect.signature(MemberSettings).parameters["orderly"].default is False


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("consume_concurrently", "20", "must be a whole number, got str '20'"),
        ("consume_concurrently", True, "must be a whole number, got bool True"),
        ("pull_threshold_for_topic", 1.5, "must be a whole number, got float 1.5"),
        ("strategy", "AVG", "a strategy, such as rmqalloc.strategy('AVG'), got str 'AVG'"),
        ("orderly", "false", "must be True or False, got str 'false'"),
        ("message_model", "BROADCASTING", "must be MessageModel.CLUSTERING or"),
        ("tls", True, "got bool True"),
        ("profile", "5.5", "one of rmqalloc.remoting.PROFILES"),
        ("intervals", None, "rmqalloc.rebalance.Intervals, got NoneType"),
        ("consume_timeout", "15", "a number of minutes"),
        ("name_server", 9876, "a text such as '10.0.0.1:9876', got int 9876"),
        ("listener", "no function", "must be a function of (messages)"),
        ("listener", lambda messages, context: None, "accepts (messages, context)"),
        ("queue_listener", print, None),
        ("queue_listener", lambda topic: None, "(topic, mq_all, mq_divided)"),
    ],
)
def test_values_of_other_types_are_refused_in_the_words_of_the_setting(name, value, said):
    if said is None:
        made(**{name: value})
        return
    with pytest.raises(ArgumentTypeError) as caught:
        made(**{name: value})
    assert str(caught.value).startswith(name) and said in str(caught.value)


def test_every_setting_refuses_a_value_of_another_type():
    for name in list(inspect.signature(PushConsumer).parameters)[1:]:
        with pytest.raises(ArgumentTypeError, match=f"^{name} must be "):
            made(**{name: object()})


def test_keys_are_never_shown():
    with pytest.raises(ArgumentTypeError) as caught:
        made(credentials="access:s3cret")
    assert "s3cret" not in str(caught.value)
    consumer = made(credentials=Credentials("access", "s3cret"))
    assert "s3cret" not in repr(consumer) and "\n" not in repr(consumer)


def generating(messages):
    yield messages


async def generating_later(messages):
    yield messages


@pytest.mark.parametrize("listener", [generating, generating_later])
def test_a_listener_that_would_do_nothing_is_refused(listener):
    with pytest.raises(ArgumentTypeError, match="a function with a yield"):
        made(listener=listener)


class Bill:
    def __call__(self, messages):
        return None

    async def later(self, messages):
        return None


@pytest.mark.parametrize(
    "listener",
    [Bill(), Bill().later, partial(lambda rate, messages: None, 2), [].extend, lambda *given: None],
)
def test_listeners_are_whatever_takes_messages(listener):
    assert made(listener=listener).listener is listener


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("", "needs the name of a group, got ''"),
        ("\t", "needs the name of a group"),
        ("order svc", "letters, digits and %|_- only, got order svc"),
        ("g\n", "letters, digits and %|_- only"),
        ("g" * 121, "at most 120 characters, got 121"),
        ("DEFAULT_CONSUMER", "which means no group"),
    ],
)
def test_a_group_has_a_name_that_brokers_take(group, said):
    with pytest.raises(ArgumentError) as caught:
        made(group)
    assert said in str(caught.value)
    assert isinstance(caught.value, ValueError)
    made("%RETRY%a|B_9-" + "g" * 107)


@pytest.mark.parametrize("name", ["instance_name", "unit_name"])
@pytest.mark.parametrize(
    "text", ["", " ", "a b", "a@b", "a/b", "a\\b", "a\x1b[2J", "a\n", "\u202e"]
)
def test_a_part_of_a_client_id_can_be_told_from_the_others(name, text):
    with pytest.raises(ArgumentError, match=f"^{name} is a part of the client id"):
        made(**{name: text})
    made(**{name: "orders#1-ä"})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"pull_threshold_for_queue": -1},
            "pull_threshold_for_queue must be from 1 to 65535, got -1",
        ),
        ({"consume_timestamp": "20261301000000"}, "yyyyMMddHHmmss"),
        ({"consume_timeout": float("nan")}, "consume_timeout must be above 0"),
        ({"close_within": float("nan")}, "close_within at least 0"),
        ({"name_server": "10.0.0.1"}, "name server '10.0.0.1' is not host:port"),
        ({"name_server": ";"}, "no name server given"),
    ],
)
def test_values_without_a_meaning_are_refused_before_the_start(settings, said):
    with pytest.raises(ArgumentError) as caught:
        made(**settings)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("subscription", "error", "said"),
    [
        (("",), ArgumentError, "needs the name of a topic, got ''"),
        ((None,), ArgumentTypeError, "topic must be a text, got NoneType"),
        (("orders.paid",), ArgumentError, "letters, digits and %|_- only, got orders.paid"),
        (("t" * 128,), ArgumentError, "at most 127 characters, got 128"),
        (("TBW102",), ArgumentError, "has no messages"),
        (("orders", ["paid"]), ArgumentTypeError, "expression must be a text, got list"),
        (("orders", "a > 1", "SQL"), ArgumentError, "type TAG or SQL92, got 'SQL'"),
        (("orders", "", "SQL92"), ArgumentError, "needs an expression, got ''"),
    ],
)
def test_a_subscription_is_one_that_a_broker_serves(subscription, error, said):
    consumer = made()
    with pytest.raises(error) as caught:
        consumer.subscribe(*subscription)
    assert said in str(caught.value) and "nothing" in repr(consumer)
    consumer.subscribe("%DLQ%" + "g" * 250)


def test_it_shows_itself_in_one_line():
    async def run():
        async with WireCluster({"orders": 4}) as cluster:
            consumer = member(cluster, print, strategy=rmqalloc.strategy("AVG"))
            assert repr(consumer) == (
                "<PushConsumer of g, not started, subscribed to orders, 0 queues>"
            )
            async with consumer:
                await until(lambda: len(own(consumer)) == 4)
                shown = f"<PushConsumer of g as {consumer.client_id}"
                assert repr(consumer).startswith(f"{shown}, running, subscribed to orders, ")
                consumer.pause()
                assert ", paused, " in repr(consumer)
            assert repr(consumer) == f"{shown}, shut down, subscribed to orders, 0 queues>"
            with pytest.raises(ClientError, match="the consumer of g is shut down"):
                consumer.resume()

    simulated_time.run(run())


def test_a_plain_function_that_returns_an_awaitable_is_told_what_to_be():
    async def bill(messages):
        return None

    with pytest.raises(ArgumentTypeError, match="that waits must be an async function"):
        outcome_of((lambda messages: bill(messages))([]), in_order=False)
