"""The examples of examples/clients print what pages of docs/authors show, with public names only."""

import ast
import importlib
import re

import pytest
from checkout import ROOT
from programs import python

FOLDER = ROOT / "examples" / "clients"
PAGES = [ROOT / "docs" / "authors" / name for name in ("index.md", "build.md")]
PROGRAMS = sorted(path.name for path in FOLDER.glob("*.py") if path.name != "memory.py")


def printed_on_the_pages():
    """What the pages show that each program prints."""
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    return dict(
        re.findall(
            r"^\$ python examples/clients/(\w+\.py)\n(.*?)^```", text, re.MULTILINE | re.DOTALL
        )
    )


def test_every_program_is_on_a_page():
    assert sorted(printed_on_the_pages()) == PROGRAMS
    assert len(PROGRAMS) == 5


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_prints_what_its_page_shows(program):
    done = python("-W", "error", FOLDER / program, PYTHONSAFEPATH="")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == printed_on_the_pages()[program]


@pytest.mark.parametrize("program", [*PROGRAMS, "memory.py"])
def test_programs_use_public_names_only(program):
    nodes = list(ast.walk(ast.parse((FOLDER / program).read_text(encoding="utf-8"))))
    imports = [
        node
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module.startswith("rmqalloc")
    ]
    assert imports
    for node in imports:
        assert {alias.name for alias in node.names} <= set(
            importlib.import_module(node.module).__all__
        )
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            assert isinstance(node.value, ast.Name) and node.value.id == "self", ast.unparse(node)


PORTS = ["Remoting", "PullDispatcher", "RebalancingConsumer"]


@pytest.mark.parametrize("port", PORTS)
def test_the_page_has_a_row_for_every_method_of_a_port(port):
    ports = ast.parse((ROOT / "rmqalloc" / "rebalance" / "_ports.py").read_text(encoding="utf-8"))
    (body,) = [
        node.body for node in ports.body if isinstance(node, ast.ClassDef) and node.name == port
    ]
    methods = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    section = PAGES[1].read_text(encoding="utf-8").partition(f"### {port}\n")[2].partition("\n#")[0]
    rows = re.findall(r"^\| `(\w+)`", section, re.MULTILINE)
    assert rows == methods
