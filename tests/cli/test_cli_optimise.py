"""`rmqalloc optimise`: what is printed, saved and said, and how it ends."""

import json

import pytest

from rmqalloc.cli import main

SEED = ["-f", "example:seed", "-g", "by-average"]


def test_the_best_ways_and_the_runbook_are_printed(capsys):
    assert main(["optimise", "scale", *SEED, "--to", "2", "--goal", "moves,unowned"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Group by-average  exact: all 18 ways were evaluated"
    assert lines[1].split() == ["strategy", "clients", "batch", "order", "moves", "unowned"]
    assert lines[2].startswith("* AVG")
    assert (
        "# Runbook: consumer group `by-average`" in lines
        and 'kubectl scale "$WORKLOAD" --replicas=2' in lines
    )


def test_programs_get_tables_and_the_runbook_goes_to_a_file(capsys, tmp_path):
    book = tmp_path / "runbook.md"
    assert main(["optimise", "restart", *SEED, "--surge", "-o", "json", "--out", str(book)]) == 0
    done = capsys.readouterr()
    rows = json.loads(done.out)
    assert [row["suggested"] for row in rows] == [True] + [False] * (len(rows) - 1)
    assert all(row["surge"] and len(row["client_ids"]) == 4 for row in rows)
    assert (
        book.read_text().startswith("# Runbook: consumer group `by-average`\n")
        and f"runbook saved: {book}" in done.err
    )
    for table, column in (("searches", "n_ways"), ("runbook", "commands")):
        assert main(["optimise", "restart", *SEED, "--surge", "-o", "json", "--show", table]) == 0
        assert column in json.loads(capsys.readouterr().out)[0]


def test_numbers_are_ranges_and_lists(capsys):
    numbers = ["optimise", "numbers", *SEED, "-o", "json"]
    command = [*numbers, "--clients", "2-3,6", "--strategies", "AVG,CONSISTENT_HASH:160"]
    assert main([*command, "--goal", "clients,queues,load,moves", "--batches", "1-2"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows[0]["n_clients"] == 2 and {row["batch"] for row in rows} <= {1, 2}
    assert main([*numbers, "-t", "TopicTest", "--queues", "12,16", "--goal", "load,moves"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["broker_queues"] == 12


def test_a_bound_that_excludes_all_is_a_gate(capsys):
    assert (
        main(["optimise", "restart", *SEED, "--max-unowned", "3", "--max-double-owned", "99"]) == 3
    )
    done = capsys.readouterr()
    said = "none of the 70 ways evaluated keeps the bounds: unowned is at least 8, at most 3 is allowed"
    assert f"gate not kept: consumer group 'by-average': {said}" in done.err
    assert done.out == "Group by-average  exact: all 70 ways were evaluated\n"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["numbers", *SEED], 64, "nothing to choose; give --clients, --queues or --strategies"),
        (["numbers", *SEED, "--queues", "8"], 64, "--queues is for one topic"),
        (["numbers", *SEED, "--clients", "4-"], 64, "'4-' is not N, N-N"),
        (["numbers", *SEED, "--clients", "6-4"], 64, "'6-4' must go up from 1"),
        (["numbers", *SEED, "--clients", "0"], 64, "'0' must go up from 1"),
        (["numbers", *SEED, "--clients", "1-999999999"], 64, "at most 100,000 numbers"),
        (
            ["restart", *SEED, "--stable-ids", "--surge"],
            64,
            "--stable-ids and --surge contradict each other",
        ),
        (["restart", *SEED, "--goal", "movs"], 64, "got 'movs'; did you mean moves?"),
        (["restart", *SEED, "--max-unowned", "nan"], 64, "is not a number"),
        (["strategy", *SEED, "--to", "AVG"], 1, "nothing would change"),
        (["strategy", *SEED, "--to", "AVGG"], 1, "AVG"),
        (["restart", "-f", "example:seed", "-g", "nobody"], 1, "nobody"),
        (["scale", *SEED], 64, "--to"),
    ],
)
def test_what_is_wrong_is_said(arguments, code, said, capsys):
    assert main(["optimise", *arguments]) == code
    done = capsys.readouterr()
    assert said in done.err and not done.out
