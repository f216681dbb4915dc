"""Style measures of source whose figures can be counted by hand."""

import pytest
import style_measures

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
