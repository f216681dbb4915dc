"""Ratios beside the committed medians: a row that is slower three times in a row fails.

A median belongs to a kind of processor. Ratios of commands are compared on any other with the
largest that is committed; those of kernels depend on its caches, and are only printed there.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from statistics import median
from typing import Protocol

from machines import cpu_model
from table import markdown

from rmqalloc.evaluation.parquet_plan import processors

FILE = Path(__file__).parents[1] / "medians.json"
LIMIT, TIMES = 1.3, 3
MEASUREMENTS = 5
"""Measurements whose median is committed."""

Medians = dict[str, dict[str, float]]
"""By kind of processor and by name of a ratio, which names the size."""


class Ratios(Protocol):
    """Ratios that are measured together."""

    def names(self) -> list[str]:
        """Return their names."""

    def ratios(self, names: Collection[str]) -> dict[str, float]:
        """Measure some of them."""


def machine() -> str:
    """Describe the machine and the releases of all contenders."""
    releases = [f"{name} {version(name)}" for name in ("duckdb", "polars", "pyarrow", "numpy")]
    return ", ".join(
        [f"{cpu_model()}, {processors()} cores", f"Python {python_version()}", *releases]
    )


def committed_for(medians: Medians, cpu: str) -> dict[str, float]:
    """Return the median of each ratio that is judged on a processor."""
    if cpu in medians:
        return medians[cpu]
    rows = [row for by_name in medians.values() for row in by_name.items()]
    return {name: ratio for name, ratio in sorted(rows) if "out.fill" not in name}


def measured(heats: Sequence[Ratios], committed: Mapping[str, float]) -> dict[str, list[float]]:
    """Measure every ratio; again, after all others, those that are above the limit."""
    found: dict[str, list[float]] = {name: [] for heat in heats for name in heat.names()}
    above = set(found)
    for _ in range(TIMES):
        for heat in heats:
            if names := above.intersection(heat.names()):
                for name, ratio in heat.ratios(names).items():
                    found[name].append(ratio)
        above = {name for name in above if is_slower(found[name][-1], committed.get(name))}
    return found


def is_slower(ratio: float, committed: float | None) -> bool:
    """Tell whether a ratio is above the limit."""
    return committed is not None and ratio >= LIMIT * committed


def slower(found: Mapping[str, list[float]], committed: Mapping[str, float]) -> list[str]:
    """Return a line for each ratio that was above the limit in every measurement."""
    return [
        f"slower: {name}: {', '.join(f'{ratio:.2f}' for ratio in ratios)} in {TIMES} measurements, "
        f"each at least {LIMIT} times the committed median, {committed[name]:.2f}"
        for name, ratios in found.items()
        if len(ratios) == TIMES and is_slower(ratios[-1], committed.get(name))
    ]


def table(found: Mapping[str, list[float]], committed: Mapping[str, float]) -> str:
    """Lay out every ratio beside its committed median."""
    rows = []
    for name, ratios in found.items():
        was = committed.get(name)
        change = ["–", "not judged"] if was is None else [f"{was:.2f}", f"{ratios[-1] / was:.2f}"]
        rows.append([name, f"{ratios[-1]:.2f}", *change])
    return markdown(["ratio of CPU time", "now", "committed", "now over committed"], rows)


def read() -> Medians:
    """Read the committed medians."""
    found: Medians = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def write(heats: Sequence[Ratios]) -> None:
    """Measure the medians of this machine, and replace those of its kind of processor."""
    rounds = [measured(heats, {}) for _ in range(MEASUREMENTS)]
    own = {
        name: round(median(found[name][0] for found in rounds), 3)
        for heat in heats
        for name in heat.names()
    }
    text = json.dumps(read() | {cpu_model(): own}, indent=2, sort_keys=True)
    FILE.write_text(f"{text}\n", encoding="utf-8")
