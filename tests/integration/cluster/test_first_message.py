"""The programs of docs/authors/index.md send and consume messages of the cluster that ``make
cluster`` starts.
"""

import os
import subprocess
import sys

import pytest
from checkout import ROOT
from live_cluster import LiveCluster
from page_blocks import blocks_of

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


def test_the_programs_of_the_page_send_and_consume(tmp_path):
    with LiveCluster(autoCreateTopicEnable="true") as live:
        assert printed("send.py", live.name_server, tmp_path) == []
        owned, *consumed = printed("consume.py", live.name_server, tmp_path)
        assert sorted(consumed) == sorted(f"{n % 4} {f'order {n}'.encode()}" for n in range(8))
        assert owned == "owns [0, 1, 2, 3]"
