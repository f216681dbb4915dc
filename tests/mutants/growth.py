"""Mutants of what is told at once instead of laid out, and of what an audit looks at once."""

from mutants.mutant import Mutant

_DEPARTURES = "rmqalloc/whatif/plans/departures.py"
_CASE = "rmqalloc/whatif/audit/case.py"
_TESTS = "tests/test_growth.py"

MUTANTS = [
    Mutant(
        _DEPARTURES,
        "(has >= 0) & (has + 1 == had), (has >= 0) & (has == had)",
        "(has + 1 == had), (has >= 0) & (has == had)",
        "a queue that loses its owner stays with the first client",
        _TESTS,
    ),
    Mutant(_DEPARTURES, "(-1, at[behind] + 1)", "(-1, at[behind])", "the owner that leaves keeps its queue", _TESTS),
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
        "tests/test_compare.py -k many_at_a_time",
    ),
    Mutant(
        _CASE,
        "return sorted([*anything, *told.get(topic, ())])",
        "return told.get(topic, ())",
        "a client of unknown subscriptions reads nothing",
        "tests/test_audit.py",
    ),
    Mutant(
        _CASE,
        "            return range(len(self.clients))\n",
        "            return []\n",
        "nobody reads a retry topic",
        _TESTS,
    ),
    Mutant(
        "rmqalloc/whatif/plans/reasons.py",
        "held[ring[point][0]] -= 1",
        "pass",
        "a point that another id takes over still counts",
        "tests/test_explain.py",
    ),
]
