"""The verbs ``report`` and ``completion``: the page from a saved plan, and completion in a real
shell.
"""

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
import report_plans
from cli_commands import runner, saved_snapshot
from programs import environment

from rmqalloc.audit import check_snapshot
from rmqalloc.cli._verbs import VERBS
from rmqalloc.plans import load_plan, plan_snapshot, save_plan
from rmqalloc.report.html import report
from rmqalloc.snapshot.files import read
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

BASH = shutil.which("bash")


@pytest.fixture
def run(capsys):
    return runner(capsys)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "plan.json"
    save_plan(report_plans.everyday(), path)
    return path


# --- report ---


def test_a_saved_plan_becomes_a_page(run, saved, tmp_path):
    out = tmp_path / "report.html"
    assert run("report", saved, "--out", out) == (0, "", "")
    # A file keeps neither evidence nor transitions: the snapshot, from which both are made, is not
    # in it.
    html = report(report_plans.with_tables(report_plans.everyday(), evidence=(), transitions=()))
    assert out.read_text(encoding="utf-8") == html
    assert run("report", saved, "--out", "-") == (0, html, "")


def test_from_a_snapshot_to_a_page(run, tmp_path):
    clients = tuple(Client(f"10.0.0.{i}@7") for i in range(1, 4))
    snapshot = Snapshot(
        (Topic("orders", (TopicBroker("broker-a", 8),)),),
        (Group("order-service", ("orders",), clients, strategy="AVG"),),
    )
    source, plan, page = tmp_path / "cluster.json", tmp_path / "plan.json", tmp_path / "report.html"
    saved_snapshot(source, snapshot)
    assert run("plan", "-f", source, "--scale", 4, "--out", plan)[0] == 0
    assert run("report", plan, "--out", page)[0] == 0
    code, html, _ = run("plan", "-f", source, "--scale", 4, "-o", "html")
    made = plan_snapshot(read(source), load_plan(plan).scenarios)
    assert (code, html) == (0, report(made))
    assert page.read_text(encoding="utf-8") == report(
        report_plans.with_tables(made, evidence=(), transitions=())
    )
    assert "order-service" in html and "While clients are being notified" in html
    assert run("report", plan, "--out", page, "-f", source)[0] == 0
    assert page.read_text(encoding="utf-8") == report(made, check_snapshot(read(source)))


def test_an_audit_of_the_same_snapshot_is_shown_with_the_plan(run, tmp_path):
    clients = tuple(Client(f"10.0.0.{i}@7") for i in range(1, 4))
    topics = (Topic("orders", (TopicBroker("broker-a", 2),)),)
    groups = tuple(
        Group(name, ("orders",), clients, strategy="AVG")
        for name in ("order-service", "other-service")
    )
    plan, page = tmp_path / "plan.json", tmp_path / "report.html"
    source = saved_snapshot(tmp_path / "cluster.json", Snapshot(topics, groups))
    more = Snapshot((Topic("orders", (TopicBroker("broker-a", 3),)),), groups)
    newer = saved_snapshot(tmp_path / "newer.json", more)
    assert run("plan", "-f", source, "-g", "order-*", "--scale", 4, "--out", plan)[0] == 0
    assert run("report", plan, "--out", page, "-f", source)[0] == 0
    html = page.read_text(encoding="utf-8")
    assert 'id="findings"' in html and "other-service" not in html
    assert run("report", plan, "--out", page, "-f", source, "--strategy", "AVG_BY_CIRCLE")[0] == 1
    assert run("report", plan, "--out", page, "--strategy", "AVG")[0] == 64
    code, _, said = run("report", plan, "--out", page, "-f", newer)
    assert code == 1 and "the plan does not match this snapshot" in said


def test_a_plan_that_its_snapshot_does_not_give_is_no_page(run, tmp_path):
    snapshot = read("example:seed")
    made = plan_snapshot(snapshot, [{"name": "6", "changes": [{"scale_clients": {"to": 6}}]}])
    moved = made.units.set_column(
        13, "moved", [[(one or 0) + 1 for one in made.units["moved"].to_pylist()]]
    )
    save_plan(replace(made, units=moved.cast(made.units.schema)), tmp_path / "plan.json")
    code, _, said = run(
        "report", tmp_path / "plan.json", "--out", tmp_path / "page.html", "-f", "example:seed"
    )
    assert code == 1 and "other units" in said and "rmqalloc verify" in said
    assert not (tmp_path / "page.html").exists()


def test_what_is_no_plan_is_refused(run, saved, tmp_path):
    out = tmp_path / "report.html"
    code, _, said = run("report", tmp_path / "none.json", "--out", out)
    assert code == 1 and "none.json" in said
    saved.write_text(saved.read_text().replace("order-service", "other-service"))
    code, _, said = run("report", saved, "--out", out)
    assert code == 1 and "was changed after it was written" in said
    assert run("report", saved)[0] == 64
    assert not out.exists()


# --- completion ---


def complete(tmp_path, *words):
    """What a real bash offers for the last of these words, after the script was read as its users
    read it.
    """
    program = tmp_path / "rmqalloc"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m rmqalloc "$@"\n')
    program.chmod(0o755)
    script = (
        'eval "$(rmqalloc completion bash)"; complete -p rmqalloc; '
        'COMP_WORDS=(rmqalloc "$@"); COMP_CWORD=$#; $(complete -p rmqalloc | sed "s/.*-F \\([^ ]*\\).*/\\1/") rmqalloc; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    command = [BASH, "--noprofile", "--norc", "-c", script, "bash", *words]
    done = subprocess.run(
        command,
        env=environment(PATH=path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.stderr == ""
    registered, *offered = done.stdout.split("\n")[:-1]
    assert registered.startswith("complete ") and registered.endswith(" rmqalloc")
    return offered


@pytest.mark.thorough(keep=1)
@pytest.mark.needs("bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["rep"], ["report"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["report", "--o"], ["--out"]),
        (["plan", "--acl"], ["--acl-file"]),
        (["allocate", "-s", "CONS"], ["CONSISTENT_HASH", "CONSISTENT_HASH_BOUNDED/1"]),
    ],
)
def test_bash_completes_verbs_options_and_choices(tmp_path, words, offered):
    assert complete(tmp_path, *words) == offered


@pytest.mark.needs("bash")
def test_bash_offers_every_verb(tmp_path):
    assert complete(tmp_path, "") == list(VERBS)


@pytest.mark.parametrize(
    ("shell", "mark"),
    [("zsh", "#compdef rmqalloc"), ("fish", "complete --no-files --command rmqalloc")],
)
def test_other_shells_get_a_script_of_their_own(run, shell, mark):
    code, script, said = run("completion", shell)
    assert (code, said) == (0, "")
    assert mark in script and "_RMQALLOC_COMPLETE" in script
    program = shutil.which(shell)
    if program is not None:
        done = subprocess.run(
            [program, "-n"], input=script, capture_output=True, text=True, timeout=180, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_shell_is_wrong_usage(run):
    code, _, said = run("completion", "powershell")
    assert code == 64 and "'bash', 'zsh', 'fish'" in said
