"""What a release may cost: beside the newest committed file, and beside memory itself."""

from collections.abc import Iterator
from typing import Any, NamedTuple

Entry = dict[str, Any]

UNRELEASED = "unreleased"
"""The version of a tree that is no release yet; its file is replaced, and named for the release when that is made."""


class Check(NamedTuple):
    """A figure and the most that it may be."""

    what: str
    found: float
    most: float

    @property
    def is_kept(self) -> bool:
        """Whether the figure is within its bound."""
        return self.found <= self.most


class Figure(NamedTuple):
    """A figure of a release: where it stands in its file, and how much of the one before it may
    grow to.
    """

    title: str
    unit: str
    keys: tuple[str, ...]
    growth: float

    def of(self, entry: Entry) -> float:
        """Read it; times of imports are those beyond numpy's, which is there anyway."""
        value: Any = entry
        for key in self.keys:
            value = value[key]
        return float(value) - (
            float(entry["start"]["cpu"]["numpy"]) if self.keys[0] == "start" else 0.0
        )


REPEATABLE = [
    Figure("Wheel", "bytes", ("bytes", "wheel"), 1.25),
    Figure("Installed", "bytes", ("bytes", "installed"), 1.25),
    Figure("Modules that the import loads beyond numpy's", "", ("modules",), 1.1),
]
MEASURED = [
    Figure("Import, beyond numpy's", "ms", ("start", "cpu", "rmqalloc"), 1.5),
    Figure("A fleet of 16 x 4, per unit", "bytes", ("memory", "fleet"), 1.1),
    Figure("Peak of bulk, per unit", "bytes", ("memory", "bulk", "per unit"), 1.5),
    Figure("Peak of bulk, 200,000 units", "bytes", ("memory", "bulk", "peak"), 1.25),
]
INSTRUCTIONS = 1.25
"""A kernel may need so many times the instructions."""


class Ratio(NamedTuple):
    """Time of a strategy over that of memory, both in one run on one buffer."""

    title: str
    keys: tuple[str, ...]
    name: str
    over: str
    most: float

    def of(self, entry: Entry) -> float:
        """Divide."""
        times: Any = entry
        for key in self.keys:
            times = times[key]
        return float(times[self.name]) / float(times[self.over])


MILLION = ("growth", "1000000")
RATIOS = [
    Ratio("AVG over memset, 1M x 1-32q x 1-8c, random", ("small",), "AVG", "memset", 1.5),
    Ratio("AVG over memset, 1M x 16q x 4c", MILLION, "AVG", "memset", 1.35),
    Ratio(
        "AVG_BY_CIRCLE over memset, 1M x 1-32q x 1-8c, random",
        ("small",),
        "AVG_BY_CIRCLE",
        "memset",
        1.5,
    ),
    Ratio("AVG_BY_CIRCLE over memset, 1M x 16q x 4c", MILLION, "AVG_BY_CIRCLE", "memset", 1.35),
    Ratio("AVG over out.fill, 1M x 1-32q x 1-8c, random", ("small",), "AVG", "out.fill", 1.5),
    Ratio("AVG over out.fill, 1M x 16q x 4c", MILLION, "AVG", "out.fill", 1.35),
]


def order(version: str) -> tuple[int, tuple[int, ...], str]:
    """Sort versions by their numbers, and a tree that is none last.

    >>> sorted(["unreleased", "0.10.0", "0.9.1"], key=order)
    ['0.9.1', '0.10.0', 'unreleased']
    """
    numbers = tuple(int(part) for part in version.split(".") if part.isdigit())
    return (version == UNRELEASED, numbers, version)


def checks(entry: Entry, before: Entry) -> Iterator[Check]:
    """Compare what a wheel costs with the newest file; a quick run has no times to compare."""
    quick = "growth" not in entry
    for figure in REPEATABLE if quick else REPEATABLE + MEASURED:
        yield Check(figure.title, figure.of(entry), figure.growth * figure.of(before))
    for kernel, count in sorted(before["instructions"].items()):
        if kernel in entry["instructions"]:
            yield Check(
                f"Instructions of {kernel}", entry["instructions"][kernel], INSTRUCTIONS * count
            )
    for ratio in [] if quick else RATIOS:
        yield Check(ratio.title, ratio.of(entry), ratio.most)
