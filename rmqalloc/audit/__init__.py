"""What is wrong with who owns what in a snapshot: `check_snapshot` gives findings, `RULES` says what each means.

The expected owners are computed client by client, as RocketMQ does it: each client divides the queues it sees by its own
strategy, over the client list that a broker gave it. Where these views differ, queues are unowned or double-owned.

``audited_group``, ``unit``, ``audited_view``
    A group under audit; one topic of it; what one client divides, by what, and the result, computed in bulk.
``reported``
    What the clients report that they own.
``rules``, ``rules_*``
    All rules by id; their code, one module per family.
"""

from rmqalloc.audit._check import check_snapshot
from rmqalloc.audit._finding import SEVERITIES, Finding, Rule
from rmqalloc.audit._findings import Findings
from rmqalloc.audit._rules import RULES
from rmqalloc.audit._rules_planned import owners_after

__all__ = ["RULES", "SEVERITIES", "Finding", "Findings", "Rule", "check_snapshot", "owners_after"]
