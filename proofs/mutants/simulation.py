"""Mutants of what makes the simulation fast."""

from mutants.mutant import Mutant

_READER = "rmqalloc/simulation/_reader.py"
_WATCHED = "rmqalloc/simulation/_watched_queues.py"
_NETWORK = "rmqalloc/simulation/_network.py"
_COMMITS = "rmqalloc/simulation/_member.py"
_TWIN = "tests/simulation/test_simulation_twin.py"

MUTANTS = [
    Mutant(_WATCHED, '    dropped: bool = _watched("dropped")\n', "", "a dropped queue is read on", _TWIN),
    Mutant(_WATCHED, '    last_lock_timestamp: int = _watched("last_lock_timestamp")\n', "", "a renewal is not told", _TWIN),
    Mutant(_READER, "if self._clock.time > self.first_loss:", "if False:", "a lock that runs out is not seen", _TWIN),
    Mutant(_READER, "for number in sorted(self.changed)]", "for number in ()]", "what changed is not looked at", _TWIN),
    Mutant(_NETWORK, "self.arrivals[0] <= until", "self.arrivals[0] < until", "an offset arrives a moment late", _TWIN),
    Mutant(_NETWORK, "if not connection.host.is_woken and", "if connection.host.is_woken and", "nobody is woken", _TWIN),
    Mutant(_NETWORK, "has_seen_all() or not all(", "has_seen_all() and not all(", "a dead connection carries offsets", _TWIN),
    Mutant(_NETWORK, "len(offsets)\n", "1\n", "offsets sent together are one request", _TWIN),
    Mutant(_NETWORK, "self.n_notices += len(connections)", "self.n_notices += 1", "a notice to all is one", _TWIN),
    Mutant(_NETWORK, "if connections and now != self.notices_sent:", "if False:", "notices never travel", _TWIN),
    Mutant(_COMMITS, "            self.remove_offset(queue)\n", "            pass\n", "offsets are not forgotten", _TWIN),
    Mutant(_COMMITS, "if not forgotten else", "if forgotten else", "offsets to be forgotten are stored", _TWIN),
    Mutant(
        _NETWORK,
        "        if self._network.is_up(connection):  # what",
        "        if True:  # what",
        "what is cut off keeps a connection from being idle",
        "tests/simulation/test_simulation_settings.py",
    ),
    Mutant(
        "rmqalloc/simulation/_allocation_cache.py",
        "known = self._shares.get((id(strategy), id(mq_all), id(cid_all)))",
        "known = next(iter(self._shares.values()), None)",
        "the first division counts for all",
        _TWIN,
    ),
    Mutant(
        "rmqalloc/simulation/_allocation_cache.py",
        "(id(strategy), id(queues), id(client_ids)), (strategy",
        "(id(strategy), id(queues)), (strategy",
        "other clients get the division of the first ones",
        _TWIN,
    ),
    Mutant(
        "rmqalloc/rebalance/queue_table.py",
        "                del self._queues[queue]\n",
        "",
        "queues of a topic that is gone are still found",
        "tests/rebalance/test_rebalance_table.py tests/rebalance/test_rebalance_pass.py",
    ),
]  # fmt: skip
