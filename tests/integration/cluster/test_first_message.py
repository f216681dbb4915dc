"""The programs of docs/authors/index.md send and consume messages of the cluster that ``make
cluster`` starts.
"""

import os
import subprocess
import sys
import time

import pytest
from checkout import ROOT
from live_cluster import LiveCluster
from page_blocks import blocks_of

import rmqalloc

pytestmark = pytest.mark.cluster

PAGE = (ROOT / "docs" / "authors" / "index.md").read_text(encoding="utf-8")
PROGRAMS = {block.file: block.text for block in blocks_of(PAGE) if block.file}


def printed(program, name_server, folder):
    (folder / program).write_text(PROGRAMS[program])
    done = subprocess.run(
        [sys.executable, folder / program], env=os.environ | {"NAMESRV_ADDR": name_server},
        capture_output=True, text=True, timeout=300, cwd=ROOT,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def wait_for_route(name_server, topic):
    """Wait until the name server has a route: on a busy machine brokers register late."""
    until = time.monotonic() + 120
    while topic not in {found.name for found in rmqalloc.fetch(name_server).topics}:
        assert time.monotonic() < until, f"no route of {topic}"
        time.sleep(0.5)


def test_the_programs_of_the_page_send_and_consume(tmp_path):
    with LiveCluster(autoCreateTopicEnable="true") as live:
        assert printed("send.py", live.name_server, tmp_path) == []
        wait_for_route(live.name_server, "orders")
        consumed, sent = [], sorted(f"{n % 4} {f'order {n}'.encode()}" for n in range(8))
        for _ in range(4):  # a run of half a minute may be too short on a busy machine
            owned, *more = printed("consume.py", live.name_server, tmp_path)
            consumed += more
            if len(consumed) >= len(sent):
                break
        assert sorted(consumed) == sent
        assert owned == "owns [0, 1, 2, 3]"
