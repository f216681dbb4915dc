"""What the README and the pages of docs/ show is what one gets."""

import doctest
import re
import shlex

import pytest
from checkout import ROOT

from rmqalloc.cli import main

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def shown(page):
    """Commands on the examples that a page shows with their output, and it."""
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            command = command.partition("#")[0].strip()
            if command.startswith("rmqalloc ") and " example:" in command and output.strip():
                yield pytest.param(command, output, id=f"{page.name}: {command}")


def test_the_examples_of_the_readme_run_as_printed():
    outcome = doctest.testfile(str(PAGES[0]), module_relative=False)
    assert outcome.attempted >= 8
    assert outcome.failed == 0


@pytest.mark.parametrize(("command", "output"), [one for page in PAGES for one in shown(page)])
def test_a_command_prints_what_its_page_shows(command, output, tmp_path, monkeypatch, capsys):
    """Word by word; dots stand for anything."""
    monkeypatch.chdir(tmp_path)
    main(shlex.split(command)[1:])
    pattern = r"\s+".join(re.escape(word) for word in output.split())
    printed = "".join(capsys.readouterr())
    assert re.search(pattern.replace(re.escape("..."), ".*?"), printed, re.DOTALL), printed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_files_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"
