"""States that last, against the truth that sightings are of: a state of one key over time."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc.watching import LastingStates

STATES = st.sampled_from(["a", "b", None])
STEPS = st.lists(st.tuples(STATES, st.integers(1, 4)), min_size=1, max_size=12)
"""What is so, and how many seconds it stays."""
SIGHTINGS = st.lists(st.tuples(st.integers(1, 5), st.integers(0, 3)), min_size=2, max_size=25)
"""Seconds from the end of one sighting to the next, and how long that takes."""


def truth_of(steps):
    """The state at every half second, and the moments at which one begins."""
    at, begins = 0.5, []
    for value, seconds in steps:
        if not begins or begins[-1][1] != value:
            begins.append((at, value))
        at += seconds
    return begins


def state_at(begins, moment):
    return next((value for at, value in reversed(begins) if at <= moment), begins[0][1])


def sightings_of(begins, gaps, seen_at):
    """(state, first moment, last moment) of every sighting; the state is that of a moment between."""
    end = 0
    for gap, takes in gaps:
        at, end = end + gap, end + gap + takes
        yield state_at(begins, at + seen_at * takes), at, end


def slow_twin(sightings):
    """The changes: what is seen twice in a row and differs from what was seen twice in a row
    before.
    """
    told, known = [], []
    for i in range(1, len(sightings)):
        value = sightings[i][0]
        if value == sightings[i - 1][0] and known[-1:] != [value]:
            first = next(j for j in range(i, -1, -1) if j == 0 or sightings[j - 1][0] != value)
            before = next(
                (j for j in range(first - 1, -1, -1) if known and sightings[j][0] == known[-1]),
                None,
            )
            told.append(
                (
                    known[-1] if known else None,
                    value,
                    None if before is None else sightings[before][1],
                    sightings[first][2],
                )
            )
            known.append(value)
    return told


@examples(150, nightly=5000)
@given(STEPS, SIGHTINGS, st.sampled_from([0.0, 0.5, 1.0]))
def test_what_is_told_is_what_the_slow_twin_tells_and_holds_the_truth(steps, gaps, seen_at):
    begins = truth_of(steps)
    sightings = list(sightings_of(begins, gaps, seen_at))
    states = LastingStates()
    told = [one for value, at, until in sightings if (one := states.seen("k", value, at, until))]
    assert [tuple(one[1:]) for one in told] == slow_twin(sightings)
    for one in told:
        assert one.before != one.after or one.last_seen_before is None
        if one.last_seen_before is None:  # known for the first time: it is so by then
            assert any(value == one.after and at <= one.first_seen_after for at, value in begins)
        else:  # a moment at which this state begins lies between
            assert one.last_seen_before <= one.first_seen_after
            assert any(
                value == one.after and one.last_seen_before <= at <= one.first_seen_after
                for at, value in begins
            )
    for (value, *_), (again, *_) in pairwise(sightings):
        assert value != again or any(one.after == value for one in told)
    assert (states.lasting("k"), len(states)) == (told[-1].after if told else None, 1)


def test_a_known_state_needs_no_second_sighting():
    states = LastingStates()
    states.known("k", None, 1.0)
    assert states.seen("k", 1, 2.0) is None
    assert not states.is_absent("k")
    assert states.seen("k", None, 3.0) is None
    assert states.is_absent("k")
    states.forget("k")
    assert "k" not in states and states.is_absent("k") and len(states) == 0
