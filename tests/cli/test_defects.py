"""A defect in any room ends with 70 and a traceback, whatever builtin exception it is; none passes
for a fault of the input.
"""

import gc
import json

import pytest
from loopback import Loopback
from planted import KINDS, SAID, planted, reached

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli import main

SEED = ["-f", "example:seed"]
PLAN = ["plan", *SEED, "--scale", "3"]
SIMULATE = ["simulate", "script.json"]
ROOMS = {
    "rmqalloc/rollouts/advice": ["recommend", *SEED],
    "rmqalloc/audit": ["check", *SEED],
    "rmqalloc/broker": SIMULATE,
    "rmqalloc/cli": ["plan", *SEED, "--scale", "3", "-o", "json"],
    "rmqalloc/plans/diffs": ["diff", "example:seed", "plan.json"],
    "rmqalloc/documents": ["plan", *SEED, "--scenario", "scenarios.yaml"],
    "rmqalloc/evaluation": PLAN,
    "rmqalloc/evidence": ["check", *SEED, "-o", "json"],
    "rmqalloc/fleet": PLAN,
    "rmqalloc/plans": ["verify", "plan.json"],
    "rmqalloc/rebalance": SIMULATE,
    "rmqalloc/remoting": ["snapshot", "-n", "{}", "--out", "live.json"],
    "rmqalloc/report": ["report", "plan.json", "--out", "plan.html"],
    "rmqalloc/results": PLAN,
    "rmqalloc/rollouts": ["rollout", "restart", *SEED, "--batch", "1"],
    "rmqalloc/scenarios": ["plan", *SEED, "--scenario", "scenarios.yaml"],
    "rmqalloc/simulation": SIMULATE,
    "rmqalloc/snapshot": ["convert", "seed.parquet", "--out", "seed.csv"],
    "rmqalloc/snapshot/files/outputs": ["convert", "allocateMQ.orders.json", "--out", "mqadmin.json"],
    "rmqalloc/snapshot/live": ["snapshot", "-n", "{}", "--out", "live.json"],
    "rmqalloc/documents/store": ["convert", "seed.parquet", "--out", "seed.csv"],
    "rmqalloc/strategies": ["allocate", "-t", "t", "--queues", "b:8", "--clients", "x,y", "-s", "CONSISTENT_HASH"],
    "rmqalloc/ownership/transitions": ["rollout", "restart", *SEED, "--batch", "1"],
    "rmqalloc/evidence/views": ["check", *SEED],
}  # fmt: skip
SCRIPT = {
    "duration": "1m",
    "brokers": "b",
    "topics": [{"name": "t", "read_queue_nums": 4}],
    "groups": [{"name": "g", "topics": "t", "clients": 2}],
    "events": [{"at": "40s", "shutdown": {"clients": "g-1"}}],
}
EACH = 1
"""Functions of a room and kind of error; a large number tries all that the command reaches, in minutes."""

NOT_CAUGHT = (
    "rmqalloc/cli/__init__.py",
    "rmqalloc/cli/_sink.py",
    "rmqalloc/cli/_app.py",
    "rmqalloc/cli/_error_handler.py",
)
"""What tells of a defect."""

TASKS = ("Connection._read", "Connection._ended")
"""Coroutines that nobody awaits, and how they end: what they do is guarded, that they begin and end is not."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files that the commands read."""
    made = tmp_path_factory.mktemp("defects")
    (made / "scenarios.yaml").write_text(
        "scenarios:\n- name: two\n  changes:\n  - scale_clients: {to: 2}\n"
    )
    (made / "allocateMQ.orders.json").write_text(
        '{"result": {"10.0.0.1": [{"topic": "orders", "brokerName": "b", "queueId": 0}]}}'
    )
    (made / "script.json").write_text(json.dumps(SCRIPT))
    assert main([*PLAN, "--out", str(made / "plan.json")]) == 0
    assert main(["convert", "example:seed", "--out", str(made / "seed.parquet")]) == 0
    return made


@pytest.fixture(scope="module")
def cluster():
    with Loopback() as made:
        yield made


@pytest.mark.thorough(keep=4)
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # of connections that a defect leaves open
@pytest.mark.parametrize("room", ROOMS)
def test_a_planted_defect_ends_with_70_and_a_traceback(room, folder, cluster, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    argv = [one.format(cluster.name_server) for one in ROOMS[room]]
    code = main(argv)  # what is imported, or made once, is so now
    assert code in (0, 2, 4), capsys.readouterr().err
    names = [
        name
        for name in reached(lambda: main(argv), room)
        if name[0] not in NOT_CAUGHT and name[1] not in TASKS
    ]
    assert names
    tried = names[:: max(1, len(names) // (EACH * len(KINDS)))]
    capsys.readouterr()
    for i, name in enumerate(tried):
        for kind in KINDS if EACH > 1 else [KINDS[i % len(KINDS)]]:
            code = planted(lambda: main(argv), name, kind)
            err = capsys.readouterr().err
            assert code == exit_codes.DEFECT, (name, kind, err)
            assert "Traceback (most recent call last):" in err and SAID in err, (name, kind)
            assert f"defect of rmqalloc, not of its input: {kind.__name__} in" in err
    gc.collect()
