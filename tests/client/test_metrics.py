"""What a consumer counts, and what Prometheus reads of it."""

import asyncio
import threading

import pytest
import simulated_time
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families
from wire_cluster import WireCluster
from wire_members import Heard, bodies, member, own, until

from rmqalloc import MessageQueue
from rmqalloc.client import PushConsumer
from rmqalloc.client._pulled_queue import PulledQueue
from rmqalloc.client._running_member import RunningMember
from rmqalloc.client._tally import LATENCY_BOUNDS
from rmqalloc.client.prometheus import MemberCollector

GROUP = {"consumer_group": "g"}
ORDERS = {"consumer_group": "g", "topic": "orders"}


def registered(*consumers, **options):
    registry = CollectorRegistry()
    registry.register(MemberCollector(*consumers, **options))
    return registry


def test_lag_is_what_is_stored_and_not_consumed():
    """Also where nothing was committed yet, and not known before the first answer to a pull."""

    async def run():
        async with WireCluster({"orders": 2}) as cluster:
            gate, queues = asyncio.Event(), cluster.queues()

            async def listener(messages):
                await gate.wait()

            await cluster.put(queues[0], *bodies(*range(20)))
            consumer = member(cluster, listener, pull_threshold_for_queue=1, pull_batch_size=8)
            assert consumer.metrics().lag == {}
            async with consumer:
                await until(lambda: consumer.metrics().lag.get(queues[1]) == 0)
                await until(lambda: consumer.metrics().lag[queues[0]] == 20)
                assert (
                    registered(consumer).get_sample_value("rmqalloc_member_lag_messages", ORDERS)
                    == 20
                )
                gate.set()
                await until(lambda: consumer.metrics().lag[queues[0]] == 0)
                await until(lambda: cluster.stored("g")[queues[0]] == 20)
                metrics = consumer.metrics()
                assert 3 <= sum(metrics.pull.counts) < sum(metrics.consume.counts) == 20
                assert metrics.pull.total > 0
                consumer._member.consumer.rebalance.process_queue_table[queues[1]].max_offset = -1
                assert consumer.metrics().lag[queues[1]] is None
                registry = registered(consumer)
                assert registry.get_sample_value("rmqalloc_member_lag_messages", ORDERS) is None
                assert registry.get_sample_value("rmqalloc_member_queues", ORDERS) == 2
            assert consumer.metrics().lag == {}

    asyncio.run(run())


def test_passes_that_change_queues_are_counted():
    async def run():
        async with (
            WireCluster({"orders": 4}) as cluster,
            member(cluster, Heard().in_loop) as first,
        ):
            await until(lambda: len(first.queues()) == 5)  # of the retry topic, too
            before = first.metrics().rebalances
            first.subscribe("bills")  # has no route, which every pass reports
            await asyncio.sleep(5)
            assert first.metrics().rebalances == before == 2
            async with member(cluster, Heard().in_loop):
                await until(lambda: len(own(first)) == 2)
            await until(lambda: len(own(first)) == 4)
            assert first.metrics().rebalances >= before + 2
            n = registered(first).get_sample_value("rmqalloc_member_rebalances_total", GROUP)
            assert n == first.metrics().rebalances

    simulated_time.run(run())


def running(queues, group="g", **counts):
    """A consumer that has counted something and works on these queues."""

    async def made():
        consumer = PushConsumer(group, name_server="127.0.0.1:9876", listener=print)
        consumer._member = RunningMember(consumer, ["127.0.0.1:9876"], "127.0.0.1")
        await consumer.close()
        for name, n in counts.items():
            setattr(consumer._member.tally, name, n)
        consumer._member.consumer.offset_store = Store()
        for queue, lag in queues.items():
            process_queue = PulledQueue(0)
            process_queue.max_offset = lag
            consumer._member.consumer.rebalance.process_queue_table[queue] = process_queue
        return consumer

    return asyncio.run(made())


class Store:
    def memory_offset(self, queue):
        return 0


HOSTILE = 'b"\\\n} 1\nup 0 \udcff'


@pytest.mark.parametrize(
    ("written", "read"),
    [(generate_latest, text_string_to_metric_families), (openmetrics, read_openmetrics)],
)
@pytest.mark.parametrize("per_queue", [False, True])
def test_prometheus_reads_what_is_written(written, read, per_queue):
    queue = MessageQueue("orders", HOSTILE, 7)
    consumer = running({queue: 3}, consumed=5, failed=1, retried=2, undecodable=4, rebalances=6)
    consumer._member.tally.consume.add(0.002)
    consumer._member.tally.consume.add(100)
    text = written(registered(consumer, per_queue=per_queue)).decode()
    samples = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in read(text)
        for sample in family.samples
    }
    of_group = ("consumer_group", "g")
    for name, n in (("consumed", 5), ("failed", 1), ("retried", 2), ("undecodable", 4)):
        assert samples[f"rmqalloc_member_{name}_messages_total", of_group] == n
    assert samples["rmqalloc_member_rebalances_total", of_group] == 6
    at = "rmqalloc_member_consume_seconds"
    assert samples[f"{at}_count", of_group] == 2 and samples[f"{at}_sum", of_group] == 100.002
    buckets = {float(key[2][1]): n for key, n in samples.items() if key[0] == f"{at}_bucket"}
    assert buckets == {bound: float(bound > 0.001) for bound in LATENCY_BOUNDS} | {float("inf"): 2}
    labels = {"consumer_group": "g", "topic": "orders"}
    if per_queue:
        labels |= {"broker_name": HOSTILE.replace("\udcff", "\\udcff"), "queue_id": "7"}
    assert samples["rmqalloc_member_lag_messages", *sorted(labels.items())] == 3
    assert not [key for key in samples if not key[0].startswith("rmqalloc_member_")]


def test_series_are_those_of_topics_and_members_of_a_group_are_added_up():
    queues = [MessageQueue("orders", f"broker-{i}", j) for i in range(50) for j in range(8)]
    one, other = (
        running(dict.fromkeys(queues[:200], 1), consumed=3),
        running(dict.fromkeys(queues[200:], 2), consumed=4),
    )
    bills = running({MessageQueue("orders", "b", 0): 9}, "bills", consumed=8)
    registry = registered(one, other, bills)
    read = registry.get_sample_value
    assert read("rmqalloc_member_lag_messages", ORDERS) == 600
    assert read("rmqalloc_member_queues", ORDERS) == 400
    assert read("rmqalloc_member_consumed_messages_total", GROUP) == 7
    assert read("rmqalloc_member_consumed_messages_total", {"consumer_group": "bills"}) == 8
    assert read("rmqalloc_member_pull_seconds_count", GROUP) == 0
    n_series = sum(len(family.samples) for family in registry.collect())
    per_group = 5 + 2 * (len(LATENCY_BOUNDS) + 1 + 2) + 2
    assert n_series == 2 * per_group
    with pytest.raises(ValueError, match="Duplicated"):
        registry.register(MemberCollector(bills))


def test_another_thread_reads_while_queues_come_and_go():
    queues = {MessageQueue("orders", "b", i): 1 for i in range(500)}
    consumer = running(queues)
    table = consumer._member.consumer.rebalance.process_queue_table
    stop, failures = threading.Event(), []

    def scrape():
        try:
            while not stop.is_set():
                consumer.metrics(), consumer.queues(), repr(consumer)
        except Exception as error:
            failures.append(error)

    reader = threading.Thread(target=scrape)
    reader.start()
    for _ in range(100):
        for queue in queues:
            kept = table.pop(queue)
            table[queue] = kept
    stop.set()
    reader.join()
    assert failures == []
