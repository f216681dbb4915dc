"""The workflows, as far as they can be checked without running them: rights, pins, what they call."""

import re

import pytest
import yaml
from checkout import ROOT

FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = {path.name: yaml.safe_load(path.read_text("utf-8")) for path in FOLDER.glob("*.yml")}
MAY_WRITE = {
    ("release.yml", "attest"): {"id-token", "attestations"},
    ("release.yml", "publish"): {"id-token"},
    ("release.yml", "page"): {"contents"},
}


def steps(workflow):
    """All steps of all jobs."""
    return [step for job in workflow["jobs"].values() for step in job.get("steps", [])]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_job_has_few_rights_and_a_limit(name):
    workflow = WORKFLOWS[name]
    assert workflow["permissions"] == {}
    assert not {"pull_request_target", "workflow_run"} & workflow[True].keys()  # YAML reads `on` so
    for key, job in workflow["jobs"].items():
        written = {right for right, kind in job["permissions"].items() if kind == "write"}
        assert written == MAY_WRITE.get((name, key), set())
        assert "uses" in job or job["timeout-minutes"]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_what_a_step_takes_is_pinned(name):
    text = (FOLDER / name).read_text("utf-8")
    assert not re.search(r"\bsecrets\b", text)
    used = [step["uses"] for step in steps(WORKFLOWS[name]) if "uses" in step]
    assert used and [uses for uses in used if not re.search(r"@[0-9a-f]{40}$", uses)] == []
    commands = [step["run"] for step in steps(WORKFLOWS[name]) if "run" in step]
    assert [command for command in commands if "${{" in command] == []


def test_who_holds_the_right_to_an_identity_runs_no_command():
    """So nothing that is installed there can use it; and a reviewer releases the publishing."""
    jobs = WORKFLOWS["release.yml"]["jobs"]
    assert jobs["publish"]["environment"] == "release"
    for key in ("attest", "publish"):
        assert all("uses" in step for step in jobs[key]["steps"])


def test_what_workflows_call_is_there():
    texts = "\n".join(path.read_text("utf-8") for path in FOLDER.glob("*.yml"))
    makefile = (ROOT / "Makefile").read_text("utf-8")
    matrix = WORKFLOWS["nightly.yml"]["jobs"]["make"]["strategy"]["matrix"]["target"]
    targets = {*matrix, *re.findall(r"^ +(?:- run: )?make ([\w-]+)", texts, re.MULTILINE)}
    missing = [name for name in targets if not re.search(rf"^{name}:", makefile, re.MULTILINE)]
    assert targets and missing == []
    files = re.findall(r"(?:tests/support|\.github/requirements|\.ci)/[\w./-]+", texts)
    assert files and [name for name in files if not (ROOT / name).exists()] == []
