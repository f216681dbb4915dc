"""The page on what a rebalance costs holds what its command prints."""

import pytest
from checkout import ROOT

from rmqalloc.cli import main
from rmqalloc.simulation import read_script

PAGE = ROOT / "docs" / "rebalance-cost.md"
SCRIPTS = ("three-deaths", "concurrent", "ordered", "restart-avg", "restart-consistent-hash")


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_page_holds_what_the_command_prints(name, capsys):
    script = ROOT / "examples" / "simulations" / f"{name}.yaml"
    assert main(["simulate", str(script)]) == 0
    figures = "\n\n".join(capsys.readouterr().out.split("\n\n")[:3])
    assert f"```\n{figures}\n```\n" in PAGE.read_text()


def test_the_page_states_the_command_with_every_script_in_it():
    assert f"for s in {' '.join(SCRIPTS)}; do\n  rmqalloc simulate example:$s" in PAGE.read_text()


def test_every_example_is_a_script():
    examples = {
        path.stem: read_script(path) for path in (ROOT / "examples" / "simulations").glob("*.yaml")
    }
    assert set(SCRIPTS) <= examples.keys()
