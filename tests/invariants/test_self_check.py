"""``--self-check``: a note where all holds, a defect where a figure is wrong, and nothing is shown
or saved then.
"""

import numpy as np
import pytest

from rmqalloc.cli import main
from rmqalloc.plans import _plan_tables

PLAN = ["plan", "-f", "example:seed", "-g", "by-average", "--remove-client", "10.0.0.11@1009"]
VERBS = {
    "plan": PLAN,
    "compare": ["compare", "-f", "example:seed"],
    "diff": ["diff", "example:seed", "example:seed"],
    "rollout restart": ["rollout", "restart", "-f", "example:seed", "-g", "by-average"],
    "rollout restart --best": [
        "rollout",
        "restart",
        "-f",
        "example:seed",
        "-g",
        "by-average",
        "--best",
    ],
    "rollout queues": ["rollout", "queues", "-f", "example:seed", "-t", "TopicTest", "--to", "16"],
    "rollout broker": ["rollout", "broker", "-f", "example:seed", "--name", "broker-a"],
}


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("verb", VERBS)
def test_a_result_that_agrees_with_itself_is_shown_with_a_note(verb, capsys):
    plain = main(VERBS[verb]), capsys.readouterr()
    checked = main([*VERBS[verb], "--self-check"]), capsys.readouterr()
    assert checked[0] == plain[0] and checked[1].out == plain[1].out
    [note] = {*checked[1].err.splitlines()} - {*plain[1].err.splitlines()}
    words = note.split()
    assert words[0] == "self-check:" and words[2:5] == ["rules", "hold", "on"] and int(words[1]) > 4


def test_a_plan_of_a_difference_is_checked_against_it(tmp_path, capsys):
    assert main([*PLAN, "--out", str(tmp_path / "plan.json")]) == 0
    assert main(["diff", str(tmp_path / "plan.json"), "example:seed", "--self-check"]) == 0
    assert "self-check: " in capsys.readouterr().err


@pytest.mark.broken_results
def test_a_wrong_figure_is_a_defect_and_is_neither_shown_nor_saved(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(
        _plan_tables, "_change", lambda queues: np.where(queues.moved, 0, 1)
    )  # kept is moved and back
    assert main([*PLAN, "--out", str(tmp_path / "plan.json"), "--self-check"]) == 70
    out, err = capsys.readouterr()
    assert out == "" and not (tmp_path / "plan.json").exists()
    assert (
        "RuntimeError: the result contradicts itself (" in err
        and "this is a defect of rmqalloc" in err
    )
    assert (
        "units (remove-client 10.0.0.11@1009, by-average, TopicTest): moved are the queues of both sides"
        in err
    )
    assert main(PLAN) == 0
