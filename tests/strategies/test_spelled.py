"""Strategies with their parameters in one text."""

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqalloc.strategies import STRATEGIES
from rmqalloc.strategies.by_name import rule
from rmqalloc.strategies.spelled import labels_of, spelled


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("AVG", ("AVG", {})),
        ("AVG()", ("AVG", {})),
        ("BEST", ("BEST", {})),  # whether there is one is for others to say
        ("ORDINAL/1(tables=true)", ("ORDINAL/1", {"tables": True})),
        (
            "ORDINAL( tables = false , pattern = @c# )",
            ("ORDINAL", {"tables": False, "pattern": "@c#"}),
        ),
        ("CANARY(share=1)", ("CANARY", {"share": 1.0})),
        (
            'CANARY(share=0.0001,pattern="a, (b)\\" \\\\+")',
            ("CANARY", {"share": 0.0001, "pattern": 'a, (b)" \\+'}),
        ),
        ("CANARY(share=1,pattern=*:组@é+x)", ("CANARY", {"share": 1.0, "pattern": "*:组@é+x"})),
        ("CANARY(share=1,pattern=)", ("CANARY", {"share": 1.0, "pattern": ""})),
        (
            "CANARY-ROTATED-CONSISTENT_HASH(virtual_nodes=7,share=0.5)",
            ("CANARY-ROTATED-CONSISTENT_HASH", {"virtual_nodes": 7, "share": 0.5}),
        ),
        ("MACHINE_ROOM(machine_rooms=hz+sh)", ("MACHINE_ROOM", {"machine_rooms": ["hz", "sh"]})),
        ('MACHINE_ROOM(machine_rooms="a(b"+)', None),
    ],
)
def test_what_a_text_says(text, made):
    if made is None:
        with pytest.raises(ValueError, match="is not PARAMETER=VALUE"):
            spelled(text)
    else:
        assert spelled(text) == made
        assert labels_of(f"AVG,{text} , {text}") == ["AVG", text, text]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("BEST(x=1)", "unknown strategy 'BEST'; known are AVG, "),
        ("ROTATED-BEST()", "unknown strategy 'BEST'; known are AVG, "),
        pytest.param(
            "ROTATED/2(x=1)",
            "unknown version of strategy ROTATED: ROTATED/2; known is ROTATED/1",
            id="ROTATED/2(x=1)",
        ),
        ("(share=1)", "unknown strategy ''"),
        ("STABLE(slack=1", "does not end with the parenthesis that it opens"),
        ("STABLE(slack=1)x", "does not end with the parenthesis that it opens"),
        ("STABLE(slack=1))", "'slack=1)' is not PARAMETER=VALUE"),
        ("STABLE(slack)", "'slack' is not PARAMETER=VALUE"),
        ("STABLE(slack=1,)", "'' is not PARAMETER=VALUE"),
        ("STABLE(,slack=1)", "',slack=1' is not PARAMETER=VALUE"),
        ('CANARY(pattern="a)', "'pattern=\"a' is not PARAMETER=VALUE"),
        ('CANARY(pattern="a"b)', "is not PARAMETER=VALUE"),
        ("STABLE(slack=1,slack=1)", "slack is given twice"),
        ("STABLE(slak=1)", "STABLE takes slack, got slak; did you mean slack?"),
        ("AVG(slack=1)", "AVG takes no parameters, got slack"),
        ("STABLE(slack=one)", "slack must be a whole number, got 'one'"),
        ("STABLE(slack=1.0)", "slack must be a whole number, got '1.0'"),
        ("STABLE(slack=-1)", "slack must be a whole number, got '-1'"),
        ("STABLE(slack=１)", "slack must be a whole number, got '１'"),
        ("CANARY(share=1e-1)", "share must be a number such as 0.25, got '1e-1'"),
        ("CANARY(share=nan)", "share must be a number such as 0.25, got 'nan'"),
        ("ORDINAL(tables=yes)", "tables must be true or false, got 'yes'"),
        ("ORDINAL(tables=True)", "tables must be true or false, got 'True'"),
        pytest.param(
            "WEIGHTED(capacities=3)",
            "capacities cannot be given as text; give it from Python, or as params in a file",
            id="WEIGHTED(capacities=3)",
        ),
        ("ROTATED(inner=AVG)", "ROTATED takes no parameters, got inner"),
    ],
)
def test_what_is_wrong_with_a_text(text, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        spelled(text)


def test_every_parameter_of_a_deployed_client_can_be_spelled():
    """What is left are objects of Python, the strategy inside, which is in the name, and rooms,
    which are in the table.
    """
    left = {
        one.kind for made in STRATEGIES.values() for one in made.parameters if not one.is_spelled
    }
    assert left == {"strategy", "resolver", "function", "queues", "numbers", "owners"}
    values = {"count": "1", "names": "a+b", "decimal": "1", "text": "#", "switch": "true"}
    for name, made in STRATEGIES.items():
        said = [f"{one.name}={values[one.kind]}" for one in made.parameters if one.is_spelled]
        if name not in ("POP", "CONFIG", "STICKY", "MACHINE_ROOM_NEARBY"):
            named, params = spelled(f"{name}({','.join(said)})")
            assert rule(named, **params).get_name().startswith(name)


@given(
    st.text(max_size=30), st.lists(st.text(alphabet='a#*@,()"\\= +\n组', max_size=8), max_size=3)
)
def test_any_text_is_read_or_refused_and_texts_in_quotes_come_back(text, patterns):
    with contextlib.suppress(ValueError):
        name, params = spelled(f"CANARY({text})")
        assert name == "CANARY" and set(params) <= {"share", "pattern"}
    quoted = [one.replace("\\", "\\\\").replace('"', '\\"') for one in patterns]
    labels = [f'CANARY(pattern="{one}",share=1)' for one in quoted]
    assert [spelled(one)[1]["pattern"] for one in labels] == patterns
    assert labels_of(",".join(labels)) == (labels or [""])
