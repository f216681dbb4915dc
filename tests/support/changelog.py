"""The notes of a release: ``python tests/support/changelog.py --release v0.2.0`` prints them, and
fails where the tag may not be set.

It needs nothing but Python, as the release is checked before anything is installed.
"""

import re
import sys
import tomllib

from checkout import ROOT


def notes_of(tag, text, version):
    """What the changelog says of the release of a tag.

    Raises
    ------
    SystemExit
        If the tag is not the version of the package, entries belong to no release, or the newest
        release of the changelog is another one or has no date.
    """
    if tag != f"v{version}":
        sys.exit(f"the tag is {tag}, the version in pyproject.toml {version}")
    sections = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    unreleased, newest, notes = sections[2:5]
    if unreleased.strip():
        sys.exit(f'CHANGELOG.md has entries under "Unreleased"; they belong under {version}')
    if not re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", newest):
        sys.exit(f'the newest release of CHANGELOG.md must be "{version} (DATE)", it is "{newest}"')
    return notes.strip()


if __name__ == "__main__":
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    print(notes_of(sys.argv[2], changelog, project["version"]))
