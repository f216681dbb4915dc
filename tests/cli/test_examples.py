"""Examples that come with rmqalloc: every file has a name, and every verb reads them."""

from pathlib import Path

import pytest

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli import main
from rmqalloc.scenarios import read_scenarios
from rmqalloc.simulation import read_script
from rmqalloc.snapshot import examples
from rmqalloc.snapshot.examples import EXAMPLES, ExampleError, find
from rmqalloc.snapshot.files import read_snapshot

FOLDER = Path(examples.__file__).parent
READERS = {"snapshot": read_snapshot, "scenarios": read_scenarios, "simulation": read_script}


def test_every_file_has_a_name_and_every_name_a_file():
    files = {
        path.relative_to(FOLDER).as_posix()
        for path in FOLDER.rglob("*")
        if path.suffix in (".yaml", ".json")
    }
    assert {one.file for one in EXAMPLES.values()} == files
    assert all(Path(one.file).stem == name == one.name for name, one in EXAMPLES.items())


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=lambda one: one.name)
def test_an_example_is_what_it_says(example):
    assert READERS[example.kind](str(example.path))


@pytest.mark.parametrize("argv", [
    ["plan", "-f", "example:seed", "--scenario", "example:what-if"], ["check", "-f", "example:live", "--fail-on", "error"],
    ["convert", "example:orders", "--out", "o.json"], ["simulate", "example:restart-avg"],
    ["rollout", "restart", "-f", "example:seed"],
])  # fmt: skip
def test_verbs_read_examples(argv, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(argv) == 0, capsys.readouterr().err


def test_a_file_of_such_a_name_is_reached_by_its_path(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("example:mine").write_text(EXAMPLES["orders"].path.read_text())
    assert main(["convert", "./example:mine", "--out", "o.json"]) == 0
    assert main(["convert", "example:mine", "--out", "o.json"]) == exit_codes.USAGE
    assert "there is no example mine" in capsys.readouterr().err


def test_examples_are_listed_and_printed(tmp_path, capsys):
    assert main(["example"]) == 0
    listed = capsys.readouterr().out
    assert all(f"example:{name}" in listed for name in EXAMPLES)
    for name, one in EXAMPLES.items():
        assert main(["example", name]) == 0
        assert capsys.readouterr().out == one.path.read_text()
    assert main(["example", "seed", "--out", str(tmp_path / "mine.yaml")]) == 0
    assert (tmp_path / "mine.yaml").read_text() == EXAMPLES["seed"].path.read_text()
    assert main(["example", "--out", str(tmp_path / "x")]) == exit_codes.USAGE


def test_a_name_that_is_not_there_lists_those_that_are():
    with pytest.raises(
        ExampleError,
        match=r"no example nope\. Examples of this kind \(simulation\): three-deaths, ",
    ):
        find("example:nope", "simulation")
    with pytest.raises(
        ExampleError,
        match=r"the example seed is of the kind snapshot\. .*: three-deaths, .*, large$",
    ):
        find("seed", "simulation")
    with pytest.raises(ExampleError, match="did you mean seed"):
        find("sead")
