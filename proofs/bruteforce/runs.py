"""Many random cases of a verb, each found again by its seed and number."""

import time
from random import Random
from typing import NamedTuple

from bruteforce.tally import Difference, Tally
from bruteforce.verbs import VERBS


class Run(NamedTuple):
    """What came of some cases; ``differing`` holds number, case and differences of those that
    differ.
    """

    verb: str
    snapshots: int
    compared: int
    differing: list
    seed: int
    seconds: float

    @property
    def n_differences(self):
        return sum(len(found) for *_, found in self.differing)


def case_of(verb, seed, number):
    return VERBS[verb][0](Random(f"{seed}/{verb}/{number}"))


def differences(verb, case):
    """What differs in one case; an exception is a difference, too."""
    tally = Tally()
    try:
        VERBS[verb][1](case, tally)
    except Exception as error:
        tally.differences.append(
            Difference(f"{verb} raises {type(error).__name__}", "", "an answer", str(error))
        )
    return tally


def run(verb, seed, numbers):
    """Run the cases with these numbers."""
    start, compared, differing = time.process_time(), 0, []
    for number in numbers:
        case = case_of(verb, seed, number)
        tally = differences(verb, case)
        compared += tally.compared
        if tally.differences:
            differing.append((number, case, tally.differences))
    return Run(verb, len(numbers), compared, differing, seed, time.process_time() - start)
