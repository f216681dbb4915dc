"""What moves between clients: old owners on the left, new owners on the right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.acero  # before threads: `group_by` imports it
import pyarrow.compute as pc

from rmqalloc.report.html.charts._loads import MOST_CLIENTS
from rmqalloc.report.html.charts._svg import LABEL, box, figure, key_of, text
from rmqalloc.results.html_text import escaped
from rmqalloc.text import counted, shortened

LEFT, RIGHT, NODE, TOP, HEIGHT, LEAST, GAP = 232, 728, 12, 26, 260, 13, 4
_CHANGES = {"new": "new", "gone": "removed", "unowned": "without an owner after"}
WITHOUT = {"new": "new queues", "gone": "queues that go", None: "no client"}
_COLOURS = {
    "to another client": "s0",
    "new": "s2",
    "without an owner after": "s1",
    "removed": "rest",
}
"""Colour of a movement by what it is."""


class End(NamedTuple):
    """One side of a movement: a client, or what stands where there is none."""

    said: str
    is_client: bool


class Node(NamedTuple):
    """An end in its place."""

    end: End
    y: float
    height: float
    total: int


def flows_figure(ident: str, queues: pa.Table, client_ids: Sequence[str]) -> str:
    """Return bands from old owners to new ones, as wide as the queues that move."""
    flows = _flows(queues)
    if not flows:
        return "<p>No queue changes its owner.</p>"
    flows = _folded(_folded(flows, 0), 1)
    place = {client_id: i for i, client_id in enumerate(client_ids)}
    colours = dict.fromkeys(_COLOURS[_kind(*ends)] for ends in flows)
    scale = HEIGHT / sum(flows.values())
    left, right = (_nodes(flows, side, place, scale) for side in (0, 1))
    most = flows.most_common(MOST_CLIENTS)
    description = "; ".join(
        f"{shortened(a.said, LABEL)} to {shortened(b.said, LABEL)}: {n}" for (a, b), n in most
    )
    height = max(nodes[-1].y + max(nodes[-1].height, LEAST) for nodes in (left, right)) + 8
    return figure(
        f"{ident}-flows",
        f"{flow_counts(queues)}; queues that keep their owner are not drawn",
        "Queues that change, from old owner to new owner",
        description,
        height,
        [*_heads(), *_bands(flows, left, right, scale), *_boxes(left, LEFT), *_boxes(right, RIGHT)],
        key_of((colour, said) for said, colour in _COLOURS.items() if colour in colours),
    )


def flow_counts(queues: pa.Table) -> str:
    """Return how many queues go from one client to another, and how many come, go or stay without
    an owner, as markup.
    """
    counts = {row["values"]: row["counts"] for row in pc.value_counts(queues["change"]).to_pylist()}
    moved = f"<strong>{counted(counts.get('moved', 0), 'queue')}</strong> of {queues.num_rows:,} from old to new owner"
    rest = ((counts.get(change, 0), said) for change, said in _CHANGES.items())
    return ", ".join([moved, *(f"{n:,} {said}" for n, said in rest if n)])


def _flows(queues: pa.Table) -> Counter[tuple[End, End]]:
    """Return the number of queues by old and new owner, of those that do not stay."""
    moving = queues.filter(pc.not_equal(queues["change"], "kept")).select(
        ["owner_before", "owner_after", "change"]
    )
    counts = moving.group_by(["owner_before", "owner_after", "change"]).aggregate(
        [([], "count_all")]
    )
    flows: Counter[tuple[End, End]] = Counter()
    for row in counts.to_pylist():
        ends = [
            End(WITHOUT[row["change"] if row["change"] == kind else None], False)
            if owner is None
            else End(owner, True)
            for owner, kind in ((row["owner_before"], "new"), (row["owner_after"], "gone"))
        ]
        flows[ends[0], ends[1]] += row["count_all"]
    return flows


def _folded(flows: Counter[tuple[End, End]], side: int) -> Counter[tuple[End, End]]:
    """With those of one side that move least made one."""
    totals: Counter[End] = Counter()
    for ends, n in flows.items():
        totals[ends[side]] += n
    rest = {end for end, _ in totals.most_common()[MOST_CLIENTS:]}
    if len(rest) < 2:
        return flows
    others = End(f"others ({len(rest)} clients)", False)
    folded: Counter[tuple[End, End]] = Counter()
    for (before, after), n in flows.items():
        ends = (
            others if side == 0 and before in rest else before,
            others if side == 1 and after in rest else after,
        )
        folded[ends] += n
    return folded


def _kind(before: End, after: End) -> str:
    """Return what a movement is, one of `_COLOURS`."""
    if not after.is_client and after.said in (WITHOUT["gone"], WITHOUT[None]):
        return "removed" if after.said == WITHOUT["gone"] else "without an owner after"
    return "new" if before == End(WITHOUT["new"], False) else "to another client"


def _nodes(
    flows: Counter[tuple[End, End]], side: int, place: dict[str, int], scale: float
) -> list[Node]:
    """Return ends of one side from top to bottom: clients in their order, then what is no client."""
    totals: Counter[End] = Counter()
    for ends, n in flows.items():
        totals[ends[side]] += n
    y, nodes = float(TOP), []
    for end in sorted(
        totals, key=lambda end: (not end.is_client, place.get(end.said, len(place)), end.said)
    ):
        height = totals[end] * scale
        nodes.append(Node(end, y, height, totals[end]))
        y += max(height, LEAST) + GAP
    return nodes


def _heads() -> list[str]:
    return [text(LEFT, 13, "old owner", "head end"), text(RIGHT, 13, "new owner", "head")]


def _bands(
    flows: Counter[tuple[End, End]], left: list[Node], right: list[Node], scale: float
) -> Iterator[str]:
    """Yield bands leave and reach their ends in the order of the other side, so that few cross."""
    leaves, reaches = {node.end: node.y for node in left}, {node.end: node.y for node in right}
    for source in left:
        for target in right:
            n = flows.get((source.end, target.end), 0)
            if n:
                description = f"{source.end.said} → {target.end.said}: {counted(n, 'queue')}"
                colour = _COLOURS[_kind(source.end, target.end)]
                yield _band(leaves[source.end], reaches[target.end], n * scale, colour, description)
                leaves[source.end] += n * scale
                reaches[target.end] += n * scale


def _band(y1: float, y2: float, height: float, colour: str, description: str) -> str:
    x1, x2, middle = LEFT + NODE, RIGHT - NODE, (LEFT + RIGHT) / 2
    path = (
        f"M{x1} {y1:.2f}C{middle:g} {y1:.2f} {middle:g} {y2:.2f} {x2} {y2:.2f}v{height:.2f}"
        f"C{middle:g} {y2 + height:.2f} {middle:g} {y1 + height:.2f} {x1} {y1 + height:.2f}z"
    )
    return f'<path class="flow {colour}" d="{path}"><title>{escaped(shortened(description, 400))}</title></path>'


def _boxes(nodes: list[Node], x: int) -> Iterator[str]:
    on_left = x == LEFT
    for node in nodes:
        description = f"{node.end.said}: {counted(node.total, 'queue')}"
        yield box(
            x if on_left else x - NODE, node.y, NODE, max(node.height, 1), "node", description
        )
        y = node.y + max(node.height / 2, LEAST / 2) + 4
        count, label = (x - 8, x - 44) if on_left else (x + 36, x + 44)
        yield text(count, y, f"{node.total:,}", "end soft")
        yield text(label, y, node.end.said, "end" if on_left else "")
