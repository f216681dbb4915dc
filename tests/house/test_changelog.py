"""The changelog keeps its rules: what comes first, versions and dates in order, kinds in theirs,
sentences.
"""

import pytest
from changelog import CHANGELOG, faults, notes_of, project_version, sections

GOOD = """# Changelog

## Unreleased

### Spark

- A theme.

### Fixed

- A fault.

## 0.2.0 (2026-02-28)

### Changed

- What breaks.

| a | b |
| --- | --- |
| c | d |

## 0.1.0 (unreleased)

First.
"""
RELEASED = GOOD.replace("### Spark\n\n- A theme.\n\n### Fixed\n\n- A fault.\n\n", "")


def test_the_changelog_keeps_the_rules():
    assert faults(CHANGELOG.read_text(encoding="utf-8")) == []


def test_the_version_of_the_package_is_the_newest_of_the_changelog():
    newest = sections(CHANGELOG.read_text(encoding="utf-8"))[1]
    assert ".".join(map(str, newest.version)) == project_version()


def test_a_good_one_has_no_faults():
    assert faults(GOOD) == []
    assert faults(RELEASED) == []


@pytest.mark.parametrize(("old", "new", "said"), [
    ("## Unreleased\n", "## Next\n", "it begins with"),
    ("# Changelog", "# Changes", "it begins with"),
    ("## 0.2.0 (2026-02-28)", "## 0.2.0", "is not of the form"),
    ("## 0.2.0 (2026-02-28)", "## v0.2.0 (2026-02-28)", "is not of the form"),
    ("2026-02-28", "2026-02-30", "is not a date"),
    ("## 0.2.0", "## 0.0.9", "stands above"),
    ("## 0.2.0", "## 0.1.0", "stands above"),
    ("(unreleased)", "(2026-03-01)", "is earlier than"),
    ("First.\n", "", "nothing is said of 0.1.0"),
    ("- A fault.\n", "", "nothing below Fixed"),
    ("### Spark", "### Fixed", "Fixed twice"),
    ("### Spark", "### Security", None),
    pytest.param("### Fixed\n\n- A fault.\n", "### Fixed\n\n- A fault.\n\n### Added\n\n- More.\n",
                 "is not the order", id="Fixed before Added"),
    pytest.param("### Fixed\n\n- A fault.\n", "### Fixed\n\n- A fault.\n\n### Spark SQL\n\n- More.\n",
                 "themes stand above", id="Fixed before a theme"),
    ("- A fault.", "- A fault", "does not end a sentence"),
])  # fmt: skip
def test_a_broken_rule_is_seen(old, new, said):
    assert GOOD.count(old) == 1
    wrong = faults(GOOD.replace(old, new))
    assert (wrong == []) if said is None else any(said in one for one in wrong)


def test_notes_are_what_is_said_of_the_release():
    notes = notes_of("v0.2.0", RELEASED, "0.2.0")
    assert notes.startswith("### Changed\n") and notes.endswith("| c | d |")


@pytest.mark.parametrize(("tag", "text", "version", "said"), [
    pytest.param("v0.2.1", RELEASED, "0.2.0", "the tag must be v0.2.0", id="v0.2.1"),
    pytest.param("0.2.0", RELEASED, "0.2.0", "the tag must be v0.2.0", id="0.2.0"),
    pytest.param("v0.2.0", GOOD, "0.2.0", 'entries under "Unreleased"', id="entries under Unreleased"),
    pytest.param("v0.3.0", RELEASED, "0.3.0", "the newest release", id="v0.3.0"),
    pytest.param("v0.2.0", RELEASED.replace("2026-02-28", "unreleased"), "0.2.0",
                 "the newest release", id="unreleased"),
])  # fmt: skip
def test_a_tag_without_its_notes_is_refused(tag, text, version, said):
    with pytest.raises(SystemExit, match=said):
        notes_of(tag, text, version)
