"""A change as a small timeline: queues without an owner and with several, step by step, each with
its worst moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
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
    caption = "Bars: the worst moment of a step, for any set of notified clients"
    if any(exposure.expected is not None for exposure in _exposures(steps)):
        caption += "; lines: the expected number"
    caption += f"; each bar is the worst of {size} steps" if size > 1 else ""
    sentences = [worst_moment(steps, kind, n_queues) for kind in (0, 1)]
    strong = "<br>".join(f"<strong>{escaped(sentence)}</strong>" for sentence in sentences)
    return figure(
        f"{ident}-transition",
        caption=f"{escaped(caption)}.<br>{strong}",
        title="Unowned and double-owned queues, step by step",
        description=" ".join(sentences),
        height=TOP + 2 * (HEAD + PANEL) + BELOW,
        parts=[*_panel(bars, 0), *_panel(bars, 1), *_labels(bars)],
        width=WIDTH,
        classes="small",
    )


def _exposures(steps: Sequence[TransitionStep]) -> Iterator[Exposure]:
    return chain.from_iterable(step.exposures for step in steps)


def worst_moment(steps: Sequence[TransitionStep], kind: int, n_queues: int) -> str:
    """Return the worst moment of one kind, as a sentence."""
    step = steps[_peak(steps, kind)]
    worst = step.exposures[kind]
    if not worst.worst:
        return f"No queue is ever {KINDS[kind]}."
    times = []
    if worst.seconds_worst is not None:
        times.append(f"for {seconds_text(worst.seconds_worst)} at most")
    if worst.seconds_p99 is not None:
        times.append(f"{seconds_text(worst.seconds_p99)} in 99 of 100 cases")
    how_long = f", {', '.join(times)}" if times else ""
    return f"Worst moment: {step.action}, {worst.text()} of {counted(n_queues, 'queue')} {KINDS[kind]}{how_long}."


def seconds_text(seconds: float) -> str:
    """Return a duration for people.

    Examples
    --------
    >>> [seconds_text(seconds) for seconds in (0.0423, 2.345, 30.0, 3600.0, float("inf"))]
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
    exposures = _worst_exposure(steps, 0), _worst_exposure(steps, 1)
    return TransitionStep(steps[0].label, f"{steps[0].action} to {steps[-1].action}", exposures)


def _worst_exposure(steps: Sequence[TransitionStep], kind: int) -> Exposure:
    """Return the exposure of the worst step, with the most that is expected in any."""
    worst = steps[_peak(steps, kind)].exposures[kind]
    expected = [step.exposures[kind].expected for step in steps]
    known = [number for number in expected if number is not None]
    return worst._replace(expected=max(known, default=None))


def _places(n: int) -> tuple[float, float]:
    """Return places of a step, and of its bar."""
    width = (WIDTH - LEFT - RIGHT) / n
    return width, min(width * 0.8, 34)


def _panel(bars: Sequence[TransitionStep], kind: int) -> Iterator[str]:
    """Yield the bars of one kind, with the mark at the worst."""
    most = max(exposure.worst for exposure in _exposures(bars))
    floor = TOP + HEAD + PANEL + kind * (HEAD + PANEL)
    scale, (width, bar) = PANEL / max(most, 1), _places(len(bars))
    yield text(0, floor - PANEL - HEAD + 22, f"Queues {KINDS[kind]}", "head", most=60)
    yield f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{floor}" y2="{floor}"/>'
    yield text(LEFT - 6, floor + 4, "0", "end soft")
    if most:
        yield text(LEFT - 6, floor - PANEL + 8, number(most), "end soft")
    colour = "s1" if kind == 0 else "s3"
    for i, step in enumerate(bars):
        exposure, x = step.exposures[kind], LEFT + width * (i + 0.5) - bar / 2
        if exposure.worst:
            classes = f"worst {colour}" if exposure.is_exact else f"worst {colour} bound"
            height = exposure.worst * scale
            description = f"{step.action}: {exposure.text()} {KINDS[kind]}"
            yield box(x, floor - height, bar, height, classes=classes, description=description)
        if exposure.expected:
            y = floor - exposure.expected * scale
            yield f'<line class="expected" x1="{x - 1:.2f}" x2="{x + bar + 1:.2f}" y1="{y:.2f}" y2="{y:.2f}"/>'
    yield from _mark(bars, kind, floor, scale)


def _mark(bars: Sequence[TransitionStep], kind: int, floor: float, scale: float) -> Iterator[str]:
    """Yield an arrow over the worst bar, and what it is."""
    at = _peak(bars, kind)
    worst, (width, _) = bars[at].exposures[kind], _places(len(bars))
    if not worst.worst:
        yield text(LEFT + 6, floor - 8, "none at any moment", "soft")
        return
    x, y = LEFT + width * (at + 0.5), floor - worst.worst * scale
    yield f'<path class="peak" d="M{x - 5:.2f} {y - 9:.2f}h10l-5 7z"/>'
    label = f"worst: {worst.text()}"
    if x > WIDTH / 2:
        yield text(x - 9, y - 3, label, "end")
    else:
        yield text(x + 9, y - 3, label, "")


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
