"""The chart "units → seconds" of `by_size`: both scales are powers of ten."""

import math
from typing import Any

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 760, 420, 60, 30, 170, 50
COLOURS = {"no Spark": "#2e7d32", "file job": "#3949ab", "transform": "#c62828"}
DASHES = {"AVG": "", "CONSISTENT_HASH": "6 4"}
STYLE = """
text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #263238 } .grid { stroke: #90a4ae; stroke-width: .5 }
.head { font-weight: 600 } path { fill: none; stroke-width: 2.2 }
@media (prefers-color-scheme: dark) { text { fill: #e0e0e0 } path, circle { filter: brightness(1.6) } }
"""


def chart(rows: list[dict[str, Any]]) -> str:
    """The chart as SVG."""
    measured = [row for row in rows if "seconds" in row]
    sizes = sorted({row["units"] for row in measured})
    seconds = [row["seconds"] for row in measured]
    across = _Scale(sizes[0], sizes[-1], LEFT, WIDTH - RIGHT)
    up = _Scale(
        10 ** math.floor(math.log10(min(seconds))),
        10 ** math.ceil(math.log10(max(seconds))),
        HEIGHT - BOTTOM,
        TOP,
    )
    parts = [
        f'<text class="head" x="{LEFT}" y="18">Seconds from the command to its end, by units (log scales)</text>'
    ]
    for units in sizes:
        x = across.at(units)
        parts.append(f'<path class="grid" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>')
        parts.append(
            f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{_short(units)}</text>'
        )
    for power in range(round(math.log10(up.low)), round(math.log10(up.high)) + 1):
        y = up.at(10.0**power)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g} s</text>'
        )
    ends = []
    for strategy, dash in DASHES.items():
        for way, colour in COLOURS.items():
            mine = [row for row in measured if row["way"] == way and row["strategy"] == strategy]
            points = [(across.at(row["units"]), up.at(row["seconds"])) for row in mine]
            line = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
            parts.append(f'<path d="M{line}" stroke="{colour}" stroke-dasharray="{dash}"/>')
            parts += [
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points
            ]
            ends.append((way, strategy, colour, dash))
    parts += _legend(ends)
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="Seconds by units, log scales">'
    return "\n".join([head, f"<style>{STYLE}</style>", *parts, "</svg>\n"])


class _Scale:
    """A scale of powers of ten between two numbers, drawn between two positions."""

    def __init__(self, low: float, high: float, start: float, stop: float) -> None:
        self.low, self.high, self._start, self._stop = low, high, start, stop

    def at(self, value: float) -> float:
        """Where a value stands."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self._start + share * (self._stop - self._start)


def _legend(ends: list[tuple[str, str, str, str]]) -> list[str]:
    parts = []
    for number, (way, strategy, colour, dash) in enumerate(ends):
        x, y = WIDTH - RIGHT + 16, TOP + 20 + 24 * number
        name = f"{way}, {'ring' if strategy == 'CONSISTENT_HASH' else strategy}"
        parts.append(f'<path d="M{x} {y - 4}h26" stroke="{colour}" stroke-dasharray="{dash}"/>')
        parts.append(f'<text x="{x + 32}" y="{y}">{name}</text>')
    return parts


def _short(units: int) -> str:
    """A number as people say it."""
    return f"{units // 10**6}M" if units >= 10**6 else f"{units // 1000}k"
