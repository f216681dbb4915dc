"""Mutants of what is concluded from silence."""

from mutants.mutant import Mutant

_UNKNOWN = "rmqalloc/snapshot/unknown.py"
_NOT_KNOWN = "rmqalloc/audit/not_known.py"
_TEST = "tests/audit/test_unknown.py"

MUTANTS = [
    Mutant(
        _UNKNOWN,
        "            self._keep(group.unknown, group.name)\n",
        "            self._keep({}, group.name)\n",
        "what a snapshot says that it does not know of a group is taken for known",
        _TEST,
    ),
    Mutant(
        _UNKNOWN,
        '            self._keep({"routes": reason}, request.removeprefix(_OF_ROUTE))\n',
        "            self._keep({}, request.removeprefix(_OF_ROUTE))\n",
        "a route that was asked for in vain is a topic without queues",
        _TEST,
    ),
    Mutant(
        _NOT_KNOWN,
        'for kind in (*_LISTS, "brokers"):',
        'for kind in ("brokers",):',
        "a fault that is not seen without a list of clients becomes an all-clear",
        _TEST,
    ),
]
