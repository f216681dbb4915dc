"""What is wrong with who owns what in a snapshot: `check_snapshot` gives findings, `RULES` says what each means.

Most groups of a cluster are ordinary: each queue has the one owner that plans are made of, worked out for all groups at once.
Rules are asked only about groups that have a sign of what they look for. Where clients may have views of their own, the
expected owners are computed client by client, as RocketMQ does it: each client divides the queues it sees by its own strategy,
over the client list that a broker gave it. Where these views differ, queues are unowned or double-owned.

``signs``, ``group_signs``, ``owner_signs``
    What may be unusual about a group: what there is to see, read from a snapshot, and from who owns what.
``signed_groups``, ``audited_group``
    Groups with their signs; the views of one of them, laid out where a rule asks for them.
``rules``, ``rules_*``
    All rules by id; their code, one module per family.
"""

from rmqalloc.audit._check import check_snapshot
from rmqalloc.audit._rules import RULES
from rmqalloc.audit.finding import SEVERITIES, Finding, Rule
from rmqalloc.audit.findings import Findings
from rmqalloc.audit.rules_planned import owners_after

__all__ = ["RULES", "SEVERITIES", "Finding", "Findings", "Rule", "check_snapshot", "owners_after"]
