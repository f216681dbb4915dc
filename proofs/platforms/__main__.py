"""Other machines, other Pythons, a browser, and a release: ``python -m platforms [--quick] [--only
PART] [--report FILE]``.

What each part needs is in proofs/README.md; what is missing is a fault.
"""

import sys

from proof import run_parts

from platforms.browser.__main__ import browser
from platforms.pythons.pythons import pythons
from platforms.release.release import release
from platforms.targets.targets import targets

PARTS = {"release": release, "targets": targets, "pythons": pythons, "browser": browser}
QUICK = ("release", "targets", "pythons")

if __name__ == "__main__":
    sys.exit(run_parts("platforms", __doc__, PARTS, QUICK))
