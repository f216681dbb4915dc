"""List what pages and docstrings promise and which test holds it: ``python -m promises [--quick]
[--report FILE]``.

Ends with 1 if a marker names words that do not stand in its page or docstring.
"""

import argparse
import sys
from pathlib import Path

from promises import page, promised


def main():
    parser = argparse.ArgumentParser(prog="promises", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="only count, and list the promises without a test"
    )
    parser.add_argument("--report", help="write the page into this file")
    options = parser.parse_args()
    promises = [*promised.of_pages(), *promised.of_names()]
    open_ones = [one for one in promises if not one.is_held]
    wrong = promised.unknown(promises)
    print(
        f"{len(promises)} promises, {len(open_ones)} without a test, {len(wrong)} markers of other words"
    )
    for one in open_ones if options.quick else ():
        print(f"{one.where}: {one.text}")
    for one in wrong:
        print(f"{one.test}: {one.where} does not say once: {one.words}", file=sys.stderr)
    if options.report:
        Path(options.report).write_text(page.page(promises), encoding="utf-8")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
