"""The action for pull requests: no text of others in its scripts, and what it reports of plans and
checks.
"""

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
    return wrong + [
        f"{one} is pinned by no commit" for one in uses if not re.search(r"@[0-9a-f]{40}$", one)
    ]


def test_scripts_take_inputs_as_variables_and_actions_are_pinned():
    assert faults(STEPS) == []
    assert (
        len(faults([{"run": "echo ${{ inputs.snapshot }}"}, {"uses": "actions/setup-python@v6"}]))
        == 2
    )


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
def run(tmp_path):
    """Run the script as a runner does; return its outputs, its summary and its report."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "rmqalloc").write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m rmqalloc "$@"\n'
    )
    (bin_ / "rmqalloc").chmod(0o755)

    def of(**variables):
        output, summary = tmp_path / "output", tmp_path / "summary"
        output.unlink(missing_ok=True)
        summary.unlink(missing_ok=True)
        there = os.environ | {
            "PATH": f"{bin_}:{os.environ['PATH']}", "RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(summary), **variables,
        }  # fmt: skip
        done = subprocess.run(
            ["bash", str(FOLDER / "run.sh")], env=there, capture_output=True, text=True, timeout=120
        )
        assert (done.returncode, done.stderr) == (0, "")
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
