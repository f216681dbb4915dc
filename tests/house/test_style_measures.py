"""Style measures of source whose figures can be counted by hand."""

import pytest
import style_measures
import visible_text

SOURCE = '''
"""A docstring is no code."""

def pairs(rows):
    """Neither is this."""
    total = rows.size  # nor this
    return [(row, one) for row in rows for one in max([each for each in row])]

for other in call(1, 2, 3, 4, 5, 6):
    pass
'''
LINES = 5
TOKENS = [6, 5, 25, 18, 1]
DEPTHS = [4, 8]
"""Assign, Attribute, Name, Load; Return, ListComp, comprehension, Call, ListComp, comprehension,
Name, Load."""


@pytest.fixture
def package(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "left_out.py").write_text("left = out")
    (tmp_path / "module.py").write_text(SOURCE)
    return tmp_path


def test_measures_of_a_known_source(package):
    figures = style_measures.measure(style_measures.read_formatted([package]))
    assert figures["lines of code"] == LINES
    assert figures["tokens per line of code"] == sum(TOKENS) / LINES
    assert figures["mean depth of a statement"] == sum(DEPTHS) / len(DEPTHS)
    assert figures["comprehensions"] == 2
    assert figures["comprehensions with two or more `for`"] == 1
    assert figures["comprehensions inside another, per 1,000 lines"] == 1000 / LINES
    assert figures["calls with over five positional arguments"] == 1
    assert [figures[f"`for` targets named `{name}`"] for name in ("one", "each", "other")] == [
        1
    ] * 3
    assert figures["modules under 100 lines, in %"] == 100


def test_the_worst_function_has_its_place_in_the_source(package, capsys):
    style_measures.main(["--worst", "1", str(package)])
    assert f"{package / 'module.py'}:4 pairs" in capsys.readouterr().out


def test_a_folder_without_source_is_an_error(package, capsys):
    with pytest.raises(SystemExit):
        style_measures.main(["--beside", str(package / "wrong"), str(package)])
    assert f"no .py files below {package / 'wrong'}" in capsys.readouterr().err


WORDY = '''
"""What it holds is one thing. Of these, see `one one` and the other.

>>> nobody("said one")
"""

def shown(name):
    """Is that what stands here?"""
    raise ValueError(f"nobody said {name} of the rooms")

def _hidden():
    """One. One."""
'''
PAGE = """
# Pages

A machine room has one name. In such a room, it
is a queue.

```python
nobody, stands, others
```
"""


def test_words_of_a_known_text(tmp_path):
    (tmp_path / "module.py").write_text(WORDY)
    (tmp_path / "page.md").write_text(PAGE)
    texts = [*visible_text.of_package(tmp_path), visible_text.of_page(tmp_path / "page.md")]
    figures = style_measures.measure_words(texts)
    n_words = 13 + 5 + 2 + 3 + 15
    assert figures["words of text"] == n_words
    assert figures["one, ones, other, others, theirs"] == 3000 / n_words
    assert figures["say, tell, ask, hear"] == 1000 / n_words
    assert figures["house, door, floor, room"] == 2000 / n_words
    assert figures["nobody"] == 1000 / n_words
    assert figures["stands"] == 1000 / n_words
    assert figures["`what` in a statement"] == 1000 / n_words
    assert figures["inverted beginnings"] == 2000 / n_words
    assert figures["sentences"] == 5
    assert figures["words a sentence"] == (6 + 7 + 5 + 6 + 8) / 5


def test_a_docstring_of_a_private_module_is_public_if_the_package_names_it(tmp_path):
    (tmp_path / "__init__.py").write_text("from here._module import Shown")
    (tmp_path / "_module.py").write_text(
        '"""Hidden module."""\n\nclass Shown:\n    """Seen."""\n\nclass Other:\n    """Hidden."""\n'
    )
    assert [(text.text, text.line) for text in visible_text.of_package(tmp_path)] == [("Seen.", 4)]
