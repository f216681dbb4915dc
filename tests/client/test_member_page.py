"""The programs of docs/authors/member.md: the first one runs as it stands, and ends by a signal."""

import asyncio
import re
import signal
import sys

import pytest
from checkout import ROOT
from wire_cluster import WireCluster

PAGE = (ROOT / "docs" / "authors" / "member.md").read_text(encoding="utf-8")
PROGRAM = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]


@pytest.mark.skipif(sys.platform == "win32", reason="its loops take no signal handlers")
def test_the_program_consumes_and_hands_over_when_it_is_told_to_end(tmp_path):
    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            queue, broker = cluster.queues()[0], cluster.brokers["broker-a"]
            await cluster.put(queue, b"0", tag="paid")
            cluster.offsets["billing", queue] = 0
            program = tmp_path / "program.py"
            program.write_text(PROGRAM.replace("10.0.0.1:9876", cluster.name_server))
            done = await asyncio.create_subprocess_exec(
                sys.executable, "-u", str(program), stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE, cwd=ROOT,
            )  # fmt: skip
            assert await done.stdout.readline() == b"orders paid b'0'\n"
            done.send_signal(signal.SIGTERM)
            output, errors = await done.communicate()
            assert (done.returncode, output, errors) == (0, b"", b"")
            assert cluster.stored("billing") == {queue: 1}
            assert broker.count(35) == 1 and broker.client_ids("billing") == []

    asyncio.run(run())


def test_the_table_of_settings_is_that_of_the_consumer():
    from rmqalloc.client import MemberSettings

    rows = PAGE.partition("| setting | default | Java |")[2].partition("\n\n")[0].splitlines()[2:]
    named = {name for row in rows for name in re.findall(r"`([a-z_0-9]+)`", row.split("|")[1])}
    assert named | {"consumer_group", "listener"} == set(MemberSettings.__dataclass_fields__)


def test_the_table_of_metrics_is_that_of_the_collector():
    from rmqalloc.client.prometheus import MemberCollector

    rows = (
        PAGE.partition("| metric | type | labels | meaning |")[2]
        .partition("\n\n")[0]
        .splitlines()[2:]
    )
    shown = {}
    for row in rows:
        _, names, kind, labels, *_ = (part.strip() for part in row.split("|"))
        first, *more = re.findall(r"`(\w+)`", names)
        stem = re.match("rmqalloc_member", first)[0]
        for name in [first, *(stem + name for name in more)]:
            shown[name.removesuffix("_total")] = kind, tuple(re.findall(r"`(\w+)`", labels))
    made = {
        metric.name: (metric.type, metric._labelnames) for metric in MemberCollector().describe()
    }
    assert shown == made
