"""Which groups break a bound on the figures of a plan, held against figures that are counted here."""

from bruteforce import openings, totals
from bruteforce.states import States

WORSE = ("unowned", "double_owned", "idle", "skew", "max_load")
ROUNDING = 1e-9


class Held:
    """The figures of every scenario and group that bounds are about; those while clients follow
    only of small groups.

    Parameters
    ----------
    document, scenarios
        What is planned.
    before : list of mixed.State
    behind : dict of str to list of mixed.State
        The states behind every scenario.
    """

    def __init__(self, document, scenarios, before, behind):
        self.figures, self.lost, self.worse = {}, set(), set()
        was = {key: row for (key,), row in totals.groups(before, before, document)}
        states = {group["name"]: States(document, group) for group in document["groups"]}
        for scenario in scenarios:
            after = behind[scenario["name"]]
            pairs = totals.by_group(before, after)
            for (group,), row in totals.groups(before, after, document):
                self._add(
                    (scenario["name"], group),
                    was[group],
                    row,
                    _cured(pairs[group]),
                    _is_open(pairs[group], states[group]),
                    _is_lost(pairs[group]),
                )
                self._open((scenario["name"], group), openings.ways(pairs[group], document))

    def _add(self, key, was, row, cured, is_open, lost):
        moved = 0 if row["least_moves"] is None else row["moved"]
        of = was["n_queues"] + cured
        share = moved / of if of else float(moved > 0)
        self.figures[key] = {"max_moved": moved, "max_moved_share": share, "max_skew": row["skew"]}
        if lost:
            self.lost.add(key)
        grows = any(row[name] > was[name] + ROUNDING for name in WORSE)
        if not cured and (is_open or grows):
            self.worse.add(key)

    def _open(self, key, ways):
        if len(ways) == 1:
            every = openings.tried(ways[0])
            self.figures[key] |= {"max_unowned": every.worst(0), "max_double": every.worst(1)}

    def broken(self, field, bound):
        """Scenarios and groups whose figure is above a bound, or of which a topic cannot be
        assigned any more.
        """
        above = {key for key, row in self.figures.items() if row.get(field, 0) > bound + ROUNDING}
        return (above | self.lost) & self.known(field)

    def known(self, field):
        """Scenarios and groups of which this side has the figure."""
        return {key for key, row in self.figures.items() if field in row}

    def values(self, field):
        return sorted({row[field] for row in self.figures.values() if field in row})


def _cured(pairs):
    """Queues of topics that can be assigned after, and could not before."""
    return sum(len(after.owners) for before, after in pairs if before.error and not after.error)


def _is_open(pairs, states):
    """Whether some topic can be assigned before, and it is not known who owns what."""
    befores = [before for before, _ in pairs]
    is_unknown = any(state.error or states.is_open(state.unit.main.topic) for state in befores)
    return is_unknown and not all(state.error for state in befores)


def _is_lost(pairs):
    """Whether a topic could be assigned before, and cannot be after."""
    return any(after.error and not before.error for before, after in pairs)


FIELDS = ("max_moved", "max_moved_share", "max_skew", "max_unowned", "max_double")
"""Bounds on a figure, as `rmqalloc.plans.Gates` has them."""


TOGETHER = (("max_moved",), ("max_moved_share",), ("max_skew",), ("max_unowned", "max_double"))
"""Bounds that are set at one time."""


def bound(values, at):
    """One of some figures, or a little less; ``at`` from 0 to 1 chooses it. None where there are no
    figures.
    """
    if not values:
        return None
    place, less = divmod(at * len(values), 1)
    value = values[min(int(place), len(values) - 1)]
    if less < 0.5:
        return value
    return max(value - 1 if isinstance(value, int) else value * (1 - 1e-6) - 1e-6, 0)
