"""Groups whose clients have classes of our own: known by their names, with parameters that nobody
reports.
"""

from dataclasses import replace

import pytest

from rmqalloc.evidence import with_strategies
from rmqalloc.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.strategies.by_name import rule

TOPIC = Topic("T", (TopicBroker("a", 16), TopicBroker("b", 16)))
SLOTS = tuple(f"10.0.0.{9 - i}@web-{i}" for i in range(4))


def known(clients, **fields):
    """The group of some clients, with its strategy."""
    [group] = with_strategies(
        Snapshot((TOPIC,), (Group("g", ("T",), tuple(clients), **fields),))
    ).groups
    return group


def owning(name, **params):
    """Clients that own what a strategy gives them, and report its name."""
    queues, made = sorted(TOPIC.queues()), rule(name, **params)
    return [
        Client(one, strategy=name, owned=tuple(made.allocate("g", one, queues, list(SLOTS))))
        for one in SLOTS
    ]


@pytest.mark.parametrize(
    ("name", "params"), [("ORDINAL/1", {"tables": True}), ("STABLE/1", {"slack": 1})]
)
@pytest.mark.parametrize("is_default", [True, False])
def test_parameters_are_fitted_where_only_a_class_is_reported(name, params, is_default):
    found = {} if is_default else params
    group = known(owning(name, **found))
    assert (group.strategy, group.strategy_params, group.strategy_explains) == (name, found, 1.0)
    assert (group.strategy_source, group.strategy_doubt) == ("fitted", None)


def test_a_class_without_known_owners_is_a_guess_as_it_may_have_been_made_with_parameters():
    group = known([Client(one, strategy="ORDINAL/1") for one in SLOTS])
    assert (group.strategy, group.strategy_source) == ("ORDINAL/1", "reported")
    assert "do not report the parameters of ORDINAL/1" in group.strategy_doubt


@pytest.mark.parametrize(
    ("name", "params"), [("ORDINAL/1", {"tables": False}), ("STABLE/1", {"slack": 0})]
)
def test_parameters_that_are_written_down_are_not_guessed(name, params):
    group = known([Client(one) for one in SLOTS], strategy=name, strategy_params=params)
    assert (group.strategy_params, group.strategy_source, group.strategy_doubt) == (
        params,
        "given",
        None,
    )


def test_owners_that_refute_a_class_are_a_doubt_that_says_which_parameters_were_tried():
    queues = sorted(TOPIC.queues())
    shares = {one: tuple(rule("AVG").allocate("g", one, queues, sorted(SLOTS))) for one in SLOTS}
    group = known([Client(one, strategy="STABLE/1", owned=share) for one, share in shares.items()])
    assert group.strategy == "STABLE/1"
    assert group.strategy_doubt.endswith("AVG 32")


def test_classes_that_nobody_reports_are_not_guessed():
    assert known(replace(one, strategy=None) for one in owning("STABLE/1")).strategy == "AVG"
