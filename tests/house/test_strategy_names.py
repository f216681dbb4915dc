"""No room but ``rmqalloc.strategies`` asks which strategy it has: what it needs to know stands on
the class.
"""

import ast

import pytest
from source_modules import MODULES

from rmqalloc.strategies import STRATEGIES, ConfigByClient, Strategy
from rmqalloc.strategies.base import WrappingStrategy

# POP is also a mode of reading a topic, in which brokers share its queues; where it is asked for,
# that mode is meant.
NAMES = STRATEGIES.keys() - {"POP"}
CLASSES = {
    base.__name__
    for made in (*STRATEGIES.values(), ConfigByClient, WrappingStrategy)
    for base in made.__mro__
}
CLASSES -= {one.__name__ for one in Strategy.__mro__} | {"Generic"}

# `rmqalloc.snapshot` is on the floor of the strategies, so it cannot ask them: it knows what
# brokers divide by.
EXCEPTIONS = {"rmqalloc.snapshot.units": {"AVG", "AVG_BY_CIRCLE"}}


TESTS = ("isinstance", "issubclass", "startswith", "endswith")


def asked(source):
    """Names and classes of strategies that the source compares something with."""
    for node in ast.walk(ast.parse(source)):
        is_test = isinstance(node, ast.Call) and called(node.func) in TESTS
        if is_test or isinstance(node, ast.Compare | ast.MatchValue | ast.MatchClass):
            yield from known(node)
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            names = NAMES.intersection(
                one.value for one in node.elts if isinstance(one, ast.Constant)
            )
            yield from names if len(names) > 1 else ()
        elif isinstance(node, ast.Dict):
            yield from NAMES.intersection(
                one.value for one in node.keys if isinstance(one, ast.Constant)
            )


def called(function):
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def known(node):
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value in NAMES:
            yield one.value
        elif isinstance(one, ast.Name) and one.id in CLASSES:
            yield one.id


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("isinstance(s, MachineRoomNearby)", {"MachineRoomNearby"}),
        ("type(s) in (Averagely, Pop)", {"Averagely", "Pop"}),
        ("name == 'AVG' or name.endswith('CONFIG')", {"AVG", "CONFIG"}),
        ("BY_POSITION = ('AVG', 'AVG_BY_CIRCLE')", {"AVG", "AVG_BY_CIRCLE"}),
        ("GO = {'MACHINE_ROOM': 'other'}", {"MACHINE_ROOM"}),
        ("isinstance(s, Strategy) and rule('AVG') and mode == 'POP'", set()),
    ],
)
def test_the_rule_sees_who_asks(source, found):
    assert set(asked(source)) == found


def test_no_other_room_asks_which_strategy_it_has():
    found = {
        module: names
        for module, path in MODULES.items()
        if not module.startswith("rmqalloc.strategies") and (names := set(asked(path.read_text())))
    }
    assert found == EXCEPTIONS
