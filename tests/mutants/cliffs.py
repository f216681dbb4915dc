"""Mutants of what odd units cost and of how they are kept apart from all others."""

from mutants.mutant import Mutant

_CLIFFS = "tests/test_cliffs.py"
_RING = "rmqalloc/strategies/consistent_hash.py"

MUTANTS = [
    Mutant("rmqalloc/fleet/irregular.py", "np.where(self.holder == places, places, np.int32(-1))", "self.holder", "a repeated id keeps the share of its second slot", f"{_CLIFFS} -k one_by_one"),
    Mutant("rmqalloc/fleet/irregular.py", "np.where(self.lists.empty_id, np.int32(-1), self.lists.first)", "self.lists.first", "an empty id owns queues", f"{_CLIFFS} -k one_by_one"),
    Mutant("rmqalloc/fleet/irregular.py", "unit_client_list=self.unit_list,", "unit_client_list=np.zeros_like(self.unit_list),", "all odd units ask the ring of the first", f"{_CLIFFS} -k one_by_one"),
    Mutant("rmqalloc/fleet/lists.py", "elif flags.any():", "elif not flags.any():", "repeats in one list among many are not seen", f"{_CLIFFS} -k one_by_one"),
    Mutant(_RING, "np.concatenate([fleet.empty_units, odd.units])", "fleet.empty_units", "odd units are asked again as if they were plain", f"{_CLIFFS} -k one_by_one"),
    Mutant(_RING, "lost[before] += 1", "pass", "points that collide are counted as held", f"{_CLIFFS} -k collide"),
    Mutant(_RING, "held[before] -= 1", "pass", "points that were taken over are counted as held", f"{_CLIFFS} -k collide"),
    Mutant("rmqalloc/strategies/base.py", "_takes_empty = False", "_takes_empty = True", "strategies that need clients are given units without", "tests/test_errors.py tests/test_strategies.py"),
]  # fmt: skip
