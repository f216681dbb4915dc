"""Which files a change touches, the rooms that they belong to, and the tests to run for them.

Everything is a function of two commits, the base and HEAD; ``make test-changed`` adds what is not
committed. Unknown means everything: without a base (a shallow clone, a first commit), and where
other rooms stand on the changed one.

``python -m changed_files tests`` prints the tests of what differs from the base, ``room ROOM`` the
tests of a room and ``sources ROOM`` its folder and theirs.
"""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from checkout import ROOT

EVERYTHING = ["tests"]

_ROOMS = "pyx _engine fleet model errors text lazy limits extras timers"
FOUNDATIONS = {*_ROOMS.split(), "setup.py", "pyproject.toml"}
"""Rooms and files that every test stands on."""

FOLDERS = {"spark_udfs": "spark", "pyx": "engine", "_engine": "engine", "rmqalloc": "house"}
"""Folders of tests that are not named as the room is."""

PAGES = {"docs", "mkdocs.yml", "CITATION.cff"}
PAGES |= {
    f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY", "CODE_OF_CONDUCT")
}
PAGE_TESTS = ["test_docs", "test_page_blocks", "test_shell_blocks", "test_papers", "test_changelog"]

WORDS = {".github": "workflows", "go": "go_driver", "java": "java_driver"}
"""What the tests of such a room name."""

IMPORTED = re.compile(r"^[ \t]*(?:from|import)[ \t]+(\w+)", re.M)


def git(*arguments, root=ROOT):
    """What git prints, or None where it fails."""
    done = subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else None


def base(root=ROOT):
    """The commit that HEAD is compared with: where it left origin/main, else its parent; None if
    there is none.
    """
    head = git("rev-parse", "HEAD", root=root)
    if git("rev-parse", "--verify", "--quiet", "origin/main", root=root):
        fork = git("merge-base", "HEAD", "origin/main", root=root)
        if fork != head:
            return fork
    return git("rev-parse", "--verify", "--quiet", "HEAD^", root=root)


def changed(base, head="HEAD", root=ROOT):
    """Files that differ between two commits, both names of a renamed one; None without a base."""
    return (
        None
        if base is None
        else _names("diff", "--name-only", "--no-renames", "-z", base, head, root=root)
    )


def uncommitted(root=ROOT):
    """Files that differ from HEAD in the work tree or the index, and new ones that are not ignored."""
    listed = ["ls-files", "--others", "--exclude-standard", "-z"]
    return sorted(
        {
            *_names("diff", "--name-only", "--no-renames", "-z", "HEAD", root=root),
            *_names(*listed, root=root),
        }
    )


def room_of(path):
    """The room that a file belongs to; a file or folder beside the rooms is one of its own."""
    first, *rest = Path(path).parts
    if first == "rmqalloc" and rest:
        return (
            "rmqalloc" if rest[0] in ("__init__.py", "__main__.py") else rest[0].removesuffix(".py")
        )
    if first == "tests" and len(rest) > 1:
        return {"spark": "spark_udfs", "engine": "_engine"}.get(rest[0], rest[0])
    return first


def tests_of(paths, root):
    """Files of tests for these changed files, or all of them; None for ``paths`` means all, too.

    Tests that changed come first, then those named as a changed module, then the others of the
    rooms.
    """
    if paths is None or any(_touches_everything(path) for path in paths):
        return EVERYTHING
    direct = [path for path in paths if _is_test(path) and (root / path).exists()]
    others = [path for path in paths if not _is_test(path)]
    found = [test for path in others for test in _tests_of_file(path, root)]
    near = {test for path in others for test in found if _is_near(test, path)}
    return list(dict.fromkeys([*direct, *sorted(near), *sorted(found)]))


def tests_of_room(room, root):
    """Files of tests of a room: its folder's, or where it has none, those that name it."""
    folder = root / "tests" / FOLDERS.get(room, room)
    if room in PAGES:
        return _existing(root, [f"tests/house/{name}.py" for name in PAGE_TESTS])
    if folder.is_dir() and room not in ("support", "data"):
        return sorted(path.relative_to(root).as_posix() for path in folder.glob("test_*.py"))
    return tests_naming(WORDS.get(room, room), root) or tests_of_room("house", root)


def tests_naming(word, root):
    """Files of tests in which a word stands, or that import a helper in which it does, or that
    imports such a one.
    """
    word = re.compile(rf"\b{re.escape(word)}\b")
    found = {path for path, text in _texts(root).items() if word.search(text)}
    return _with_importers(found, root)


def _with_importers(found, root):
    """The tests among these files, and those that import any of them."""
    imports = {path: set(IMPORTED.findall(text)) for path, text in _texts(root).items()}
    new = set(found)
    while new:
        names = {_imported_as(path) for path in new}
        new = {path for path in imports if path not in found and imports[path] & names}
        found |= new
    return sorted(path for path in found if _is_test(path))


def _tests_of_file(path, root):
    """Tests of one file that is none itself."""
    parts = Path(path).parts
    if parts[:2] == ("tests", "data"):
        return tests_naming(parts[2].split(".")[0], root)
    if parts[0] in ("tests", "proofs"):
        return _with_importers({path}, root)
    return tests_of_room(room_of(path), root)


def _touches_everything(path):
    return room_of(path) in FOUNDATIONS or path == "tests/conftest.py"


def _is_test(path):
    return bool(re.fullmatch(r"(?:tests|proofs)/(?:.*/)?test_\w+\.py", path))


def _is_near(test, path):
    """Is a file of tests named as a module is?"""
    stem = Path(path).stem.strip("_")
    name = Path(test).stem.removeprefix("test_")
    return bool(stem) and (
        name in (stem, stem + "s") or stem in name.split("_") or name.startswith(f"{stem}_")
    )


def _imported_as(path):
    """The name by which other files import a helper of the tests: of a package the package's."""
    parts = Path(path).parts
    return Path(parts[2 if parts[1] == "support" else 1]).stem


@cache
def _texts(root):
    """Text of every Python file of the tests and proofs."""
    files = [path for top in ("tests", "proofs") for path in (root / top).rglob("*.py")]
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in files}


def _existing(root, paths):
    return [path for path in paths if (root / path).exists()]


def _names(*arguments, root):
    """Names that git prints with a zero byte after each."""
    return sorted(filter(None, (git(*arguments, root=root) or "").split("\0")))


def _folders(room):
    """Folders or files of a room and of its tests, for tools that look at style."""
    sources = [f"rmqalloc/{room}", f"rmqalloc/{room}.py", room]
    return _existing(ROOT, [*sources, f"tests/{FOLDERS.get(room, room)}"])


def main(command="tests", room=""):
    if command == "tests":
        since = base()
        committed = changed(since)
        print(*tests_of(None if committed is None else sorted({*committed, *uncommitted()}), ROOT))
        return 0
    found = _folders(room) if room else []
    if not found:
        sys.exit(f"there is no room {room!r}: make check ROOM=plans")
    print(*(tests_of_room(room, ROOT) if command == "room" else found))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
