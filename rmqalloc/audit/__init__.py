"""Who owns what in a snapshot, and what is wrong with it: `current_owners`, `group_list`;
`check_snapshot`, `RULES`.

Most groups of a cluster are ordinary: each queue has the one owner that plans are made of, worked
out for all groups at once. Rules are asked only about groups that have a sign of what they look
for. Where clients may have views of their own, the expected owners are computed client by client,
as RocketMQ does it: each client divides the queues it sees by its own strategy, over the client
list that a broker gave it. Where these views differ, queues are unowned or double-owned.

``signs``, ``group_signs``, ``owner_signs``
    What may be unusual about a group: what there is to see, read from a snapshot, and from who owns
    what.
``signed_groups``, ``audited_group``
    Groups with their signs; the views of one of them, laid out where a rule asks for them.
``rules``, ``rules_*``
    All rules by id; their code, one module per family.
``reach``, ``owner_tables``, ``group_table``
    Who reads every queue that producers write to, or that a client sees; all groups in one row
    each.
"""

from typing import TYPE_CHECKING

from rmqalloc.lazy import import_ahead, imported_on_use

if TYPE_CHECKING:
    from rmqalloc.audit._check import check_snapshot
    from rmqalloc.audit._rules import RULES
    from rmqalloc.audit.finding import SEVERITIES, Finding, Rule
    from rmqalloc.audit.findings import Findings
    from rmqalloc.audit.group_table import GroupList, group_list
    from rmqalloc.audit.owner_tables import CurrentOwners, current_owners
    from rmqalloc.audit.rules_planned import owners_after

__all__ = [
    "RULES",
    "SEVERITIES",
    "CurrentOwners",
    "Finding",
    "Findings",
    "GroupList",
    "Rule",
    "check_snapshot",
    "current_owners",
    "group_list",
    "owners_after",
]

_NAMES = {
    "_check": ("check_snapshot",),
    "_rules": ("RULES",),
    "finding": ("SEVERITIES", "Finding", "Rule"),
    "findings": ("Findings",),
    "group_table": ("GroupList", "group_list"),
    "group_table_text": (),
    "owner_tables": ("CurrentOwners", "current_owners"),
    "owner_tables_text": (),
    "rules_planned": ("owners_after",),
}
__getattr__ = imported_on_use(__name__, _NAMES)
import_ahead(*(f"{__name__}.{module}" for module in _NAMES))
