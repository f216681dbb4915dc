"""The one renderer: width, cutting, arrows, ranking, what is left out, hostile text; each is
decided in one place.
"""

import io
import re
from types import SimpleNamespace

import pyarrow as pa
import pytest
from interpreter import run_python
from source_modules import MODULES

import rmqalloc
from rmqalloc.cli import _sink as sink
from rmqalloc.results.and_more import first_of, more, named
from rmqalloc.results.renderer import (
    BOLD,
    arrow,
    bound,
    bounded,
    encodable,
    figure,
    has_colour,
    marked_table,
    order_of,
    scaled,
    terminal_table,
    text_table,
    with_bounds,
)
from rmqalloc.results.schemas import columns, table_of
from rmqalloc.results.wrapping import width_of
from rmqalloc.snapshot import Client, Group, Snapshot, Topic, TopicBroker

HOSTILE = "g\x1b[31m\x1b]0;t\x07\u202e\r\nPlan: forged"
ROWS = [
    ("a-name-that-is-much-too-long-for-a-line-and-tells-its-end-7", "orders", "1,200"),
    ("订单" * 12, "t", "3"),
]
HEADER, NUMBERS = ("group", "topic", "moved"), ("moved",)
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Terminal(io.StringIO):
    """A text stream that says that it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "60")


# --- Width and cutting ---


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_a_table_fits_a_terminal_and_keeps_both_ends_of_names(monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = text_table(HEADER, ROWS, NUMBERS, Terminal())
    assert max(map(width_of, lines)) <= max(
        width, 10 + 2 + 6 + 2 + 5
    )  # names keep ten places, headers and numbers all
    assert all(line.endswith(row[-1]) for line, row in zip(lines[1:], ROWS, strict=True))
    assert ("…" in lines[1]) == (width < 80)
    assert lines[1].startswith("a-na") and "-7" in lines[1]


def test_a_mark_takes_room_from_the_table():
    lines = list(marked_table(HEADER, ROWS, "+ ", NUMBERS, Terminal(), more(2, "group")))
    assert (
        max(width_of(line.replace("\x1b[32m", "").replace("\x1b[0m", "")) for line in lines) <= 60
    )
    assert [line[:2] for line in lines] == ["  ", "\x1b[", "  ", "  "]
    assert lines[-1] == "  and 2 more groups"


@pytest.mark.parametrize("file", [None, io.StringIO()])
def test_what_is_no_terminal_gets_all_of_it_whatever_its_width(monkeypatch, file):
    whole = text_table(HEADER, ROWS, NUMBERS, file)
    monkeypatch.setenv("COLUMNS", "10")
    assert text_table(HEADER, ROWS, NUMBERS, file) == whole
    assert ROWS[0][0] in whole[1]


def test_every_cell_of_a_column_is_printable():
    assert text_table(("a",), [("x",), ("y\\z",)]) == ["a", "x", "y\\\\z"]
    assert text_table(("a",), [("x",), ("y\n",)]) == ["a", "x", "y\\n"]


def test_wide_letters_align():
    lines = text_table(("client", "n"), [("订单e\u0301", "1"), ("abc", "20")], ("n",))
    assert len(set(map(width_of, lines))) == 1


# --- Colour ---


def test_colour_is_for_terminals_and_for_whoever_asks_for_it(monkeypatch):
    table = pa.table({"client": ["a"]})
    assert next(terminal_table(table, Terminal())).startswith(BOLD)
    assert "\x1b" not in "".join(terminal_table(table, io.StringIO(), left_out=3))
    monkeypatch.setenv("TERM", "dumb")
    assert not has_colour(Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in "".join(marked_table(("a",), [("b",)], "+", (), Terminal()))


# --- Figures ---


def test_an_arrow_stands_between_what_reads_differently():
    assert arrow(1200, 1200) == "1,200"
    assert arrow(3, None) == "3 → –"
    assert arrow("1.00", "1.00") == "1.00"  # of two skews that read the same, one is shown
    assert arrow("AVG", HOSTILE).count("\n") == 0
    assert (
        figure(None) == "–"
        and figure(0) == "0"
        and [scaled(n) for n in (999, 1000, -1_234_567, 10**9)] == ["999", "1 k", "-1.23 M", "1 G"]
    )


def test_bounds_have_one_sign():
    table = pa.table(
        {
            "unowned": [7, 62],
            "unowned_seconds": [1.5, 2.0],
            "unowned_is_exact": [True, False],
            "n": [1, 2],
        }
    )
    assert with_bounds(table).to_pydict() == {
        "unowned": ["   7", "≤ 62"],
        "unowned_seconds": ["  1.5", "≤ 2.0"],
        "n": [1, 2],
    }
    exact = table.slice(0, 1)
    assert with_bounds(exact).to_pydict() == {"unowned": [7], "unowned_seconds": [1.5], "n": [1]}
    assert bounded([1], [False]) == [bound("1", False)] == ["≤ 1"]


def test_schemas_are_what_arrow_would_say():
    made = columns("a b: string", "c: int32", "d: [string]", "e f: float64", "g: bool")
    kinds = [pa.string()] * 2 + [pa.int32(), pa.list_(pa.string()), *[pa.float64()] * 2, pa.bool_()]
    assert made == pa.schema(list(zip("abcdefg", kinds, strict=True)))
    assert table_of([], made) == made.empty_table()


# --- What is left out ---


@pytest.mark.parametrize(
    ("n", "what", "said"),
    [
        (-1, "group", []),
        (0, "group", []),
        (1, "group", ["and 1 more group"]),
        (1200, "", ["and 1,200 more"]),
    ],
)
def test_what_is_left_out_is_counted(n, what, said):
    assert more(n, what) == said


def test_the_first_of_some():
    assert first_of(["a", "b", "c"], 2, "topic", " (--top)") == [
        "a",
        "b",
        "and 1 more topic (--top)",
    ]
    assert first_of(["a", "b"], 2) == first_of(["a", "b"], None) == ["a", "b"]
    assert first_of([], 0) == []
    assert named(["a", "b", "c"], 1) == "a and 2 more"


# --- Ranking ---


def test_ties_keep_their_order_and_nulls_come_last():
    table = pa.table({"moved": [1, None, 2, 2, 1], "group": ["e", "d", "c", "b", "a"]})
    assert order_of(table, "-moved").to_pylist() == [2, 3, 0, 4, 1]
    assert order_of(table, "-moved,group").to_pylist() == [3, 2, 4, 0, 1]
    assert order_of(table, ["moved", "-group"]).to_pylist() == [0, 4, 2, 3, 1]


def test_groups_that_are_as_bad_as_one_another_are_listed_by_name():
    clients = tuple(Client(f"c{i}@1") for i in range(3))
    groups = tuple(Group(name, ("T",), clients, strategy="AVG") for name in ("d", "a", "c", "b"))
    cluster = Snapshot((Topic("T", (TopicBroker("b", 6),)),), groups)
    plan = rmqalloc.plan(cluster, [{"name": "two", "changes": [{"scale_clients": {"to": 2}}]}])
    assert [line[2] for line in str(plan).split("\n")[1:5]] == ["a", "b", "c", "d"]


# --- Hostile text ---


@pytest.fixture(scope="module")
def hostile():
    """A result of every verb, of a cluster whose names are an attack."""
    clients = tuple(Client(f"{HOSTILE}{i}@1") for i in range(4))
    topic = Topic(HOSTILE, (TopicBroker(HOSTILE, 8),))
    before = Snapshot((topic,), (Group(HOSTILE, (HOSTILE,), clients, strategy="AVG"),))
    after = Snapshot((topic,), (Group(HOSTILE, (HOSTILE,), clients[1:], strategy="AVG"),))
    scenarios = [
        {"name": name, "changes": [{"scale_clients": {"to": n}}]}
        for name, n in ((HOSTILE, 2), ("b", 9))
    ]
    return {
        "plan": rmqalloc.plan(before, scenarios),
        "diff": rmqalloc.diff(before, after, names=(HOSTILE, "b")),
        "check": rmqalloc.check(before),
        "compare": rmqalloc.compare(before, ["AVG"]),
        "recommend": rmqalloc.recommend(before),
        "rollout": rmqalloc.rollout.restart(before),
        "explain": rmqalloc.explain(before, HOSTILE, HOSTILE, HOSTILE, 0),
    }


KINDS = ("plan", "diff", "check", "compare", "recommend", "rollout", "explain")


@pytest.mark.parametrize("kind", KINDS)
def test_no_name_controls_a_terminal_or_forges_a_line(hostile, kind):
    lines = list(hostile[kind].lines(io.StringIO()))
    assert not any(CONTROL.search(line) for line in lines)
    assert not any("\n" in line or line.startswith("Plan: forged") for line in lines)
    assert str(hostile[kind]) == "\n".join(lines)


@pytest.mark.parametrize("kind", KINDS)
def test_a_terminal_gets_no_control_character_but_our_colours(hostile, kind):
    text = "\n".join(hostile[kind].lines(Terminal()))
    assert not CONTROL.search(re.sub("\x1b\\[(0|1|2|3[1-3])m", "", text))


def test_what_an_encoding_lacks_is_escaped():
    assert encodable("订 → a", SimpleNamespace(encoding="ascii")) == "\\u8ba2 \\u2192 a"
    assert encodable("订", io.BytesIO()) == "订"


def test_a_changing_line_changes_on_a_terminal_alone(monkeypatch, capsys):
    clock = iter([0.0, 0.05, 0.2, 0.5])
    monkeypatch.setattr(sink, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    line = sink.ChangingLine(0.1)
    line.put("1 of 2")
    line.put("2 of 2")
    line.put("3 of 2")
    line.clear()
    assert capsys.readouterr().err == "\r2 of 2  0 s\r3 of 2  0 s\r\x1b[K"


# --- One place ---


@pytest.mark.thorough
def test_plain_text_needs_neither_a_table_library_nor_the_command_line():
    loaded = run_python(
        "import sys, io, rmqalloc\n"
        "cluster = rmqalloc.read('example:seed')\n"
        "scenarios = [{'name': 's', 'changes': [{'scale_clients': {'to': 2}}]}]\n"
        "made = [rmqalloc.plan(cluster, scenarios), rmqalloc.diff(cluster, cluster), rmqalloc.compare(cluster, ['AVG'])]\n"
        "made += [rmqalloc.check(cluster), rmqalloc.recommend(cluster), rmqalloc.rollout.restart(cluster)]\n"
        "assert all(map(str, made)) and all('\\n'.join(one.lines(io.StringIO())) == str(one) for one in made)\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    assert not {"rich", "click", "curses", "tabulate"} & set(loaded)


ONE_PLACE = {
    "get_terminal_size": {"rmqalloc.results.wrapping"},
    # Escape codes are drawn in one place, and taken out of what is read in another.
    '"\\\\x1b\\[\\d': {
        "rmqalloc.results.renderer",
        "rmqalloc.snapshot.files.outputs._clean_text",
    },
    # `rmqalloc.results.and_more` says it for all.
    "and \\{[^}]*\\} more": set(),
    '" → "\\.join|if before == after else': {"rmqalloc.results.renderer"},
    "f\"≤ |≤ ' if": {"rmqalloc.results.renderer"},
    'backslashreplace"\\)\\.decode': {
        "rmqalloc.results.renderer",
        "rmqalloc.cli._allocate_command",
    },
}


@pytest.mark.parametrize("pattern", ONE_PLACE)
def test_what_is_decided_once_stands_once(pattern):
    found = {name for name, path in MODULES.items() if re.search(pattern, path.read_text("utf-8"))}
    assert found - {"rmqalloc.text"} == ONE_PLACE[pattern]
