"""Gates in files: read by the one strict reader, described by their schema, and kept as flags are."""

import json

import pytest
from json_schema import faults

from rmqalloc.cli import main
from rmqalloc.plans import Gates, GatesError, gates_schema, read_gates


@pytest.mark.parametrize(
    ("name", "text", "gates"),
    [
        (
            "g.yaml",
            "max_moved_share: 0.2\nfail_if_worse: true\n",
            Gates(max_moved_share=0.2, fail_if_worse=True),
        ),
        ("g.json", '{"$schema": "gates.schema.json", "max_skew": 2}', Gates(max_skew=2.0)),
        ("g.json", "{}", Gates()),
    ],
)
def test_gates_are_read(tmp_path, name, text, gates):
    (tmp_path / name).write_text(text)
    assert read_gates(tmp_path / name) == gates


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("max_skew: 1\nmax_skew: 2\n", r"g.yaml:2:1: key 'max_skew' is given twice"),
        pytest.param(
            "fail_if_worse: true\nmax_moves: 2\n",
            r"g.yaml:2:12: max_moves is not known; .* did you mean max_moved\?",
            id="max_moves",
        ),
        ("max_moved: -1\n", r"g.yaml:1:12: max_moved must be a number from 0 on, got -1"),
        ("fail_if_worse: on\n", r"g.yaml:1:16: fail_if_worse must be true or false, got 'on'"),
        ("- 1\n", r"g.yaml:1:1: must be a mapping, got \[1\]"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path, text, said):
    (tmp_path / "g.yaml").write_text(text)
    with pytest.raises(GatesError, match=said):
        read_gates(tmp_path / "g.yaml")


@pytest.mark.parametrize(
    ("data", "is_right"),
    [
        ({"max_moved": 3}, True),
        ({"max_moved": -1}, False),
        ({"max_move": 3}, False),
        ({"fail_if_worse": 1}, False),
    ],
)
def test_the_schema_takes_what_the_reader_takes(tmp_path, data, is_right):
    (tmp_path / "g.json").write_text(json.dumps(data))
    assert (list(faults(data, gates_schema(), gates_schema())) == []) == is_right
    if is_right:
        read_gates(tmp_path / "g.json")
    else:
        with pytest.raises(GatesError):
            read_gates(tmp_path / "g.json")


def test_a_file_of_gates_closes_as_its_flags_do(tmp_path, capsys):
    (tmp_path / "g.yaml").write_text("max_moved: 0\n")
    change = ["plan", "-f", "example:seed", "--remove-client", "10.0.0.11@1009"]
    assert (
        main([*change, "--gates", str(tmp_path / "g.yaml")])
        == main([*change, "--max-moved", "0"])
        == 3
    )
    assert main([*change, "--gates", str(tmp_path / "g.yaml"), "--max-unowned", "2"]) == 64
    assert main([*change, "--gates", str(tmp_path / "g.yaml"), "--informed-by", "crash"]) == 64
    assert capsys.readouterr().err.count("--gates is given together") == 2
