"""Pages lead somewhere, are in the guide's navigation, and those that are generated are current."""

import builtins
import importlib
import re
import textwrap

import click
import pytest
from checkout import ROOT
from cli_commands import COMMANDS

import rmqalloc
from rmqalloc.cli._error_handler import exit_code_of
from rmqalloc.evaluation import ErrCode, PlanSpec
from rmqalloc.strategies import STRATEGIES

PAPERS = ("CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md")
"""Pages of the guide that lie outside docs/; docs/site/hooks.py brings them in."""
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [ROOT / "README.md", *(ROOT / name for name in PAPERS), *DOCS]
MADE = "reference/commands.md"
"""The page that docs/site/hooks.py makes from the commands."""


def leads_somewhere(page, target):
    """Whether a link of a page is an address, or a path that exists once the site is built."""
    path = page.parent / target
    is_made = path.resolve() == ROOT / "docs" / MADE
    return "://" in target or is_made or path.exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_files_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not leads_somewhere(page, target)] == []


def test_every_page_is_in_the_navigation_once():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = re.findall(r"([\w./-]+\.md)$", navigation, re.MULTILINE)
    pages = [str(page.relative_to(ROOT / "docs")) for page in DOCS]
    papers = [name.lower().replace("_", "-") for name in PAPERS]
    assert sorted(listed) == sorted([*pages, *papers, MADE])


def test_the_page_of_commands_can_be_made():
    import command_reference

    text = command_reference.page()
    headings = re.findall(r"^##+ (.*)$", text, re.MULTILINE)
    assert headings == [" ".join(words) for words in COMMANDS]
    assert "| `--scale` " in text and "[Exit codes](options.md#exit-codes)" in text


def test_the_table_of_rules_is_that_of_the_audit():
    import command_reference

    page = command_reference.RULES_PAGE.read_text(encoding="utf-8")
    assert page == command_reference.rules_page()


@pytest.mark.parametrize(
    ("module", "write"),
    [
        ("strategy_table", "with_table"),
        ("field_tables", "with_tables"),
        ("metric_table", "with_table"),
        ("row_tables", "with_table"),
    ],
)
def test_the_tables_of_a_page_are_current(module, write):
    made = importlib.import_module(module)
    page = made.PAGE.read_text(encoding="utf-8")
    assert page == getattr(made, write)(page)


def test_each_code_of_bad_rows_has_a_meaning_and_a_message():
    import row_tables

    assert set(row_tables.meanings()) == set(ErrCode)
    assert set(row_tables.messages()) == set(ErrCode) - {ErrCode.GOOD}


def test_the_columns_of_a_plan_are_those_of_the_schema():
    page = (ROOT / "docs" / "reference" / "rows.md").read_text(encoding="utf-8")
    table = page.partition("## Columns of a plan")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*`) \| ([\w ]+) \|", table, re.MULTILINE)
    listed = {name: kind for names, kind in rows for name in re.findall(r"`(\w+)`", names)}
    found = {
        field.name: "list of int32" if field.name == "owners" else str(field.type)
        for field in PlanSpec("AVG", output="owners").schema
    }
    assert listed == found


def test_the_headline_figures_are_those_of_the_committed_benchmarks():
    import chart

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"<!-- bench:begin -->\n{chart.headlines()}\n<!-- bench:end -->" in readme
    page = (ROOT / "docs" / "reference" / "benchmarks.md").read_text(encoding="utf-8")
    assert f"<!-- bench:begin -->\n{chart.summary()}\n<!-- bench:end -->" in page


def raising(name):
    """A command that raises the exception of that name; without a name, an error of another kind."""
    module, _, bare = name.rpartition(".")
    kind = getattr({"click": click, "rmqalloc": rmqalloc}.get(module, builtins), bare)

    def command():
        raise kind() if kind is click.Abort else kind("planted")

    return command


def test_the_table_of_errors_is_that_of_the_command_line():
    recipes = (ROOT / "docs" / "contributors" / "recipes.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*`|any other exception) \| (\d+) \|", recipes, re.MULTILINE)
    codes = {
        name: int(code)
        for names, code in rows
        for name in re.findall(r"`([\w.]+)`", names) or ["RuntimeError"]
    }
    del codes["BrokenPipeError"]  # it would close the output of the tests
    found = {name: exit_code_of(raising(name), "plan") for name in codes}
    assert len(codes) == 9 and codes == found


def test_the_evidence_names_each_proof():
    page = (ROOT / "docs" / "contributors" / "evidence.md").read_text(encoding="utf-8")
    readme = (ROOT / "proofs" / "README.md").read_text(encoding="utf-8")
    names = [path.parent.name for path in (ROOT / "proofs").glob("*/__main__.py")]
    assert len(names) == 8
    assert [name for name in names if f"`{name}" not in page or f"`{name}" not in readme] == []


HOW_IT_WORKS = ROOT / "docs" / "contributors" / "how-it-works.md"


def test_the_table_of_loops_names_each_strategy():
    text = HOW_IT_WORKS.read_text(encoding="utf-8")
    table = text.partition("<!-- engine:begin -->")[2].partition("<!-- engine:end -->")[0]
    named = {name for line in table.splitlines() for name in re.findall(r"`([A-Z_]+)`", line)}
    assert named == {name.partition("/")[0] for name in STRATEGIES}


def test_the_plan_that_the_page_shows_is_that_of_the_source():
    page = HOW_IT_WORKS.read_text(encoding="utf-8")
    shown = page.partition("## The way of a question")[2].partition("```python\n")[2]
    source = (ROOT / "rmqalloc/plans/_plan_snapshot.py").read_text(encoding="utf-8")
    assert textwrap.indent(shown.partition("```")[0], "    ") in source
