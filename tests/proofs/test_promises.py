"""The page of promises: markers name what pages and docstrings say today, and few promises have no
test.
"""

import subprocess
import sys

import pytest
from promises import descriptions, markers, names, page, promised, sentences, verdicts

AT_MOST = 31
"""Promises without a test; the number only shrinks."""


@pytest.fixture(scope="module")
def promises():
    return [*promised.of_pages(), *promised.of_names()]


def test_every_marker_names_words_of_a_sentence(promises):
    assert promised.unknown(promises) == []


def test_the_page_is_that_of_today(tmp_path):
    """In a process of its own, as modules that other tests have loaded hide names of their
    packages.
    """
    program = [sys.executable, "-m", "promises", "--report", str(tmp_path / "promises.md")]
    subprocess.run(program, check=True, timeout=300)
    made = (tmp_path / "promises.md").read_text("utf-8")
    assert page.PAGE.read_text("utf-8") == made, "python -m promises --report docs/promises.md"


def test_promises_without_a_test_only_get_fewer(promises):
    assert len(promises) > 600
    assert sum(not one.is_held for one in promises) <= AT_MOST


PAGE = """# Never

One. It *never*
fails `x`. [Two](a.md) is.

- Three always.

| one | never |
| --- | ---: |
| a | at most 4 |

```
never
```
"""


def test_a_sentence_is_found_in_whatever_it_stands():
    found = ["One.", "It never fails x.", "Two is.", "Three always.", "a — at most 4"]
    assert list(sentences.of_page(PAGE)) == found
    assert [one for one in found if sentences.RELIED_ON.search(one)] == [
        found[1],
        found[3],
        found[4],
    ]
    text = "Return it.\n\nRaises\n------\nValueError\n    If it is\n    not. Or so.\n\nExamples\n--------\n>>> 1\n1\n"
    assert {"Return it.", "If it is not.", "Or so."} <= {*sentences.of_docstring(text)}


def test_markers_and_expected_errors_are_read_from_the_source():
    text = (
        "import rmqalloc\nfrom rmqalloc import plan as p\nimport a.b as c\n"
        '@pytest.mark.holds("README.md", "a " "b")\ndef test_one():\n'
        "    with pytest.raises((rmqalloc.Error, KeyError), match='x'):\n        rmqalloc.plan(1)\n"
        "    with pytest.raises(OSError):\n        p(c.f()), strategy()\n"
        "def other():\n    with pytest.raises(OSError):\n        f()\n"
    )
    assert list(markers.found_in("t.py", text)) == [
        ("t.py::test_one", "README.md", "a b"),
        ("t.py::test_one", "rmqalloc.plan", "Error"),
        ("t.py::test_one", "rmqalloc.plan", "KeyError"),
        ("t.py::test_one", "rmqalloc.plan", "OSError"),
    ]


def test_words_that_no_sentence_has_are_found(monkeypatch):
    found = [
        markers.Marker("t", "README.md", words)
        for words in ("the **same answers**", "computes none")
    ]
    monkeypatch.setattr(markers, "of_tests", lambda: (found, []))
    assert promised.unknown(promised.of_pages()) == found[1:]


def test_entries_below_raises_are_read():
    (check,) = [one for one in names.public() if one.name == "rmqalloc.check"]
    entries = dict(check.raises())
    assert entries.keys() == {("NoMatchError",), ("ValueError",)} and all(entries.values())
    whole = ("rmqalloc.check", "rmqalloc.audit.check_snapshot", "rmqalloc.plan", "os.path.join")
    assert [names.called(one) is check.thing for one in whole] == [True, True, False, False]
    known = names.errors()
    assert names.is_kind_of("UnicodeDecodeError", ("TypeError", "ValueError"), known)
    assert not names.is_kind_of("KeyError", ("ValueError",), known)


def test_nothing_of_a_sentence_is_markup_in_a_cell():
    assert page.cell("a|b <c> `d` *e* [f]_g") == r"a\|b &lt;c&gt; \`d\` \*e\* \[f]\_g"


def test_a_test_has_the_mutants_that_it_killed_first():
    rows = "a.py::f::x::1\tkilled\tt.py::test_a[1]\na.py::f.g::x::1\tsurvives\t\na.py::fg::x::1\tkilled\tt.py::test_a[2]\n"
    found = verdicts.Verdicts(rows)
    assert found.by(["t.py::test_a"]) == 2 and found.by(["t.py::test_b"]) == 0
    assert found.within("a.py::f") == (["t.py::test_a"], 1, 2)


def test_descriptions_are_sentences_that_would_be_promises():
    """One that is not there any more, or says it in other words, is taken off the list."""
    pages = promised.pages()
    for where, described in descriptions.DESCRIPTIONS.items():
        found = [
            text for text in sentences.of_page(pages[where]) if sentences.RELIED_ON.search(text)
        ]
        assert [words for words in described if not any(words in text for text in found)] == [], (
            where
        )
