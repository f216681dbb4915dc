"""Python members beside Java members in one group: ``python -m beside_java [--quick] [--only PART]
[--report FILE]``.

Real servers and clients of RocketMQ 4.9 and 5.5 on loopback; needs a JDK and Maven. Ends with 1 if
anything is wrong. The report has its data beside it, in a file of the same name that ends with
``.json``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from beside_java.expelled import expelled
from beside_java.heartbeats import heartbeats
from beside_java.page import Section, page
from beside_java.scripts import of_release, quick, strategies
from beside_java.seen import seen

PARTS: dict[str, Callable[[], Section]] = {
    "5.5.0": lambda: of_release("5.5.0"),
    "4.9.8": lambda: of_release("4.9.8"),
    "strategies": strategies,
    "expelled": expelled,
    "heartbeats": heartbeats,
    "seen-5.5.0": lambda: seen("Seen by operators, 5.5.0", None, None),
    "seen-4.9.8": lambda: seen(
        "Seen by operators, clients of 4.9.8, servers of 4.9.7", "4.9.7", "4.9.8"
    ),
}


def main() -> int:
    """Play all parts, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m beside_java", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="a few events on 5.5.0, in less than a minute"
    )
    parser.add_argument(
        "--times", type=int, default=1, help="play the quick form so many times, on one cluster"
    )
    parser.add_argument(
        "--only", action="append", choices=PARTS, help="play only this; may be given several times"
    )
    parser.add_argument("--report", type=Path, help="page to write")
    given = parser.parse_args()
    started = time.monotonic()
    sections = quick(given.times) if given.quick else []
    for name in [] if given.quick else given.only or PARTS:
        print(f"{name}:", file=sys.stderr, flush=True)
        sections.append(PARTS[name]())
    text = page(sections, time.monotonic() - started)
    print(text)
    if given.report:
        given.report.write_text(text, encoding="utf-8")
        data = [row for one in sections for row in one.data]
        given.report.with_suffix(".json").write_text(
            json.dumps(data, indent=1) + "\n", encoding="utf-8"
        )
    return 1 if any(one.wrong for one in sections) else 0


if __name__ == "__main__":
    sys.exit(main())
