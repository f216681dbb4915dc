"""The picture of rooms and floors, from the floors that tests check: ``python
tests/support/house_picture.py``.
"""

import re
import textwrap
from html import escape

from checkout import ROOT
from source_modules import FLOORS

PICTURE = ROOT / "docs" / "images" / "house.svg"
WIDTH, LEFT, GAP, PADDING, LINE = 1000, 62, 10, 10, 15
STYLE = """
text { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: #263238 }
.name { font: 600 13px ui-monospace, "DejaVu Sans Mono", monospace }
.floor { font-size: 20px; fill: #78909c }
rect { fill: #e8eaf6; stroke: #9fa8da }
path { stroke: #78909c; fill: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e0e0e0 } .floor { fill: #90a4ae } rect { fill: #283046; stroke: #5c6bc0 }
}
"""


def floors():
    """Rooms that CONTRIBUTING.md describes by floor, from the top."""
    described, found = captions(), {}
    for name, floor in FLOORS.items():
        if (room := name.removesuffix(".*")) in described:
            found.setdefault(floor, set()).add(room)
    return {floor: sorted(rooms) for floor, rooms in sorted(found.items(), reverse=True)}


def captions():
    """What every room holds, from the table in CONTRIBUTING.md."""
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \d+ \| `([\w/]+)/` \| (.*) \|$", table, re.MULTILINE)
    modules = re.search(r"^\| 1 \| `rmqalloc/\*\.py` \| (.*) \|$", table, re.MULTILINE)
    files = re.findall(r"`(\w+)`: ([^;]+)", modules[1])
    return {
        room.replace("/", "."): re.sub(r"[`;].*|\.$", "", text).strip() for room, text in rows
    } | {f"rmqalloc.{name}": text for name, text in files}


def picture():
    """The text of the picture."""
    texts, parts, y = captions(), [], GAP
    for floor, rooms in floors().items():
        width = (WIDTH - LEFT - GAP * len(rooms)) / len(rooms)
        lines = [textwrap.wrap(texts.get(room, ""), int(width / 7.2)) for room in rooms]
        height = 2 * PADDING + LINE * (1 + max(map(len, lines)))
        parts.append(
            f'<text class="floor" x="{LEFT - 16}" y="{y + height / 2 + 7:g}" text-anchor="end">{floor}</text>'
        )
        for i, (room, caption) in enumerate(zip(rooms, lines, strict=True)):
            parts += box(LEFT + i * (width + GAP), y, width, height, room, caption)
        y += height + GAP
    arrow = f'<path d="M12 {GAP + 6} V{y - GAP - 6} m-5 -9 l5 9 l5 -9"/><title>imports go down only</title>'
    size = f'viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="Rooms of rmqalloc by floor">'
    return "\n".join([head, f"<style>{STYLE}</style>", arrow, *parts, "</svg>\n"])


def box(x, y, width, height, room, caption):
    """A room."""
    yield f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}" rx="4"/>'
    yield f'<text class="name" x="{x + PADDING:.1f}" y="{y + PADDING + 11}">{room.removeprefix("rmqalloc.")}</text>'
    for i, line in enumerate(caption, 1):
        yield f'<text x="{x + PADDING:.1f}" y="{y + PADDING + 11 + i * LINE}">{escape(line)}</text>'


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
