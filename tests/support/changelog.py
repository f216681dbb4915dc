"""The changelog as data, its rules, and the notes of a release: ``python tests/support/changelog.py
--release v0.2.0``.

It needs nothing but Python, as the release is checked before anything is installed.
"""

import argparse
import re
import sys
import tomllib
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from checkout import ROOT

CHANGELOG = ROOT / "CHANGELOG.md"
TITLE = "# Changelog"
KINDS = ["Security", "Removed", "Deprecated", "Changed", "Added", "Fixed"]
"""Headings of a release that are not themes; they come after the themes, in this order."""
HEADING = re.compile(r"(\d+)\.(\d+)\.(\d+) \((\d{4}-\d\d-\d\d|unreleased)\)")


@dataclass(frozen=True)
class Section:
    """What the changelog says of one release."""

    title: str
    text: str

    @property
    def version(self):
        """The version as numbers; None of what is not released."""
        found = HEADING.fullmatch(self.title)
        return tuple(map(int, found.groups()[:3])) if found else None

    @property
    def date(self):
        """When it was released, as text; None where it was not."""
        found = HEADING.fullmatch(self.title)
        return found[4] if found and found[4] != "unreleased" else None

    @property
    def parts(self):
        """Headings of the third level and what stands below each."""
        _, *rest = re.split(r"^### (.*)$", self.text, flags=re.MULTILINE)
        return list(zip(rest[::2], rest[1::2], strict=True))


def sections(text):
    """All sections, in the order of the file."""
    _, *rest = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    return [Section(title, body.strip()) for title, body in zip(rest[::2], rest[1::2], strict=True)]


def faults(text):
    """Rules that a changelog does not keep; empty if it keeps all.

    >>> faults("# Changelog\\n\\n## Unreleased\\n\\n## 0.1.0 (2026-01-31)\\n\\n- First.\\n")
    []
    """
    found = sections(text)
    wrong = (
        []
        if text.startswith(f"{TITLE}\n\n## Unreleased\n")
        else [f'it begins with "{TITLE}" and "## Unreleased"']
    )
    released = found[1:]
    wrong += [
        f'"{one.title}" is not of the form "1.2.3 (2026-01-31)"'
        for one in released
        if one.version is None
    ]
    versions = [one.version for one in released if one.version]
    wrong += [
        f"{above} stands above {below}" for above, below in pairwise(versions) if above <= below
    ]
    dates = [one.date for one in released if one.date]
    wrong += [
        f"{above}, above, is earlier than {below}"
        for above, below in pairwise(dates)
        if above < below
    ]
    wrong += [f"{one} is not a date" for one in dates if not is_date(one)]
    wrong += [f"nothing is said of {one.title}" for one in released if not one.text]
    return wrong + [fault for one in found for fault in faults_of(one)]


def is_date(text):
    """Whether there is such a day."""
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False


def faults_of(section):
    """Rules that one section does not keep."""
    names = [name for name, _ in section.parts]
    kinds = [name for name in names if name in KINDS]
    wrong = [
        f"{section.title}: {name} twice" for name in dict.fromkeys(names) if names.count(name) > 1
    ]
    wrong += [
        f"{section.title}: nothing below {name}" for name, text in section.parts if not text.strip()
    ]
    if kinds != sorted(kinds, key=KINDS.index):
        wrong.append(f"{section.title}: {', '.join(kinds)} is not the order {', '.join(KINDS)}")
    if names[len(names) - len(kinds) :] != kinds:
        wrong.append(f"{section.title}: themes stand above {', '.join(KINDS)}")
    entries = re.split(
        r"\n(?=\S)", re.sub(r"^\|.*$|^### .*$", "", section.text, flags=re.MULTILINE)
    )
    ends = [entry.rstrip() for entry in entries if entry.startswith("- ")]
    return wrong + [
        f'{section.title}: "...{entry[-40:]}" does not end a sentence'
        for entry in ends
        if entry[-1] != "."
    ]


def project_version():
    """The version that the package has."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "version"
    ]


def notes_of(tag, text, version):
    """What the changelog says of the release of a tag.

    Raises
    ------
    SystemExit
        If the tag is not the version of the package, the changelog has no such release with a date,
        or it has entries of none.
    """
    if tag != f"v{version}":
        sys.exit(
            f"the tag is {tag}, the version in pyproject.toml {version}; the tag must be v{version}"
        )
    unreleased, *released = sections(text)
    if unreleased.text:
        sys.exit(
            f'CHANGELOG.md has entries under "Unreleased"; they belong under "{version} (DATE)"'
        )
    newest = next(iter(released), None)
    if newest is None or not newest.date or ".".join(map(str, newest.version)) != version:
        sys.exit(
            f'the newest release of CHANGELOG.md must be "{version} (DATE)", it is "{newest and newest.title}"'
        )
    return newest.text


def main():
    """Check the file, or print the notes of a release."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--release", metavar="TAG", help="print the notes of a release, if it may be tagged so"
    )
    tag = parser.parse_args().release
    text = CHANGELOG.read_text(encoding="utf-8")
    if wrong := faults(text):
        sys.exit("\n".join(["CHANGELOG.md:", *wrong]))
    if tag:
        print(notes_of(tag, text, project_version()))


if __name__ == "__main__":
    main()
