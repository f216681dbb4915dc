"""The counts of ``proofs/trips``, on a house of two rooms in which each call can be counted by
hand.
"""

import sys

import pytest
from trips import __main__ as program
from trips.counting import Trip

HOUSE = {
    "__init__.py": "",
    "lazy.py": "def through(action):\n    return action()\n",
    "upper/__init__.py": "",
    "upper/verb.py": """
from house.lower import kernel
from house.lazy import through

def plain():
    return kernel.one()

def back_and_forth():
    return kernel.calls(above)

def above():
    return [kernel.one() for _ in range(3)]  # the comprehension is no call, what it calls is

def by_a_file_beside():
    return through(kernel.one)

def by_a_lambda():
    return (lambda: 1)()

def generated():
    return sum(kernel.numbers(5))

def loaded():
    import house.lower.late
    return house.lower.late

def a_class():
    class Local:
        x = 1
    return Local

def planted():
    return plain() + kernel.one()
""",
    "lower/__init__.py": "",
    "lower/kernel.py": """
def one():
    return 1

def calls(action):
    return action()

def numbers(n):
    for i in range(n):
        yield i + one()
""",
    "lower/late.py": "def early():\n    return 1\nX = early()\n",
}


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """The package, imported; and its modules, forgotten afterwards."""
    root = tmp_path_factory.mktemp("trips")
    for name, text in HOUSE.items():
        path = root / "house" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    sys.path.insert(0, str(root))
    from house.upper import verb

    yield root / "house", verb
    sys.path.remove(str(root))
    for name in [one for one in sys.modules if one.partition(".")[0] == "house"]:
        del sys.modules[name]


COUNTS = {
    "plain": (2, 2, 2, 1, 0),
    "planted": (
        2,
        4,
        2,
        2,
        1,
    ),  # plain, with one more call: the second change leads to a room that was left
    "back_and_forth": (2, 6, 2, 5, 4),  # down, up, and three times down again
    "by_a_file_beside": (3, 3, 2, 1, 0),
    "by_a_lambda": (1, 2, 1, 0, 0),
    "generated": (2, 7, 2, 1, 0),  # it begins once, and calls five times within its room
    "a_class": (1, 1, 1, 0, 0),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_those_by_hand(house, name):
    package, verb = house
    found = Trip(package).count(getattr(verb, name))
    assert tuple(found[one] for one in program.COUNTS) == COUNTS[name]


def test_what_runs_while_a_module_is_imported_does_not_count(house):
    package, verb = house

    def imported_again():
        sys.modules.pop("house.lower.late", None)
        return verb.loaded()

    assert Trip(package).count(imported_again)["calls"] == 1


def test_other_packages_do_not_count(house):
    package, verb = house
    assert Trip(package / "upper").count(verb.plain) == dict.fromkeys(
        ("rooms", "changes", "returns"), 0
    ) | {
        "files": 1,
        "calls": 1,
    }


def test_the_shortest_route_of_this_checkout(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["trips", "--quick"])
    assert program.main() == 0
    *_, row = capsys.readouterr().out.splitlines()
    _, route, tree, files, calls, rooms, changes, returns, _ = (
        one.strip() for one in row.split("|")
    )
    assert (route, tree) == ("diff", "this one")
    files, calls, rooms, changes, returns = (
        int(one.replace(",", "")) for one in (files, calls, rooms, changes, returns)
    )
    assert calls > files > rooms > 5 and calls > changes > returns > 0
    assert (
        changes - returns == rooms - 1
    )  # every room but the first is entered once for the first time


def test_another_package_than_the_tree_s_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="rmqalloc comes from"):
        program.counted(tmp_path, "diff")
