"""Tables in every form: what comes out is read back by real readers, and hostile names stay text."""

import csv
import io
import json
import os
import pty
import re
import sys
from html.parser import HTMLParser

import pyarrow as pa
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from pyarrow import parquet

from rmqalloc.report.formats import OUTPUTS, write_table
from rmqalloc.results.renderer import fitted
from rmqalloc.results.wrapping import width_of

TABLE = pa.table(
    {
        "consumer_group": ["orders", "payments", None],
        "n_queues": [24, 6, 100],
        "skew": [1.25, float("nan"), None],
        "nothing": pa.nulls(3, pa.string()),
        "rooms": [["dc1"], [], None],
    }
)
NASTY = [
    "<script>x</script>", "a|b", "\x1b[2J", "\u202egnp", "x\ny", "\x00", "\\", "`*_[x](http://e)", "=1+1", "é 订单",
]  # fmt: skip
TEXTS = st.lists(st.text(max_size=12), min_size=1, max_size=6)


def written(table, output, **options):
    out = io.StringIO()
    write_table(table, output, out, **options)
    return out.getvalue()


def names(texts):
    return pa.table(
        {"name": pa.array(texts, pa.string()), "n": pa.array(range(len(texts)), pa.int64())}
    )


# --- Which rows and columns ---


def test_columns_sort_and_top_choose_what_is_written():
    assert written(TABLE, "csv", columns="n_queues,consumer_group", sort="-n_queues", top=2) == (
        "n_queues,consumer_group\n100,\n24,orders\n"
    )
    assert written(TABLE, "csv", columns=["n_queues"], sort="n_queues") == "n_queues\n6\n24\n100\n"
    two = pa.table({"a": [1, 2, 1], "b": [1, 2, 3]})
    assert json.loads(written(two, "json", sort="a,-b")) == [
        {"a": 1, "b": 3},
        {"a": 1, "b": 1},
        {"a": 2, "b": 2},
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"columns": "moved"}, "there is no column 'moved'; there are consumer_group, n_queues"),
        ({"sort": "-moved"}, "there is no column 'moved'"),
        ({"top": -1}, "top must be a number of rows from 0 on, got -1"),
    ],
)
def test_wrong_choices_are_refused(options, said):
    with pytest.raises(ValueError, match=said):
        written(TABLE, "csv", **options)


def test_an_unknown_output_is_refused():
    with pytest.raises(ValueError, match=r"output must be one of table, wide, json, .*, got 'xml'"):
        written(TABLE, "xml")


@pytest.mark.parametrize("output", sorted(set(OUTPUTS) - {"parquet"}))
def test_text_goes_to_binary_files_too_and_an_empty_table_is_one(output):
    binary = io.BytesIO()
    write_table(TABLE, output, binary)
    assert binary.getvalue().decode() == written(TABLE, output)
    assert written(TABLE.slice(0, 0), output) or output == "jsonl"


# --- For programs ---


def test_json_jsonl_and_yaml_say_the_same():
    rows = [
        {
            "consumer_group": "orders",
            "n_queues": 24,
            "skew": 1.25,
            "nothing": None,
            "rooms": ["dc1"],
        },
        {"consumer_group": "payments", "n_queues": 6, "skew": None, "nothing": None, "rooms": []},
        {"consumer_group": None, "n_queues": 100, "skew": None, "nothing": None, "rooms": None},
    ]
    assert json.loads(written(TABLE, "json")) == rows
    assert [json.loads(line) for line in written(TABLE, "jsonl").splitlines()] == rows
    assert yaml.safe_load(written(TABLE, "yaml")) == rows
    assert (
        json.loads(written(TABLE.slice(0, 0), "json"))
        == yaml.safe_load(written(TABLE.slice(0, 0), "yaml"))
        == []
    )


@given(TEXTS)
def test_every_text_comes_back_from_json_yaml_and_parquet(texts):
    table = names(texts)
    assert [row["name"] for row in json.loads(written(table, "json"))] == texts
    assert [row["name"] for row in yaml.safe_load(written(table, "yaml"))] == texts
    out = io.BytesIO()
    write_table(table, "parquet", out)
    assert parquet.read_table(io.BytesIO(out.getvalue())).equals(table)


@given(TEXTS)
def test_every_text_comes_back_from_csv_but_for_the_apostrophe_before_formulas(texts):
    rows = list(csv.DictReader(io.StringIO(written(names(texts), "csv"), newline="")))
    assert len(rows) == len(texts)
    for text, row in zip(texts, rows, strict=True):
        assert row["name"] in (text, f"'{text}")
        assert not row["name"].lstrip().startswith(("=", "+", "-", "@", "＝"))


def test_csv_guards_texts_and_leaves_numbers_alone():
    table = pa.table(
        {
            "client": ["=cmd()", "+1", "-1", "@x", " =1", "\t=1", "a;=1", "", None],
            "lost": [-1.5] * 9,
        }
    )
    lines = written(table, "csv").split("\n")[1:-1]
    assert lines == [
        *('"\'=cmd()",-1.5', "'+1,-1.5".replace("'+1", '"\'+1"'), '"\'-1",-1.5', '"\'@x",-1.5'),
        *('"\' =1",-1.5', '"\'\t=1",-1.5', '"a;=1",-1.5', '"",-1.5', ",-1.5"),
    ]


def test_parquet_goes_to_files_and_pipes_but_to_no_terminal(tmp_path):
    with open(tmp_path / "x.parquet", "wb") as file:
        write_table(TABLE, "parquet", file, columns="n_queues")
    assert parquet.read_table(tmp_path / "x.parquet").column_names == ["n_queues"]
    over_binary = io.TextIOWrapper(io.BytesIO())
    write_table(TABLE, "parquet", over_binary)
    assert over_binary.buffer.getvalue()[:4] == b"PAR1"
    with pytest.raises(ValueError, match="Parquet needs a binary file, got the text file"):
        written(TABLE, "parquet")
    with (
        terminal() as (_, file),
        pytest.raises(ValueError, match="cannot be written to a terminal: give a file"),
    ):
        write_table(TABLE, "parquet", file)


# --- For people ---


def test_a_table_aligns_numbers_right_and_leaves_out_what_has_no_value():
    assert written(TABLE, "table", sort="n_queues", top=2).splitlines() == [
        "consumer_group  n_queues  skew  rooms",
        "payments               6   nan  []",
        'orders                24  1.25  ["dc1"]',
        "(2 of 3 rows)",
    ]
    assert "nothing" in written(TABLE, "wide").splitlines()[0].split()


@pytest.mark.parametrize("output", ["table", "wide", "md", "html"])
@given(TEXTS)
def test_nothing_invisible_reaches_people(output, texts):
    assert all(c == "\n" or c.isprintable() for c in written(names(texts), output))


def test_what_a_narrow_encoding_lacks_is_escaped():
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    write_table(names(["订单"]), "table", out)
    out.flush()
    assert rb"\u8ba2\u5355" in out.buffer.getvalue()


def test_wide_characters_take_two_places():
    lines = written(names(["订单", "ab"]), "table").splitlines()
    assert [width_of(line) for line in lines] == [7, 7, 7]


@given(
    st.lists(st.tuples(st.integers(1, 90), st.booleans()), min_size=1, max_size=8),
    st.integers(20, 120),
)
def test_fitted_columns_fill_the_terminal_or_are_as_narrow_as_they_may(columns, most):
    widths, is_text = zip(*columns, strict=True)
    after = fitted(widths, is_text, ["x"] * len(widths), most)
    assert all(new <= old for new, old in zip(after, widths, strict=True))
    assert all(
        new >= min(old, 10 if text else old)
        for new, old, text in zip(after, widths, is_text, strict=True)
    )
    room = most - 2 * (len(widths) - 1)
    assert sum(after) == min(sum(widths), room) or all(
        new <= 10 or new == old
        for new, old, text in zip(after, widths, is_text, strict=True)
        if text
    )


def test_markdown_is_a_table_of_plain_text():
    lines = written(names(NASTY), "md").splitlines()
    assert lines[:2] == ["| name | n |", "| --- | ---: |"]
    assert len(lines) == 2 + len(NASTY)
    assert all(line.replace("\\|", "").count("|") == 3 for line in lines)


MENTIONS = ["@user", "@org/team", "#12", "GH-12", "owner/repo#1", "0ddba11", "deadbeef", "https://x.y", "www.x.y",
            "a@x.y", "<!-- x -->", "<img src=x>", "[x](y)", "![x](y)", "**x**", ":smile:", "&#64;user"]  # fmt: skip
PARTS = ["a", "7", "(", ")", ".", " ", "`", "``", "|", "\\", *MENTIONS]


def code_taken_out(cell):
    """What a reader of Markdown sees of a cell outside of code."""
    fence = re.search("`+", cell)
    if fence is None:
        return cell
    code, _, rest = cell[fence.end() :].partition(fence[0])
    while rest.startswith("`"):  # a longer run does not end it
        more, _, rest = rest.lstrip("`").partition(fence[0])
        code += more
    assert code
    return cell[: fence.start()] + code_taken_out(rest)


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=6).map("".join))
@example("`|\\|`")
def test_outside_of_code_a_name_in_markdown_mentions_and_refers_to_nothing(name):
    line = written(names([name]), "md").splitlines()[2]
    cells = re.split(r"(?<!\\)\|", line)  # two backslashes before a bar split in some readers
    assert len(cells) == 4 and "\\\\|" not in line
    shown = code_taken_out(cells[1])
    assert re.fullmatch(r"[A-Za-z0-9().,:;% _-]*", shown)
    assert not re.search(r"GH-|\b[0-9a-f]{7}", shown)


def test_html_is_a_page_with_the_names_as_text():
    class Cells(HTMLParser):
        tags, texts = set(), []

        def handle_starttag(self, tag, attributes):
            self.tags.add(tag)

        def handle_data(self, data):
            self.texts.append(data)

    page = written(names(NASTY), "html")
    parser = Cells()
    parser.feed(page)
    assert "<script>x</script>" in parser.texts
    assert not parser.tags & {"b", "img", "iframe", "a href"}
    assert page.count("<script>") == 1
    assert "default-src 'none'" in page


# --- Terminals ---


MARK = "<the end of what was written>"


class terminal:
    """A pseudo-terminal: what is written to the file comes out of the other end."""

    def __init__(self, columns=40):
        self.columns = columns

    def __enter__(self):
        self.master, slave = pty.openpty()
        self.file = open(slave, "w", encoding="utf-8", newline="")
        return self, self.file

    def read(self):
        """What was written so far: to an end mark, for the kernel hands text over a little later."""
        self.file.write(MARK)
        self.file.flush()
        text = b""
        while not text.endswith(MARK.encode()):
            text += os.read(self.master, 65536)
        return text.decode().removesuffix(MARK).replace("\r\n", "\n")

    def __exit__(self, *_):
        self.file.close()
        os.close(self.master)


@pytest.fixture
def environment(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    return monkeypatch


def on_terminal(table, output):
    with terminal() as (end, file):
        write_table(table, output, file)
        return end.read()


def test_long_names_lose_their_middle_on_a_terminal_only(environment):
    long = names(["order-service-7d9f8b-x2kq9@4121-and-much-more"])
    environment.setenv("NO_COLOR", "1")
    shown = on_terminal(long, "table").splitlines()
    assert all(len(line) <= 40 for line in shown)
    assert (
        shown[1].startswith("order-service-7d9f") and "…" in shown[1] and "much-more  0" in shown[1]
    )
    assert "and-much-more" in on_terminal(long, "wide")
    assert "…" not in written(long, "table")


def test_colour_is_for_terminals_and_can_be_forbidden(environment):
    table = names(["a"])
    assert "\x1b[1m" in on_terminal(table, "table")
    assert "\x1b" not in written(table, "table")
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(name, value)
            assert "\x1b" not in on_terminal(table, "table")


def test_force_color_is_for_standard_output_and_no_color_wins(environment, capsys):
    table = names(["a"])
    environment.setenv("FORCE_COLOR", "1")
    write_table(table, "table", sys.stdout)
    assert "\x1b[1m" in capsys.readouterr().out
    assert "\x1b" not in written(table, "table")
    environment.setenv("NO_COLOR", "1")
    write_table(table, "table", sys.stdout)
    assert "\x1b" not in capsys.readouterr().out


def test_csv_tells_a_terminal_nothing(environment):
    assert "\x1b[2J" not in on_terminal(names(NASTY), "csv")
    assert "\x1b[2J" in written(names(NASTY), "csv")
