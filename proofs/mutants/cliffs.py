"""Mutants of what odd units cost and of how they are kept apart from all others."""

from mutants.mutant import Mutant

_CLIFFS = "tests/fleet/test_cliffs.py"
_RING = "rmqalloc/strategies/consistent_hash.py"
_HASHING = "rmqalloc/strategies/hashing.py"
_MEMORY = "rmqalloc/fleet/_memory.py"
_OUT = "tests/fleet/test_fleet_out.py"

MUTANTS = [
    Mutant("rmqalloc/fleet/irregular.py", "np.where(self.holder == places, places, np.int32(-1))", "self.holder", "a repeated id keeps the share of its second slot", f"{_CLIFFS} -k one_by_one"),
    Mutant("rmqalloc/fleet/irregular.py", "np.where(self.lists.empty_id, np.int32(-1), self.lists.first)", "self.lists.first", "an empty id owns queues", f"{_CLIFFS} -k one_by_one"),
    Mutant("rmqalloc/fleet/fleet.py", "unit_client_list=odd.unit_list,", "unit_client_list=np.zeros_like(odd.unit_list),", "all odd units ask the ring of the first", f"{_CLIFFS} -k one_by_one"),
    Mutant("rmqalloc/fleet/lists.py", "elif flags.any():", "elif not flags.any():", "repeats in one list among many are not seen", f"{_CLIFFS} -k one_by_one"),
    Mutant(_RING, "np.concatenate([fleet.empty_units, odd.units])", "fleet.empty_units", "odd units are asked again as if they were plain", f"{_CLIFFS} -k one_by_one"),
    Mutant(_RING, "lost[before] += 1", "pass", "points that collide are counted as held", f"{_CLIFFS} -k collide"),
    Mutant(_RING, "held[before] -= 1", "pass", "points that were taken over are counted as held", f"{_CLIFFS} -k collide"),
    Mutant("rmqalloc/strategies/base.py", "False  # whether `_owners`", "True  # whether `_owners`", "strategies that need clients are given units without", "tests/strategies/test_errors.py tests/strategies/test_strategies.py"),
    Mutant(_HASHING, " <= SMALL and", " < SMALL and", "the largest small fleet is planned in blocks", f"{_CLIFFS} -k largest"),
    Mutant(_HASHING, " and fleet.is_regular and not", " and not", "a repeated id of a small fleet has its points twice", f"{_CLIFFS} -k odd_or_large"),
    Mutant(_HASHING, "    return n_slots * virtual_nodes + n_queues <=", "    return n_slots + n_queues <=", "virtual nodes do not count in what is small", f"{_CLIFFS} -k odd_or_large"),
    Mutant("rmqalloc/fleet/fleet.py", "max(int(self.client_lists.offsets[-1]), int(self.client_offsets[-1]))", "int(self.client_lists.offsets[-1])", "a list of many units counts once", f"{_CLIFFS} -k odd_or_large"),
    Mutant(_MEMORY, "start - self._longest)", "start)", "an array inside a longer one of the fleet is not seen", f"{_OUT} -k looked_at"),
    Mutant(_MEMORY, " + sum(map(len, self._inner)) == self._n", " <= self._n", "what lists compute later is not seen", f"{_OUT} -k looked_at"),
    Mutant("rmqalloc/fleet/irregular.py", "np.searchsorted(rows, unit_list[units]).astype(np.int32)", "np.zeros(units.size, np.int32)", "all odd units have the first odd list", f"{_CLIFFS} -k one_by_one"),
]  # fmt: skip
