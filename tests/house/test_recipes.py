"""The recipes of `docs/contributors/recipes.md`, and the first change of `CONTRIBUTING.md`, work as
they are printed.

Each section with blocks runs from top to bottom in a copy of the checkout, which has the compiled
modules of the package under test: ``python title="PATH"`` is the whole text of a new file, ``diff``
a patch for ``git apply``, ``bash`` commands at the root of the copy. A section without blocks is
prose.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import cache
import package_under_test
import pytest
from checkout import ROOT, copy_checkout

PAGE = ROOT / "docs/contributors/recipes.md"
FIRST_CHANGE = "Change a line and test it"
"""The section of `CONTRIBUTING.md` that runs here."""
BLOCK = re.compile(r'^```(\w+)(?: title="(.+?)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """One block of a recipe."""

    language: str
    path: str
    text: str


def sections(page):
    """Titles and texts of the sections of a page."""
    for section in re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        yield section.partition("\n")[::2]


def recipes():
    """Sections of the page that have blocks, and the first change."""
    first = dict(sections(ROOT / "CONTRIBUTING.md"))[FIRST_CHANGE]
    for title, text in [*sections(PAGE), (FIRST_CHANGE, first)]:
        blocks = [Block(*found) for found in BLOCK.findall(text)]
        assert 2 * len(blocks) == len(re.findall(r"^ *```", text, re.MULTILINE)), (
            f"a block of {title!r} is not of the form that is run"
        )
        if blocks:
            yield pytest.param(blocks, id=re.sub(r"\W+", "-", title.lower()).strip("-"))


def copy_of_checkout(folder):
    """Copy the checkout, with the compiled modules of the package that is tested."""
    copy_checkout(folder)
    compiled = package_under_test.imported_from() / "rmqalloc/_engine"
    for path in [*compiled.glob("*.so"), *compiled.glob("*.pyd"), *compiled.glob("*.sha256")]:
        shutil.copy(path, folder / "rmqalloc/_engine")
    (folder / ".venv-dev").symlink_to(sys.prefix)


def environment(folder):
    """The variables of commands in a copy: they find its package, not the one installed here."""
    inherited = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    return inherited | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(folder),
        "PYTHONSAFEPATH": "",
        "RMQALLOC_WHEEL_OF": "",
        "RMQALLOC_CACHE": str(cache.HOME),
        "GIT_CEILING_DIRECTORIES": str(folder.parent),
    }


def run(command, folder, given=None):
    """Run a command in a copy, and show what it printed if it fails."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(folder),
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, f"{command}\nends with {done.returncode}:\n{done.stdout}"


@pytest.mark.parametrize("blocks", list(recipes()))
def test_a_recipe_works_as_it_is_printed(blocks, tmp_path):
    copy_of_checkout(tmp_path)
    for block in blocks:
        match block.language:
            case "python":
                path = tmp_path / block.path
                assert block.path and not path.exists(), f"not the path of a new file: {block}"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text, encoding="utf-8")
            case "diff":
                run(["git", "apply", "-"], tmp_path, block.text)
            case "bash":
                run(["bash", "-e", "-c", block.text], tmp_path)
            case _:
                raise AssertionError(f"what to do with a block of {block.language}?")
