"""The action for pull requests: no text of others in its scripts, and what it reports of plans and
checks.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from checkout import ROOT
from tools import program

FOLDER = ROOT / "deploy" / "action"
ACTION = yaml.safe_load((FOLDER / "action.yml").read_text(encoding="utf-8"))
STEPS = ACTION["runs"]["steps"]

pytestmark = pytest.mark.needs("bash")


def faults(steps):
    wrong = [
        f"a script takes text of an input: {step['run']}"
        for step in steps
        if "${{" in step.get("run", "")
    ]
    uses = [step["uses"] for step in steps if "uses" in step]
    wrong += [
        f"{action} is pinned by no commit"
        for action in uses
        if not re.search(r"@[0-9a-f]{40}$", action)
    ]
    scripts = [step["run"] for step in steps if "run" in step]
    return wrong + [
        f"Python is not isolated: {script}"
        for script in scripts
        if re.search(r"\b(python3?|pip)\b(?! -I)", script.replace("python -I -m pip", ""))
    ]


def test_scripts_take_inputs_as_variables_and_actions_are_pinned():
    assert faults(STEPS) == []
    assert (
        len(faults([{"run": "echo ${{ inputs.snapshot }}"}, {"uses": "actions/setup-python@v6"}]))
        == 2
    )
    assert len(faults([{"run": "python -m pip list"}, {"run": "pip list"}])) == 2


@pytest.fixture
def checkout(tmp_path):
    """A folder with modules that hide those of the same names, if they are found."""
    folder = tmp_path / "checkout"
    (folder / "rmqalloc").mkdir(parents=True)
    hiding = "open('ran', 'w')"
    for name in ("pip.py", "rmqalloc/__init__.py", "rmqalloc/__main__.py", "numpy.py", "click.py"):
        (folder / name).write_text(hiding)
    return folder


def test_modules_of_the_checkout_do_not_run_in_place_of_pip(checkout):
    [script] = [step["run"] for step in STEPS if "pip install" in step.get("run", "")]
    folder = Path(sys.executable).parent
    there = {"PATH": f"{folder}:{os.environ['PATH']}", "PACKAGE": "--help", "PYTHONPATH": "."}
    command = ["bash", "-c", script]
    done = subprocess.run(command, cwd=checkout, env=there, capture_output=True, timeout=120)
    assert done.returncode == 0 and b"pip install" in done.stdout
    assert not (checkout / "ran").exists()


@pytest.mark.needs("zizmor")
def test_zizmor_finds_nothing():
    command = [program("zizmor"), "--offline", "--quiet", str(FOLDER / "action.yml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_input_is_used_and_every_output_is_written():
    text, script = (
        (FOLDER / "action.yml").read_text(encoding="utf-8"),
        (FOLDER / "run.sh").read_text(encoding="utf-8"),
    )
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(ACTION["inputs"])
    assert set(re.findall(r'echo "([a-z-]+)=', script)) == set(
        re.findall(r"steps\.run\.outputs\.([a-z-]+)", text)
    )


@pytest.fixture
def run(tmp_path, checkout):
    """Run the script in a checkout as a runner does; return its outputs, its summary and its report.

    The tested package may be found by PYTHONPATH, which -I ignores; -P is as strict about the
    checkout.
    """
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "python").write_text(
        f'#!/bin/sh\n[ "$1" = -I ] || exit 99\nshift\nexec {shlex.quote(sys.executable)} -P "$@"\n'
    )
    (bin_ / "python").chmod(0o755)

    def of(**variables):
        output, summary = tmp_path / "output", tmp_path / "summary"
        output.unlink(missing_ok=True)
        summary.unlink(missing_ok=True)
        there = os.environ | {
            "PATH": f"{bin_}:{os.environ['PATH']}", "RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(summary), **variables,
        }  # fmt: skip
        command = ["bash", str(FOLDER / "run.sh")]
        done = subprocess.run(
            command, cwd=checkout, env=there, capture_output=True, text=True, timeout=120
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert not (checkout / "ran").exists()
        found = dict(line.split("=", 1) for line in output.read_text().splitlines())
        return found, summary.read_text(), Path(found["report"]).read_text(encoding="utf-8")

    return of


@pytest.mark.thorough
def test_a_plan_that_makes_groups_worse_is_told_with_its_table(run):
    outputs, summary, report = run(SNAPSHOT="example:orders", SCENARIO="example:what-if", TOP="3")
    assert (outputs["plan-exit-code"], outputs["check-exit-code"]) == ("3", "2")
    assert summary == report and "**Plan:** a gate is not kept." in report
    rows = [line for line in report.splitlines() if line.startswith("| ") and "ledger" in line]
    assert rows and "current" not in report.split("**Check:**")[0].replace("concurrent", "")
    assert (
        "    gate not kept: scenario three clients: group ledger: max_load grows from 3 to 9"
        in report
    )
    assert '"version": "2.1.0"' in Path(outputs["sarif"]).read_text(encoding="utf-8")


@pytest.mark.thorough
def test_without_a_scenario_the_snapshot_is_checked_alone(run):
    outputs, _, report = run(SNAPSHOT="example:orders")
    assert (outputs["plan-exit-code"], outputs["check-exit-code"]) == ("", "2")
    assert "**Plan:**" not in report and "idle-client" in report


@pytest.mark.thorough
def test_what_fails_is_told_and_text_of_files_stays_text(run, tmp_path):
    hostile = tmp_path / "x`id`$(id)|.yaml"
    hostile.write_text("apiVersion: rmqalloc/v1\nkind: Snapshot\ntopics: 1\n```\n")
    outputs, _, report = run(SNAPSHOT=str(hostile), SCENARIO="example:what-if")
    assert outputs["plan-exit-code"] == outputs["check-exit-code"] == "1"
    assert "**Check:** failed" in report and "uid=" not in report
    assert all(line.startswith("    ") for line in report.splitlines() if "x`id`" in line)


@pytest.mark.thorough
def test_a_report_that_is_too_long_is_cut_at_a_line(run, tmp_path):
    groups = [{"name": f"group-{i:04}-{'x' * 60}", "subscriptions": ["T"], "strategy": "AVG",
               "clients": [{"client_id": "a"}, {"client_id": "b"}]} for i in range(600)]  # fmt: skip
    document = {"apiVersion": "rmqalloc/v1", "kind": "Snapshot", "groups": groups,
                "topics": [{"name": "T", "brokers": [{"broker_name": "b", "read_queue_nums": 1}]}]}  # fmt: skip
    (tmp_path / "big.yaml").write_text(yaml.safe_dump(document))
    _, _, report = run(SNAPSHOT=str(tmp_path / "big.yaml"))
    assert len(report.encode()) < 60_200 and report.endswith(
        "The rest is left out: more than 60000 bytes.\n"
    )


@pytest.mark.thorough
def test_names_mention_nobody_in_the_comment(run, tmp_path):
    names = ["@user", "@org/team", "#12", "<!-- x -->", "[x](http://e)", "`@user"]
    groups = [
        {"name": name, "subscriptions": ["T"], "strategy": "AVG", "clients": [{"client_id": "a"}]}
        for name in names
    ]
    topics = [{"name": "T", "brokers": [{"broker_name": "b", "read_queue_nums": 1}]}]
    document = {"apiVersion": "rmqalloc/v1", "kind": "Snapshot", "groups": groups, "topics": topics}
    scenario = {"name": "@user", "changes": [{"scale_clients": {"to": 2}}]}
    (tmp_path / "names.json").write_text(json.dumps(document))
    (tmp_path / "plan.json").write_text(json.dumps({"scenarios": [scenario]}))
    given = {"SNAPSHOT": str(tmp_path / "names.json"), "SCENARIO": str(tmp_path / "plan.json")}
    report = run(**given)[2]
    rows = [line for line in report.splitlines() if line.startswith("| ")]
    assert sum("`@user`" in row for row in rows) >= len(names)
    outside = [re.sub(r"(`+) ?.*?[^`]\1(?!`)", "", row) for row in rows]
    assert not re.search("[@#<]", "".join(outside))
