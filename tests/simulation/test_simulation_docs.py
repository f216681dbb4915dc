"""The page on simulation holds what its command prints."""

from checkout import ROOT

from rmqalloc.cli import main
from rmqalloc.simulation import EVENTS, read_script

PAGE = ROOT / "docs" / "operators" / "rollout.md"


def test_the_page_holds_what_the_command_prints(capsys):
    script = ROOT / "examples" / "simulations" / "three-deaths.yaml"
    assert main(["simulate", str(script)]) == 0
    figures = "\n\n".join(capsys.readouterr().out.split("\n\n")[:3])
    assert f"```\n{figures}\n```\n" in PAGE.read_text()


def test_the_reference_names_every_kind_of_event():
    text = (ROOT / "docs" / "reference" / "snapshots.md").read_text()
    assert [kind for kind in EVENTS if f"| `{kind}` |" not in text] == []


def test_every_example_is_a_script():
    for path in (ROOT / "examples" / "simulations").glob("*.yaml"):
        assert read_script(path).events
