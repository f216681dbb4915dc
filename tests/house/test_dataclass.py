"""Our dataclasses behave as those of the standard library: each case is made by both."""

import copy
import dataclasses
import inspect
import pickle
from dataclasses import field
from typing import ClassVar

import pytest

from rmqalloc.dataclass import dataclass as ours

MAKERS = {"standard library": dataclasses.dataclass, "ours": ours}
OPTIONS = [
    {},
    {"frozen": True},
    {"frozen": True, "eq": False},
    {"frozen": True, "eq": False, "repr": False},
    {"frozen": True, "kw_only": True},
    {"eq": False},
]


def result_of(call):
    """What a call returns, or its error."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error)


def made_by(make, options):
    """A class with every kind of field, and one that inherits from it."""

    class Base:
        kind: ClassVar[str] = "none"
        name: str
        sizes: list = field(default_factory=list)
        origin: str = field(default="", compare=False, repr=False)
        late: int = field(init=False, default=7)
        made: list = field(init=False, default_factory=lambda: [1])
        last: int = field(default=0, kw_only=True)

        def __post_init__(self):
            if self.name == "bad":
                raise ValueError(self.name)

    Base = make(**options)(Base)

    class Child(Base):
        name: str = "child"
        more: float = 1.0

    return Base, make(**options)(Child)


def answers(make, options):
    """All that can be seen of such classes and their instances."""
    seen = []
    for cls in made_by(make, options):
        named = cls(name="n", sizes=[1], last=3)
        first, second = cls(name="a", origin="x"), cls(name="a", origin="y")
        shares = first.sizes is second.sizes or first.made is second.made
        seen += [first == second, first != named, first == 1, shares, named.__dict__]
        seen += [repr(instance) for instance in (named, first)] if options.get("repr", True) else []
        seen += [result_of(call) for call in calls(cls, named)]
        seen += [[part.name for part in dataclasses.fields(cls)], dataclasses.asdict(named)]
        seen += [list(inspect.signature(cls).parameters), cls.__match_args__]
        seen += [dataclasses.replace(named, name="b").__dict__, copy.copy(named).__dict__]
    return seen


def calls(cls, made):
    """Calls that fail, in one way or another."""
    yield lambda: vars(cls())
    yield lambda: cls(name="bad")
    yield lambda: cls(nmae="n")
    yield lambda: setattr(made, "name", "x")
    yield lambda: setattr(made, "unknown", "x")
    yield lambda: delattr(made, "late")
    yield lambda: type(hash(made))
    yield lambda: dataclasses.replace(made, late=1)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_class_made_here_behaves_as_one_of_the_standard_library(options):
    assert answers(ours, options) == answers(dataclasses.dataclass, options)


@ours(frozen=True)
class Pair:
    """What a pickle finds by its name."""

    left: object
    right: float = 0.0


def test_equal_values_have_one_hash_and_others_do_not():
    first, second = Pair("a", 1.0), Pair("a", 1)
    assert first == second and hash(first) == hash(second)
    assert len({Pair("a"), Pair("b"), Pair("a", 2)}) == 3
    nan = float("nan")
    assert Pair("a", nan) == Pair("a", nan)  # as in a tuple: one object is equal to itself


def test_a_pickle_brings_back_a_frozen_instance():
    back = pickle.loads(pickle.dumps(Pair("a", 2)))
    assert back == Pair("a", 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        back.left = "b"


def test_an_instance_that_holds_itself_has_a_repr():
    holder = Pair([])
    holder.left.append(holder)
    assert repr(holder) == "Pair(left=[...], right=0.0)"


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_methods_of_the_class_itself_stay(make):
    @make(frozen=True)
    class Named:
        name: str

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 7

        def __repr__(self):
            return "named"

    assert (Named("a") == 1, hash(Named("a")), repr(Named("a"))) == (True, 7, "named")

    @make(eq=False)
    class Own:
        name: str

        def __init__(self):
            self.name = "own"

    assert Own().name == "own"
