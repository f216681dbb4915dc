"""``python -m pythons.scaling``: calls on one, two and four threads, one try of each, as one line
of JSON.

Of every job and number of threads: calls a second of all threads together, and seconds of processor
time that one call took.
"""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
from thread_fleets import fleet_of

from rmqalloc import MessageQueue, strategy

THREADS = (1, 2, 4)
N_QUEUES, N_CLIENTS, SECONDS = 16, 4, 0.2
AVG, HASH = strategy("AVG"), strategy("CONSISTENT_HASH", virtual_nodes=10)
FLEET = fleet_of(5)


def allocate(rule):
    """Ask for one client of a group of this thread's own."""
    queues = [MessageQueue("topic", f"broker-{i % 2}", i // 2) for i in range(N_QUEUES)]
    clients = [f"10.0.0.{i}@{i}" for i in range(N_CLIENTS)]
    return lambda: rule.allocate("group", clients[1], queues, clients)


def assign_fleet(rule):
    """Divide the one fleet that all threads share, into a place of this thread's own."""
    place = np.empty(int(FLEET.queue_offsets[-1]), np.int32)
    return lambda: rule.assign_fleet(FLEET, place)


JOBS = {
    "AVG.allocate": (allocate, AVG),
    "CONSISTENT_HASH.allocate": (allocate, HASH),
    "AVG.assign_fleet": (assign_fleet, AVG),
    "CONSISTENT_HASH.assign_fleet": (assign_fleet, HASH),
}


def timed(make, rule, threads, n):
    """Calls of all threads in a second, and seconds of processor time of one."""
    together = Barrier(threads + 1)

    def work():
        call = make(rule)
        together.wait()
        for _ in range(n):
            call()

    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(work) for _ in range(threads)]
        together.wait()
        began, used = time.perf_counter(), time.process_time()
        for future in futures:
            future.result()
        seconds, used = time.perf_counter() - began, time.process_time() - used
    return threads * n / seconds, used / (threads * n)


def main():
    answers = {}
    for name, (make, rule) in JOBS.items():
        timed(make, rule, 1, 20)
        n = max(20, int(SECONDS * timed(make, rule, 1, 50)[0]))
        answers[name] = {threads: timed(make, rule, threads, n) for threads in THREADS}
    print(json.dumps(answers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
