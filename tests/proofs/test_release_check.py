"""The rehearsal of a release: what its checks let pass, and what they do not."""

import zipfile
from pathlib import Path

import pytest
from release_check import bare_debian, builds, installs, links, upgrades
from release_check.check import Check, run


def test_a_program_that_fails_says_what_it_said():
    with pytest.raises(RuntimeError, match="ended with 3: nothing there"):
        run("sh", "-c", "echo nothing there; exit 3")


def test_settings_of_the_caller_are_not_known_in_a_clean_place(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    monkeypatch.setenv("RMQALLOC_ISA", "scalar")
    assert run("sh", "-c", 'echo "$PYTHONPATH$RMQALLOC_ISA$KEPT"', KEPT="kept") == "kept\n"


def wheel(path: Path, text: str) -> Path:
    """A file that is packed like a wheel."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("rmqalloc/__init__.py"), text)
        archive.writestr(zipfile.ZipInfo("rmqalloc/text.py"), "same")
    return path


def test_two_builds_that_differ_are_seen_and_the_member_is_named(tmp_path):
    one, same, other = (
        wheel(tmp_path / f"{name}.whl", name[:1]) for name in ("one", "ones", "two")
    )
    assert [check.held for check in builds.same_bytes([one], [same])] == [True]
    (check,) = builds.same_bytes([one], [other])
    assert check.held is False and check.said.endswith("members that differ: rmqalloc/__init__.py")


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("Apache-2.0", True),
        ("BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0", True),
        ("Apache Software License; BSD License", True),
        ("GPL-3.0-or-later OR MIT", True),
        ("GNU General Public License v3 (GPLv3)", False),
        ("UNKNOWN", False),
        ("MIT AND LGPL-2.1", False),
    ],
)
def test_every_part_of_a_licence_must_be_allowed(text, may):
    assert installs.allowed(text) is may


def test_links_of_papers_are_followed_into_headings(tmp_path):
    (tmp_path / "README.md").write_text(
        "# One\n## What `is` stable\n[a](B.md#two-words) [b](#what-is-stable) [c](https://example.org)\n"
    )
    (tmp_path / "B.md").write_text("# Two words\n")
    assert links.of_the_papers(tmp_path) == Check(
        "Links of README and its neighbours", True, "2 links"
    )
    (tmp_path / "B.md").write_text("# Two word\n[gone](C.md)\n")
    assert links.of_the_papers(tmp_path).said == "lost: README.md: B.md#two-words, B.md: C.md"


def test_a_name_that_went_must_be_in_the_changelog():
    changelog = "| `rmqalloc.old` | `rmqalloc.new` |\n`NoMatch` is `NoMatchError`\n"
    assert upgrades.listed("rmqalloc.old.inner", None, changelog)
    assert upgrades.listed("rmqalloc.rooms", "NoMatch", changelog)
    assert not upgrades.listed("rmqalloc.rooms", "NoMat", changelog)
    assert not upgrades.listed("rmqalloc.rooms", None, changelog)


def test_what_could_not_be_asked_is_not_said_to_hold(monkeypatch, tmp_path):
    monkeypatch.setattr(bare_debian, "SUITES", {})
    (check,) = bare_debian.newcomer(tmp_path, tmp_path, tmp_path)
    assert check.held is None and "| not asked |" in check.row


def test_a_tree_that_is_no_checkout_is_copied_without_what_was_made(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    tree = tmp_path / "tree"
    for name in ("pyx/md5.pyx", "build/wheel/old.whl", ".venv/bin/python"):
        (tree / name).parent.mkdir(parents=True)
        (tree / name).write_text("")
    copy = builds.cloned(tree, tmp_path / "copy")
    assert [path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file()] == [
        "pyx/md5.pyx"
    ]
