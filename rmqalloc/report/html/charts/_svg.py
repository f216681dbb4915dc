"""What every picture is made of."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from rmqalloc.report.html._palette import SERIES_LIGHT
from rmqalloc.results.html_text import escaped, name
from rmqalloc.results.wrapping import width_of
from rmqalloc.text import printable, shortened

WIDTH = 960
LABEL = 27
"""Characters of a name at most, fewer where they are wide."""


def figure(
    ident: str,
    caption: str,
    title: str,
    description: str,
    height: float,
    parts: Iterable[str],
    key: str = "",
    width: float = WIDTH,
    classes: str = "",
) -> str:
    """Return a picture with its caption."""
    kind = f' class="{classes}"' if classes else ""
    body = "\n".join(parts)
    return (
        f"<figure><figcaption>{caption}</figcaption>{key}"
        f'<div class="wide" role="group" aria-label="{escaped(title)}" tabindex="0">'
        f'<svg{kind} role="img" aria-labelledby="{ident}-t" aria-describedby="{ident}-d" viewBox="0 0 {width:g} {height:g}">'
        f'<title id="{ident}-t">{escaped(title)}</title><desc id="{ident}-d">{escaped(description)}</desc>'
        f'\n<g aria-hidden="true">{body}</g></svg></div></figure>'
    )


def text(x: float, y: float, said: str, classes: str = "", most: int = LABEL) -> str:
    """Return a text of its own, shortened; all of it shows when pointed at.

    Examples
    --------
    >>> text(1, 2.5, "a<b")
    '<text x="1" y="2.5">a&lt;b</text>'
    """
    shown = printable(said)
    length = most
    while _width(short := shortened(shown, length)) > most:
        length -= 1
    whole = "" if short == shown else f"<title>{escape(shortened(shown, 400))}</title>"
    kind = f' class="{classes}"' if classes else ""
    return f'<text x="{x:g}" y="{y:g}"{kind}>{escape(short)}{whole}</text>'


def _width(text: str) -> float:
    """About how many small letters' width a text takes."""
    return width_of(text) + sum(0.7 if c in "MWmw@%…" else 0.25 * c.isupper() for c in text)


def box(x: float, y: float, width: float, height: float, classes: str, description: str) -> str:
    """Return a rectangle that says what it is when pointed at."""
    size = f'x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}"'
    return f'<rect {size} class="{classes}"><title>{escaped(shortened(description, 400))}</title></rect>'


def series(place: int) -> str:
    """Return the class of the colour at a position; a negative one stands for others.

    Examples
    --------
    >>> series(1), series(9), series(-1)
    ('s1', 's1', 'rest')
    """
    return f"s{place % len(SERIES_LIGHT)}" if place >= 0 else "rest"


def key_of(entries: Iterable[tuple[str, str]]) -> str:
    """Return what colours mean: class and plain text of each."""
    swatch = '<svg viewBox="0 0 8 8" aria-hidden="true"><rect width="8" height="8" rx="1.5" class="{}"/></svg>'
    items = "".join(f"<li>{swatch.format(classes)}{name(said)}</li>" for classes, said in entries)
    return f'<ul class="key">{items}</ul>'
