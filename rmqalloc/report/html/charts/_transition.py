"""A change as a small timeline: queues without an owner and with several, step by step, each with
its worst moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rmqalloc.report.html.charts._svg import box, figure, text
from rmqalloc.results.html_text import escaped, number
from rmqalloc.results.renderer import bound
from rmqalloc.text import counted

WIDTH, LEFT, RIGHT, TOP, PANEL, HEAD, BELOW = 400, 30, 8, 0, 66, 54, 22
MOST_BARS, MOST_LABELS = 80, 12
KINDS = ("without an owner", "with several owners")


class Exposure(NamedTuple):
    """Queues without an owner, or with several, in one step.

    Attributes
    ----------
    worst : int
        Most of them at one moment.
    is_exact : bool
        Whether some moment attains it; if not, it is an upper bound.
    expected : float or None
        Greatest expected number at one moment.
    seconds_worst, seconds_p99 : float or None
        Longest time that a queue can be in that state, and a bound that 99 % keep.
    """

    worst: int
    is_exact: bool = True
    expected: float | None = None
    seconds_worst: float | None = None
    seconds_p99: float | None = None

    def text(self) -> str:
        """Return the worst for people.

        Examples
        --------
        >>> Exposure(12).text(), Exposure(62, is_exact=False).text()
        ('12', '≤ 62')
        """
        return bound(number(self.worst), self.is_exact)


class TransitionStep(NamedTuple):
    """One step of a change: its label below the axis, what it is, and its two exposures, as `KINDS`
    has them.
    """

    label: str
    action: str
    exposures: tuple[Exposure, Exposure]


def transition_figure(ident: str, steps: Sequence[TransitionStep], n_queues: int) -> str:
    """Return two rows of bars over the same steps and on one scale; a mark over the first step that
    has the worst moment.
    """
    size = -(-len(steps) // MOST_BARS)
    bars = [_worst_of(steps[at : at + size]) for at in range(0, len(steps), size)]
    caption = "Bars: the worst moment of a step, whichever clients have heard of it by then"
    if any(one.expected is not None for step in steps for one in step.exposures):
        caption += "; lines: the number to expect"
    caption += f"; each bar is the worst of {size} steps" if size > 1 else ""
    said = [worst_moment(steps, kind, n_queues) for kind in (0, 1)]
    return figure(
        f"{ident}-transition",
        f"{escaped(caption)}.<br>{'<br>'.join(f'<strong>{escaped(one)}</strong>' for one in said)}",
        "Queues without an owner and with several, step by step",
        " ".join(said),
        TOP + 2 * (HEAD + PANEL) + BELOW,
        [*_panel(bars, 0), *_panel(bars, 1), *_labels(bars)],
        width=WIDTH,
        classes="small",
    )


def worst_moment(steps: Sequence[TransitionStep], kind: int, n_queues: int) -> str:
    """Return the worst moment of one kind, as a sentence."""
    worst = steps[_peak(steps, kind)]
    one = worst.exposures[kind]
    if not one.worst:
        return f"No queue is ever {KINDS[kind]}."
    times = [] if one.seconds_worst is None else [f"for {seconds_text(one.seconds_worst)} at most"]
    times += (
        [] if one.seconds_p99 is None else [f"{seconds_text(one.seconds_p99)} in 99 of 100 cases"]
    )
    how_long = f", {', '.join(times)}" if times else ""
    return f"Worst moment: {worst.action}, {one.text()} of {counted(n_queues, 'queue')} {KINDS[kind]}{how_long}."


def seconds_text(seconds: float) -> str:
    """Return a duration for people.

    Examples
    --------
    >>> [seconds_text(one) for one in (0.0423, 2.345, 30.0, 3600.0, float("inf"))]
    ['42 ms', '2.3 s', '30 s', '60 min', 'ever']
    """
    if seconds == float("inf"):
        return "ever"
    if 0 < seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds >= 600:
        return f"{seconds / 60:,.0f} min"
    return f"{seconds:.1f}".removesuffix(".0") + " s"


def _peak(steps: Sequence[TransitionStep], kind: int) -> int:
    """Return the first step with the worst moment."""
    return max(range(len(steps)), key=lambda i: (steps[i].exposures[kind].worst, -i))


def _worst_of(steps: Sequence[TransitionStep]) -> TransitionStep:
    """Return several steps as one bar."""
    if len(steps) == 1:
        return steps[0]
    worst = [steps[_peak(steps, kind)].exposures[kind] for kind in (0, 1)]
    expected = [[one.exposures[kind].expected for one in steps] for kind in (0, 1)]
    most = [max((n for n in some if n is not None), default=None) for some in expected]
    exposures = (worst[0]._replace(expected=most[0]), worst[1]._replace(expected=most[1]))
    return TransitionStep(steps[0].label, f"{steps[0].action} to {steps[-1].action}", exposures)


def _places(n: int) -> tuple[float, float]:
    """Return places of a step, and of its bar."""
    width = (WIDTH - LEFT - RIGHT) / n
    return width, min(width * 0.8, 34)


def _panel(bars: Sequence[TransitionStep], kind: int) -> Iterator[str]:
    """Yield the bars of one kind, with the mark at the worst."""
    most = max(one.worst for step in bars for one in step.exposures)
    floor = TOP + HEAD + PANEL + kind * (HEAD + PANEL)
    scale, (width, bar) = PANEL / max(most, 1), _places(len(bars))
    yield text(0, floor - PANEL - HEAD + 22, f"Queues {KINDS[kind]}", "head", most=60)
    yield f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{floor}" y2="{floor}"/>'
    yield text(LEFT - 6, floor + 4, "0", "end soft")
    if most:
        yield text(LEFT - 6, floor - PANEL + 8, number(most), "end soft")
    for i, step in enumerate(bars):
        one, x = step.exposures[kind], LEFT + width * (i + 0.5) - bar / 2
        if one.worst:
            classes = f"worst {'s1' if kind == 0 else 's3'}{'' if one.is_exact else ' bound'}"
            said = f"{step.action}: {one.text()} {KINDS[kind]}"
            yield box(x, floor - one.worst * scale, bar, one.worst * scale, classes, said)
        if one.expected:
            y = floor - one.expected * scale
            yield f'<line class="expected" x1="{x - 1:.2f}" x2="{x + bar + 1:.2f}" y1="{y:.2f}" y2="{y:.2f}"/>'
    yield from _mark(bars, kind, floor, scale)


def _mark(bars: Sequence[TransitionStep], kind: int, floor: float, scale: float) -> Iterator[str]:
    """Yield an arrow over the worst bar, and what it is."""
    at = _peak(bars, kind)
    one, (width, _) = bars[at].exposures[kind], _places(len(bars))
    if not one.worst:
        yield text(LEFT + 6, floor - 8, "none at any moment", "soft")
        return
    x, y = LEFT + width * (at + 0.5), floor - one.worst * scale
    yield f'<path class="peak" d="M{x - 5:.2f} {y - 9:.2f}h10l-5 7z"/>'
    on_left = x > WIDTH / 2
    yield text(x + (-9 if on_left else 9), y - 3, f"worst: {one.text()}", "end" if on_left else "")


def _labels(bars: Sequence[TransitionStep]) -> Iterator[str]:
    """Yield labels of the steps, as many as have room."""
    width, _ = _places(len(bars))
    every = -(-len(bars) // MOST_LABELS)
    for i in range(0, len(bars), every):
        yield text(
            LEFT + width * (i + 0.5),
            TOP + 2 * (HEAD + PANEL) + 16,
            bars[i].label,
            "mid soft",
            most=12,
        )
