"""Pages lead somewhere, are all in the guide's navigation, and those that are made are as they are
made now.
"""

import builtins
import re
from importlib import import_module

import click
import pytest
from checkout import ROOT
from public_names import MODULES_OF_USERS

import rmqalloc
from rmqalloc.cli._error_handler import exit_code_of

PAPERS = ("CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md")
"""Pages of the guide that lie outside docs/; docs/site/hooks.py brings them in."""
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [
    *(ROOT / name for name in ("README.md", *PAPERS, ".github/PULL_REQUEST_TEMPLATE.md")),
    *DOCS,
]
SPARK_MODULES = set(MODULES_OF_USERS)
"""Modules that users of Spark import, as their names are those of Spark's own."""
BELOW = 5
"""From this floor on, and under 10, a room is for callers; those below are shown by what stands on them."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_files_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [one for one in targets if "://" not in one and not (page.parent / one).exists()] == []


def test_every_page_is_in_the_navigation_once():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = re.findall(r"([\w./-]+\.md)$", navigation, re.MULTILINE)
    pages = [str(page.relative_to(ROOT / "docs")) for page in DOCS]
    assert sorted(listed) == sorted([*pages, *(name.lower().replace("_", "-") for name in PAPERS)])


def test_the_reference_of_commands_is_that_of_the_commands():
    import command_reference

    assert command_reference.PAGE.read_text(encoding="utf-8") == command_reference.page()


def test_the_table_of_rules_is_that_of_the_audit():
    import command_reference

    assert (
        command_reference.RULES_PAGE.read_text(encoding="utf-8") == command_reference.rules_page()
    )


def test_the_picture_of_the_house_is_that_of_the_test_of_layers():
    import house_picture

    assert house_picture.PICTURE.read_text(encoding="utf-8") == house_picture.picture()


def test_the_headline_figures_are_those_of_the_committed_benchmarks():
    import chart

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"<!-- bench:begin -->\n{chart.headlines()}\n<!-- bench:end -->" in readme
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert f"<!-- bench:begin -->\n{chart.summary()}\n<!-- bench:end -->" in page
    picture = (ROOT / "docs" / "images" / "speed.svg").read_text(encoding="utf-8")
    assert picture == chart.chart(chart.rows(chart.RESULTS))


def test_every_room_with_public_names_has_a_page():
    import house_picture

    shown = re.findall(
        r"^::: ([\w.]+)$", "\n".join(page.read_text("utf-8") for page in PAGES), re.MULTILINE
    )
    rooms = {
        room
        for floor, rooms in house_picture.floors().items()
        if BELOW <= floor < 20
        for room in rooms
    }
    public = {room for room in rooms if getattr(import_module(room), "__all__", ())}
    assert len(public) > 10 and public <= {*shown}


def test_pages_import_from_rooms_and_not_from_modules_inside_them():
    """What is inside a room may change in any release."""
    pattern = re.compile(r"^(?:>>> )?(?:from|import) ((?:rmqalloc|spark_udfs)[\w.]*)", re.MULTILINE)
    imported = {module for page in PAGES for module in pattern.findall(page.read_text("utf-8"))}
    inside = {
        module
        for module in imported
        if not ROOT.joinpath(*module.split("."), "__init__.py").exists()
    }
    assert "rmqalloc" in imported and inside - set(SPARK_MODULES) == set()


RECIPES = (ROOT / "docs" / "project" / "recipes.md").read_text(encoding="utf-8")


def raising(name):
    """A command that raises the exception of that name; one that no name says is any other."""
    module, _, bare = name.rpartition(".")
    kind = getattr({"click": click, "rmqalloc": rmqalloc}.get(module, builtins), bare)

    def command():
        raise kind() if kind is click.Abort else kind("planted")

    return command


def test_the_table_of_errors_is_that_of_the_command_line():
    rows = re.findall(r"^\| (`.*`|any other exception) \| (\d+) \|", RECIPES, re.MULTILINE)
    codes = {
        name: int(code)
        for names, code in rows
        for name in re.findall(r"`([\w.]+)`", names) or ["RuntimeError"]
    }
    del codes["BrokenPipeError"]  # it would close the output of the tests
    assert len(codes) == 9 and codes == {
        name: exit_code_of(raising(name), "plan") for name in codes
    }


def test_what_recipes_and_records_name_is_there():
    pages = [
        RECIPES,
        *(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "decisions").glob("*.md")),
    ]
    named = {name for page in pages for name in re.findall(r"`((?:\w+/)+(?:\w+\.\w+)?)`", page)} - {
        "pyx/vector/"
    }
    assert len(named) > 20 and [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_picture_of_the_flow_names_rooms():
    picture = (ROOT / "docs" / "images" / "flow.svg").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "flow.md").read_text(encoding="utf-8")
    rooms = {
        room
        for cells in re.findall(r"^\| \w+ \| (`.*?`) \|", page, re.MULTILINE)
        for room in re.findall(r"`(\w+)`", cells)
    }
    shown = {
        word
        for names in re.findall(r'class="name"[^>]*>([^<]*)', picture)
        for word in re.findall(r"\w+", names)
    }
    assert len(rooms) > 12 and all(
        (ROOT / "rmqalloc" / room).is_dir() or (ROOT / room).is_dir() for room in rooms
    )
    assert rooms - shown <= {"scenarios", "advice", "optimisation", "cli"}


def test_the_evidence_names_each_proof():
    page = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
    readme = (ROOT / "proofs" / "README.md").read_text(encoding="utf-8")
    names = [path.parent.name for path in (ROOT / "proofs").glob("*/__main__.py")]
    assert len(names) == 8
    assert [name for name in names if f"`{name}" not in page or f"`{name}" not in readme] == []


def test_questions_of_the_search_have_pages():
    import site_search

    asked = site_search.questions()
    pages = {name for right in asked.values() for name in right}
    assert len(asked) == 20
    assert [name for name in pages if not (ROOT / "docs" / name).with_suffix(".md").exists()] == []
