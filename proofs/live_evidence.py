"""What the verbs say of a real cluster where it is easily read wrong: ``python -m live_evidence
[--quick] [--report FILE]``.

With ``--grpc`` also clients behind a real proxy, whose jars (125 MB) the tests do without.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from collections.abc import Iterator

from live_cases import (
    DIVIDED,
    MEMBERS,
    QUEUES,
    TOPIC,
    join_divided,
    join_plain,
    join_popping,
    lose_master,
    plain_group,
    start_pair,
    wait_until,
)
from live_cluster import LiveCluster
from live_consumers import CLIENTS, Consumers
from live_page import Page
from live_proxy_server import ProxyServer
from live_views_page import differing

ALL_QUEUES = 2 * QUEUES + 2


def divided(page: Page, cluster: LiveCluster, java: Consumers) -> None:
    """Strategies that clients name, and those that they do not."""
    join_divided(cluster, java)
    for group, one in DIVIDED.items():
        wait_until(
            cluster,
            (group,),
            lambda s: sum(len(c.owned or ()) for c in s.groups[0].clients) == ALL_QUEUES,
            "owned",
        )
        page.add(f"Clients divide by {one.told}", cluster.name_server, group)
    java.leave_all()


def popping(page: Page, cluster: LiveCluster, java: Consumers) -> None:
    """A group that pops."""
    join_popping(cluster, java, "evidence-pop")
    wait_until(
        cluster, ("evidence-pop",), lambda s: s.groups[0].server_assignment == "POP", "popping"
    )
    page.add("A group in POP mode, popShareQueueNum 2", cluster.name_server, "evidence-pop")
    java.leave_all()


def pulling(page: Page, cluster: LiveCluster) -> None:
    """Consumers of every kind, of two releases."""
    for release, project in CLIENTS.items():
        with Consumers(cluster.name_server, project=project, program="Plain") as process:
            join_plain(process, release)
            time.sleep(5)
            for kind in ("push", "lite_pull", "pull"):
                page.add(
                    f"Two {kind} consumers of {release}",
                    cluster.name_server,
                    plain_group(release, kind),
                )


def bereft(page: Page, cluster: LiveCluster, java: Consumers) -> None:
    """A broker of which only the slave is left."""
    start_pair(cluster)
    lose_master(cluster, java, "evidence-bereft", "evidence-bereft-orders")
    page.add(
        "An ordered group whose broker's master is gone", cluster.name_server, "evidence-bereft"
    )
    java.leave_all()
    cluster.kill_broker("pair-slave")


def behind_proxy(page: Page, cluster: LiveCluster, java: Consumers) -> None:
    """Clients of a proxy, alone and beside a client that speaks to brokers."""
    with ProxyServer(cluster) as proxy:
        java.do("topic", topic=TOPIC, broker=proxy.broker, read=QUEUES)
        for group in ("evidence-grpc", "evidence-mixed"):
            java.do("group", group=group, broker=proxy.broker)
        with proxy.consumers("evidence-grpc", TOPIC), proxy.consumers("evidence-mixed", TOPIC):
            java.join("evidence-mixed", MEMBERS[0], [TOPIC], strategy="AVG")
            for group, n in (("evidence-grpc", 2), ("evidence-mixed", 3)):
                wait_until(
                    cluster, (group,), lambda s, n=n: len(s.groups[0].clients) == n, "all clients"
                )
            page.add("Two gRPC clients behind a proxy", cluster.name_server, "evidence-grpc")
            page.add(
                "The same beside a Java client of brokers", cluster.name_server, "evidence-mixed"
            )
            java.leave_all()


@contextlib.contextmanager
def name_server_alone() -> Iterator[LiveCluster]:
    """A cluster without a broker."""
    cluster = LiveCluster()
    try:
        cluster.start_name_server()
        yield cluster
    finally:
        cluster.stop()


def main() -> None:
    """Write or print the page."""
    parser = argparse.ArgumentParser(prog="python -m live_evidence", description=__doc__)
    parser.add_argument("--report", help="page to write")
    parser.add_argument("--grpc", action="store_true", help="clients behind a proxy, too")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="only clients that name strategies, and a group that pops",
    )
    given = parser.parse_args()
    page = Page()
    with LiveCluster() as cluster, Consumers(cluster.name_server) as java:
        divided(page, cluster, java)
        if not given.quick:
            with tempfile.TemporaryDirectory() as folder:
                differing(page, cluster, java, f"{folder}/plan.json")
        popping(page, cluster, java)
        if not given.quick:
            pulling(page, cluster)
            bereft(page, cluster, java)
        if given.grpc:
            behind_proxy(page, cluster, java)
    with name_server_alone() as empty:
        page.add("A name server that knows no broker", empty.name_server)
    if given.report:
        page.write(given.report)
    else:
        print(page.text())


if __name__ == "__main__":
    main()
