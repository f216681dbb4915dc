"""The wrong answers, one by one."""

from typing import NamedTuple


class Held(NamedTuple):
    """A wrong answer.

    Attributes
    ----------
    what : str
        What was asked.
    before : str
        What 0.1.0 said.
    now : str
        What is said now.
    tests : str
        Arguments for pytest: the tests that fail if it is said as before.
    """

    what: str
    before: str
    now: str
    tests: str


_EVIDENCE = "tests/evidence/test_evidence.py"
_RECORDED = "tests/snapshot/test_live_recorded.py"

HELD = [
    Held("queues of a unit on 257 brokers of 2²⁴; on 128", "16,777,216; -2,147,483,648", "an error that names the unit: 4,311,744,512 queues, at most 2,147,483,647", "tests/fleet/test_fleet_bounds.py"),
    Held("a key given twice in a scenario, a script, an ACL file", "the last one, exit 0", "an error with file, line and column, exit 1; `on` and `010` are text everywhere", "tests/documents/test_documents.py"),
    Held("a plan of three clients that all report CONSISTENT_HASH", "planned as AVG", "planned as CONSISTENT_HASH", f"{_EVIDENCE} -k three_clients_that_report"),
    Held("plan, compare, explain, recommend, rollout of AVG and AVG_BY_CIRCLE clients in one group", "AVG, unowned 0, exit 0", "left out with the reason, exit 1, unless --strategy or --assume is given", f"{_EVIDENCE} -k every_verb"),
    Held("virtual nodes of a ring that nobody reports", "always 10", "fitted to the known owners, or in doubt", f"{_EVIDENCE} -k 'fitted or virtual_nodes or chance or refute'"),
    Held("strategy of a custom or anonymous class", "AVG", "fitted, or assumed and in doubt", f"{_EVIDENCE} -k 'only_strategy or nobody or audit_notes'"),
    Held("owners in groups behind a proxy and in POP mode", "computed; running info asked of each for 5 s, snapshot partial", "none, with the reason; not asked", f"{_RECORDED} -k 'proxy or pops or shared or brokers_assign'"),
    Held("what 4.9 lite-pull consumers own", "nothing, so actual-unowned", "not told", f"{_RECORDED} -k consumer_that_pulls"),
    Held("departure of a client id that is listed twice", "74 of 40 queues move", "40: one holder leaves", "tests/plans/test_compare.py -k 'holder or id'"),
    Held("%RETRY% topic of 1 queue after --add-broker b:8; after --set-queues 4", "9; 4", "2; 1", "tests/cli/test_cli_plan.py tests/scenarios/test_scenarios.py -k retry"),
    Held("a group without clients and 490 messages waiting; write 8 > read 4; a writable broker that nobody may read; a queue owned outside the route; a NEARBY room missing", "0 findings", "no-consumer, written-not-read, unreadable-broker, owned-not-in-route, stranded-backlog, missing-machine-room", "tests/audit/test_audit_unread.py"),
    Held("a broker of which only a slave is left; a name server without brokers", "taken as a master; 0 findings, exit 0", "no-master, ordered-lock-holder-gone, lag-from-slave; exit 1", f"{_RECORDED} -k 'master or findings_read'"),
    Held("--set-queues 8 of a readable broker with 0 read queues, beside rollout queues --to 8", "8 and 16 queues", "16 and 16", "tests/scenarios/test_scenarios.py -k 'without_queues'"),
    Held("48 clients, 192 queues, rollout restart -b 1: worst queues unowned in a step", "4, gate of 4 kept", "92 (exact), exit 3", "tests/rollouts/test_rollout_worst.py"),
    Held("queues that are written, in every rollout", "all, whatever perm and write queues say", "those that a producer can write to", "tests/rollouts/test_rollout_written.py"),
    Held("the smallest batch that keeps a budget", "missed in 92 of 440 choices", "every size is tried", "tests/cli/test_cli_rollout.py tests/rollouts/test_rollout.py -k 'budget or batches'"),
    Held("CONFIG by client id in plan, compare, explain, rollout, recommend", "unknown strategy, or the same list for all", "planned from the lists", "tests/advice/test_config_lists.py"),
    Held("one client id with two rooms in two groups", "the last room for both", "each group's own", "tests/evidence/test_evidence_rooms.py"),
    Held("strategy_params of a table's rows in bulk", "ignored, 'Parquet of AVG'", "used, and the strategies named", "tests/evaluation/test_bulk_strategies.py"),
    Held("a scenario that leaves no clients; --scale 3 of an empty group", "mean_load 6.0 beside max_load 0; refused", "0.0; planned, 'current' alone has the error", "tests/evaluation/test_plan_before.py"),
]  # fmt: skip
