"""Environments for the blocks of a page: the wheel under test and exactly the extras that the page
names below its title.
"""

import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import cache
from checkout import ROOT
from environments import dependencies

NEEDS = re.compile(
    r"^\*Needs \[`rmqalloc(?:\[([a-z,]+)\])?`\]\((?:\.\./)*(?:docs/)?install\.md\)\.\*$",
    re.MULTILINE,
)
HERE = ROOT / "build" / "pages"


def extras_of(text: str) -> list[str] | None:
    """Return the extras that a page needs: an empty list for numpy alone, None for a page that
    names none.

    >>> extras_of("# A page\\n\\n*Needs [`rmqalloc[cli,serve]`](../install.md).*\\n")
    ['cli', 'serve']
    >>> extras_of("# A page\\n\\n*Needs [`rmqalloc`](install.md).*\\n"), extras_of("# A page\\n")
    ([], None)
    """
    found = NEEDS.search(text)
    return found and found[1].split(",") if found and found[1] else [] if found else None


def python_of(extras: list[str]) -> Path:
    """Return the interpreter of an environment with the wheel under test and these extras.

    Tests of a checkout that is compiled in place, and pages for developers, run in the environment
    of the tests.
    """
    of_wheel = os.environ.get("RMQALLOC_WHEEL_OF")
    if "dev" in extras or not of_wheel:
        return Path(sys.executable)
    [wheel] = Path(of_wheel, "build", "wheel").glob("*.whl")
    name = "-".join(["numpy", *extras])
    home = HERE / name
    python, mark = home / "bin" / "python", home / "wheel.digest"
    digest = cache.digest([wheel, *_requirements(extras)])
    with cache.locked(home.with_suffix(".lock")):
        if not mark.is_file() or mark.read_text(encoding="utf-8") != digest:
            _make(home, name, wheel, extras)
            mark.write_text(digest, encoding="utf-8")
    return python


def _make(home: Path, name: str, wheel: Path, extras: list[str]) -> None:
    """Make an environment that holds the wheel; packages are shared by all wheels, through a path
    file.
    """
    requirements = _requirements(extras)
    packages = cache.folder(
        f"packages-{name}", requirements, lambda folder: _install(folder, *requirements)
    )
    venv.create(home, clear=True, with_pip=False)
    [site] = home.glob("lib/python*/site-packages")
    _install(site, "--no-deps", str(wheel))
    (site / "packages.pth").write_text(f"{packages}\n", encoding="utf-8")


def _install(target: Path, *arguments: str) -> None:
    for program in ("uv", "pip"):  # pip where uv cannot be had
        command = [
            sys.executable,
            "-m",
            *(["uv"] if program == "uv" else []),
            "pip",
            "install",
            "-q",
        ]
        done = subprocess.run(
            [*command, "--target", str(target), *arguments], cwd=ROOT, check=False
        )
        if done.returncode == 0:
            return
    raise AssertionError(f"cannot install {' '.join(arguments)}")


def _requirements(extras: list[str]) -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return dependencies(project, extras)
