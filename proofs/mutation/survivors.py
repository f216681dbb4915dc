"""The list of mutants that survive: it only becomes shorter.

A line has three parts between tabs: name of the mutant, its change, and ``equivalent: why`` or ``open: why``.
"""

from typing import NamedTuple

from checkout import DATA

LIST = DATA / "mutation-survivors.tsv"
STATES = ("equivalent: ", "open: ")


class Survivor(NamedTuple):
    key: str
    change: str
    state: str = ""

    @property
    def is_equivalent(self):
        return self.state.startswith("equivalent")


def listed(path=LIST):
    """All lines of a list, by name."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return {one.key: one for one in (Survivor(*line.split("\t")) for line in lines)}


def judged(verdicts, known):
    """What is wrong: survivors that are not listed, and listed ones that are killed."""
    from mutation.trial import ALIVE

    alive = {one.mutant.key for one in verdicts if one.what in ALIVE}
    new = [f"survives and is not listed: {one.mutant.key}" for one in verdicts if one.mutant.key in alive - set(known)]
    dead = [one.mutant.key for one in verdicts if one.mutant.key in known and one.mutant.key not in alive]
    return new + [f"is listed and killed, take it off the list: {key}" for key in dead]
