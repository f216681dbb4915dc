"""Mutants of fleets and of what computes on them: locks, places to write to, digests, texts that are none, interruption."""

from mutants.mutant import Mutant

_FORK = "tests/fleet/test_fork.py"
_OUT = "tests/fleet/test_fleet_out.py"
_DIGEST = "tests/engine/test_digest.py"
_UTF8 = "tests/fleet/test_not_utf8.py"
_STOP = "tests/evaluation/test_interrupt.py"
_FLEET = "rmqalloc/fleet/fleet.py"
_ARROW = "rmqalloc/fleet/arrow.py"
_COLUMNS = "rmqalloc/fleet/arrow_columns.py"
_HASHING = "rmqalloc/strategies/hashing.py"

MUTANTS = [
    Mutant("rmqalloc/lazy.py", "kept: T = instance.__dict__.setdefault(self._name, self._make(instance))", "kept: T = self._make(instance)\n        instance.__dict__[self._name] = kept", "threads that compute a property at once keep different values", f"{_FORK} -k one_value"),
    Mutant("rmqalloc/fleet/lists.py", "from rmqalloc.lazy import lazy_property", "from functools import cached_property as lazy_property", "lists of a fleet have locks", "tests/house/test_layers.py -k threads_share"),
    Mutant("rmqalloc/strategies/owner_vectors.py", "if fleet.shares_memory(out):", "if False:", "owners are written over the fleet", f"{_OUT} -k shows"),
    Mutant(_FLEET, "if apart is not None and apart() is array:", "if apart is not None:", "only the first out= is looked at", f"{_OUT} -k anew"),
    Mutant("rmqalloc/fleet/_memory.py", " and np.shares_memory(self._arrays[self._at[i]], array)", "", "arrays that lie between the elements of others are refused", f"{_OUT} -k between"),
    Mutant(_FLEET, ' if name not in ("_apart", "_held")}', "}", "a fleet that was given an array cannot be pickled", f"{_OUT} -k anew"),
    Mutant("rmqalloc/strategies/owner_vectors.py", "not out.flags.behaved", "not out.flags.writeable", "owners are written to odd addresses", f"{_OUT} -k aligned"),
    Mutant("rmqalloc/fleet/columns.py", "np.frombuffer(os.urandom(8 * 136), np.uint64)", "np.arange(136, dtype=np.uint64)", "all processes have one secret", f"{_DIGEST} -k every_process"),
    Mutant(_COLUMNS, "except pa.ArrowInvalid:\n        return np.array([i for i, text in enumerate(array) if text.is_valid and not _is_utf8(text)], np.int64)", "except pa.ArrowInvalid:\n        return _NOWHERE", "texts that are none are taken", f"{_UTF8} -k makes_its_row_bad"),
    Mutant(_COLUMNS, "places + start if start else places", "places", "of several chunks the row of another is called bad", f"{_UTF8} -k every_kind"),
    Mutant(_ARROW, 'bad.note_elements(offsets, broken, _not_utf8(column, "client id"))', "pass", "client ids that are no text are planned", f"{_UTF8} -k makes_its_row_bad"),
    Mutant(_ARROW, 'bad.note_elements(offsets, broken, _not_utf8(column, "machine room"))', "pass", "machine rooms that are no text are planned", f"{_UTF8} -k makes_its_row_bad"),
    Mutant("rmqalloc/evaluation/figures_table.py", "utf8(text if text.type == pa.string() else text.cast(pa.string()))", "text if text.type == pa.string() else text.cast(pa.string())", "a plan holds text that cannot be read", f"{_UTF8} -k makes_its_row_bad"),
    Mutant("rmqalloc/evaluation/row_strategies.py", "except UnicodeDecodeError:", "except KeyError:", "a strategy that is no text is blamed on a codec", f"{_UTF8} -k makes_its_row_bad"),
    Mutant("rmqalloc/evaluation/parquet_plan.py", 'utf8(batch.column("strategy"))', 'batch.column("strategy")', "a strategy that is no text ends bulk", f"{_UTF8} -k bulk"),
    Mutant(_HASHING, "at = (slots.start - first) * v + nodes.start\n        part", "at = (slots.start - first) * v\n        part", "the points of one huge client overwrite one another", f"{_STOP} -k in_steps_is"),
    Mutant(_HASHING, "ring.sift_some(some, slots.start,", "ring.sift_some(some, 0,", "owners of a ring in steps count from each step", f"{_STOP} -k in_steps_is"),
    Mutant(_HASHING, "if not can_sift[0]:\n            self._block(first, last, points, hashes, scratch)\n", "if not can_sift[0]:\n", "queues that crowd get no owners", f"{_STOP} -k crowd"),
    Mutant("rmqalloc/strategies/_parallel.py", "        halted.append(True)\n", "        pass\n", "threads go on after Ctrl-C", f"{_STOP} -k others_stop"),
    Mutant("rmqalloc/evaluation/parquet_plan.py", "            if halted:\n                break\n", "", "bulk goes on to the end of every file after Ctrl-C", f"{_STOP} -k bulk_stops"),
    Mutant("rmqalloc/strategies/consistent_hash.py", " or len(client_ids) * self.virtual_nodes + len(queues) > STEP", "", "one group of any size is one call of a kernel", f"{_STOP} -k more_than_a_step"),
]  # fmt: skip
