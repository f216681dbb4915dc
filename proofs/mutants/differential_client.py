"""Mutants of the client half that the differential is to see by itself."""

from mutants.mutant import Mutant

_REBALANCE = "rmqalloc/rebalance"
_TESTS = "tests/rebalance/test_differential.py -k client"

MUTANTS = [
    Mutant(
        f"{_REBALANCE}/process_queue.py",
        "return not self.pulling and now - self.last_pull_timestamp > PULL_MAX_IDLE",
        "return not self.pulling and now - self.last_pull_timestamp > PULL_MAX_IDLE + 2_000",
        "a queue that nobody pulls expires two seconds late",
        _TESTS,
    ),
    Mutant(
        f"{_REBALANCE}/_rebalance_impl.py",
        "                all_locked = False\n                continue",
        "                all_locked = False",
        "a queue that could not be locked is taken anyhow",
        _TESTS,
    ),
    Mutant(
        f"{_REBALANCE}/_rebalance_impl.py",
        "            self.remove_dirty_offset(queue)\n",
        "",
        "a new queue begins with what memory held of it",
        _TESTS,
    ),
    Mutant(
        f"{_REBALANCE}/_rebalance_impl.py",
        "        elif pops and not pulls:\n            self.subscription_inner.pop(retry_topic, None)",
        "        elif pops and not pulls:\n            pass",
        "a topic that is popped keeps the retry topic of popping",
        "tests/rebalance/test_rebalance_server.py",
    ),
    Mutant(
        f"{_REBALANCE}/offset_store.py",
        "            else:\n                self.remove_offset(queue)",
        "            else:\n                pass",
        "offsets of queues that are gone are not forgotten",
        _TESTS,
    ),
    Mutant(
        f"{_REBALANCE}/_first_offset.py",
        "        if retries:\n            return (yield from factory.max_offset(queue))",
        "        if retries:\n            return 0",
        "a retry topic of a group that begins at a time begins at its start",
        _TESTS,
    ),
    Mutant(
        f"{_REBALANCE}/_rebalance_impl.py",
        "                elif process_queue is not None:\n                    process_queue.locked = False",
        "                elif process_queue is None:\n                    pass",
        "a lock that a broker does not renew counts as held",
        _TESTS,
    ),
    Mutant(
        f"{_REBALANCE}/_lite_pull_consumer.py",
        "            self._states.pop(queue).process_queue.dropped = True",
        "            self._states.pop(queue)",
        "queues that a lite pull consumer gives up are not dropped",
        _TESTS,
    ),
    Mutant(
        f"{_REBALANCE}/_service.py",
        "self._wait(self._min_interval - elapsed)",
        "self._wait(self._min_interval)",
        "a pass that comes too early is put off for a whole second",
        _TESTS,
    ),
    Mutant(
        f"{_REBALANCE}/_rebalance_impl.py",
        "        return mine == self.working_queues(topic)",
        "        return True",
        "a share of which something is missing counts as balanced",
        _TESTS,
    ),
    Mutant(
        f"{_REBALANCE}/process_queue.py",
        "self._consumed_until <= now + wait",
        "self._consumed_until < now + wait",
        "who waits for a consume lock gives up as it is released",
        _TESTS,
    ),
    Mutant(
        f"{_REBALANCE}/_push_consumer.py",
        "        process_queue.try_unlock_times += 1\n        return False\n\n    def",
        "        return False\n\n    def",
        "5.2 and later do not count removals that failed",
        _TESTS,
    ),
    Mutant(
        f"{_REBALANCE}/_push_consumer.py",
        "            process_queue.try_unlock_times += 1\n            return False",
        "            return False",
        "before 5.2 removals that failed are not counted",
        _TESTS,
    ),
    Mutant(
        f"{_REBALANCE}/_push_consumer.py",
        "now > process_queue.last_lock_timestamp + profile.late_unlock_delay",
        "now >= process_queue.last_lock_timestamp + profile.late_unlock_delay",
        "an ordered queue is given up by force 1 ms early",
        _TESTS,
    ),
]
