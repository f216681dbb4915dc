"""The workflows, as far as they can be checked without running them: rights, times, what they call,
which wheels they make.
"""

import re
import subprocess
import sys
import tomllib

import pytest
import yaml
from checkout import ROOT
from tools import program, wheel_tool_release

FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.yml"))}
MADE_BY_OTHERS = ("./.github/workflows/wheels.yml",)
ALLOWED = {
    "ci.yml": {"contents": "read"},
    "nightly.yml": {"contents": "read"},
    "wheels.yml": {"contents": "read"},
    "release.yml:check": {"contents": "read"},
    "release.yml:wheels": {"contents": "read"},
    "release.yml:papers": {"contents": "read"},
    "release.yml:attest": {"id-token": "write", "attestations": "write"},
    "release.yml:publish": {"id-token": "write"},
    "release.yml:page": {"contents": "write"},
}
"""The rights of every workflow, or job of one; whoever adds one, adds it here too."""

PYTHONS = ["cp311", "cp312", "cp313", "cp314", "cp314t"]
SYSTEMS = {
    ("linux", "x86_64"): ["manylinux_x86_64", "musllinux_x86_64"],
    ("linux", "aarch64"): ["manylinux_aarch64", "musllinux_aarch64"],
    ("macos", "x86_64"): ["macosx_x86_64"],
    ("macos", "arm64"): ["macosx_arm64"],
    ("windows", "AMD64"): ["win_amd64"],
    ("windows", "ARM64"): ["win_arm64"],
}
"""What is promised (docs/project/release.md): a wheel of every Python for each of these."""


def parsed(text):
    """A workflow; the key ``on`` is true in YAML 1.1."""
    data = yaml.safe_load(text)
    return {("on" if key is True else key): value for key, value in data.items()}


def steps(workflow):
    """All steps of all jobs."""
    return [step for job in workflow["jobs"].values() for step in job.get("steps", [])]


def faults(name, text):
    """What is wrong with a workflow."""
    workflow = parsed(text)
    wrong = [f"{name} has rights by default"] if workflow.get("permissions") != {} else []
    wrong += [
        f"{name} runs on {event}"
        for event in ("pull_request_target", "workflow_run")
        if event in workflow["on"]
    ]
    wrong += [] if "concurrency" in workflow else [f"{name} says nothing of runs side by side"]
    wrong += ["secrets are used"] if re.search(r"\bsecrets\b", text) else []
    for key, job in workflow["jobs"].items():
        allowed = ALLOWED.get(f"{name}:{key}", ALLOWED.get(name))
        wrong += (
            [f"{key} has the rights {job.get('permissions')}"]
            if job.get("permissions") != allowed
            else []
        )
        wrong += (
            [f"{key} has no limit of time"]
            if "uses" not in job and not job.get("timeout-minutes")
            else []
        )
        wrong += (
            [f"{key} takes what the runner's newest is"]
            if "latest" in str(job.get("runs-on"))
            else []
        )
    for step in steps(workflow):
        wrong += (
            [f"a command takes text of the event: {step['run']}"]
            if "${{" in step.get("run", "")
            else []
        )
        if "pip install" in step.get("run", "") and not re.search(
            r"pip install --require-hashes|\"\$wheel", step["run"]
        ):
            wrong.append(f"tools are installed without hashes: {step['run']}")
        uses = step.get("uses")
        wrong += (
            [f"{uses} is pinned by no commit"]
            if uses and not re.search(r"@[0-9a-f]{40}$", uses)
            else []
        )
        if (
            uses
            and uses.startswith("actions/checkout@")
            and step.get("with", {}).get("persist-credentials") is not False
        ):
            wrong.append("a checkout keeps its credentials")
    return wrong


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_has_few_rights_limits_and_pins(name):
    assert faults(name, WORKFLOWS[name]) == []


@pytest.mark.parametrize(("old", "new", "said"), [
    ("permissions: {}", "permissions: write-all", "rights by default"),
    ("  pull_request:\n", "  pull_request_target:\n", "runs on pull_request_target"),
    ("concurrency:", "env:", "side by side"),
    ("    timeout-minutes: 15\n", "", "no limit of time"),
    ("      contents: read\n", "      contents: write\n", "has the rights"),
    ("runs-on: ubuntu-24.04", "runs-on: ubuntu-latest", "newest"),
    ("zizmor --offline .github", "echo ${{ github.head_ref }}", "text of the event"),
    ("zizmor --offline .github", "echo ${{ secrets.TOKEN }}", "secrets are used"),
    ("checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd", "checkout@v6.0.2", "by no commit"),
    ("checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd", "checkout@main", "by no commit"),
    ("--require-hashes ", "", "without hashes"),
    ("persist-credentials: false", "fetch-depth: 0", "keeps its credentials"),
])  # fmt: skip
def test_a_fault_of_a_workflow_is_seen(old, new, said):
    assert old in WORKFLOWS["ci.yml"]
    assert any(said in one for one in faults("ci.yml", WORKFLOWS["ci.yml"].replace(old, new)))


def test_only_what_waits_for_a_reviewer_may_publish():
    jobs = parsed(WORKFLOWS["release.yml"])["jobs"]
    assert jobs["publish"]["environment"] == "release"
    assert (
        set(jobs["publish"]["needs"]) == {"check", "papers", "attest"}
        and jobs["page"]["needs"] == "publish"
    )
    assert [step["uses"].partition("@")[0] for step in jobs["publish"]["steps"]] == [
        "actions/download-artifact", "pypa/gh-action-pypi-publish",
    ]  # fmt: skip
    assert jobs["wheels"]["uses"] in MADE_BY_OTHERS


def test_who_holds_the_right_to_an_identity_runs_no_command():
    """So nothing that is installed there can use it."""
    jobs = [job for text in WORKFLOWS.values() for job in parsed(text)["jobs"].values()]
    held = [job for job in jobs if "id-token" in job.get("permissions", {})]
    assert len(held) == 2 and all("uses" in step for job in held for step in job["steps"])


def test_the_tools_are_those_that_were_chosen_each_with_its_hash():
    wanted = sorted((ROOT / ".github" / "requirements").glob("*.in"))
    assert wanted
    for path in wanted:
        locked = path.with_suffix(".txt").read_text(encoding="utf-8")
        chosen = re.findall(r"^([\w.-]+==\S+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert chosen and all(f"\n{one} " in locked for one in chosen)
        blocks = re.split(r"\n(?=\S)", locked.partition("\n")[2].strip())
        assert all("--hash=sha256:" in block for block in blocks)


def test_what_is_optional_stops_nothing():
    jobs = parsed(WORKFLOWS["wheels.yml"])["jobs"]
    assert jobs["pyodide"]["continue-on-error"] is True
    uploads = {
        key: step["with"]["name"]
        for key, job in jobs.items()
        for step in job["steps"]
        if "upload" in str(step)
    }
    assert [key for key, name in uploads.items() if not name.startswith("dist-")] == ["pyodide"]


def targets():
    """Targets of make that workflows run."""
    commands = "\n".join(
        step.get("run", "") for text in WORKFLOWS.values() for step in steps(parsed(text))
    )
    named = set(re.findall(r"^make ([\w-]+)", commands, re.MULTILINE))
    nightly = parsed(WORKFLOWS["nightly.yml"])["jobs"]["make"]
    assert nightly["steps"][3]["run"] == 'make "$TARGET"'
    return sorted(named | set(nightly["strategy"]["matrix"]["target"]))


@pytest.mark.parametrize("target", targets())
def test_what_workflows_make_can_be_made(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def test_what_workflows_read_is_there():
    pattern = r"(?:tests/support|\.github/requirements|\.ci)/[\w./-]+"
    names = {name for text in WORKFLOWS.values() for name in re.findall(pattern, text)}
    assert names and [name for name in names if not (ROOT / name).exists()] == []


# --- Which wheels ---


def matrix():
    """System and processors of every job that builds wheels."""
    jobs = parsed(WORKFLOWS["wheels.yml"])["jobs"]["wheels"]["strategy"]["matrix"]["include"]
    return [(one["platform"], one["archs"]) for one in jobs]


def identifiers(*arguments):
    """The wheels that cibuildwheel would build."""
    command = [
        sys.executable,
        "-m",
        "cibuildwheel",
        "--print-build-identifiers",
        *arguments,
        str(ROOT),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_tests_are_installed_with_the_release_that_the_workflows_take():
    """Else those that ask cibuildwheel would only be skipped."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    assert f"cibuildwheel=={wheel_tool_release()}" in extras["dev"]


def test_every_system_has_a_job():
    assert sorted(matrix()) == sorted(SYSTEMS)


@pytest.mark.needs("cibuildwheel")
@pytest.mark.parametrize(("platform", "archs"), SYSTEMS)
def test_a_job_builds_every_wheel_that_is_promised_and_no_other(platform, archs):
    wanted = {f"{python}-{system}" for python in PYTHONS for system in SYSTEMS[platform, archs]}
    assert set(identifiers("--platform", platform, "--archs", archs)) == wanted


@pytest.mark.needs("cibuildwheel")
def test_the_try_of_pyodide_is_a_wheel_that_exists():
    only = parsed(WORKFLOWS["wheels.yml"])["jobs"]["pyodide"]["env"]["CIBW_BUILD"]
    assert only in identifiers("--platform", "pyodide")


def test_each_wheel_replays_the_golden_answers():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "cibuildwheel"
    ]
    assert all((ROOT / name).is_file() for name in settings["test-sources"])
    assert settings["test-command"] == f"python -W error {settings['test-sources'][0]}"
    assert not {"test-skip", "skip"} & settings.keys()


@pytest.mark.needs("trove-classifiers")
def test_the_classifiers_are_the_pythons_of_the_wheels():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stated = {
        one.rpartition(" ")[2] for one in project["classifiers"] if re.search(r":: 3\.\d+$", one)
    }
    assert {f"cp{one.replace('.', '')}" for one in stated} == {
        one for one in PYTHONS if not one.endswith("t")
    }
    assert any("Free Threading" in one for one in project["classifiers"])
    from trove_classifiers import classifiers

    assert [one for one in project["classifiers"] if one not in classifiers] == []


# --- Other programs, where they are installed ---


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["actionlint"], marks=pytest.mark.needs("actionlint")),
        pytest.param(
            ["zizmor", "--offline", "--quiet", ".github"], marks=pytest.mark.needs("zizmor")
        ),
    ],
    ids=["actionlint", "zizmor"],
)
def test_tools_for_workflows_find_nothing(command):
    path = program(command[0])
    arguments = (
        [str(path) for path in sorted(FOLDER.glob("*.yml"))]
        if command == ["actionlint"]
        else command[1:]
    )
    done = subprocess.run([path, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
