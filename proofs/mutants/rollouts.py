"""Mutants of rollouts over fleets, of machine rooms that joining clients have, and of limits at their edge."""

from mutants.mutant import Mutant

_SIZES = "rmqalloc/evaluation/batch_sizes.py"
_PLAYING = "rmqalloc/rollouts/replay_groups.py"
_EDGES = "tests/house/test_edges.py -k"
_SKIPPED = "tests/rollouts/test_rollout_skipped.py -k"
_OPEN = "tests/transitions/test_hearing.py"
_ROOMS = "tests/scenarios/test_joining_rooms.py -k"

MUTANTS = [
    Mutant(_SIZES, "np.flatnonzero(counts > most)", "np.flatnonzero(counts >= most)", "a row at its bound is too large", f"{_EDGES} at_their_bounds"),
    Mutant(_SIZES, "self.all_queues > MAX_OWNERS)", "self.all_queues >= MAX_OWNERS)", "a full column of owners is refused", f"{_EDGES} at_their_bounds"),
    Mutant(_SIZES, "if n > MAX_OWNERS:", "if n >= MAX_OWNERS:", "owners that fill a column are refused", f"{_EDGES} as_many_owners"),
    Mutant(_SIZES, "queues, brokers = queues + n, brokers + 1", "queues = queues + n", "a broker that joins is not counted by set_queues", f"{_EDGES} broker_that_joins"),
    Mutant("rmqalloc/evaluation/row_check.py", "lengths > MAX_CLIENT_ID_BYTES", "lengths >= MAX_CLIENT_ID_BYTES", "the longest client id is too long", f"{_EDGES} longest_client_id"),
    Mutant("rmqalloc/documents/fields.py", "len(given) <= self.most_bytes)", "len(given) < self.most_bytes - 1)", "the longest text is too long", f"{_EDGES} longest_text"),
    Mutant("rmqalloc/evaluation/row_strategies.py", '.fill_null("null")', "", "lists that differ beside a null are one kind", f"{_EDGES} null_elements"),
    Mutant("rmqalloc/evidence/fit.py", "return [method for method, count in self.counts.items() if count == self.explained]", "return [max(self.counts, key=self.counts.__getitem__)] if self.counts else []", "of strategies that fit alike one is known", f"{_EDGES} explain_most"),
    Mutant("rmqalloc/rollouts/rollout_gates.py", 'if row["step"] and figure(row)', "if figure(row)", "a gate counts the state before", f"{_EDGES} state_before"),
    Mutant("rmqalloc/advice/_config_lists.py", "np.lexsort((others, -had))", "np.lexsort((-had,))", "the greater loads of all topics go to the first clients", f"{_EDGES} equally_many"),
    Mutant("rmqalloc/snapshot/files/_from_rows.py", 'raise SnapshotError(f"a row of a group names broker', 'SnapshotError(f"a row of a group names broker', "a row without its queue_id says nothing", f"{_EDGES} no_queue"),
    Mutant("rmqalloc/views/reported.py", "expected.difference(silent) != {owner}", "expected != {owner}", "who says nothing is missed", f"{_EDGES} says_nothing"),
    Mutant(_PLAYING, "left_out[group.consumer_group] = str(error)", "raise", "one group refuses a fleet", f"{_SKIPPED} skips_the_group"),
    Mutant(_PLAYING, "yield (planned if whole else planned.part([*schedules]))", "yield planned", "figures of a group go to the one before it", f"{_SKIPPED} skip_the_same"),
    Mutant("rmqalloc/rollouts/_rules_by_client.py", "method = as_set(given, kind.dialect) if k else given", "method = given", "Go's clients go over to Java's rule", "tests/rollouts/test_rollout_dialects.py -k computes_for_itself"),
    Mutant("rmqalloc/rollouts/_exposure.py", "    _correct_rows(replay, of_frame, moment, found)\n", "", "of several readers of a queue one counts", "tests/rollouts/test_rollout_dialects.py -k computes_for_itself"),
    Mutant("rmqalloc/rollouts/switch.py", "refused = refused_groups(planned, method)", "refused_groups(planned, method)\n    refused: dict[str, str] = {}", "queues of a refused group are unowned", f"{_SKIPPED} refuses_one_group"),
    Mutant("rmqalloc/cli/_plan_command.py", "or _refused_code(made)", "", "a client without a room ends with 0", f"{_ROOMS} needs_the_room"),
    Mutant("rmqalloc/scenarios/change_flags.py", 'return (what, room) if equals else (text, "")', 'return text, ""', "a room is taken for a part of the id", f"{_ROOMS} behind_the_equals"),
    Mutant("rmqalloc/plans/unmatched.py", "if unit in before:", "if unit:", "a change answers for what was refused before", f"{_ROOMS} refused_already"),
    Mutant("rmqalloc/transitions/open_queues.py", "+ t.before.passed * hearing.half_difference", "", "queues that pass take no time", _OPEN),
    Mutant("rmqalloc/transitions/open_queues.py", "always + counted(until_join), single", "always, single", "nobody waits for one that joins", _OPEN),
    Mutant("rmqalloc/transitions/open_queues.py", "terms.since.always + terms.since.informed", "terms.since.always", "a queue that is lost is lost for a while", _OPEN),
    Mutant("rmqalloc/transitions/hearing.py", "at_once=1 / n_brokers", "at_once=1.0", "every broker knows of a leave at once", f"{_OPEN} tests/rollouts/test_rollout.py"),
    Mutant("rmqalloc/transitions/open_shared_queues.py", "readers = old & ~informed | new & informed", "readers = old & ~informed", "nobody reads what is new", "tests/plans/test_plan_transitions.py"),
    Mutant("rmqalloc/transitions/seconds_bound.py", 'math.inf if row["unowned_after"] or seconds is None', "math.inf if seconds is None", "a queue that is lost keeps a bound in seconds", "tests/plans/test_plan_transitions.py"),
]  # fmt: skip
