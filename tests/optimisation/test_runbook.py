"""Runbooks: what is done is written out, run by a real bash with stand-ins for the tools, whatever
names hold.
"""

import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

import rmqalloc
from rmqalloc.optimisation._runbook import code_span, shell_word
from rmqalloc.snapshot import Broker, Client, Group, Snapshot, Topic, TopicBroker

HOSTILE = [
    "c1\n```\ntouch pwned",
    "c2'; touch pwned; '",
    "$(touch pwned)@1",
    "`touch pwned`@2",
    "fe80::1%$(touch pwned)@3",
    "c6\x1b[2J\u202e #\\",
]
GROUP = "g*'; touch pwned; #`\n# x\u202e"


def cluster(ids, name="g", strategy="AVG", n=6, topic="T", **more):
    route = Topic(
        topic, tuple(TopicBroker(broker, n, n, perm=6) for broker in ("broker-a", "broker-b"))
    )
    return Snapshot(
        (route,), (Group(name, (topic,), tuple(map(Client, ids)), strategy=strategy),), **more
    )


def blocks(text):
    """The commands of every step."""
    return re.findall(r"^```bash\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run(text, folder):
    """The commands, run by bash with tools that write down what they are called with; a list of
    words for each call.
    """
    tools = folder / "tools"
    tools.mkdir()
    log = folder / "log"
    for tool in ("kubectl", "mqadmin", "rmqalloc"):
        (tools / tool).write_text(
            f"#!{shutil.which('bash')}\n"
            f'{{ printf "%s\\0" {tool} "$@"; printf "\\0"; }} >> {log}\n'
            'if [[ "$1 $2" == "get pods" ]]; then printf "pod/of-%s\\n" "${@: -1}"; fi\n'
        )
        (tools / tool).chmod(0o755)
    script = "set -eu\n" + "".join(blocks(text))
    names = {
        "NAMESRV_ADDR": "10.0.0.9:9876",
        "WORKLOAD": "deployment/x",
        "POD": "mine",
        "BROKER_ADDR": "10.0.0.7:10911",
    }
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={"PATH": f"{tools}:/usr/bin:/bin", **names},
        capture_output=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [
        call.decode("utf-8", "surrogatepass").split("\0")
        for call in log.read_bytes().split(b"\0\0")
        if call
    ]


def of(calls, *words):
    return [call for call in calls if tuple(call[: len(words)]) == words]


def test_a_restart_is_written_out(tmp_path):
    snapshot = cluster([f"10.0.0.{i}@1#1" for i in range(1, 5)])
    made = rmqalloc.optimise(snapshot, restart=True, surge=False, batches=[3], goals=["moves"])
    row, text = made.front.to_pylist()[0], made.texts["g"]
    calls = run(text, tmp_path)
    deleted = [call[2] for call in of(calls, "kubectl", "delete")]
    assert deleted == [f"pod/of-status.podIP={one.partition('@')[0]}" for one in row["client_ids"]]
    assert re.findall(r"^## (\d+)\. ", text, re.MULTILINE) == ["1", "2", "3", "4"]
    assert "## 2. Batch 1 of 2: 3 clients stop, 3 clients start" in text
    check = ["-n", "10.0.0.9:9876", "-g", "g", "--settle", "20s", "--fail-on", "error"]
    assert of(calls, "rmqalloc", "check") == [["rmqalloc", "check", *check]] * 4
    assert calls[1][:9] == [
        "rmqalloc",
        "rollout",
        "restart",
        "-f",
        "before.json",
        "-g",
        "g",
        "--batch",
        "3",
    ]
    figures = re.findall(r"(\d+) queues? moved; at the worst moment (\d+) without", text)
    assert sum(int(moved) for moved, _ in figures) == row["moves"]


def test_a_surge_and_fewer_clients_are_scaled(tmp_path):
    snapshot = cluster([f"10.0.0.{i}@1#1" for i in range(1, 5)])
    made = rmqalloc.optimise(
        snapshot, restart=True, surge=True, clients=[3], batches=[2], goals=["moves"]
    )
    calls = run(made.markdown(), tmp_path)
    assert [call[3] for call in of(calls, "kubectl", "scale")] == [
        f"--replicas={n}" for n in (6, 4, 5, 4, 3)
    ]
    marked = [call[3] for call in of(calls, "kubectl", "annotate")]
    ids = made.front["client_ids"].to_pylist()[0]
    pods = [f"pod/of-status.podIP={one.partition('@')[0]}" for one in ids]
    assert marked == [*pods[1:], pods[0]]  # the first in the order leaves in the end
    assert not of(calls, "kubectl", "delete")


def test_queues_are_set_read_first_or_write_first(tmp_path):
    masters = (Broker("broker-a", "10.0.0.3:10911"), Broker("broker-a", "10.0.0.4:10911", "SLAVE"))
    snapshot = cluster(["a", "b"], topic="T", n=4, brokers=masters)
    for to, read_write in ((6, [("6", "4"), ("6", "6")]), (2, [("4", "2"), ("2", "2")])):
        folder = tmp_path / str(to)
        folder.mkdir()
        made = rmqalloc.optimise(
            snapshot, queues=[to], topics=["T"], goals=["moves"], assume_drained=True
        )
        calls = run(made.markdown(), folder)
        updates = of(calls, "mqadmin", "updateTopic")
        words = [dict(zip(call[2::2], call[3::2], strict=True)) for call in updates]
        assert [(one["-r"], one["-w"]) for one in words] == [
            one for one in read_write for _ in range(2)
        ]
        assert [one["-b"] for one in words] == ["10.0.0.3:10911", "10.0.0.7:10911"] * 2
        assert {(one["-p"], one["-t"]) for one in words} == {("6", "T")}
        assert len(of(calls, "mqadmin", "consumerProgress")) == (to == 2)
        assert ["--set-queues", f"T={to}"] == of(calls, "rmqalloc", "plan")[0][-2:]


def test_a_switch_says_until_when_strategies_differ():
    made = rmqalloc.optimise(
        cluster(list("abcd")), strategies=["CONSISTENT_HASH:10"], batches=[2], goals=["moves"]
    )
    said = [row["expected"] for row in made.runbook.to_pylist()]
    assert [one[:11] for one in said] == [
        "exit code 0",
        "exit code 2",
        "exit code 0",
        "exit code 0",
    ]
    assert (
        made.runbook["commands"].to_pylist()[1][0] == "# they are to start with CONSISTENT_HASH:10"
    )
    assert "The figures are those of clients that keep their ids" in made.markdown()


def test_clients_join_by_numbers(tmp_path):
    made = rmqalloc.optimise(cluster(["a"]), clients=[4], batches=[2], goals=["batches"])
    calls = run(made.markdown(), tmp_path)
    assert [call[3] for call in of(calls, "kubectl", "scale")] == ["--replicas=3", "--replicas=4"]
    assert of(calls, "rmqalloc", "plan")[0][-2:] == ["--scale", "4"]


@pytest.mark.parametrize(
    "change",
    [
        {"restart": True, "surge": False},
        {"restart": True, "surge": True},
        {"clients": [2]},
        {"strategies": ["CONSISTENT_HASH:10"]},
        {"queues": [9], "topics": ["T'; touch pwned #"]},
    ],
)
def test_hostile_names_reach_no_shell_no_page_and_no_terminal(change, tmp_path):
    made = rmqalloc.optimise(
        cluster(HOSTILE, GROUP, topic="T'; touch pwned #"), **change, evaluations=20
    )
    text = made.texts[GROUP]
    calls = run(text, tmp_path)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["log", "tools"]
    assert {call[0] for call in calls} == {
        "mqadmin" if "queues" in change else "kubectl",
        "rmqalloc",
    }
    pattern = GROUP.replace("*", "[*]")
    for call in of(calls, "rmqalloc"):
        assert call[call.index("-g") + 1] == pattern
    for call in of(calls, "mqadmin", "updateTopic"):
        assert call[call.index("-t") + 1] == "T'; touch pwned #"
    assert all(line.isprintable() for line in text.splitlines())
    assert text.count("```bash") == len(blocks(text)) == made.runbook.num_rows
    assert all(line.isprintable() for line in made.lines())


@examples(30, nightly=500)
@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
        min_size=1,
        max_size=20,
    )
)
def test_a_word_is_one_word_for_bash(texts):
    script = "printf '%s\\0' " + " ".join(map(shell_word, texts))
    assert script.isprintable()
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        check=True,
        timeout=180,
        env={"LC_ALL": "C.UTF-8"},
    )
    assert done.stdout.decode().split("\0")[:-1] == texts


@examples(50, nightly=500)
@given(st.text())
def test_a_name_cannot_end_its_span_of_code(text):
    span = code_span(text)
    ticks = re.match("`+", span).group()
    inside = span[len(ticks) : -len(ticks)]
    assert span.endswith(ticks) and ticks not in re.findall("`+", inside) and span.isprintable()
