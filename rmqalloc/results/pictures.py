"""Draw results with matplotlib.

Only the `Figure` class is used, without pyplot: no window opens, and no state of the process
changes. A notebook shows a picture that is the last value of a cell; ``savefig`` writes it to a
file. Names from a cluster may contain anything, so they are made printable and are never parsed as
formulas.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from rmqalloc.text import natural_key, printable, shortened

_MOST_NAME, _MOST_TITLE = 40, 100
_COLOURS = {
    "before": "#90a4ae",
    "unowned": "#c62828",
    "double-owned": "#ef8c00",
}
"""Colours with one meaning in all pictures; matplotlib chooses the colours of further series."""
_FIXED: dict[Any, str] = {"svg.hashsalt": "rmqalloc", "svg.fonttype": "none"}
"""Settings for reproducible SVG files with selectable text."""


class Picture(Figure):
    """A figure of matplotlib, which a notebook shows without pyplot.

    Examples
    --------
    >>> picture = bars(["c1", "c2"], {"before": [4, 4], "after": [3, 5]}, "Queues by client", "queues")
    >>> [int(bar.get_width()) for bar in picture.axes[0].patches], picture._repr_svg_()[:5]
    ([4, 4, 3, 5], '<?xml')
    """

    def _repr_svg_(self) -> str:
        with _quiet(), matplotlib.rc_context(_FIXED):
            drawn = BytesIO()
            self.savefig(drawn, format="svg", metadata={"Date": None})
            return drawn.getvalue().decode()

    def _repr_png_(self) -> bytes:
        with _quiet():
            drawn = BytesIO()
            self.savefig(drawn, format="png")
            return drawn.getvalue()


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress warnings about letters that are not in the font; names may contain any letter."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        yield


def bars(
    names: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    title: str,
    label: str,
) -> Picture:
    """Draw horizontal bars for each name, from the top down.

    Parameters
    ----------
    names : sequence of str
    series : mapping of str to sequence of float or None
        Values for the names; None draws the text "unknown" in place of a bar.
    title, label : str
        Above the picture, and below the axis of values.

    Returns
    -------
    Picture
        With one bar per series and name, series by series, in ``axes[0].patches``.
    """
    rows = max(len(names), 1) * (len(series) + 0.6)
    picture, axes = _picture(title, height=1.4 + 0.19 * rows)
    thickness = 0.8 / max(len(series), 1)
    for number, (what, values) in enumerate(series.items()):
        places = [row + (number - (len(series) - 1) / 2) * thickness for row in range(len(names))]
        lengths = [0 if value is None else value for value in values]
        for place, value in zip(places, values, strict=True):
            if value is None:
                axes.text(0, place, " unknown", va="center", fontsize=8)
        axes.barh(places, lengths, thickness * 0.92, color=_COLOURS.get(what), label=_legend(what))
    axes.set_yticks(range(len(names)), [shortened(printable(name), _MOST_NAME) for name in names])
    axes.invert_yaxis()
    axes.set_xlabel(label)
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    _finish(axes, has_legend=len(series) > 1)
    return picture


def timeline(
    places: Sequence[float],
    series: Mapping[str, Sequence[float | None]],
    title: str,
    label: str,
    marks: Iterable[float] = (),
    where: str = "post",
) -> Picture:
    """Draw numbers of queues over steps or time as step lines.

    Parameters
    ----------
    places : sequence of float
        Steps or times, in order.
    series : mapping of str to sequence of float or None
        Numbers of queues at the places; a line has a gap where a value is None.
    title, label : str
        Above the picture, and below the axis of places.
    marks : iterable of float
        Places of vertical lines.
    where : {"post", "mid"}
        Whether a value holds from its place to the next one ("post"), or around its place ("mid").

    Returns
    -------
    Picture
        With one line per series, in ``axes[0].lines``, before those of the marks.
    """
    picture, axes = _picture(title, height=3.2)
    for (what, values), style in zip(series.items(), ("-", "--", ":"), strict=False):
        known = [float("nan") if value is None else value for value in values]
        axes.plot(
            places,
            known,
            style,
            drawstyle=f"steps-{where}",
            color=_COLOURS.get(what),
            label=_legend(what),
            marker="." if len(known) < 40 else "",
        )
    for mark in marks:
        axes.axvline(mark, color="grey", linewidth=0.8, alpha=0.6, zorder=0)
    axes.set_xlabel(label)
    axes.set_ylabel("queues")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    _finish(axes, has_legend=True)
    return picture


def largest(weights: Mapping[str, float], most: int | None) -> list[str]:
    """Return the names with the largest weights, ``most`` at most, in their natural order.

    Examples
    --------
    >>> largest({"c10": 5, "c2": 7, "c1": 0}, 2)
    ['c2', 'c10']
    """
    by_weight = sorted(weights, key=lambda name: (-weights[name], natural_key(name)))
    return sorted(by_weight[:most], key=natural_key)


def some_of(shown: Collection[Any], n_all: int, what: str) -> str:
    """Return the end of a title if only some things are drawn, else nothing.

    Examples
    --------
    >>> some_of(["a", "b"], 1200, "clients"), some_of(["a"], 1, "clients")
    (' (2 of 1,200 clients)', '')
    """
    return f" ({len(shown):,} of {n_all:,} {what})" if len(shown) < n_all else ""


def _picture(title: str, height: float) -> tuple[Picture, Axes]:
    picture = Picture(figsize=(8, height), layout="constrained", facecolor="white")
    axes = picture.add_subplot()
    axes.set_title(shortened(printable(title), _MOST_TITLE), loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    return picture, axes


def _legend(what: str) -> str:
    """Return a label; matplotlib leaves out what begins with an underscore."""
    label = shortened(printable(what), _MOST_NAME)
    return f" {label}" if label.startswith("_") else label


def _finish(axes: Axes, has_legend: bool) -> None:
    """Add the legend, and switch off formulas in all texts."""
    if has_legend:
        axes.legend(fontsize=8, frameon=False)
    for text in axes.findobj(Text):
        text.set_parse_math(False)
