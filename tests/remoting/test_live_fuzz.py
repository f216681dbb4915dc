"""A little of the wire's fuzz: ``python -m fuzz.wire`` has the long form."""

from fuzz import wire
from fuzz.outcome import Outcome


def test_whatever_comes_is_read_or_refused():
    made = wire.run(600, 7)
    assert isinstance(made, Outcome) and made.inputs == 1204
    assert made.tracebacks == []
    assert made.errors["read"] > 150 and made.errors["AnswerError"] > 50, (
        "most changes leave JSON, some an answer"
    )
