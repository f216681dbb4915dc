"""``python -m pythons.scaling``: calls a second of single groups on one, two and four threads, as one line of JSON."""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

from rmqalloc import MessageQueue, strategy

RULES = {"AVG": {}, "CONSISTENT_HASH": {"virtual_nodes": 10}}
THREADS = (1, 2, 4)
N_QUEUES, N_CLIENTS, LEAST_SECONDS, TRIES = 16, 4, 0.4, 5


def calls(rule, n):
    """Ask for one client of a group of this thread's own."""
    queues = [MessageQueue("topic", f"broker-{i % 2}", i // 2) for i in range(N_QUEUES)]
    clients = [f"10.0.0.{i}@{i}" for i in range(N_CLIENTS)]
    for _ in range(n):
        rule.allocate("group", clients[1], queues, clients)


def rate(rule, threads, n):
    """Calls of all threads in a second, of one try."""
    together = Barrier(threads + 1)

    def work():
        together.wait()
        calls(rule, n)

    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(work) for _ in range(threads)]
        together.wait()
        began = time.perf_counter()
        for future in futures:
            future.result()
        return threads * n / (time.perf_counter() - began)


def main():
    answers = {}
    for name, given in RULES.items():
        make = partial(strategy, name, **given)
        calls(make(), 100)
        n = max(100, int(LEAST_SECONDS * rate(make(), 1, 2000)))
        # The best of tries: other work on the machine only takes away. Tries of all numbers take turns.
        tried = [[rate(make(), threads, n) for threads in THREADS] for _ in range(TRIES)]
        answers[name] = {threads: max(one[i] for one in tried) for i, threads in enumerate(THREADS)}
    print(json.dumps(answers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
