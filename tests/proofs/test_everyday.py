"""The judges of the day in fast motion, on days that were made up: true stories pass, and every lie
is found.
"""

import random
from itertools import pairwise

import pytest
from everyday.judging import (
    MemberTold,
    MoveJudge,
    MoveTold,
    members_judged,
    timelines,
    without_beginning,
)
from everyday.looking import Look
from everyday.script import GROUPS, Act, beginning, drawn
from everyday.stage import Happened, Holding, NotComparable

from rmqalloc import MessageQueue
from rmqalloc.watching import LastingStates

QUEUE = MessageQueue("day-orders", "broker-a", 0)
JOINED = Happened(0, "joined", "day-orders", "c1", 10.0, 10.5)
TOLD = MemberTold("joined", "day-orders", "c1", 9.8, 10.9)


@pytest.mark.parametrize("seed", range(5))
def test_a_script_never_empties_a_group_and_uses_no_frozen_machine(seed):
    acts = drawn(seed, 50, with_expiry=True)
    assert acts == drawn(seed, 50, with_expiry=True)
    assert 50 <= len(acts) <= 51
    assert {one.kind for one in acts} == {"join", "leave", "kill", "freeze", "expire", "thaw"}
    there = {act.member: act for act in beginning()}
    frozen = None
    for act in acts:
        assert frozen is None or act == Act("thaw", frozen)
        frozen = act.machine if act.kind in ("freeze", "expire") else None
        if act.kind == "join":
            assert act.member not in there
            there[act.member] = act
        elif act.kind == "leave":
            assert there.pop(act.member).machine == act.machine
        elif act.kind == "kill":
            there = {name: one for name, one in there.items() if one.machine != act.machine}
        assert {one.group for one in there.values()} == GROUPS.keys()


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


def test_what_was_there_at_the_beginning_is_no_join():
    first = TOLD._replace(last_seen_before=None)
    assert without_beginning([first, TOLD], {"c1": "day-orders"}) == [TOLD]
    assert without_beginning([first], {"c1": "day-billing"}) == [first]


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


def test_what_nobody_can_know_is_not_compared():
    holdings, looks, moves = day(1)
    assert MoveJudge(holdings, looks, []).judged(moves[:-3]).wrong
    assert (
        not MoveJudge(holdings, looks, [NotComparable("day-orders", -10, 300)])
        .judged(moves[:-3])
        .wrong
    )
    assert (
        MoveJudge(holdings, looks, [NotComparable("day-stock", -10, 300)]).judged(moves[:-3]).wrong
    )
