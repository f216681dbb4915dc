"""What the sdist holds: whoever unpacks it can run every test; and what the wheel holds: the
packages and nothing else; and that every place names one version.
"""

import re
import sys
import tomllib
import warnings
from fnmatch import fnmatch
from pathlib import Path

import pytest
from checkout import ROOT

MADE = ["*/__pycache__/*", "*.py[cod]", "*.so", "*.orig", "*.rej", "*/target/*", "*/target-*/*"]
"""What building and testing leaves among the sources."""


@pytest.fixture(scope="module")
def listed():
    """The files that MANIFEST.in names, but for those that setuptools adds by itself."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(sys, "path", [*sys.path])  # setuptools puts its own packages there
        from setuptools.command.egg_info import FileList

        found = FileList()
        patch.chdir(ROOT)
        for line in Path("MANIFEST.in").read_text().splitlines():
            found.process_template_line(line)
    return {Path(one).as_posix() for one in found.files}


@pytest.mark.parametrize(
    "folder",
    [
        ".devcontainer",
        ".github",
        "benchmarks",
        "docs",
        "examples",
        "go",
        "java",
        "proofs",
        "pyx",
        "tests",
    ],
)
def test_each_file_of_a_folder_that_tests_read_is_in_the_sdist(folder, listed):
    """The docs and the examples of clients once were not, so that their tests failed."""
    files = {
        one.relative_to(ROOT).as_posix() for one in (ROOT / folder).rglob("*") if one.is_file()
    }
    wanted = {one for one in files if not any(fnmatch(one, pattern) for pattern in MADE)}
    assert len(wanted) > 5 or folder == ".devcontainer"
    assert wanted and wanted <= listed


def test_the_papers_of_the_project_are_in_the_sdist(listed):
    papers = {one.name for one in ROOT.glob("*.md")} - {"README.md"}  # the metadata names that one
    assert len(papers) >= 4
    assert papers | {"LICENSE", "NOTICE", "CITATION.cff", ".pre-commit-config.yaml"} <= listed


def test_all_that_is_in_the_wheel_lies_within_its_packages():
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert tools["packages"]["find"] == {"include": ["rmqalloc*", "spark_udfs*"]}
    assert tools["package-data"].keys() == {"rmqalloc", "spark_udfs"}
    assert not {"data-files", "py-modules"} & tools.keys()


VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


@pytest.mark.parametrize(("name", "pattern"), [
    ("rmqalloc/version.py", '__version__ = "(.*)"'),
    ("CITATION.cff", "^version: (.*)$"),
    ("docs/operators/daily.md", r"rmqalloc:([\d.]+\d)"),
    ("deploy/kubernetes/rmqalloc.yaml", r"image: rmqalloc:(\S+)"),
    ("deploy/kubernetes/check.yaml", r"image: rmqalloc:(\S+)"),
    pytest.param("java/pom.xml", r"rmqalloc-strategies</artifactId>\s*<version>(.*)</version>",
                 id="java/pom.xml"),
])  # fmt: skip
def test_every_place_names_this_version(name, pattern):
    found = re.findall(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    assert set(found) == {VERSION}
