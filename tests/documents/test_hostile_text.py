"""Hostile text costs what its length does: where it is eight times as long, so is the CPU time, and
not squared or cubed.

Real time is needed, for expressions are C; it is compared with other real time, of the processor,
and between what is right and what is wrong there is a factor of eight.
"""

import contextlib
import json
import re
import time
from fnmatch import fnmatchcase

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rmqalloc.documents import Source
from rmqalloc.fleet.columns import Strings
from rmqalloc.scenarios.patterns import matches
from rmqalloc.snapshot.files.outputs import _mqadmin_tables as tables
from rmqalloc.snapshot.files.outputs._sections import CommandSubject, Section, is_output, sections
from rmqalloc.strategies import strategy
from rmqalloc.strategies.spelled import MAX_LENGTH, _pairs, labels_of, spelled
from rmqalloc.text import MAX_PATTERN, PatternError, glob, literal, matcher, plain

TIMES_AS_LONG, MOST_TIMES = 8, 24
"""What is squared takes 64 times as long."""

A_MOMENT = 10.0
"""CPU seconds; a few hundredths are taken, and forty or more where the same characters are gone over again and again."""


def seconds(face, text):
    """CPU seconds of one call, errors of ours included; a few at least, so that the clock can tell."""
    times = []
    for _ in range(5):
        start, n_calls = time.process_time(), 0
        while time.process_time() - start < 0.004:
            n_calls += 1
            with contextlib.suppress(ValueError):
                face(text)
        times.append((time.process_time() - start) / n_calls)
    return min(times)  # whatever else the processor does only adds


def listed(line):
    """A row of consumerStatus."""
    tables.clients(
        Section(
            Source("x", b""), 1, "clients", CommandSubject(), lines=["#Index  #ClientId ", line]
        )
    )


def detail(line):
    """A queue of the file of a client."""
    tables._queue(
        Section(Source("x", b""), 1, "running info", CommandSubject(), lines=["", line]), 1, line
    )


def progress(rest):
    """A row of consumerProgress with what stands behind its names."""
    names = [
        "Topic",
        "Broker Name",
        "QID",
        "Broker Offset",
        "Consumer Offset",
        "Client IP",
        "Diff",
        "LastTime",
    ]
    head = "#Topic  #Broker Name  #QID"
    tables._ProgressRows(head, names).row(f"{'t':8}{'b':14}{rest}")


def number(text):
    """A rate that mqadmin prints."""
    tables._number(Section(Source("x", b""), 1, "", CommandSubject()), 0, text)


def canary(pattern):
    """Ids against the pattern of a canary."""
    strategy("CANARY", share=0.5, pattern=pattern).assign([("t", "b", 0)], ["a" * 300, "b"])


TEXTS = {
    "blanks of a value": (spelled, lambda n: f"CANARY(share={' ' * n}()", 1600),
    "blanks of a key": (spelled, lambda n: f"CANARY({' ' * n}()", 1600),
    "blanks behind a value": (spelled, lambda n: f"CANARY(share=1{' ' * n}x y()", 1600),
    "backslashes in quotes": (spelled, lambda n: f'CANARY(pattern="{chr(92) * n})', 1600),
    "a long key": (spelled, lambda n: f"CANARY({'a' * n}()", 1600),
    "commas": (spelled, lambda n: f"CANARY({',' * n})", 1600),
    "parentheses": (labels_of, lambda n: "(" * n, 4000),
    "quotes": (labels_of, lambda n: '("' * n, 4000),
    "quotes and backslashes": (labels_of, lambda n: '("\\' * n, 4000),
    "a client of consumerStatus": (listed, lambda n: f"1 a{' ' * n}x", 4000),
    "versions of consumerStatus": (listed, lambda n: f"1 {'a V5 1/' * n}", 1000),
    "a queue of a client": (detail, lambda n: f"a{' ' * n}", 4000),
    "numbers of a queue": (detail, lambda n: f"a b{' 1' * n}", 4000),
    "a time of consumerProgress": (progress, lambda n: f"0  0  0  a 5{' ' * n}x y", 4000),
    "a number of mqadmin": (number, lambda n: " " * n + "x", 4000),
    "digits of mqadmin": (number, lambda n: "1" * n + "x", 4000),
    "lines of mqadmin": (is_output, lambda n: "001  \n" * n, 1000),
    "a name against stars": (lambda text: glob("*a" * 400 + "*b")(text), lambda n: "a" * n, 4000),
    "a name against questions": (lambda text: glob(f"*{'?' * 500}b*c")(text), lambda n: "a" * n, 8000),
    "the pattern of a canary": (canary, lambda n: "*a" * n + "b", 100),
    "ids against a canary": (lambda text: canary("*a" * 100 + "b"), lambda n: "a" * n, 100),
}  # fmt: skip


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize(("face", "text", "n"), TEXTS.values(), ids=TEXTS)
def test_hostile_text_costs_what_its_length_does(face, text, n):
    for _ in range(3):  # the clock of a busy machine may be wrong, but not each time
        once, longer = seconds(face, text(2 * n // TIMES_AS_LONG)), seconds(face, text(2 * n))
        if once < 0.1 and longer < MOST_TIMES * once + 0.0002:
            return
    pytest.fail(f"{once:.6f} s, and {longer:.6f} s where it is {TIMES_AS_LONG} times as long")


@pytest.mark.parametrize(
    "part", ["*a", "?", "[", "[!", "[]", "[a-", "[a-z]*", "[*]", "*?", "--", "[--"]
)
def test_the_longest_patterns_are_made_in_a_moment(part):
    pattern = (part * MAX_PATTERN)[: MAX_PATTERN - 1] + "*"
    start = time.process_time()
    bool(glob.__wrapped__(pattern)("a" * 10_000))
    assert time.process_time() - start < A_MOMENT


ALPHABET = "ab*?[]!-^\\&~|.\n)(#Ä\ud83d"
PARTS = [
    "*", "?", "a", "b", "[ab]", "[!a]", "[a-b]", "[b-a]", "[!b-a]", "[]a]", "[!]]", "[^a]", "[--a]", "[a&&b]", "[", "[!",
]  # fmt: skip
PATTERNS = st.text(ALPHABET, max_size=9) | st.lists(st.sampled_from(PARTS), max_size=7).map("".join)


@given(PATTERNS, st.text("ab!-^]\\&.\n[*?Ä", max_size=8))
@example("*", "")
@example("[!]", "[!]")
@example("[[]a[*]", "[a*")
@example("[[][", "[[")
@example("[[[]", "[[")
@example("a[?]b[", "a?b[")
def test_a_pattern_matches_what_fnmatchcase_says(pattern, name):
    wanted = fnmatchcase(name, pattern)
    assert bool(glob(pattern)(name)) == wanted
    assert bool(matcher(("\0", pattern))(name)) == wanted
    assert matches((pattern,), Strings.from_list([name]))[0] == wanted


@given(st.text(ALPHABET))
def test_the_literal_pattern_of_a_name_matches_it_alone(name):
    assert plain(literal(name)) == name
    assert glob(literal(name))(name)
    assert not glob(literal(name))(f"{name}a")


def test_a_pattern_has_a_longest_length_and_a_name_has_none():
    assert glob("a" * (MAX_PATTERN - 1) + "*")("a" * MAX_PATTERN)
    with pytest.raises(PatternError, match=r"at most 1,024 characters, got 1,025: 'aaa"):
        glob("a" * MAX_PATTERN + "*")
    assert glob("a" * 10_000)("a" * 10_000)
    assert glob(literal("*" * 10_000))("*" * 10_000)


def test_a_text_with_strategies_has_a_longest_length():
    assert (
        spelled(f"MACHINE_ROOM(machine_rooms={'a' * (MAX_LENGTH - 28)})")[1]["machine_rooms"][0][:2]
        == "aa"
    )
    for face in (spelled, labels_of):
        with pytest.raises(ValueError, match="at most 65,536 characters, got 70,006"):
            face(f"CANARY{'(' * 70_000}")


OLD_PAIR = re.compile(r'\s*(\w+)\s*=\s*("(?:[^"\\]|\\.)*"|[^,()"]*?)\s*(,|$)', re.DOTALL)
OLD_TOKEN = re.compile(r'\((?:"(?:[^"\\]|\\.)*"|[^")])*\)|,|[^,(]+|\(', re.DOTALL)


def labels_by_expression(text):
    """What the expression of the grammar says, which backtracks."""
    labels = [""]
    for token in OLD_TOKEN.findall(text):
        labels = [*labels, ""] if token == "," else [*labels[:-1], labels[-1] + token]
    return [one.strip() for one in labels]


def pairs_by_expression(inside):
    """The same of the pairs in parentheses, None where one is wrong."""
    at, goes_on, pairs = 0, bool(inside.strip()), []
    while goes_on:
        if (pair := OLD_PAIR.match(inside, at)) is None:
            return None
        pairs.append((pair[1], pair[2]))
        at, goes_on = pair.end(), pair[3] == ","
    return pairs


@given(st.text('(),"\\ a=\n+', max_size=14))
@example('(" ( ) , a')
@example('(")" , (a,b)')
def test_labels_are_those_of_the_grammar(text):
    assert labels_of(text) == labels_by_expression(text)


@given(
    st.text('(),"\\ a=\n+\u3000', max_size=14)
    | st.lists(st.sampled_from([" ", "a", "=", ",", '"x, y"', "b c", '"', "\\", "\n"])).map("".join)
)
@example('a= "x" ,b=1 2 ')
@example("a=\n")
@example("a = 1,")
def test_pairs_are_those_of_the_grammar(inside):
    try:
        found = list(_pairs("", inside))
    except ValueError:
        found = None
    assert found == pairs_by_expression(inside)


OLD_LISTED = re.compile(r"\d+ +(?P<id>[^ ].*) +(?P<version>[^ ]+) +\d+/(?P<lead> *)(?P=id) *")


@given(
    st.text("a1/ V", max_size=5),
    st.sampled_from(["V5", "1/", "a", " V5", "1/V"]),
    st.integers(0, 2),
    st.text(" a", max_size=2),
)
def test_clients_of_consumer_status_are_those_of_the_expression(client_id, release, lead, behind):
    line = f"1 {client_id} {release} 12/{' ' * lead}{client_id}{behind}"
    section = Section(
        Source("x", b""), 1, "clients", CommandSubject(), lines=["#Index  #ClientId ", line]
    )
    if row := OLD_LISTED.fullmatch(line):
        found = tables._listed(section, 1, line)
        assert (found.client_id, found.version) == (
            row["lead"] + row["id"].rstrip(" "),
            tables.version(row["version"]),
        )
    else:
        assert (
            len(line.split()) != 4 or tables._listed(section, 1, line).client_id == line.split()[1]
        )


def test_a_whole_file_of_hostile_lines_is_read_in_a_moment():
    lines = ["mqadmin consumerStatus -g g", "#Index  #ClientId  #Version  #ConsumerRunningInfoFile"]
    lines += [f"{i} a{' ' * 20_000}x" for i in range(20)]
    start = time.process_time()
    found = list(sections(Source("x", "\n".join(lines).encode())))
    with contextlib.suppress(ValueError):
        tables.clients(found[0])
    assert time.process_time() - start < A_MOMENT
    assert json.dumps(found[0].asked.name) == '"g"'
