"""Mutants of what makes the simulation fast."""

from mutants.mutant import Mutant

_READER = "rmqalloc/simulation/reader.py"
_WATCHED = "rmqalloc/simulation/watched.py"
_NETWORK = "rmqalloc/simulation/network.py"
_TWIN = "tests/test_simulation_twin.py"

MUTANTS = [
    Mutant(_WATCHED, '    dropped: bool = _watched("dropped")\n', "", "a dropped queue is read on", _TWIN),
    Mutant(_WATCHED, '    last_lock_timestamp: int = _watched("last_lock_timestamp")\n', "", "a renewal is not told", _TWIN),
    Mutant(_READER, "self._clock.now() > self._first_loss):", "False):", "a lock that runs out is not seen", _TWIN),
    Mutant(_READER, "for number in sorted(self._changed)]", "for number in ()]", "what changed is not looked at", _TWIN),
    Mutant(_NETWORK, "self._arrivals[0] <= until", "self._arrivals[0] < until", "an offset arrives a moment late", _TWIN),
    Mutant(_NETWORK, "if not connection.host.is_woken and", "if connection.host.is_woken and", "nobody is woken", _TWIN),
    Mutant(
        "rmqalloc/simulation/allocation.py",
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
        "tests/test_rebalance_table.py tests/test_rebalance_pass.py",
    ),
]  # fmt: skip
