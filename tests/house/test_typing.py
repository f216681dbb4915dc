"""What type checkers make of the public names, and of the Python that README.md and docs/*.md show."""

import doctest
import subprocess
import sys

import pytest
import typed_pages
from checkout import ROOT

pytestmark = pytest.mark.timeout(900)  # mypy reads everything once


def mypy(*files):
    """Run mypy as strict as over the package, with its cache; returns what it prints unless all is well."""
    command = [sys.executable, "-m", "mypy", "--strict", "--no-pretty", *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=550)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_a_page_is_a_module_line_by_line():
    found = doctest.testmod(typed_pages)
    assert found.attempted and not found.failed


def test_public_types_and_the_python_of_all_pages(tmp_path):
    pages = typed_pages.write_modules(tmp_path)
    assert {"README_md.py", "docs_plan_md.py", "docs_spark_md.py"} <= {page.name for page in pages}
    assert mypy(ROOT / "tests" / "support" / "typing_cases.py", *pages) == ""


def test_a_wrong_block_is_found_at_its_line(tmp_path):
    page = "# A page\n```python\n>>> from rmqalloc import strategy\n>>> strategy('CONFIG').assign([], []).owners\n```\n"
    (tmp_path / "wrong.py").write_text(typed_pages.module_of(page))
    assert "wrong.py:4: error:" in mypy(tmp_path / "wrong.py")
