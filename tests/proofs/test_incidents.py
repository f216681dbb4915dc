"""The program of incidents: that it calls a wrong answer of ``check`` wrong. No cluster is started
here.
"""

import dataclasses

import pytest
from incidents.judging import Right, Said, allowed_partial, false, missing
from incidents.page import page
from incidents.stage import Played, all_right

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
        "message": message, "advice": "Look again.",
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
        (KILLED, said(4, DEAD, messages=500)),
        (KILLED, said(2, DEAD, messages=500, code_of_text=0)),
        (KILLED, said(2, DEAD, messages=499)),
        (KILLED, said(2, found("no-consumer", "error", 0), messages=500)),
        (KILLED, said(2, found("no-consumer", "note", 0, 1), messages=500)),
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
        (KILLED, said(1, text="no broker")),
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


def test_two_groups_may_have_a_queue_under_one_rule_each():
    both = found("unowned-queue", "error", 0), found("actual-unowned", "error", 0, group="h")
    assert not false(dataclasses.replace(KILLED, no_all_clear=False), said(2, *both))


def test_an_error_may_be_false_only_while_something_is_not_known():
    right = Right("0 findings at last", 0, no_errors_if_not_known=("owners",))
    error = found("actual-unowned", "error", 0)
    assert false(right, said(2, error, kinds=("owners", "lags")))
    assert not false(right, said(2, error, kinds=("lags",)))


def test_partial_is_no_clean_while_queues_are_unread():
    assert allowed_partial(said(0), 1)
    assert not allowed_partial(said(0), 0) and not allowed_partial(said(4), 1)


def test_one_wrong_incident_ends_the_program_with_1_and_stands_on_the_page():
    right = Played("killed", KILLED, said(2, DEAD), 1.0, [], 3, ["no lag is left"])
    wrong = dataclasses.replace(
        right, wrong=["exit code 0, right is 2"], incident="10.0.0.7@1 | frozen"
    )
    assert all_right([right]) and not all_right([right, wrong]) and not all_right([])
    text = page([right, wrong], 9.0)
    assert "**no**: exit code 0, right is 2" in text and "2 incidents, 6 answers, 1 wrong" in text
    assert "| HOST@1 \\| frozen |" in text and "10.0.0.7" not in text
