"""What is open while clients follow a scenario, against the groups and queues of the plan."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from result_rules.ledger import Keys, Ledger
from result_rules.open_rules import WHICH, message_rules, open_rules
from result_rules.plan_parts import UNIT, PlanParts
from result_rules.queue_rules import word
from rmqalloc.scenarios import CURRENT


def transition_rules(parts: PlanParts, table: pa.Table, ledger: Ledger) -> None:
    """Check the table of `Plan.transitions`."""
    rows = ledger.rows("transitions", table, UNIT[:2])
    rows.distinct()
    groups = parts.groups
    of = parts.at_group.of(parts.keys_of(table, 2))
    rows.keep("its group has a row", of >= 0)
    others = int((~word(groups, "scenario", CURRENT)).sum())
    rows.keep("every group has a row in every scenario", np.full(rows.n, rows.n == others))
    n_queues = groups["n_queues"][of]
    for which in WHICH:
        open_rules(rows, which, which, n_queues)
    message_rules(rows)
    deployed = word(rows, "informed_by", "deployment")
    known, worst = rows.known("unowned_seconds_worst"), rows["unowned_seconds_worst"]
    rows.keep("seconds are known where a timer says them", known | deployed)
    rows.keep("no timer says when clients are deployed", ~deployed | ~known | (worst == 0), worst)
    rows.at_most(
        "unowned_after are unowned queues of the group", "unowned_after", groups["unowned"][of]
    )
    shared = ~groups.known("least_moves")[of]
    double = groups["double_owned"][of]
    changed, with_others = _changed(parts)
    # Of several client lists, and of processes of one id, the table of queues does not show all
    # readers.
    sure = parts.sure[of] & ~shared
    rows.same("double_owned_after are those of the group", "double_owned_after", double, sure)
    exact, most = (
        rows["double_owned_is_exact"] > 0,
        changed[of] + np.maximum(double, with_others[of]),
    )
    shown = sure & exact & parts.distinct[of]
    rows.at_most(
        "double-owned queues change, or have several owners after", "double_owned", most, shown
    )
    rows.at_most(
        "unowned queues change, or have no owner after", "unowned", changed[of], parts.distinct[of]
    )


def _changed(parts: PlanParts) -> tuple[Keys, Keys]:
    """Count the queues of every group that change or have no owner after, and those with several
    owners after.
    """
    queues = parts.queues
    of = np.append(parts.group_of, -1)[parts.unit_of_queue]
    stays = word(queues, "change", "kept", "gone")
    count = parts.at_group.count
    return count(of, ~stays), count(of, queues.sized("others_after") > 0)
