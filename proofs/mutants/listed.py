"""The mutants, by the file that they change."""

from mutants.mutant import Mutant

_DOCUMENTS = "tests/documents/test_documents.py"
_EVIDENCE = "tests/evidence/test_evidence.py"
_UNREAD = "tests/audit/test_audit_unread.py"
_REACH = "tests/audit/test_reach.py"
_LISTS = "tests/advice/test_config_lists.py"
_BOUNDS = "tests/fleet/test_fleet_bounds.py"
_BEFORE = "tests/evaluation/test_plan_before.py"
_WORST = "tests/rollouts/test_rollout_worst.py"
_WRITTEN = "tests/rollouts/test_rollout_written.py"
_JSON = "rmqalloc/documents/json_text.py"
_YAML = "rmqalloc/documents/yaml_text.py"
_CLAIMS = "rmqalloc/evidence/_decide_strategies.py"
_KNOWN = "rmqalloc/evidence/known_snapshot.py"
_OF_CLIENTS = "rmqalloc/evidence/client_method.py"
_FIT = "rmqalloc/evidence/fit.py"

MUTANTS = [
    # --- Files that people write ---
    Mutant(_JSON, "if len(found) < len(pairs):", "if not pairs:", "the last of two equal keys wins in JSON", _DOCUMENTS),
    Mutant(_JSON, 'is_key = token == "{"', "is_key = False", "the place of a key given twice is not found", _DOCUMENTS),
    Mutant(_JSON, "for _ in range(MAX_DEPTH):", "for _ in range(MAX_DEPTH + 1):", "JSON may be deeper than YAML", _DOCUMENTS),
    Mutant(_JSON, "(text, parse_constant=_finite, parse_float=_finite)", "(text, parse_constant=_finite)", "1e999 is infinite", _DOCUMENTS),
    Mutant(_JSON, "|(?<!{_HIGH}){_LOW}", "", "the second half of a pair passes alone", _DOCUMENTS),
    Mutant(_YAML, "if key in found:", "if not key:", "the last of two equal keys wins in YAML", _DOCUMENTS),
    Mutant(_YAML, "if merge is not None:", "if merge == 1:", "the last of two merges wins", _DOCUMENTS),
    Mutant(_YAML, "{**_merged(loader, merge), **found}", "{**found, **_merged(loader, merge)}", "a merge overrules the mapping", _DOCUMENTS),
    Mutant(_YAML, "brought = {**data, **brought}", "brought = {**brought, **data}", "the later of two bases wins", _DOCUMENTS),
    Mutant(_YAML, "if depth + n_levels > MAX_DEPTH:", "if n_levels > MAX_NODES:", "aliases make data of any depth", _DOCUMENTS),
    Mutant(_YAML, "(0|[1-9][0-9]*)", "([0-9]+)", "010 is a number", _DOCUMENTS),
    Mutant(_YAML, "value if first is second else second", "second", "an aliased key is placed where it is first", _DOCUMENTS),
    Mutant("rmqalloc/documents/source.py", '"utf-8-sig"', '"utf-8"', "a file with a mark before UTF-8 is refused", _DOCUMENTS),
    Mutant("rmqalloc/remoting/credentials.py", ", words=True", "", "a secret of digits loses its zero or is refused", _DOCUMENTS),
    Mutant("rmqalloc/scenarios/scenario_files.py", '"scenarios", i) from', '"scenarios", 0) from', "errors name the line of another scenario", "tests/scenarios/test_scenarios.py -k none_is_named"),
    Mutant("rmqalloc/plans/_plan_files.py", "parse(source, \"json\").data", "__import__('json').loads(source.text())", "a saved plan keeps the last of two keys", _DOCUMENTS),
    Mutant("rmqalloc/fleet/lists.py", "return lists._with_empty(self, empty, topics, brokers) if empty.size else lists", "return lists", "a bad row takes brokers without queues from all others", "tests/evaluation/test_plan_batch.py -k beside_one"),
    Mutant("rmqalloc/fleet/lists.py", "np.lexsort((brokers.ranks()[broker], topics.ranks()[topic], of_list))", "np.lexsort((of_list,))", "a broker without queues stands at the end of its list", "tests/evaluation/test_plan_batch.py -k beside_one"),
    # --- How strategies are known ---
    Mutant(_CLAIMS, "if len(reported) > 1 else None\n    else:", "if len(reported) > 2 else None\n    else:", "two strategies reported are no disagreement", _EVIDENCE),
    Mutant(_CLAIMS, "if fit.explains_all and len(fit.best) == 1 and is_likely:", "if fit.explains_all and is_likely:", "a tie between strategies counts as a fit", _EVIDENCE),
    Mutant(_FIT, "n_tried * _ONE_IN < ways", "n_tried < ways", "a fit may be chance", _EVIDENCE),
    Mutant(_CLAIMS, 'or (source == "given" and is_default)):', "or is_default):", "a ring of 10 is taken for any that is reported", _EVIDENCE),
    Mutant(_CLAIMS, 'if source == "given" and nodes != method.virtual_nodes:', "if False:", "reported virtual nodes overrule those written down", _EVIDENCE),
    Mutant(_KNOWN, "return reads and bool(has_name(group.name)) and bool(with_empty or group.clients)", "return reads and bool(with_empty or group.clients)", "a doubt counts in groups that nobody asked for", _EVIDENCE),
    Mutant(_KNOWN, "bool(with_empty or group.clients)", "bool(group.clients)", "clients that join an empty group are planned by a guess", _EVIDENCE),
    Mutant(_CLAIMS, "if n < len(group.clients):", "if n < 1:", "one client speaks for all", _EVIDENCE),
    Mutant("rmqalloc/evidence/fit.py", "            if others:\n", "            if False:\n", "a queue with two owners is evidence", _EVIDENCE),
    Mutant("rmqalloc/evidence/fit.py", "= ids - known or ids\n", "= ids\n", "a client that reports no strategy owns what it likes with another one", _EVIDENCE),
    Mutant(_OF_CLIENTS, 'return group.message_model == "CLUSTERING" and group.server_assignment', "return group.server_assignment", "groups that broadcast get a strategy", _EVIDENCE),
    Mutant(_CLAIMS, "for one in mine if one.strategy_source is None]", "for one in mine]", "what is known is looked at again", _EVIDENCE),
    Mutant(_CLAIMS, 'return _with(group, fit.best[0], "fitted", 1.0, doubt)', 'return _with(group, method, "fitted", 1.0, doubt)', "the fitted virtual nodes are dropped", _EVIDENCE),
    Mutant(_FIT, "_OPEN, _ELSEWHERE = -2, -3", "_OPEN, _ELSEWHERE = -2, -2", "an owner that the group does not list is no owner", _EVIDENCE),
    Mutant(_FIT, "count == self.explained]", "count >= 0]", "every strategy is among the best", _EVIDENCE),
    Mutant("rmqalloc/snapshot/units.py", "elif group.strategy_doubt is not None:", "elif False:", "groups in doubt are planned", _EVIDENCE),
    Mutant("rmqalloc/cli/_left_out.py", "return too_weak or exit_codes.FAILURE", "return too_weak", "a group that was left out does not show in the exit code", _EVIDENCE),
    Mutant("rmqalloc/audit/_rules_config.py", 'audited.group.strategy_source == "assumed" and ', "", "every doubt is called a guess", _EVIDENCE),
    # --- Sizes, departures, retry topics, cures ---
    Mutant("rmqalloc/fleet/unit_sizes.py", "np.flatnonzero(lengths > MAX_PER_UNIT)", "np.flatnonzero(lengths > 2 * MAX_PER_UNIT)", "a unit of twice as many queues as int32 holds is taken", _BOUNDS),
    Mutant("rmqalloc/fleet/arrow.py", "<= MAX_PER_UNIT:", "<= 2 * MAX_PER_UNIT:", "read queues of all brokers wrap around", _BOUNDS),
    Mutant("rmqalloc/scenarios/patterns.py", "found &= ~retry | matches(", "found |= retry & matches(", "a bare star resizes retry topics", "tests/scenarios/test_scenarios.py -k retry"),
    Mutant("rmqalloc/scenarios/_queue_changes.py", "return np.where(least == most, most, 1)", "return np.where(least == most, most, least)", "a retry topic gets what one broker has", "tests/scenarios/test_scenarios.py -k retry"),
    Mutant("rmqalloc/evaluation/evaluate.py", "wrong |= empties(made.fleet)", "wrong |= {}", "a unit that stays empty is cured", _BEFORE),
    Mutant("rmqalloc/evaluation/evaluate.py", "np.full(int(fleet.queue_offsets[-1]), -1, np.int32)", "np.zeros(int(fleet.queue_offsets[-1]), np.int32)", "before a cure the first client owns all", _BEFORE),
    # --- Rollouts ---
    Mutant("rmqalloc/rollouts/rollout_gates.py", 'lambda row: row[figure], most', 'lambda row: row[figure] // 2, most', "the gate looks at half of what lies open", f"{_WORST} {_WRITTEN} tests/cli/test_cli_rollout.py"),
    Mutant("rmqalloc/rollouts/_batch_budget.py", "range(1, max(largest.values()) + 1)", "range(1, max(largest.values()) + 1, 2)", "every second batch is not tried", "tests/cli/test_cli_rollout.py tests/rollouts/test_rollout.py -k budget"),
    # --- Audit and CONFIG ---
    Mutant("rmqalloc/audit/_rules_unread.py", "if one.is_readable and _n_written(one) > one.read_queue_nums]", "if one.is_readable and _n_written(one) > one.read_queue_nums + 1]", "one queue that is written and not read is overlooked", _UNREAD),
    Mutant("rmqalloc/audit/_rules_unread.py", "not one.is_readable and one.perm & PERM_WRITE and", "not one.is_readable and", "a broker that nobody writes to is called unread", _UNREAD),
    Mutant("rmqalloc/audit/reach_answers.py", 'others |= dict.fromkeys(unit.unowned, ("no-owner", nobody))', "others |= {}", "a queue that no client takes is called read", _REACH),
    Mutant("rmqalloc/audit/reach_answers.py", "doubt := unit.problem or _doubt(audited.group)", "doubt := unit.problem", "a strategy in doubt is believed", _REACH),
    Mutant("rmqalloc/audit/_written.py", "min(_n_seen(one), one.n_written_queues)", "one.n_written_queues", "queues beyond the read queues are called read", _REACH),
    Mutant("rmqalloc/strategies/config.py", "for one in self.holders(queue) if one in position), -1)", "for one in self.holders(queue) if one in position), 0)", "a queue in no list goes to the first client", _LISTS),
    Mutant("rmqalloc/strategies/config.py", "if len(both) > 1:", "if len(both) > 2:", "a queue in two lists is planned", _LISTS),
]  # fmt: skip
