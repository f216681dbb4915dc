"""Text that wraps: no word is lost, no line is too long, and a command stays the same command."""

import io

import pytest

from rmqalloc.results.renderer import text_table
from rmqalloc.results.wrapping import fields, width_of, wrapped

TEXT = "  advice: " + "Give every process 订单 an instance name of its own; " * 4
NAMES = ["a b", "it's", "x'y z'", "订 单", "$HOME `id`", "a\\b c", '"q r"', "plain", " # none"]


class Terminal(io.StringIO):
    """A text stream that says that it is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize("width", [24, 40, 80, 100, 200])
@pytest.mark.parametrize("file", [None, io.StringIO(), Terminal()])
def test_words_stay_and_lines_fit(monkeypatch, width, file):
    monkeypatch.setenv("COLUMNS", str(width))
    for lines in (wrapped(TEXT, file, " " * 6), fields([TEXT.strip()] * 2, file)):
        assert " ".join(" ".join(lines).split()) == " ".join(
            (TEXT if lines[0][0] == " " else TEXT * 2).split()
        )
        assert all(width_of(line) <= width for line in lines)
        assert all(line.startswith("  ") for line in lines[1:])


def test_a_word_is_broken_on_a_terminal_alone(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    word = "订单" * 12
    assert wrapped(f"- {word}", None) == [f"- {word[:0]}".rstrip(), f"  {word}"]
    lines = wrapped(f"- {word}", Terminal())
    assert (
        all(width_of(line) <= 20 for line in lines)
        and "".join("".join(lines).split()) == f"-{word}"
    )


def test_the_last_column_wraps_below_itself_or_below_its_row(monkeypatch):
    rows = [
        ("订单", "12", "clients divide by different rules, and some by none"),
        ("b", "3", "short"),
    ]
    header = ("group", "moved", "why")
    monkeypatch.setenv("COLUMNS", "40")
    assert text_table(header, rows, ("moved",), None, prose=("why",)) == [
        "group  moved  why",
        "订单      12  clients divide by",
        "              different rules, and some",
        "              by none",
        "b          3  short",
    ]
    monkeypatch.setenv("COLUMNS", "30")
    assert text_table(header, rows, ("moved",), None, prose=("why",)) == [
        "group  moved",
        "订单      12",
        "    clients divide by",
        "      different rules, and",
        "      some by none",
        "b          3",
        "    short",
    ]
    assert (
        text_table(header, rows, ("moved",), None, prose=("why",), spare=("moved",))[1]
        == "订单   clients divide by"
    )
