"""The reader, a process of its own: reads a simulated cluster some times and prints what it found,
and its peak of memory.
"""

import argparse
import json
import resource
import time

from clusters.frozen_broker.servers import BROKERS, CLIENTS, FROZEN, QUEUES_PER_BROKER
from rmqalloc.snapshot.live.rereading import Rereader

LAGS = (len(BROKERS) - 1) * QUEUES_PER_BROKER
N_QUEUES = len(BROKERS) * QUEUES_PER_BROKER


def figures(reading, seconds):
    """Return one row."""
    snapshot, ages = reading.snapshot, reading.ages
    return {
        "seconds": seconds,
        "groups": len(snapshot.groups),
        "clients": sum(len(one.clients) == CLIENTS for one in snapshot.groups),
        "offsets": sum(len(one.lags) == LAGS for one in snapshot.groups),
        "routes": sum(sum(1 for _ in one.queues()) == N_QUEUES for one in snapshot.topics),
        "not_read": len(reading.not_read),
        "owned": sum(len(one.owned) for one in ages.values()),
        "errors": len(
            {
                (one.source, one.request)
                for one in snapshot.errors
                if one.source != f"broker {FROZEN}"
            }
        ),
        "requests": reading.n_requests,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "cpu": time.process_time(),
    }


def main():
    parser = argparse.ArgumentParser(prog="clusters.frozen_broker.reader", description=__doc__)
    parser.add_argument("name_server")
    parser.add_argument("--per-second", type=float, required=True)
    parser.add_argument("--every", type=float, required=True)
    parser.add_argument("--readings", type=int, required=True)
    given = parser.parse_args()
    with Rereader(
        given.name_server, per_second=given.per_second, every=given.every, parallel=16
    ) as reader:
        for _ in range(given.readings):
            began = time.monotonic()
            reading = reader.read()
            print(json.dumps(figures(reading, time.monotonic() - began)), flush=True)
            time.sleep(max(0.0, began + given.every - time.monotonic()))


if __name__ == "__main__":
    main()
