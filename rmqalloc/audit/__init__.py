"""What is wrong with who owns what in a snapshot, named exactly: `check_snapshot` gives findings, `RULES` says what they mean.

``case``, ``view``
    A group as an audit sees it: what each client goes by, and which queues it takes by that; computed in bulk.
``unit``, ``told``, ``fit``
    One topic of it; what the clients say they own, and the strategy that looks like.
``ownership``, ``mixed``, ``views``, ``config``, ``server``, ``rooms``, ``dry``, ``unread``, ``actual``, ``planned``, ``names``
    The rules, a family each.
"""

from rmqalloc.audit.check import at_least, check_snapshot
from rmqalloc.audit.finding import SEVERITIES, Finding, Rule
from rmqalloc.audit.rules import RULES
from rmqalloc.audit.rules_planned import owners_after

__all__ = ["RULES", "SEVERITIES", "Finding", "Rule", "at_least", "check_snapshot", "owners_after"]
