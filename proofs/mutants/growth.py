"""Mutants of what is told at once instead of laid out, and of what an audit looks at once."""

from mutants.mutant import Mutant

_DEPARTURES = "rmqalloc/plans/_departures.py"
_CASE = "rmqalloc/views/group_views.py"
_TESTS = "tests/evaluation/test_growth.py"

MUTANTS = [
    Mutant(_DEPARTURES, "for more in (0, 1)", "for more in (0, 0)", "clients behind who leaves do not move up", _TESTS),
    Mutant(
        _DEPARTURES,
        "(1, begin[before])",
        "(0, begin[before])",
        "who is before the queue's place never moves it",
        _TESTS,
    ),
    Mutant(
        _DEPARTURES, "np.cumsum(steps[:-1])[ids.last]", "np.cumsum(steps[:-1])", "of equal ids the first leaves", _TESTS
    ),
    Mutant(_DEPARTURES, "self.is_first & ~self.is_empty", "self.is_first", "an empty id owns queues", _TESTS),
    Mutant(
        _DEPARTURES,
        "holders, ids)[ids.first]",
        "holders, ids)",
        "of equal ids of a ring one alone moves queues",
        _TESTS,
    ),
    Mutant(
        _DEPARTURES,
        "odd, seen = ids.is_odd,",
        "odd, seen = ids.is_repeated,",
        "an empty id leaves a ring and nothing moves",
        _TESTS,
    ),
    Mutant(_DEPARTURES, "for digit in (0, 1)", "for digit in (0,)", "ids leave a ring half of the time alone", _TESTS),
    Mutant(
        _DEPARTURES,
        "ids.is_scattered | (ids.is_empty & ids.is_first)",
        "ids.is_scattered",
        "the empty id leaves its room without clients and nothing moves",
        _TESTS,
    ),
    Mutant(
        _DEPARTURES,
        "_Kept.of(fleet, unit, loads, n_clients).lost",
        "_Kept.of(fleet, unit, loads, n_clients - 1).lost",
        "one of equal ids leaves and its client is taken for gone",
        _TESTS,
    ),
    Mutant(
        "rmqalloc/audit/_rules_idle.py",
        "unit.n_subscribers == len(unit.client_ids)",
        "unit.n_subscribers > len(unit.client_ids)",
        "clients that are alike are taken for different ones",
        "tests/audit/test_audit_idle.py -k figures",
    ),
    Mutant(
        "rmqalloc/plans/unmatched.py",
        "not (is_pattern(name) and",
        "not (not is_pattern(name) and",
        "a pattern that matches is told to match nothing",
        _TESTS,
    ),
    Mutant(
        "rmqalloc/globs.py",
        'frozenset("*?[")',
        'frozenset("*?")',
        "a pattern of a set of characters is looked up as a name",
        _TESTS,
    ),
    Mutant(
        _DEPARTURES,
        "extras = np.minimum(extra, more)",
        "extras = more",
        "more clients keep one queue more than there are to keep",
        _TESTS,
    ),
    Mutant(
        _DEPARTURES,
        "extra[unit], more[unit] - has_more)",
        "extra[unit], more[unit])",
        "the client that leaves keeps its extra queue",
        _TESTS,
    ),
    Mutant(
        _DEPARTURES,
        "+ fleet.unit_client_list\n    _, firsts, of_unit",
        "\n    _, firsts, of_unit",
        "client lists of one group are taken for one",
        "tests/plans/test_compare.py -k many_at_a_time",
    ),
    Mutant(
        _CASE,
        "return sorted([*anything, *subscribed.get(topic, ())])",
        "return subscribed.get(topic, ())",
        "a client of unknown subscriptions reads nothing",
        "tests/audit/test_audit.py",
    ),
    Mutant(
        _CASE,
        "            return range(len(self.clients))\n",
        "            return []\n",
        "nobody reads a retry topic",
        _TESTS,
    ),
    Mutant(
        "rmqalloc/strategies/consistent_hash.py",
        "held[ring[point][0]] -= 1",
        "pass",
        "a point that another id takes over still counts",
        "tests/evaluation/test_growth.py -k points",
    ),
    Mutant(
        "rmqalloc/snapshot/units.py",
        "chain[Any](readable_of.values(), distinct)",
        "chain[Any](readable_of.values(), clients)",
        "clients of a group are asked for their room once per topic",
        _TESTS,
    ),
    Mutant(
        "rmqalloc/snapshot/units.py",
        "distinct = {id(row): row for row in clients}",
        "distinct = {len(row): row for row in clients}",
        "groups of as many clients are taken for one",
        _TESTS,
    ),
    Mutant(
        "rmqalloc/snapshot/units.py",
        "if any(one.machine_room is not None",
        "if all(one.machine_room is not None",
        "rooms are left out unless all are known",
        _TESTS,
    ),
    Mutant(
        "rmqalloc/rollouts/resize.py",
        "    @lazy_property\n    def read_to",
        "    @property\n    def read_to",
        "the route after is made once per broker",
        _TESTS,
    ),
    Mutant(
        "rmqalloc/rollouts/resize.py",
        "self.read | dict.fromkeys(self.chosen, self.to)",
        "dict.fromkeys(self.chosen, self.to) | self.read",
        "brokers keep the queues that they had",
        "tests/rollouts/test_rollout.py",
    ),
]
