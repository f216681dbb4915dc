"""The base of a change, what it touches, and the tests that are run for it."""

import subprocess

import changed_files
import pytest
from checkout import ROOT

SETTINGS = (
    "user.name=A",
    "user.email=a@example.org",
    "init.defaultBranch=main",
    "commit.gpgsign=false",
)
AUTHOR = [word for setting in SETTINGS for word in ("-c", setting)]


class Repository:
    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.git("init", "-q")

    def git(self, *arguments):
        command = ["git", *AUTHOR, *arguments]
        return subprocess.run(
            command, cwd=self.folder, check=True, capture_output=True, text=True
        ).stdout.strip()

    def write(self, *names):
        for name in names:
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{name} {path.exists()}\n")

    def commit(self, *names):
        self.write(*names)
        self.git("add", "--all")
        self.git("commit", "-q", "-m", "a commit")
        return self.git("rev-parse", "HEAD")

    def main_is(self, commit):
        self.git("update-ref", "refs/remotes/origin/main", commit)


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "repository")


def test_the_base_of_a_branch_is_where_it_left_main(repository):
    fork = repository.commit("a")
    repository.commit("b")
    repository.commit("c")
    repository.main_is(fork)
    assert changed_files.base(repository.folder) == fork
    assert changed_files.changed(fork, root=repository.folder) == ["b", "c"]


def test_main_that_went_on_does_not_count(repository):
    fork = repository.commit("a")
    repository.main_is(repository.commit("on main"))
    repository.git("checkout", "-q", "-b", "branch", fork)
    repository.commit("b")
    assert changed_files.changed(changed_files.base(repository.folder), root=repository.folder) == [
        "b"
    ]


@pytest.mark.parametrize("has_remote", [True, False])
def test_on_main_the_base_is_the_parent(repository, has_remote):
    parent = repository.commit("a")
    head = repository.commit("b")
    if has_remote:
        repository.main_is(head)
    assert changed_files.base(repository.folder) == parent


def test_a_first_commit_and_a_shallow_clone_have_no_base(repository, tmp_path):
    repository.commit("a")
    assert changed_files.base(repository.folder) is None
    repository.commit("b")
    repository.git(
        "clone", "-q", "--depth", "1", repository.folder.as_uri(), str(tmp_path / "shallow")
    )
    assert changed_files.base(tmp_path / "shallow") is None
    assert changed_files.changed(None) is None
    assert changed_files.tests_of(None, ROOT) == changed_files.EVERYTHING


def test_unrelated_histories_have_no_base(repository):
    repository.main_is(repository.commit("a"))
    repository.git("checkout", "-q", "--orphan", "other")
    repository.commit("b")
    repository.commit("c")
    assert changed_files.base(repository.folder) is None


def test_the_same_for_whatever_is_not_committed(repository):
    base = repository.commit("a", "b")
    repository.commit("c")
    before = changed_files.changed(base, root=repository.folder)
    repository.write("a", "staged", "new name")
    repository.git("add", "staged")
    assert changed_files.changed(base, root=repository.folder) == before == ["c"]
    assert changed_files.uncommitted(repository.folder) == ["a", "new name", "staged"]


def test_a_renamed_file_counts_under_both_names(repository):
    base = repository.commit("old", "b")
    repository.git("mv", "old", "new")
    repository.commit()
    assert changed_files.changed(base, root=repository.folder) == ["new", "old"]


@pytest.mark.parametrize(
    ("path", "room"),
    [
        ("rmqalloc/plans/_gates.py", "plans"),
        ("rmqalloc/model.py", "model"),
        ("rmqalloc/__init__.py", "rmqalloc"),
        ("rmqalloc/_engine/md5.pyi", "_engine"),
        ("pyx/vector/md5_core.c", "pyx"),
        ("spark_udfs/job/plan.py", "spark_udfs"),
        ("tests/spark/test_spark.py", "spark_udfs"),
        ("tests/engine/test_md5.py", "_engine"),
        ("tests/plans/test_plans.py", "plans"),
        ("tests/support/fleets.py", "support"),
        ("tests/conftest.py", "tests"),
        ("docs/plan.md", "docs"),
        ("Makefile", "Makefile"),
    ],
)
def test_the_room_of_a_file(path, room):
    assert changed_files.room_of(path) == room


BELOW = "pyx/md5.pyx rmqalloc/_engine/__init__.py rmqalloc/fleet/_ragged.py rmqalloc/model.py setup.py tests/conftest.py"


@pytest.mark.parametrize("path", BELOW.split())
def test_what_everything_stands_on_chooses_everything(path):
    assert changed_files.tests_of(["docs/plan.md", path], ROOT) == changed_files.EVERYTHING


def test_the_nearest_tests_come_first():
    chosen = changed_files.tests_of(
        ["rmqalloc/strategies/_rotated.py", "tests/plans/test_undo.py"], ROOT
    )
    assert chosen[:2] == ["tests/plans/test_undo.py", "tests/strategies/test_rotated.py"]
    rest = {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "tests/strategies").glob("test_*.py")
    }
    assert set(chosen[1:]) == rest


def test_a_helper_chooses_the_tests_that_import_it():
    """This file imports `changed_files`, and so does `areas`; `interpreter` is imported by
    `programs`, and that by tests.
    """
    chosen = changed_files.tests_of(["tests/support/changed_files.py"], ROOT)
    assert chosen[0] == "tests/house/test_changed_files.py"
    assert "tests/house/test_areas.py" in chosen
    assert "tests/cli/test_cli.py" not in chosen
    assert "tests/cli/test_cli.py" in changed_files.tests_of(["tests/support/interpreter.py"], ROOT)


def test_pages_choose_the_tests_of_pages():
    chosen = changed_files.tests_of(["docs/plan.md"], ROOT)
    assert "tests/house/test_page_blocks.py" in chosen
    assert all(path.startswith("tests/house/") for path in chosen)


def test_a_deleted_test_is_not_run():
    assert changed_files.tests_of(["tests/plans/test_that_is_gone.py"], ROOT) == []


def test_every_room_has_tests():
    rooms = {path.parent.name for path in (ROOT / "rmqalloc").glob("*/__init__.py")} | {
        "spark_udfs",
        "pyx",
    }
    assert len(rooms) > 20
    for room in rooms:
        chosen = changed_files.tests_of_room(room, ROOT)
        assert chosen, room
        assert all((ROOT / path).is_file() for path in chosen), room
