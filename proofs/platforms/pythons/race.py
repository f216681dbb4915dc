"""``python -m platforms.pythons.race``: two threads write owners into one place. It is wrong on purpose:
ThreadSanitizer must see it.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
from thread_fleets import fleet_of

from rmqalloc import strategy

THREADS, TIMES = 2, 200


def main():
    fleet, rule, together = fleet_of(5), strategy("AVG"), Barrier(THREADS)
    place = np.empty(int(fleet.queue_offsets[-1]), np.int32)

    def work(_):
        together.wait(timeout=600)
        for _ in range(TIMES):
            rule.assign_fleet(fleet, place)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
