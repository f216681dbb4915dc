"""What distinguishes the clients of a picture: a colour, a pattern on it, and a number.

The first eight clients have plain colours; the next ones repeat them under a pattern, because not everybody can tell
more than eight colours apart. The colours differ from each other, from white, from the two colours with a fixed meaning
and from the grey of all others, also for readers with protanopia, deuteranopia or tritanopia.
"""

from __future__ import annotations

from collections.abc import Iterator

COLOURS = ("#56b4e9", "#f28e2b", "#0072b2", "#f0e442", "#332288", "#8cd17d", "#882255", "#b07aa1")
BACKGROUND, GAP, DOUBLE, OTHERS = "#ffffff", "#d62728", "#111111", "#c8c8c8"

_PATTERNS = (
    "",
    '<path d="M-2 2L2 -2M0 8L8 0M6 10L10 6" stroke="{ink}" stroke-width="2"/>',
    '<circle cx="2" cy="2" r="1.3" fill="{ink}"/><circle cx="6" cy="6" r="1.3" fill="{ink}"/>',
    '<path d="M0 4H8" stroke="{ink}" stroke-width="2.5"/>',
    '<path d="M-2 6L2 10M0 0L8 8M6 -2L10 2" stroke="{ink}" stroke-width="2"/>',
    '<path d="M4 0V8M0 4H8" stroke="{ink}" stroke-width="1.2"/>',
)
MOST_STYLES = len(COLOURS) * len(_PATTERNS)


def fill(number: int) -> str:
    """What to fill the bars of a client with, by its number from 0; all beyond `MOST_STYLES` are grey.

    Examples
    --------
    >>> fill(0), fill(8), fill(1_000)
    ('#56b4e9', 'url(#client-9)', '#c8c8c8')
    """
    if number < len(COLOURS):
        return COLOURS[number]
    return f"url(#client-{number + 1})" if number < MOST_STYLES else OTHERS


def definitions(n: int) -> Iterator[str]:
    """The patterns of the first ``n`` clients, as elements of SVG that stand in its ``defs``."""
    for number in range(len(COLOURS), min(n, MOST_STYLES)):
        colour = COLOURS[number % len(COLOURS)]
        marks = _PATTERNS[number // len(COLOURS)].format(ink=_ink(colour))
        yield (
            f'<pattern id="client-{number + 1}" width="8" height="8" patternUnits="userSpaceOnUse">'
            f'<rect width="8" height="8" fill="{colour}"/>{marks}</pattern>'
        )


def _ink(colour: str) -> str:
    """What can be seen on a colour: white on dark ones, black on light ones."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#ffffff" if 299 * red + 587 * green + 114 * blue < 140_000 else "#222222"
