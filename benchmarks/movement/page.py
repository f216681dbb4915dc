"""The page: one table first, then every figure."""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from movement import about
from movement.bounds import RING, UNIFORM, checks, uniform
from movement.figures import EVENTS, Ratio
from movement.groups import ID_KINDS, GroupShape, IdKind
from movement.histories import RESTARTS
from movement.queue_lists import TOPIC_CLIENTS, TOPICS
from movement.run import Results


def page(results: Results) -> str:
    """The whole page as Markdown."""
    kafka = (
        f"kafka-clients and kafka-group-coordinator {results.kafka_version}"
        if results.kafka_version
        else "not run"
    )
    parts = [about.HEAD.format(kafka=kafka), *_summary(results)]
    for shape in results.extent.shapes:
        parts += _shape(results, shape)
    parts += [
        *_queue_lists(results),
        *_single_sizes(results),
        *_skews(results),
        *_speed(results),
        *_bounds(results),
    ]
    return "\n\n".join(parts) + "\n"


def table(header: list[str], rows: Iterable[list[str]]) -> str:
    """Lay out a Markdown table; the first column is text, the others are numbers."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(value: float) -> str:
    """Three digits, or two after the point."""
    return "–" if math.isnan(value) else f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def with_interval(ratio: Ratio | None) -> str:
    """A value with its interval, if there are trials enough for one."""
    if ratio is None:
        return "–"
    return number(ratio.value) + (
        "" if math.isnan(ratio.half) or ratio.half < 0.005 else f" ±{ratio.half:.2f}"
    )


def _summary(results: Results) -> list[str]:
    shapes, rows = list(results.extent.shapes), []
    for contender in results.contenders:
        cells = [contender.label]
        for shape in shapes:
            found = results.figures.get((shape, contender.label, "slot"))
            if found is None:
                cells.append("–")
                continue
            events = [found.over_least.get(name) for name in ("leave", "join", "walk")]
            first, join, walk = ["–" if one is None else number(one.value) for one in events]
            again = number(found.restarts[RESTARTS[0].label].value)
            cells.append(f"{found.states.worst} · {first} · {join} · {again} · {walk}")
        rows.append(cells)
    return ["## One table", about.SUMMARY, table(["", *map(str, shapes)], rows)]


def _shape(results: Results, shape: GroupShape) -> list[str]:
    trials, kafka = results.extent.shapes[shape], results.extent.kafka.get(shape)
    said = f"{trials.events} trials of leaves and joins, {trials.restarts} of restarts and walks"
    if results.kafka_version and kafka:
        said += f"; Kafka {kafka.events} and {kafka.restarts}, the first ones of the same"
    per_broker = shape.n_queues // shape.n_brokers
    parts = [f"## {shape}", f"{shape.n_brokers} brokers with {per_broker} queues each; {said}."]
    for kind in ID_KINDS:
        labels = [c.label for c in results.contenders if (shape, c.label, kind) in results.figures]
        if kind != "slot, new address":
            parts += [
                f"### {shape}, ids *{kind}*: over the least",
                _events(results, shape, kind, labels),
            ]
        parts += [
            f"### {shape}, ids *{kind}*: moves per queue of a restart",
            _restarts(results, shape, kind, labels),
        ]
    return parts


def _events(results: Results, shape: GroupShape, kind: IdKind, labels: list[str]) -> str:
    first = results.figures[shape, labels[0], kind]
    names = [name for name in EVENTS if name in first.over_least]
    rows = [["*the least, queues*", "", "", *(number(first.least[name]) for name in names)]]
    for label in labels:
        found = results.figures[shape, label, kind]
        states = [
            f"{np.mean(found.states.spreads):.2f}, {found.states.worst}",
            f"{np.mean(found.states.idle):.1%}",
        ]
        rows.append(
            [label, *states, *(with_interval(found.over_least.get(name)) for name in names)]
        )
    return table(["", "spread", "idle", *names], rows)


def _restarts(results: Results, shape: GroupShape, kind: IdKind, labels: list[str]) -> str:
    ways = [way.label for way in RESTARTS]
    fewest = results.figures[shape, labels[0], kind].least_restarts
    rows = [["*the least*", *(number(fewest[way].value) for way in ways)]]
    for label in labels:
        found = results.figures[shape, label, kind]
        over = [number(found.restarts[way].value / found.least_restarts[way].value) for way in ways]
        values = [with_interval(found.restarts[way]) for way in ways]
        rows.append(
            [label, *(f"{value} ({times}×)" for value, times in zip(values, over, strict=True))]
        )
    return table(["", *ways], rows)


def _queue_lists(results: Results) -> list[str]:
    layouts, rows = results.extent.topics, []
    for contender in results.contenders:
        cells = [contender.label]
        for layout in layouts:
            changed = results.queue_lists.get((layout, contender.label), [None, None])
            join = results.joins[layout, contender.label]
            cells.append(" · ".join(map(with_interval, [join, *changed])))
        rows.append(cells)
    topics = ", ".join(f"{n}" for n in layouts.values())
    return [
        "## The queue list",
        about.QUEUE_LISTS.format(topics=topics),
        table(["", *map(str, layouts)], rows),
    ]


def _single_sizes(results: Results) -> list[str]:
    rows = []
    for layout, found in results.single_sizes.items():

        def mean_and_largest(
            values: NDArray[np.float64], sizes: NDArray[np.int64] = found.sizes
        ) -> str:
            return f"{number(values.mean())} · {number(values.max())} at {sizes[values.argmax()]}"

        rows.append([str(layout), *map(mean_and_largest, found[1:])])
    if not rows:
        return []
    topics = ", ".join(f"{n}" for n in results.extent.single_sizes.values())
    header = ["", "join", "highest leaves", "others too", "restart"]
    return [
        "## Single numbers of clients",
        about.SINGLE_SIZES.format(topics=topics),
        table(header, rows),
    ]


def _skews(results: Results) -> list[str]:
    rows = [
        [label, number(float(found.mean())), number(float(np.quantile(found, 0.99)))]
        for label, found in results.skews.items()
    ]
    text = about.SKEWS.format(clients=TOPIC_CLIENTS, topics=TOPICS, sets=results.extent.name_sets)
    return ["## Many topics", text, table(["", "mean", "99th percentile"], rows)]


def _speed(results: Results) -> list[str]:
    shapes = list(dict.fromkeys(shape for shape, _ in results.groups))
    rows = []
    for label, fleet in results.fleets.items():
        groups = [(shape, results.groups[shape, label]) for shape in shapes]
        cells = [f"{one.per_queue(shape):.1f} ({one.call / 1e3:.3g} µs)" for shape, one in groups]
        rows.append([label, *cells, f"{fleet:.2f}", f"{fleet / results.fleets[RING]:.2f}×"])
    for label, times in results.kafka_times.items():
        found = [(shape, times[str(shape)]) for shape in shapes]
        cells = [
            " · ".join(f"{one / shape.n_queues:.1f} ({one / 1e3:.3g} µs)" for one in pair)
            for shape, pair in found
        ]
        rows.append([label, *cells, "", ""])
    header = ["ns per queue (µs per call)", *map(str, shapes), "fleet", f"over {RING}"]
    parts = ["## Time", about.SPEED.format(units=results.extent.fleet_units), table(header, rows)]
    if UNIFORM in results.kafka_times:
        parts += [
            "One group without our call's own cost, over Kafka's uniform assignor: first division · after a leave:",
            _over(results, shapes),
        ]
    return parts


def _over(results: Results, shapes: list[GroupShape]) -> str:
    rows = []
    for label in results.fleets:
        ours = [
            (results.groups[one, label].per_queue(one), uniform(results, one)) for one in shapes
        ]
        rows.append(
            [
                label,
                *(" · ".join(f"{own / their:.2f}×" for their in theirs) for own, theirs in ours),
            ]
        )
    return table(["", *map(str, shapes)], rows)


def _bounds(results: Results) -> list[str]:
    found = checks(results)
    rows = [
        [
            f"{check.contender}: {check.what}",
            f"{check.found:.3f}",
            f"{check.most:g}",
            "yes" if check.is_kept else "**no**",
        ]
        for check in found
    ]
    return (
        ["## Promises", about.PROMISES, table(["", "found", "at most", "kept"], rows)]
        if rows
        else []
    )
