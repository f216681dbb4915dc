"""The service of a real cluster: what it says is what the verbs say, and nothing but reads leaves
it.
"""

import asyncio
import contextlib
import json
import signal
import time
import urllib.request

import pytest
from live_proofs import SETTLES_WITHIN, assigned, make_topic, settled
from live_proxy import Recording
from programs import python
from prometheus_client.parser import text_string_to_metric_families
from serving_process import running

from rmqalloc import strategy
from rmqalloc.remoting.read_codes import ReadCode

pytestmark = [pytest.mark.cluster, pytest.mark.java]

GROUP, TOPIC, QUEUES = "served", "served-orders", 4


@pytest.fixture(scope="module", autouse=True)
def consumers(cluster, java, tally):
    """Two consumers that own all queues."""
    make_topic(cluster, java, TOPIC, QUEUES)
    for member in ("s-1", "s-2"):
        java.join(GROUP, member, [TOPIC], strategy="AVG")
    settled(cluster, [java], GROUP, 2, assigned(strategy("AVG")), tally)
    yield
    java.leave_all()


def asked(name_server):
    """What a service says of the group, and what the verb says; the service ends afterwards."""
    with running(
        "-m",
        "rmqalloc",
        "serve",
        "-n",
        name_server,
        "-g",
        GROUP,
        "--port",
        "0",
        "--every",
        "1s",
    ) as (
        program,
        port,
    ):
        deadline = time.monotonic() + SETTLES_WITHIN
        while time.monotonic() < deadline:
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/status") as answer,
            ):
                if json.load(answer)["n_read"] > 2:
                    break
            time.sleep(0.2)
        found = [
            urllib.request.urlopen(f"http://127.0.0.1:{port}{path}").read()
            for path in (f"/v1/groups/{GROUP}", "/metrics")
        ]
        program.send_signal(signal.SIGTERM)
        assert program.wait(180) == 0
    return json.loads(found[0]), found[1].decode()


def test_it_says_what_the_verbs_say_and_sends_nothing_but_reads(cluster, tally):
    async def main():
        recording = Recording()
        async with contextlib.AsyncExitStack() as stack:
            for address in cluster.brokers.values():
                await recording.proxy(stack, address)
            name_server = await recording.proxy(stack, cluster.name_server)
            return recording, await asyncio.to_thread(asked, name_server)

    recording, (document, metrics) = asyncio.run(main())
    counts = {command.code for _, command in recording.requests}
    assert counts and counts <= set(ReadCode.__members__.values())
    shown = json.loads(
        python(
            "-m", "rmqalloc", "show", "-n", cluster.name_server, "-g", GROUP, "-o", "json"
        ).stdout
    )
    assert [(row["queue_id"], row["owners"]) for row in document["queues"]] == [
        (row["queue_id"], row["owners"]) for row in shown
    ]
    assert len(shown) >= QUEUES
    values = {
        one.name: one.value
        for family in text_string_to_metric_families(metrics)
        for one in family.samples
        if one.labels.get("consumer_group") == GROUP
    }
    listed = json.loads(
        python(
            "-m", "rmqalloc", "groups", "-n", cluster.name_server, "-g", GROUP, "-o", "json"
        ).stdout
    )[0]
    assert values["rmqalloc_group_clients"] == listed["n_clients"] == 2
    for metric, column in (
        ("queues", "n_queues"),
        ("unowned_queues", "unowned"),
        ("idle_clients", "idle"),
        ("skew", "skew"),
    ):
        assert values[f"rmqalloc_group_{metric}"] == listed[column], metric
