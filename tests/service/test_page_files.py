"""The files of the service's page: nothing is loaded from elsewhere, and no call makes markup of a
name.
"""

import re
from pathlib import Path

import pytest

import rmqalloc
from rmqalloc.report.html._palette import DARK, LIGHT
from rmqalloc.strategies import STRATEGIES

PAGE = Path(rmqalloc.__file__).parent / "service" / "page"
FILES = sorted(PAGE.iterdir())
SCRIPTS = [path for path in FILES if path.suffix == ".js"]
MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|setHTML|createContextualFragment|srcdoc"
    r"|\beval\b|new Function|import\(|setAttribute\(\"(style|on)|set(Timeout|Interval)\([\"'`]"
)


def read(path):
    return path.read_text(encoding="utf-8")


def test_page_has_its_files():
    assert {"index.html", "page.css", "page.js", "icon.svg"} <= {path.name for path in FILES}
    assert {path.suffix for path in FILES} == {".html", ".css", ".js", ".svg"}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_names_cannot_become_markup(path):
    assert not MARKUP.findall(read(path))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_comes_from_elsewhere(path):
    foreign = [
        url
        for url in re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"']*", read(path))
        if "www.w3.org" not in url
    ]
    assert not foreign
    assert "@import" not in read(path) and "url(" not in read(path)


def test_policy_blocks_nothing_of_the_document():
    html = read(PAGE / "index.html")
    assert not re.findall(r"\s(?:style|on\w+)=|<style|javascript:", html)
    assert re.findall(r"<script[^>]*>(.*?)</script>", html) == [""]


def test_whatever_is_named_is_there():
    names = {path.name for path in FILES}
    named = re.findall(r"static/([\w.]+)", read(PAGE / "index.html"))
    named += [name for path in SCRIPTS for name in re.findall(r"from \"\./([\w.]+)\"", read(path))]
    assert named and set(named) <= names
    imported = set(named)
    assert names - imported == {"index.html"}


def test_names_imported_are_exported():
    imports = [
        (path, names, source)
        for path in SCRIPTS
        for names, source in re.findall(r"import \{([^}]*)\} from \"\./([\w.]+)\"", read(path))
    ]
    assert len({path for path, _, _ in imports}) > len(SCRIPTS) / 2
    for path, names, source in imports:
        exported = set(
            re.findall(r"export (?:async )?(?:function|const|let|class) (\w+)", read(PAGE / source))
        )
        wanted = {name.strip() for name in names.split(",")}
        assert wanted <= exported, f"{path.name} imports {wanted - exported} of {source}"
        rest = read(path).replace(f"import {{{names}}}", "")
        unused = {name for name in wanted if not re.search(rf"\b{name}\b", rest)}
        assert not unused, f"{path.name} imports {unused} for nothing"


def test_strategies_that_can_be_tried_are_known():
    text = read(PAGE / "trial.js")
    listed = [*re.findall(r"const (?:RINGS|STRATEGIES) = \[([^\]]*)\]", text)]
    names = {name for line in listed for name in re.findall(r"\"([^\"]+)\"", line)}
    assert len(names) >= 8 and names <= set(STRATEGIES)


def test_colours_are_those_of_the_report():
    css = read(PAGE / "page.css")
    assert LIGHT.keys() == DARK.keys() and len(LIGHT) > 5
    assert [
        name for theme in (LIGHT, DARK) for name in theme if f"--{name}:{theme[name]}" not in css
    ] == []
