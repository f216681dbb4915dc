"""What type checkers make of the public names, of programs of clients, and of the Python that
README.md and docs/*.md show.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import tools
import typed_pages
from checkout import ROOT

pytestmark = pytest.mark.timeout(900)  # mypy reads everything once
CLIENT = ROOT / "tests" / "support" / "typed_client.py"
EXAMPLES = sorted((ROOT / "examples" / "clients").glob("*.py"))


def mypy(*files):
    """Run mypy as strict as over the package, with its cache; returns what it prints unless all is
    well.
    """
    command = [sys.executable, "-m", "mypy", "--strict", "--no-pretty", *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=550)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_public_types_and_the_python_of_all_pages(tmp_path):
    pages = typed_pages.write_modules(tmp_path)
    assert {"README_md.py", "docs_plan_md.py", "docs_spark_md.py"} <= {page.name for page in pages}
    assert mypy(ROOT / "tests" / "support" / "typing_cases.py", CLIENT, *EXAMPLES, *pages) == ""


def test_a_wrong_block_is_found_at_its_line(tmp_path):
    page = "# A page\n```python\n>>> from rmqalloc import strategy\n>>> strategy('CONFIG').assign([], []).owners\n```\n"
    (tmp_path / "wrong.py").write_text(typed_pages.module_of(page))
    assert "wrong.py:4: error:" in mypy(tmp_path / "wrong.py")


@pytest.mark.needs("pyright")
def test_pyright_accepts_programs_of_client_authors_and_sees_the_null_of_config(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from rmqalloc import strategy\n\nlen(strategy('CONFIG').allocate('g', 'x', [], ['x']))\n"
    )
    command = [
        tools.program("pyright"),
        "--outputjson",
        "--pythonpath",
        sys.executable,
        CLIENT,
        *EXAMPLES,
        wrong,
    ]
    done = subprocess.run(
        [*map(str, command)], cwd=ROOT, capture_output=True, text=True, timeout=550
    )
    found = json.loads(done.stdout)["generalDiagnostics"]
    assert [(Path(one["file"]).name, one["rule"]) for one in found] == [
        ("wrong.py", "reportArgumentType")
    ]


@pytest.mark.parametrize(
    ("name", "owned"), [("AVG", "[0, 1, 2, 3]"), ("AVG_BY_CIRCLE", "[0, 2, 4, 6]")]
)
def test_the_program_of_a_client_author_runs(name, owned):
    settings = json.dumps({"client_id": "x", "strategy": name})
    done = subprocess.run(
        [sys.executable, str(CLIENT), settings],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[0] == owned
