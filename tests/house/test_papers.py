"""The papers of the project agree: addresses from one place, versions, the licence, stable names."""

import json
import re
import tomllib

import project_urls
import public_names
import pytest
import yaml
from checkout import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HOME = PROJECT["urls"]["Homepage"]
STABILITY = public_names.PAGE.read_text(encoding="utf-8")
FOLDERS = (".devcontainer", ".github", "docs", "rmqalloc", "spark_udfs", "examples")
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def texts():
    """What people read, by path."""
    files = [
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".md", ".yml", ".json", ".py", ".yaml")
    ]
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in [*ROOT.glob("*.*"), *files]
        if path.is_file()
    }


def test_all_addresses_of_the_project_derive_from_one():
    """``PYTHONPATH=tests/support python tests/support/project_urls.py`` writes them anew."""
    assert all(url == HOME or url.startswith(f"{HOME}/") for url in PROJECT["urls"].values())
    assert (
        yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["repository-code"]
        == HOME
    )
    for name in ("SECURITY.md", ".github/ISSUE_TEMPLATE/config.yml"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert [
            url for url in re.findall(r"https?://[^\s)\]]+", text) if not url.startswith(f"{HOME}/")
        ] == [], name


def test_no_other_file_holds_an_address_of_the_project():
    assert {name for name, text in texts().items() if HOME in text} == set(project_urls.FILES)


def test_a_new_home_is_written_everywhere(tmp_path, monkeypatch):
    for name in project_urls.FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(
            text.replace(f'Homepage = "{HOME}"', 'Homepage = "https://a.example/b"'),
            encoding="utf-8",
        )
    monkeypatch.setattr(project_urls, "ROOT", tmp_path)
    project_urls.main()
    for name in project_urls.FILES:
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert HOME not in text and "https://a.example/b" in text, name


def test_the_licence_and_the_notice_go_with_every_wheel():
    assert PROJECT["license"] == "Apache-2.0" and PROJECT["license-files"] == ["LICENSE", "NOTICE"]
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    assert "not affiliated with the Apache Software Foundation" in " ".join(notice.split())


@pytest.mark.parametrize(("name", "pattern", "n_places"), [
    ("rmqalloc/version.py", '__version__ = "(.*)"', 1),
    ("CITATION.cff", "^version: (.*)$", 1),
    pytest.param("java/pom.xml", r"<artifactId>rmqalloc-strategies</artifactId>\s*<version>(.*)</version>", 1,
                 id="java/pom.xml"),
    ("docs/deploy.md", r"rmqalloc:([\d.]+\d)", 2),
    ("deploy/kubernetes/rmqalloc.yaml", r"image: rmqalloc:(\S+)", 1),
    ("deploy/kubernetes/check.yaml", r"image: rmqalloc:(\S+)", 1),
])  # fmt: skip
def test_every_place_names_this_version(name, pattern, n_places):
    found = re.findall(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    assert found == [PROJECT["version"]] * n_places


def test_the_citation_has_the_licence_and_the_authors_of_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["license"] == PROJECT["license"]
    assert [one["name"] for one in citation["authors"]] == [
        one["name"] for one in PROJECT["authors"]
    ]


# --- What is stable ---


def test_the_page_lists_the_public_names():
    """The list itself is compared with the code by test_public_names.py."""
    listed = public_names.LIST.read_text(encoding="utf-8").splitlines()
    assert public_names.page(STABILITY, listed) == STABILITY
    assert STABILITY.count("`") > 2 * len(listed)
    assert public_names.page(STABILITY, listed[1:]) != STABILITY


# --- Forms ---


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_asks_for_what_is_needed(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.stem == "config":
        assert form["blank_issues_enabled"] is False
        return
    wanted = {
        "bug": {"doctor", "done", "got"},
        "wrong-answer": {"doctor", "snapshot", "said"},
        "feature": {"task"},
    }[path.stem]
    required = {one["id"] for one in form["body"] if one.get("validations", {}).get("required")}
    assert wanted <= required
    ids = [one["id"] for one in form["body"] if "id" in one]
    assert len(ids) == len(set(ids))


def test_the_container_makes_what_the_makefile_makes():
    container = json.loads(
        (ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8")
    )
    target = container["updateContentCommand"].removeprefix("make ")
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def test_hooks_run_programs_of_the_project():
    (only,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))[
        "repos"
    ]
    assert only["repo"] == "local"
    assert all(hook["language"] == "system" for hook in only["hooks"])


def test_the_page_for_installing_names_every_extra():
    page = (ROOT / "docs" / "project" / "install.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == [
        "arrow", "cli", "serve", "mcp", "yaml", "spark", "connect", "all", "dev",
    ]  # fmt: skip
    assert (
        set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
        == PROJECT["optional-dependencies"].keys()
    )
