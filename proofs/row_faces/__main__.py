"""One verdict on a row, whatever face judges it: ``python -m row_faces [--quick] [--report FILE]``.

The rows of ``hostile_rows`` go through every face that judges rows of units, and each must say what
`plan_batch` says. Ends with 1 if one differs. ``--quick`` leaves out the stream and the function
that is asked row by row.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from hostile_rows import HOSTILE_ROWS

from row_faces.faces import FACES, OF_EVENTS, UNKNOWN
from spark_udfs.session import session

SLOW = ("allocate", "live_plans")

HEAD = """# One verdict on a row

`python -m row_faces` in proofs/. Rows that are damaged in every way we know are judged by every face, on Spark where it needs
Spark. A number is the `err_code` on which the face and `plan_batch` agree, together with the text where the face has one and
with the owners; a dot means that the face cannot be given such a row. In a stream an event is checked before it is part of a
row, so that `e` marks an event that is refused, and a unit without queues or clients is an outcome.
"""


def main():
    parser = argparse.ArgumentParser(prog="row_faces", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"without {' and '.join(SLOW)}")
    parser.add_argument("--report", type=Path, help="write the page, too")
    given = parser.parse_args()
    spark = session(
        "local[1]", conf={"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    )
    spark.sparkContext.setLogLevel("OFF")
    cells, wrong = {}, []
    names = [name for name in FACES if not (given.quick and name in SLOW)]
    right = FACES["plan_batch"](spark, HOSTILE_ROWS, None)
    for name in names:
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            answer = FACES[name](spark, HOSTILE_ROWS, Path(folder))
        found, own = answer if isinstance(answer, tuple) else (answer, right)
        for kind, verdict in found.items():
            cells[kind, name], why = judged(name, verdict, own[kind], kind)
            wrong += [f"{name}: {kind}: {why}"] if why else []
        print(f"{name}: {len(found)} rows, {time.monotonic() - started:.0f} s", flush=True)
    kinds = [row.kind for row in HOSTILE_ROWS] + ["too many channels"]
    lines = [row(("row", *names)), row("---" for _ in range(len(names) + 1))]
    lines += [row((kind, *(cells.get((kind, name), "·") for name in names))) for kind in kinds]
    lines += [
        "",
        f"{len(cells)} verdicts of {len(names)} faces on {len(kinds)} rows; {len(wrong)} differ.",
    ]
    print("\n".join([*lines, *wrong]))
    if given.report:
        given.report.write_text("\n".join([HEAD, *lines, *wrong]) + "\n", encoding="utf-8")
    return int(bool(wrong) or not cells)


def judged(name, verdict, right, kind):
    """A cell, and what is wrong with it."""
    if name == "live_plans":
        code = OF_EVENTS.get(kind, right[0])
        why = "" if verdict[0] == code else f"{verdict[:2]} beside {code}"
        why = why or (
            ""
            if code != 3 or verdict[1].endswith("is there twice; give every queue once")
            else verdict[1]
        )
        return ("✗" if why else f"{code}{' e' * (kind in OF_EVENTS and code == 1)}"), why
    pairs = [(own, other) for own, other in zip(verdict, right, strict=True) if own is not UNKNOWN]
    same = all(own == other or (other is UNKNOWN) for own, other in pairs)
    return (str(right[0]), "") if same else ("✗", f"{verdict} beside {right}")


def row(cells):
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
